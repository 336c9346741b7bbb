"""Rates of a program for some of its sales: add one, end it, and how the program lists them."""

import re
from datetime import timedelta
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator
from django.utils import timezone

from accounts.days import A_DAY, start_of_day
from affiliate_site.backoffice.fields import (
    AffiliateField,
    DecimalField,
    KeyValueField,
    RowChoiceField,
)
from affiliate_site.backoffice.formatters import format_day, format_money
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.programs.rate_pages import AddRatePage, RatePage
from payouts.calculation import describe_rule
from payouts.errors import InvalidRate
from payouts.models.commission_types import RateKind
from payouts.models.rates import Rate
from payouts.rates import AMOUNT, COUNTRY, CUSTOMER_KIND, META_DATA, NEW, RETURNING
from payouts.services.program_rates import add_rate, end_rate, find_start
from payouts.services.rate_files import MAX_NUMBER, describe_row
from payouts.services.statements import LAST_DAY

A_SECOND = timedelta(seconds=1)
CONDITION = re.compile(r"when\[(\d+)\]")
FROM_WHEN = "Empty: from now on. Sales of earlier days keep the rates that they had."
KINDS = (("", "All"), (NEW, "New customers"), (RETURNING, "Returning customers"))


def build_day_field(**kwargs) -> forms.DateField:
    """A day, which may be left out."""
    last = MaxValueValidator(LAST_DAY - A_DAY, f"Enter a day before {LAST_DAY}.")
    return forms.DateField(required=False, validators=[last], **kwargs)


def build_number_field(**kwargs) -> forms.IntegerField:
    """A number of orders, or of months."""
    return forms.IntegerField(min_value=1, max_value=MAX_NUMBER, required=False, **kwargs)


