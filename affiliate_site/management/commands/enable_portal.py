from accounts.commands import AccountCommand
from tracking.services.portal_settings import build_portal_url, update_portal_settings


class Command(AccountCommand):
    help = "Switch on the portal, where the affiliates of an account sign in."

    def add_arguments(self, parser):
        super().add_arguments(parser)
        group = parser.add_mutually_exclusive_group()
        group.add_argument("--open", action="store_true", help="take applications, too")
        group.add_argument("--off", action="store_true", help="switch it off instead")

    def run_for_account(self, account, *, at, **options):
        changes = {"is_on": not options["off"]}
        if options["open"]:
            changes["is_open"] = True
        settings = update_portal_settings(account, changes=changes, at=at)
        url = build_portal_url(account)
        self.write_result(
            url if settings.is_on else "off",
            is_on=settings.is_on,
            is_open=settings.is_open,
            url=url,
        )
