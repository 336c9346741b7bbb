"""What pages say of balances that staff withhold, and the page that lifts that."""

from typing import Any

from affiliate_site.backoffice.audit_sentences import describe_actor, find_names
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.formatters import format_day
from payouts.models.commissions import BalanceKey
from payouts.models.runs import WithheldBalance
from payouts.services.payout_limits import lift_withheld_balance


def list_withheld_texts(user, **conditions: Any) -> dict[BalanceKey, str]:
    """`withheld by anna@example.org since 2026-11-20: asked to wait`, by balance.

    The conditions name accounts and affiliates.
    """
    rows = WithheldBalance.objects.filter(**conditions)
    found = list(rows.order_by("affiliate", "currency"))
    if not found:
        return {}
    names, texts = find_names(user, (), [row.created_by for row in found]), {}
    for row in found:
        who = describe_actor(row.created_by, names)
        if "@" not in who:
            who = f"{who[:1].lower()}{who[1:]}"  # an operator
        text = f"withheld by {who} since {format_day(row.created_at)}"
        texts[row.affiliate_id, row.currency] = f"{text}: {row.reason}" if row.reason else text
    return texts


def find_withheld_texts(user, rows) -> dict[int, str]:
    """The texts of rows with an affiliate and a currency, by their primary keys."""
    texts = list_withheld_texts(
        user,
        account__in={row.account_id for row in rows},
        affiliate__in={row.affiliate_id for row in rows},
    )
    by_row = {row.pk: texts.get((row.affiliate_id, row.currency)) for row in rows}
    return {pk: text for pk, text in by_row.items() if text}


def warn_of_withheld(rows) -> str:
    """Which of these balances are withheld; empty if none is."""
    names = [f"{row.affiliate} in {row.currency}" for row in rows if row.is_withheld]
    return f"Withheld, but paid with it: {', '.join(names)}." if names else ""


class LiftPage(FormPage):
    """Let payout runs pay a balance again."""

    name = "lift"
    title = button = "Lift withholding"
    permission = "payouts.add_payment"
    service = staticmethod(lift_withheld_balance)
    done_message = "Payout runs pay {row.affiliate} in {row.currency} again."

    @classmethod
    def is_offered(cls, ledger_account):
        rows = ledger_account.account.withheld_balances.filter(
            affiliate=ledger_account.affiliate_id, currency=ledger_account.currency
        )
        return rows.exists()

    def get_explanation(self):
        text = find_withheld_texts(self.request.user, [self.row]).get(self.row.pk, "")
        return (
            f"The balance is {text}\nThe next payout run pays what is"
            " due. A draft leaves it out until you put it back or re-make the draft."
        )

    def get_row_arguments(self):
        return {"affiliate_id": self.row.affiliate.slug, "currency": self.row.currency}
