"""Demo shop for the browser script: one page, served with `DEMO=on` only."""

from django.conf import settings
from django.shortcuts import render

from accounts.models.accounts import Account
from affiliate_site import demo, http_errors


@http_errors.allow_methods("GET", "HEAD")
def demo_shop(request):
    """Render a shop that sells one lamp and reports to the demo account."""
    account = Account.objects.filter(slug=demo.ACCOUNT_SLUG).first()
    if not settings.DEMO or account is None:
        return http_errors.not_found(request)
    context = {"account": account.slug, "code": demo.get_first_referral_code(account)}
    return render(request, "demo/shop.html", context)
