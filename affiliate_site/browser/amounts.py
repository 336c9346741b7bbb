"""The amounts of page calls: their currency, and those that were refused."""

from accounts.models.accounts import Account
from affiliate_site.api.conversion_serializers import MAX_LINE_ITEMS
from tracking.errors import UnclearCurrency


def add_printed_currency(account: Account, data: dict, marks: list[frozenset[str]]) -> None:
    """Set the currency that all marks stand for, of several the one of the programs.

    Nothing is set without marks, or if the call names one. Raises `UnclearCurrency`.
    """
    if not marks or data.get("currency"):
        return
    meant = frozenset.intersection(*marks)
    if len(meant) > 1:
        rows = account.programs.filter(currency__in=meant).order_by()
        meant = frozenset(rows.values_list("currency", flat=True).distinct())
    if len(meant) != 1:
        raise UnclearCurrency
    (data["currency"],) = meant


def read_sale(body: dict) -> dict[str, str]:
    """The order and amount of a sale as the page sent them, of items their amounts."""
    items = body.get("commissions")
    amounts: list[object] = [body.get("amount")]
    if isinstance(items, list) and items:
        amounts = [
            item.get("sub_amount") if isinstance(item, dict) else item
            for item in items[:MAX_LINE_ITEMS]
        ]
    order_id = body.get("external_id")
    return {
        "order_id": order_id if isinstance(order_id, str) else "",
        "amount": "; ".join("none" if it in (None, "") else str(it) for it in amounts),
    }
