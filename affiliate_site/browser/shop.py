"""The shop to try the browser script with: one page, served with `DEMO` on only."""

from django.conf import settings
from django.shortcuts import render

from accounts.models.accounts import Account
from affiliate_site import demo, door


@door.only("GET", "HEAD")
def shop(request):
    """A shop that sells one lamp; what it tells can be watched arriving."""
    account = Account.objects.filter(slug=demo.ACCOUNT).first()
    if not settings.DEMO or account is None:
        return door.not_found(request)
    told = {"account": account.slug, "code": demo.first_code(account)}
    return render(request, "demo/shop.html", told)
