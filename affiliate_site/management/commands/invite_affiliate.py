from accounts.commands import AccountCommand
from affiliate_site.links import build_password_url
from tracking.services.portal_links import invite_affiliate


class Command(AccountCommand):
    help = "Print an address where an affiliate sets a password for the portal once."
    arguments = {"affiliate": "the affiliate ID"}

    def run_for_account(self, account, *, at, affiliate="", **options):
        invitation = invite_affiliate(account, affiliate_id=affiliate, at=at)
        url = build_password_url(account, invitation.token)
        self.write_result(
            url,
            affiliate=invitation.affiliate.slug,
            url=url,
            expires_at=invitation.expires_at,
        )
