"""Forms of a conversion: refund, correct or remove it, add a commission."""

from typing import Any

from django import forms
from django.utils.text import capfirst

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
from affiliate_site.backoffice.conversions.conversion_details import (
    name_line,
    name_sale,
)
from affiliate_site.backoffice.conversions.new_conversion_page import (
    MAX_ID_LENGTH,
    OrderIdForm,
    explain_approval,
)
from affiliate_site.backoffice.fields import (
    MULTI_LINE,
    AffiliateField,
    DecimalField,
    MetaDataField,
)
from affiliate_site.backoffice.form_pages import RemovePage
from affiliate_site.backoffice.formatters import format_change, format_money
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.money_pages import (
    AmountsForm,
    MoneyFormPage,
    get_amount_initial,
)
from payouts.errors import CommissionNotFound
from payouts.explanation import list_skipped_parents
from payouts.models.commissions import (
    MAX_COMMENT_LENGTH,
)
from payouts.models.refunds import MAX_REASON_LENGTH
from payouts.services.conversion_updates import (
    add_commissions,
    lock_conversion,
)
from payouts.services.corrections import (
    correct_conversion,
    reattribute_conversion,
    remove_conversion,
)
from payouts.services.refunds import (
    list_existing_commissions,
    list_lines,
    refund_conversion,
)
from payouts.services.shop_refunds import end_dispute
from tracking.errors import (
    AffiliateDeleted,
    AffiliateNotApproved,
    AffiliateNotFound,
    DuplicateConversion,
)
from tracking.models.conversions import Conversion

EVERYTHING, LINES, AMOUNT = "everything", "lines", "amount"
LINE_PREFIX = "line_"  # of the fields of lines, before the ID of the commission


class ReasonForm(ServiceForm):
    """A form with a reason, below its other fields."""

    def build_fields(self):
        return super().build_fields() | {
            "reason": forms.CharField(
                max_length=MAX_REASON_LENGTH,
                widget=MULTI_LINE({"rows": 3}),
                help_text="Kept with the sale and shown on its page, for staff.",
            )
        }


class ConversionPage(MoneyFormPage):
    model = Conversion
    row_argument = ("conversion_id", "pk")

    def get_subject(self):
        return name_sale(self.row)

    def get_done_message(self, result):
        return self.done_message.format(sale=capfirst(name_sale(self.row)), result=result)

    def lock_row(self, at):
        return lock_conversion(self.account, self.row.pk)

    def must_be_confirmed(self, form):
        """The sale changes even if no money moves."""
        return True

    def list_alerts(self):
        return warn_of_payments(self.account.commissions.filter(conversion=self.row))

    def list_parents_without_commission(self):
        """The parents who earn nothing from the sale as it is now."""
        commissions = self.account.commissions.not_deleted()
        return list_skipped_parents(commissions.filter(conversion=self.row))


class EditConversionPage(ConversionPage):
    """Correct amount, order ID or meta data."""

    title = "Correct"
    confirm_button = "Confirm correction"
    explanation = (
        "With a new amount the commissions follow at the rates that they were"
        " calculated with, unless you keep them. If the customer got money back, use"
        " Refund; if another affiliate led to the sale, Change affiliate."
    )
    service = staticmethod(correct_conversion)

    class Form(ReasonForm, OrderIdForm):
        serializer_class = ConversionUpdateSerializer
        error_fields = {DuplicateConversion: "external_id"}

        amount = DecimalField()
        should_recalculate = forms.BooleanField(
            label="Recalculate the commissions",
            required=False,
            help_text="Only with a new amount. If you switch this off, the commissions keep"
            " their amounts.",
        )
        external_id = forms.CharField(label="Order ID", required=False, max_length=MAX_ID_LENGTH)
        meta_data = MetaDataField()

        def clean_external_id(self):
            """An order ID can be replaced, not removed, as in the API."""
            external_id = self.cleaned_data["external_id"]
            if self.initial.get("external_id") and not external_id.strip():
                raise forms.ValidationError("An order ID can be changed, but not removed.")
            return external_id

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
        return {
            "changes": changes,
            "should_recalculate": recalculates,
            "reason": form.cleaned_data["reason"],
        }

    def get_done_message(self, conversion):
        amounts = (format_money(it.amount, it.currency) for it in (self.row, conversion))
        change = format_change(*amounts)
        saved = f"{capfirst(name_sale(conversion))} was saved"
        return f"{saved}: amount {change}." if change else f"{saved}."

    def list_facts(self, form, conversion):
        has_new_amount = "amount" in form.changed_data
        is_kept = has_new_amount and not form.cleaned_data["should_recalculate"]
        return [
            *list_amount_change(self.row, conversion),
            ("Order ID", format_change(self.row.external_id, conversion.external_id)),
            ("Commissions", "keep their amounts" if is_kept else ""),
            *([] if is_kept else self.list_parents_without_commission()),
            ("Reason", form.cleaned_data["reason"]),
        ]


