"""Demo shop for the browser script: one page, served with `DEMO=on` only."""

import secrets
from typing import Any

from django.conf import settings
from django.shortcuts import render

from accounts.models.accounts import Account
from accounts.services.api_keys import calculate_signature
from affiliate_site import http_errors
from affiliate_site.demo import loading


@http_errors.allow_methods("GET", "HEAD")
def demo_shop(request):
    """Render a shop that sells one lamp and reports to the demo account."""
    account = Account.objects.filter(slug=loading.ACCOUNT_SLUG).first()
    if not settings.DEMO or account is None:
        return http_errors.not_found(request)
    context = {
        "account": account.slug,
        "code": loading.get_first_referral_code(account),
        "order": create_signed_order(account),
    }
    return render(request, "demo/shop.html", context)


def create_signed_order(account: Account) -> dict[str, Any] | None:
    """An order as the server of a shop signs it; None without a signing secret."""
    secret = account.signing_secrets.filter(revoked_at=None).first()
    if secret is None:
        return None
    order_id, amount = f"signed-{secrets.token_hex(4)}", "49.90"
    lines = ["conversion", order_id, amount, "", ""]
    signature = calculate_signature(secret.secret, lines)
    return {"id": order_id, "amount": amount, "signature": signature}