class FurtherRateForm(ServiceForm):
    """A rate and the sales for which it counts, by the names of a file of rates."""

    percentage = DecimalField(required=False, help_text="10 is 10 percent of the sale.")
    fixed = DecimalField(
        label="Fixed amount",
        required=False,
        help_text="For each sale, in the currency of the program; beside a percentage: on top.",
    )
    affiliate = AffiliateField(required=False, help_text="Empty: everybody.")
    group = RowChoiceField("affiliate_groups", required=False, empty_label="All groups")
    type = RowChoiceField(
        "commission_types",
        label="Commission type",
        label_from=lambda row: row.title,
        required=False,
        empty_label="All without a rate of their own",
    )
    orders__from = build_number_field(
        label="From order number", help_text="Of a customer: 1 is the first order."
    )
    orders__to = build_number_field(label="To order number", help_text="Empty: all later ones.")
    orders__months = build_number_field(
        label="Months", help_text="In place of numbers: so many months from the first order."
    )
    country = forms.CharField(
        required=False, help_text="Codes such as DE, AT, where sales say it: metadata country."
    )
    customer_kind = forms.ChoiceField(label="Customers", choices=KINDS, required=False)
    amount = DecimalField(label="Sales above", required=False)
    when = KeyValueField(
        label="Metadata",
        required=False,
        help_text="Sales with all of these, one per line, such as channel: b2b.",
    )
    starts_at = build_day_field(label="First day", help_text=FROM_WHEN)
    ends_at = build_day_field(label="Last day", help_text="Empty: no end.")

    error_fields = {InvalidRate: "percentage"}
    fieldsets = (
        (None, ("percentage", "fixed")),
        ("For whom", ("affiliate", "group")),
        (
            "For which sales",
            (
                *("type", "orders__from", "orders__to", "orders__months"),
                *("country", "customer_kind", "amount", "when"),
            ),
        ),
        ("When", ("starts_at", "ends_at")),
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        types: Any = self.fields["type"]
        types.queryset = types.queryset.filter(program=self.row).in_definition_order()
        self.initial["type"] = types.queryset.filter(is_default=True).first()

    def list_conditions(self):
        """Pairs of the field that a condition was entered in, and the condition."""
        sent = self.cleaned_data
        if countries := sent["country"].replace(",", " ").upper().split():
            yield COUNTRY, {"field": COUNTRY, "is": countries}
        if kind := sent["customer_kind"]:
            yield CUSTOMER_KIND, {"field": CUSTOMER_KIND, "is": kind}
        if (amount := sent["amount"]) is not None:
            yield AMOUNT, {"field": AMOUNT, "above": amount}
        for key, text in sent["when"].items():
            yield "when", {"field": f"{META_DATA}{key}", "is": text}

    def build_words(self):
        """The rate as a file has it, but for the day from which it counts."""
        sent = self.cleaned_data
        orders = {
            name.removeprefix("orders__"): sent[name]
            for name in ("orders__from", "orders__to", "orders__months")
            if sent[name] is not None
        }
        last = sent["ends_at"]
        words = {
            "percentage": sent["percentage"],
            "fixed": sent["fixed"],
            "affiliate": sent["affiliate"] and sent["affiliate"].slug,
            "group": sent["group"] and sent["group"].public_id,
            "type": sent["type"] and sent["type"].identifier,
            "orders": orders or None,
            "when": [condition for _, condition in self.list_conditions()] or None,
            "ends_at": last and (last + A_DAY).isoformat(),
        }
        return {name: value for name, value in words.items() if value is not None}

    def find_field(self, path):
        if found := CONDITION.match(path or ""):
            names = [name for name, _ in self.list_conditions()]
            return names[int(found[1])]
        return super().find_field(path)


def read_first_day(account, day):
    """The first moment of a day of the account; None for an empty field: now."""
    return start_of_day(day, account.zone) if day else None


class AddFurtherRatePage(AddRatePage):
    name = "add-rate"
    title = button = "Add rate"
    explanation = (
        "A rate for some sales, in place of the rate of the commission type. Where several hold,"
        " one counts: that of an affiliate before that of a group before all others, one with a"
        " commission type before one without, one with more conditions, one for certain orders,"
        " the one that began last. Sales that are stored keep their rates."
    )
    form_class = FurtherRateForm

    def save(self, form, at):
        starts_at = read_first_day(self.account, form.cleaned_data["starts_at"])
        return add_rate(self.account, self.row.slug, form.build_words(), starts_at=starts_at, at=at)

    def get_done_message(self, result):
        return f"{describe_rate(result)}: was added."


class EndRatePage(RatePage):
    name = "end"
    title = button = "End rate"
    explanation = "Sales from then on earn by the other rates. Sales that are stored keep theirs."

    class Form(ServiceForm):
        ends_at = build_day_field(label="Last day", help_text="Empty: it ends now.")

    @classmethod
    def is_offered(cls, row):
        return row.ends_at is None or row.ends_at > timezone.now()

    def get_subject(self):
        return describe_rate(self.row)

    def save(self, form, at):
        last = form.cleaned_data["ends_at"]
        ends_at = read_first_day(self.account, last and last + A_DAY)
        return end_rate(self.account, pk=self.row.pk, ends_at=ends_at, at=at)

    def get_done_message(self, result):
        return f"{describe_rate(result)}: ends."


def format_parts(row: Rate) -> str:
    """`15 % + 3.00 EUR`, or one of both."""
    currency = row.program.currency
    parts = [f"{row.value.normalize():f} %"] if row.kind == RateKind.PERCENTAGE else []
    fixed = row.value if row.kind == RateKind.FIXED else row.fixed
    return " + ".join([*parts, *([format_money(fixed, currency)] if fixed is not None else [])])


def describe_rate(row: Rate) -> str:
    """`15 % + 3.00 EUR for order 1 of a customer`."""
    return f"{format_parts(row)} for {describe_sales(row)}"


def describe_sales(row: Rate) -> str:
    """`affiliate Ada Stone, type Lamps`: which sales it is for, with names for IDs."""
    names = {
        "affiliate": row.affiliate and str(row.affiliate),
        "group": row.group and row.group.title,
        "type": row.commission_type and row.commission_type.title,
    }
    return describe_rule(describe_row(row) | {name: text for name, text in names.items() if text})


def describe_cells(row: Rate, at) -> tuple[str, ...]:
    """The sales that it is for, the rate, its first day and its last one."""
    start = find_start(row, at) or row.counts_from
    last = format_day(row.ends_at - A_SECOND) if row.ends_at else "no end"
    return describe_sales(row), format_parts(row), format_day(start), last
