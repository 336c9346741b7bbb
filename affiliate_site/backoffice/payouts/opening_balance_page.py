"""The form that takes back an opening balance."""

from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.money_pages import MoneyFormPage
from payouts.services.opening_balances import is_standing, reverse_opening_balance


class TakeBackOpeningBalancePage(MoneyFormPage):
    name = "take_back"
    title = "Take back opening balance"
    form_class = ServiceForm
    permission = "payouts.delete_payment"
    is_dangerous = True
    explanation = (
        "For an opening balance that is wrong: an entry of its own takes the amount"
        " back, and another opening balance can be imported. Payments that paid it"
        " stay, and count toward commissions then."
    )
    done_message = "The opening balance was taken back."

    @classmethod
    def is_offered(cls, transfer):
        return is_standing(transfer)

    def save(self, form, at):
        affiliate = self.row.debit.affiliate or self.row.credit.affiliate
        return reverse_opening_balance(
            self.account,
            affiliate_id=affiliate.slug,
            currency=self.row.currency,
            at=at,
        )
