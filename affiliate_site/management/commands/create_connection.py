from django.core.management.base import CommandError

from accounts.commands import AccountCommand
from affiliate_site.links import build_connection_url
from affiliate_site.management.connection_secrets import read_secret
from affiliate_site.shops.ready_made import READY_MADE, build_settings
from tracking.models.shops import ConnectionKind, ConnectionMode
from tracking.services.connections import create_connection
from tracking.services.programs import get_program


class Command(AccountCommand):
    help = (
        "Connect a shop, which then reports sales, refunds and disputes by itself."
        " Prints the ID and the address that the shop sends its events to."
    )

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument("--kind", choices=ConnectionKind.values, required=True)
        parser.add_argument(
            "--mapping",
            choices=READY_MADE,
            help="with --kind other: the ready-made mapping to begin with",
        )
        parser.add_argument(
            "--program",
            metavar="PROGRAM",
            help="whose sales it reports; without it, that of the affiliate",
        )
        parser.add_argument(
            "--secret-file",
            metavar="FILE",
            help="a file with the signing secret of the shop; - reads standard input",
        )
        parser.add_argument(
            "--mode",
            choices=[ConnectionMode.LIVE, ConnectionMode.LISTEN],
            default=ConnectionMode.LISTEN.value,
            help="listen stores and shows events and changes nothing (the default)",
        )

    def run_for_account(
        self,
        account,
        *,
        at,
        kind="",
        mapping=None,
        program=None,
        secret_file=None,
        mode="",
        **options,
    ):
        if mapping and kind != ConnectionKind.OTHER:
            raise CommandError("--mapping needs --kind other.")
        connection = create_connection(
            account,
            kind=kind,
            name=READY_MADE[mapping].title if mapping else "",
            settings=build_settings(mapping) if mapping else None,
            program=get_program(account, program) if program else None,
            secret=read_secret(secret_file),
            mode=mode,
            at=at,
        )
        url = build_connection_url(connection)
        self.write_result(
            f"{connection}\n{url}",
            connection=connection.public_id,
            url=url,
            kind=connection.kind,
            program=program,
            mode=connection.mode,
            has_secret=bool(connection.secrets),
        )
