"""Forms of minimums: of the account and of an affiliate."""

from django import forms

from affiliate_site.backoffice.affiliates.affiliate_pages import AffiliatePage
from affiliate_site.backoffice.fields import DecimalField
from affiliate_site.backoffice.form_pages import AddPage, EditPage, FormPage, RemovePage
from affiliate_site.backoffice.formatters import format_money
from affiliate_site.backoffice.forms import ServiceForm
from payouts.models.runs import PayoutMinimum
from payouts.services.payables import AmountsDue
from payouts.services.payout_limits import (
    get_minimums,
    remove_minimum,
    set_minimum,
)
from tracking.money import ZERO, list_currencies, round_amount
from tracking.services.programs import find_oldest_active_program

WAITS = (
    "What is due to an affiliate in a currency is paid from this amount on; less waits"
    " for the next payout run."
)


def get_usual_currency(account) -> str:
    program = find_oldest_active_program(account)
    return account.default_currency or (program.currency if program else "")


class MinimumForm(ServiceForm):
    currency = forms.ChoiceField(
        choices=lambda: [(code, code) for code in sorted(list_currencies())]
    )
    amount = DecimalField(label="Minimum")


class AddMinimumPage(AddPage):
    model = PayoutMinimum
    button = "Save"
    explanation = f"{WAITS} An affiliate can have a minimum of its own: on its page."
    form_class = MinimumForm
    service = staticmethod(set_minimum)
    done_message = "The minimum of {result} was saved."
    leads_to_list = True

    def get_initial(self):
        return super().get_initial() | {"currency": get_usual_currency(self.account)}

    def get_explanation(self):
        kept = get_minimums(self.account, []).of_account
        amounts = ", ".join(format_money(n, code) for code, n in sorted(kept.items()))
        replaced = f" The present one of its currency is replaced: {amounts}."
        return f"{self.explanation}{replaced if amounts else ''}"


class MinimumPage(FormPage):
    model = PayoutMinimum
    noun = "minimum"
    leads_to_list = True

    @classmethod
    def is_offered(cls, minimum):
        return minimum.affiliate is None or minimum.affiliate.deleted_at is None

    def get_row_arguments(self):
        affiliate = self.row.affiliate
        return {
            "currency": self.row.currency,
            "affiliate_id": affiliate and affiliate.slug,
        }


class EditMinimumPage(MinimumPage, EditPage):
    explanation = WAITS
    locks_account = True
    service = staticmethod(set_minimum)
    done_message = "The minimum of {result} was saved."

    class Form(ServiceForm):
        amount = DecimalField(label="Minimum")

    def get_unlocked_initial(self, minimum):
        return {"amount": round_amount(minimum.amount, minimum.currency)}


class RemoveMinimumPage(MinimumPage, RemovePage):
    explanation = "The next payout run pays smaller amounts, too."
    service = staticmethod(remove_minimum)
    done_message = "The minimum of {row} was removed."


MINIMUM_PAGES = (EditMinimumPage, RemoveMinimumPage)


class SetOwnMinimumPage(AffiliatePage):
    name = "minimum"
    title = "Set payout minimum"
    permission = "payouts.change_payoutminimum"
    explanation = WAITS
    locks_account = True

    class Form(MinimumForm):
        amount = DecimalField(
            label="Minimum",
            required=False,
            help_text="Empty: the minimum of the account, if there is one.",
        )

    def get_unlocked_initial(self, affiliate):
        """Begin with the minimum that it has, if there is one."""
        minimums = get_minimums(affiliate.account, [affiliate.pk]).of_affiliates
        for (_, currency), amount in sorted(minimums.items()):
            return {"currency": currency, "amount": round_amount(amount, currency)}
        return {"currency": get_usual_currency(affiliate.account)}

    def save(self, form, at):
        values = form.values | self.get_row_arguments()
        if values["amount"] is None:
            del values["amount"]
            return remove_minimum(self.account, **values, at=at)
        return set_minimum(self.account, **values, at=at)

    def get_done_message(self, minimum):
        if minimum is None:
            return f"{self.row} has the minimum of the account now."
        return f"The minimum of {self.row} is {minimum} now."


def list_own_minimums(affiliate) -> list[str]:
    minimums = get_minimums(affiliate.account, [affiliate.pk]).of_affiliates
    return [format_money(amount, currency) for (_, currency), amount in sorted(minimums.items())]


def describe_minimum(ledger_account, amounts: AmountsDue) -> str:
    """The minimum of a balance, and that what is due waits; empty without one."""
    key = (ledger_account.affiliate_id, ledger_account.currency)
    minimum = get_minimums(ledger_account.account, [key[0]]).find(key)
    if minimum is None:
        return ""
    text = format_money(minimum, ledger_account.currency)
    if ZERO < amounts.due < minimum:
        return f"below the minimum of {text}: waits for the next run"
    return text