class AffiliateForm(ReasonForm):
    """Who earns a sale instead."""

    error_fields = {AffiliateDeleted: "affiliate", AffiliateNotFound: "affiliate"}

    affiliate = AffiliateField(help_text="It must be approved in the program of the sale.")

    def add_domain_error(self, error):
        if isinstance(error, AffiliateNotApproved):
            self.add_error("affiliate", explain_approval(self.account, error))
        else:
            super().add_domain_error(error)


class ChangeAffiliatePage(ConversionPage):
    """Attribute a sale to another affiliate."""

    name = "affiliate"
    title = "Change affiliate"
    confirm_button = "Confirm new affiliate"
    form_class = AffiliateForm
    explanation = (
        "For a sale that another affiliate led to. All its commissions are taken back,"
        " and the new affiliate earns what the rates of today give. The customer stays"
        " with its affiliate: this sale is an exception."
    )
    service = staticmethod(reattribute_conversion)
    done_message = "{sale} belongs to {result.affiliate} now."

    def get_values(self, form):
        affiliate = form.cleaned_data["affiliate"].slug
        return {"affiliate_id": affiliate, "reason": form.cleaned_data["reason"]}

    def list_facts(self, form, conversion):
        change = format_change(self.row.affiliate.slug, conversion.affiliate.slug)
        return [
            ("Affiliate", change),
            *self.list_parents_without_commission(),
            ("Reason", form.cleaned_data["reason"]),
        ]


class RefundForm(ReasonForm, AmountsForm):
    """How much the customer got back; with several lines also of which."""

    error_fields = {CommissionNotFound: "refunded"}

    refunded = forms.ChoiceField(label="The customer got back", initial=EVERYTHING)
    amount = DecimalField(
        required=False,
        help_text="For an amount without lines: it lowers all of them in proportion.",
    )

    def build_fields(self):
        """Add a field for each of several lines."""
        self.lines = list_lines(list_existing_commissions(self.row))
        if len(self.lines) == 1:
            self.lines = []
        left = format_money(self.row.amount, self.row.currency)
        self.fields["refunded"].choices = [  # type: ignore[attr-defined]
            (EVERYTHING, f"Everything: {left}"),
            *([(LINES, "Lines of the sale")] if self.lines else []),
            (AMOUNT, "An amount"),
        ]
        fields = {
            f"{LINE_PREFIX}{line.pk}": DecimalField(
                label=name_line(line),
                required=False,
                help_text=f"Of {format_money(line.sub_amount, line.currency)}.",
            )
            for line in self.lines
        }
        self.amount_fields = ("amount", *fields)
        return fields | super().build_fields()

    def get_fieldsets(self):
        """The lines have a heading of their own."""
        _, *lines = self.amount_fields
        fieldsets = [
            (None, ("refunded",)),
            ("Lines: what the customer got back of each", lines),
            (None, ("amount", "reason")),
        ]
        return [(title, {"fields": names}) for title, names in fieldsets if names]

    def clean(self):
        """Amounts, and only those, for what was chosen."""
        values = super().clean()
        chosen = values.get("refunded")
        field: Any = self.fields["refunded"]
        for name in self.amount_fields:
            expected = AMOUNT if name == "amount" else LINES
            if values.get(name) is not None and chosen not in (None, expected):
                choices = dict(field.choices)
                question = f"{choices[chosen]}, or this: {choices[expected]}?"
                self.add_error(name, f"{question} Choose it above, or empty this.")
        if chosen == LINES and not self.list_line_amounts() and not self.errors:
            self.add_error("refunded", "Enter the amount of one line or more.")
        if chosen == AMOUNT and values.get("amount") is None and not self.errors:
            self.add_error("amount", "Enter an amount.")
        return values

    def list_line_amounts(self):
        """The amounts that were entered, by the ID of the commission."""
        return {
            line.pk: amount
            for line in self.lines
            if (amount := self.cleaned_data.get(f"{LINE_PREFIX}{line.pk}"))
        }


