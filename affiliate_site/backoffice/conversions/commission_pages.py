"""What all forms of a commission have, and the one that corrects it."""

from django import forms
from django.utils.html import format_html, format_html_join

from affiliate_site.api.resources.commissions import (
    CommissionUpdateSerializer,
    build_commission_changes,
)
from affiliate_site.backoffice.fields import MULTI_LINE, DecimalField
from affiliate_site.backoffice.formatters import format_money
from affiliate_site.backoffice.money_pages import (
    AmountsForm,
    MoneyFormPage,
    get_amount_initial,
)
from affiliate_site.backoffice.object_pages import link_to
from payouts.models.commissions import (
    MAX_COMMENT_LENGTH,
    Commission,
    CommissionKind,
    is_finalized,
)
from payouts.services.conversion_updates import lock_commission, update_commission


def warn_of_payments(commissions) -> list[str]:
    """An alert about the commissions that are paid, if there are any."""
    paid = commissions.exclude(payment=None).select_related("payment").order_by("id")
    links = format_html_join(
        ", ",
        "commission {} of {} by {}",
        ((each, format_money(each.amount, each.currency), link_to(each.payment)) for each in paid),
    )
    if not links:
        return []
    return [
        format_html(
            "Paid already: {}. Payments stay: a difference is added to the balance due,"
            " or taken from it.",
            links,
        )
    ]


def list_amount_change(before, after) -> list[tuple[str, str]]:
    """The amount of a conversion before and after a correction that changes it."""
    if before.amount == after.amount:
        return []
    return [
        ("Sale before", format_money(before.amount, before.currency)),
        ("Sale after", format_money(after.amount, after.currency)),
    ]


class CommissionForm(AmountsForm):
    """What can be corrected about a commission."""

    serializer_class = CommissionUpdateSerializer
    amount_fields = ("amount", "conversion_sub_amount")

    amount = DecimalField(
        label="Commission",
        help_text="A new amount replaces the calculated one. Commissions of parent"
        " affiliates stay.",
    )
    conversion_sub_amount = DecimalField(
        label="Amount that earns",
        required=False,
        help_text="With a new one the commission is calculated again at its rate, and"
        " the conversion's amount changes by the difference.",
    )
    comment = forms.CharField(
        required=False, max_length=MAX_COMMENT_LENGTH, widget=MULTI_LINE({"rows": 3})
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if self.row.kind != CommissionKind.REGULAR:
            del self.fields["conversion_sub_amount"]
        if is_finalized(self.row.status, self.account):
            self.fields["amount"].disabled = True
            self.fields.pop("conversion_sub_amount", None)

    def clean_conversion_sub_amount(self):
        """It can change, but not be removed."""
        amount = self.cleaned_data["conversion_sub_amount"]
        if amount is None and self.initial.get("conversion_sub_amount") is not None:
            raise forms.ValidationError("This field is required.")
        return amount

    def build_body(self):
        """Only what was changed: an amount that is sent replaces the calculated one."""
        body = super().build_body()
        return {name: body[name] for name in self.changed_data if name in body}


class CommissionFormPage(MoneyFormPage):
    model = Commission
    subject = "commission {row} of {row.affiliate}"
    row_argument = ("commission_id", "pk")

    def lock_row(self, at):
        return lock_commission(self.account, commission_id=self.row.pk, at=at)

    def list_alerts(self):
        return warn_of_payments(self.account.commissions.filter(pk=self.row.pk))

    def list_facts(self, form, result):
        payment = self.row.payment
        text = f"{payment}; the commission will count as unpaid"
        return [("Paid by", payment and text)]


class EditCommissionPage(CommissionFormPage):
    """Correct amount or comment."""

    title = "Correct"
    confirm_button = "Confirm correction"
    form_class = CommissionForm
    service = staticmethod(update_commission)
    done_message = "Commission {row} was saved."

    def get_unlocked_initial(self, commission):
        currency = commission.currency
        initial = {
            "amount": get_amount_initial(commission.amount, currency),
            "comment": commission.comment or "",
        }
        if commission.kind == CommissionKind.REGULAR:
            initial["conversion_sub_amount"] = get_amount_initial(commission.sub_amount, currency)
        return initial

    def must_be_confirmed(self, form):
        """The sale changes even if a fixed commission does not."""
        return "conversion_sub_amount" in form.changed_data

    def get_values(self, form):
        return {"changes": build_commission_changes(form.values)}

    def save(self, form, at):
        """Return the sale before and after; both are None without one."""
        sales = self.account.conversions.filter(pk=self.row.conversion_id)
        sale_before = sales.first()
        super().save(form, at)
        return sale_before, sales.first()

    def list_facts(self, form, result):
        sale_before, sale_after = result
        return list_amount_change(sale_before, sale_after) if sale_before else []
