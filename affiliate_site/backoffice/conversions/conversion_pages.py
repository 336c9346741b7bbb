"""Forms of a conversion: correct or remove it, add a commission."""

from django import forms

from affiliate_site.api.resources.conversions import (
    CommissionInputSerializer,
    ConversionUpdateSerializer,
    build_added_line_items,
    build_conversion_changes,
)
from affiliate_site.backoffice.conversions.commission_pages import (
    list_amount_change,
    warn_of_payments,
)
from affiliate_site.backoffice.conversions.new_conversion_page import MAX_ID_LENGTH
from affiliate_site.backoffice.form_pages import RemovePage
from affiliate_site.backoffice.formatters import format_change, format_money
from affiliate_site.backoffice.forms import (
    MULTI_LINE,
    DecimalField,
    MetaDataField,
)
from affiliate_site.backoffice.money_pages import (
    MoneyForm,
    MoneyFormPage,
    get_amount_initial,
)
from payouts.models.commissions import (
    MAX_COMMENT_LENGTH,
)
from payouts.services.conversion_updates import (
    add_commissions,
    delete_conversion,
    lock_conversion,
    update_conversion,
)
from tracking.errors import (
    DuplicateConversion,
)


class ConversionForm(MoneyForm):
    """What can be corrected about a conversion."""

    serializer_class = ConversionUpdateSerializer
    error_fields = {DuplicateConversion: "external_id"}

    amount = DecimalField()
    should_recalculate = forms.BooleanField(
        label="Recalculate the commissions",
        required=False,
        help_text="Only with a new amount. If you switch this off, the commissions keep"
        " their amounts.",
    )
    external_id = forms.CharField(
        label="Order ID", required=False, max_length=MAX_ID_LENGTH
    )
    meta_data = MetaDataField()

    def clean_external_id(self):
        """An order ID can be replaced, not removed, as in the API."""
        external_id = self.cleaned_data["external_id"]
        if self.initial.get("external_id") and not external_id.strip():
            raise forms.ValidationError("An order ID can be changed, but not removed.")
        return external_id


class ConversionPage(MoneyFormPage):
    """A form page of a conversion."""

    permission = "tracking.change_conversion"

    def get_row_arguments(self):
        return {"conversion_id": self.row.pk}

    def get_subject(self):
        return f"conversion {self.row.external_id or self.row}"

    def lock_row(self, at):
        return lock_conversion(self.account, self.row.pk)

    def list_alerts(self):
        return warn_of_payments(self.account.commissions.filter(conversion=self.row))


class EditConversionPage(ConversionPage):
    """Correct amount, order ID or meta data."""

    title = "Correct"
    confirm_button = "Confirm correction"
    form_class = ConversionForm
    explanation = (
        "With a new amount the commissions follow at the rates that they were"
        " calculated with, unless you keep them. A partial refund is a lower amount."
    )
    service = staticmethod(update_conversion)
    done_message = "Conversion {result} was saved."

    def get_unlocked_initial(self, conversion):
        return {
            "amount": get_amount_initial(conversion.amount, conversion.currency),
            "should_recalculate": True,
            "external_id": conversion.external_id or "",
            "meta_data": conversion.meta_data,
        }

    def lock_row(self, at):
        external_id = self.request.POST.get("external_id")
        return lock_conversion(self.account, self.row.pk, external_id=external_id)

    def must_be_confirmed(self, form):
        """Commissions change with the amount, and with an order ID those of a claim."""
        rows = self.account.conversions.not_deleted().exclude(pk=self.row.pk)
        holders = rows.filter(external_id=form.cleaned_data["external_id"])
        return "amount" in form.changed_data or holders.exists()

    def get_values(self, form):
        has_new_amount = "amount" in form.changed_data
        changes = build_conversion_changes(form.values)
        if not has_new_amount:
            changes.pop("amount", None)  # staff confirm only what they enter
        recalculates = has_new_amount and form.cleaned_data["should_recalculate"]
        return {"changes": changes, "should_recalculate": recalculates}

    def list_facts(self, form, conversion):
        has_new_amount = "amount" in form.changed_data
        is_kept = has_new_amount and not form.cleaned_data["should_recalculate"]
        return [
            *list_amount_change(self.row, conversion),
            ("Order ID", format_change(self.row.external_id, conversion.external_id)),
            ("Commissions", "keep their amounts" if is_kept else ""),
        ]


class RemoveConversionPage(ConversionPage, RemovePage):
    """Refund a sale: remove the conversion with its commissions."""

    title = "Remove (refund)"
    confirm_button = "Remove conversion"
    permission = "tracking.delete_conversion"
    explanation = (
        "A removed conversion counts nowhere any more; its commissions are taken back."
        " It stays visible here, and its order ID can be used again. This cannot be"
        " undone."
    )
    service = staticmethod(delete_conversion)
    done_message = "Conversion {row} was removed."


class NewCommissionForm(MoneyForm):
    """A commission that is added to a conversion."""

    serializer_class = CommissionInputSerializer
    amount_fields = ("conversion_sub_amount",)

    conversion_sub_amount = DecimalField(
        label="Amount that earns",
        help_text="The rate of the commission type applies to it; a fixed commission"
        " does not depend on it. The conversion's own amount stays.",
    )
    commission_type = forms.ChoiceField(
        required=False, help_text="Empty: the default type of the program."
    )
    comment = forms.CharField(
        required=False, max_length=MAX_COMMENT_LENGTH, widget=MULTI_LINE({"rows": 3})
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        types = self.account.commission_types.filter(program=self.row.program_id)
        self.fields["commission_type"].choices = [  # type: ignore[attr-defined]
            ("", "Default"),
            *((row.identifier, row.title) for row in types.order_by("id")),
        ]


class AddCommissionPage(ConversionPage):
    """Add a commission to a conversion."""

    name = "add-commission"
    title = "Add commission"
    permission = "payouts.add_commission"
    form_class = NewCommissionForm
    service = staticmethod(add_commissions)

    def get_values(self, form):
        return {"line_items": build_added_line_items([form.values], is_array=False)}

    def get_done_message(self, commissions):
        return f"Added to conversion {self.row}: " + ", ".join(
            f"commission {each} of {format_money(each.amount, each.currency)}"
            for each in commissions
        )


CONVERSION_PAGES = (EditConversionPage, AddCommissionPage, RemoveConversionPage)