class RefundPage(ConversionPage):
    """Refund a sale: everything, lines of it, or an amount."""

    name = "refund"
    title = "Refund"
    confirm_button = "Confirm refund"
    form_class = RefundForm
    explanation = (
        "For a sale whose customer got money back: the commissions of what was"
        " refunded are taken back. If everything was refunded, the sale counts nowhere"
        " any more. This cannot be undone."
    )
    service = staticmethod(refund_conversion)

    def get_values(self, form):
        chosen, values = form.cleaned_data["refunded"], {}
        if chosen == LINES:
            values = {"line_amounts": form.list_line_amounts()}
        elif chosen == AMOUNT:
            values = {"amount": form.cleaned_data["amount"]}
        return values | {"reason": form.cleaned_data["reason"]}

    def list_facts(self, form, refund):
        before, currency = self.row.amount, refund.currency
        after = format_money(before - refund.amount, currency)
        return [
            ("Refund", format_money(refund.amount, currency)),
            ("Sale before", format_money(before, currency)),
            ("Sale after", "removed" if refund.is_full else after),
            ("Reason", refund.reason),
        ]

    def get_done_message(self, refund):
        amount = format_money(refund.amount, refund.currency)
        return f"{amount} of {self.get_subject()} was refunded."


class RemoveConversionPage(ConversionPage, RemovePage):
    form_class = ReasonForm
    is_sent_by_button = False  # it asks for the reason
    confirm_button = "Remove conversion"
    explanation = (
        "For a sale that should never have been recorded, such as a test: it counts"
        " nowhere any more, and its commissions are taken back. It stays visible here,"
        " and its order ID can be used again. This cannot be undone. If the customer"
        " got money back, use Refund."
    )
    service = staticmethod(remove_conversion)
    done_message = "{sale} was removed."

    def list_facts(self, form, result):
        return [("Reason", form.cleaned_data["reason"])]


class AddCommissionPage(ConversionPage):
    name = "add-commission"
    title = "Add commission"
    permission = "payouts.add_commission"
    service = staticmethod(add_commissions)

    class Form(AmountsForm):
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

    def get_values(self, form):
        return {"line_items": build_added_line_items([form.values], is_array=False)}

    def get_done_message(self, commissions):
        return f"Added to {name_sale(self.row)}: " + ", ".join(
            f"commission {each} of {format_money(each.amount, each.currency)}"
            for each in commissions
        )


CONVERSION_PAGES = (
    RefundPage,
    EditConversionPage,
    ChangeAffiliatePage,
    AddCommissionPage,
    RemoveConversionPage,
)


class EndDisputePage(ConversionPage):
    """End the dispute about a sale; the buyer got nothing back."""

    name = "end_dispute"
    title = "End dispute"
    form_class = ServiceForm
    explanation = (
        "For a dispute that was decided for you, and the shop did not report it: the"
        " commissions are what they were before. If the buyer got the money back, use"
        " Refund. What the shop reports later still counts."
    )
    service = staticmethod(end_dispute)
    done_message = "{sale} is no longer disputed."

    @classmethod
    def is_offered(cls, conversion):
        return super().is_offered(conversion) and conversion.disputed_at is not None
