from accounts.commands import AccountCommand
from tracking.services.portal_settings import build_portal_url, set_portal_host


class Command(AccountCommand):
    help = (
        "Give the portal of an account a host of its own. Point the name at the service"
        " and add it to ALLOWED_HOSTS first."
    )

    def add_arguments(self, parser):
        super().add_arguments(parser)
        group = parser.add_mutually_exclusive_group(required=True)
        group.add_argument("host", nargs="?", metavar="HOST", help="such as partners.example.com")
        group.add_argument("--none", action="store_true", help="the host of the service instead")

    def run_for_account(self, account, *, at, host=None, **options):
        settings = set_portal_host(account, host, at=at)
        url = build_portal_url(account)
        self.write_result(url, host=settings.host, url=url)
