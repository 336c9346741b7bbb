from accounts.commands import AccountCommand
from affiliate_site.management.connection_secrets import read_secret
from tracking.services.connections import (
    forget_earlier_secret,
    set_connection_secret,
)


class Command(AccountCommand):
    help = (
        "Set the signing secret of a connection. The earlier one stays valid, too,"
        " until --forget-earlier."
    )
    arguments = {"connection": "the connection's ID"}

    def add_arguments(self, parser):
        super().add_arguments(parser)
        group = parser.add_mutually_exclusive_group(required=True)
        group.add_argument(
            "--secret-file",
            metavar="FILE",
            help="a file with the signing secret of the shop; - reads standard input",
        )
        group.add_argument(
            "--forget-earlier",
            action="store_true",
            help="accept the newest secret only",
        )

    def run_for_account(
        self,
        account,
        *,
        at,
        connection="",
        secret_file=None,
        forget_earlier=False,
        **options,
    ):
        target = {"connection_id": connection, "at": at}
        if forget_earlier:
            changed = forget_earlier_secret(account, **target)
        else:
            secret = read_secret(secret_file)
            changed = set_connection_secret(account, secret=secret, **target)
        count = len(changed.secrets)
        self.write_result(
            f"{changed}: valid secrets: {count}",
            connection=changed.public_id,
            secrets=count,
        )
