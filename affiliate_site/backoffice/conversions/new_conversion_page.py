"""The form of a conversion that staff add by hand."""

from datetime import UTC, datetime, time
from itertools import groupby
from typing import Any

from django import forms
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import capfirst

from accounts.errors import InvalidInput
from accounts.exact_json import format_decimal
from accounts.ids import SLUG_PATTERN
from accounts.services.accounts import ensure_not_locked
from affiliate_site.api.conversion_serializers import (
    ConversionInputSerializer,
    build_conversion_data,
)
from affiliate_site.backoffice.conversions.conversion_details import name_sale
from affiliate_site.backoffice.fields import (
    AffiliateField,
    DecimalField,
    MetaDataField,
    ProgramField,
    RowChoiceField,
)
from affiliate_site.backoffice.formatters import format_datetime, format_money
from affiliate_site.backoffice.money_pages import (
    AmountsForm,
    MoneyFormPage,
)
from affiliate_site.backoffice.object_pages import link_to
from payouts.explanation import explain_initial_status, list_skipped_parents
from payouts.models.commission_types import RateKind
from payouts.models.commissions import CommissionStatus
from payouts.services.conversion_creation import FIRST_YEAR, create_conversion
from tracking.attribution import CLICK_ID, COUPON, CUSTOMER
from tracking.errors import (
    AffiliateNotApproved,
    CookieExpired,
    DuplicateConversion,
    InvalidAssetOrSource,
    InvalidClickId,
    SaleDayOutOfRange,
    TooManyConversionAttempts,
    UnknownCoupon,
    UnknownCustomer,
)
from tracking.money import list_currencies
from tracking.services.visitors import find_first_coupon

MAX_ID_LENGTH = 255
TRACKING_SOURCE_TEXTS = {
    "customer": "the customer's affiliate",
    "coupon": "coupon",
    "referral_code": "referral code",
    "click": "click",
    "asset_source": "affiliate and program, of an asset link or chosen by staff",
    "tracking_id": "tracking ID of a visitor",
    "manual": "staff, who chose the affiliate",
}

# The fields of the tracking parameters that decide who earns.
PARAMETER_FIELDS = {CUSTOMER: "customer_id", COUPON: "coupon", CLICK_ID: "click_id"}


class OrderIdForm(AmountsForm):
    """A form with an order ID, which only one conversion of an account has."""

    def get_error_text(self, error):
        """With a link to the conversion that has the order ID."""
        if not isinstance(error, DuplicateConversion):
            return super().get_error_text(error)
        order_id = error.params["external_id"]
        found = self.account.conversions.filter(external_id=order_id).order_by("-id")
        text = "There is already a conversion with the order ID {}."
        return format_html(text, link_to(found.first(), order_id) or order_id)


class NewConversionForm(OrderIdForm):
    """A conversion that staff add by hand."""

    serializer_class = ConversionInputSerializer
    error_fields = {
        CookieExpired: "click_id",
        DuplicateConversion: "external_id",
        InvalidAssetOrSource: "affiliate",
        InvalidClickId: "click_id",
        TooManyConversionAttempts: "external_id",
        UnknownCoupon: "coupon",
        UnknownCustomer: "customer_id",
    }

    affiliate = AffiliateField(required=False)
    program = ProgramField(
        required=False, help_text="Empty: the only one that the affiliate is approved in."
    )
    coupon = forms.CharField(required=False, max_length=MAX_ID_LENGTH)
    click_id = forms.CharField(label="Click ID", required=False, max_length=MAX_ID_LENGTH)
    ignore_cookie_age = forms.BooleanField(
        label="Accept a click older than the cookie lifetime", required=False
    )
    created_at = forms.DateField(
        label="Day of the sale",
        required=False,
        help_text=f"Empty: now. From {FIRST_YEAR} on: earlier days are slips, as in imports.",
    )
    time = forms.TimeField(label="Time of the sale", required=False)
    customer_id = forms.CharField(
        label="Customer ID",
        required=False,
        max_length=MAX_ID_LENGTH,
        help_text="Your own ID of the buyer. The affiliate of a known customer earns,"
        " whatever else is entered.",
    )
    amount = DecimalField(help_text="Without tax and shipping, if these earn no commission.")
    currency = forms.ChoiceField(
        required=False,
        choices=lambda: [
            ("", "That of the program"),
            *((code, code) for code in sorted(list_currencies())),
        ],
    )
    external_id = forms.CharField(
        label="Order ID",
        required=False,
        max_length=MAX_ID_LENGTH,
        help_text="Each order ID can be used once.",
    )
    commission_type = RowChoiceField(
        "commission_types",
        required=False,
        help_text="One of the program that earns.",
    )
    meta_data = MetaDataField()

    fieldsets = (
        ("Sale", ("amount", "currency", "external_id", "customer_id")),
        ("When it was", ("created_at", "time")),
        (
            "Who earned it: an affiliate, a coupon or a click",
            ("affiliate", "program", "coupon", "click_id", "ignore_cookie_age"),
        ),
        ("More", ("commission_type", "meta_data")),
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        time_zone = self.account.time_zone
        self.fields["time"].help_text = f"In {time_zone}. Empty: the start of the day."
        types = self.account.commission_types.select_related("program")
        types = types.order_by("program__title", "program", "id")
        commission_type: Any = self.fields["commission_type"]
        commission_type.queryset = types
        commission_type.choices = [
            ("", "The default type of the program"),
            *(
                (program, [(row.pk, f"{row.title} ({program})") for row in rows])
                for program, rows in groupby(types, lambda row: row.program.title)
            ),
        ]
        programs = self.fields["program"].queryset  # type: ignore[attr-defined]
        if len(programs[:2]) == 1:
            self.initial.setdefault("program", programs[0].pk)

    def get_currency(self):
        """The chosen currency, else that of the chosen program."""
        program = self.cleaned_data.get("program")
        return self.cleaned_data.get("currency") or (program and program.currency)

    def clean_coupon(self):
        """The coupon of the account, in any case, as for sales that pages report."""
        coupon = self.cleaned_data["coupon"]
        return find_first_coupon(self.account, [coupon]) or coupon if coupon else ""

    def clean(self):
        """Exactly one affiliate, coupon or click, unless the customer is known."""
        sent = [name for name in ("affiliate", "coupon", "click_id") if self.cleaned_data.get(name)]
        if len(sent) > 1:
            labels = " and ".join(self.get_label(name) for name in sent)
            self.add_error(sent[-1], f"Enter one of these only: {labels}.")
        if sent == ["affiliate"] and self.cleaned_data.get("program", "") is None:
            self.choose_program(self.cleaned_data["affiliate"])
        if not sent and not self.cleaned_data.get("customer_id") and not self.errors:
            self.add_error("affiliate", "Enter an affiliate, a coupon or a click.")
        return super().clean()

    def get_sale_time(self, at: datetime) -> datetime | None:
        """When the sale was; None: now. Raises `SaleDayOutOfRange`."""
        today = self.account.get_day(at)
        day, of_day = self.cleaned_data["created_at"] or today, self.cleaned_data["time"]
        if day == today and of_day is None:
            return None
        try:
            return datetime.combine(day, of_day or time(), self.account.zone).astimezone(UTC)
        except OverflowError:
            raise SaleDayOutOfRange from None

    def choose_program(self, affiliate) -> None:
        """Take the only program that the affiliate is approved in."""
        enrollments = self.account.enrollments.filter(
            affiliate=affiliate, approved=True, program__archived_at=None
        ).select_related("program")
        programs = [row.program for row in enrollments.order_by("program__title")]
        if len(programs) == 1:
            self.cleaned_data["program"] = programs[0]
            return
        titles = ", ".join(program.title for program in programs) or "none"
        self.add_error("program", f"Choose the program; {affiliate} is approved in: {titles}.")

    def add_domain_error(self, error):
        if not isinstance(error, AffiliateNotApproved):
            return super().add_domain_error(error)
        field = PARAMETER_FIELDS.get(error.params["parameter"], "affiliate")
        return self.add_error(field, explain_approval(self.account, error))

    def build_body(self):
        """An affiliate in a program stands for its asset and source."""
        body = super().build_body()
        affiliate, program = (self.cleaned_data.get(name) for name in ("affiliate", "program"))
        for name in ("affiliate", "program", "created_at", "time", "ignore_cookie_age"):
            body.pop(name, None)
        if affiliate is not None and program is not None:
            asset = self.account.assets.filter(program=program).first()
            source = self.account.sources.filter(affiliate=affiliate).first()
            body["asset_id"] = f"{asset.pk}-{asset.hex}" if asset else ""
            body["source_id"] = f"{source.pk}-{source.hex}" if source else ""
        if commission_type := self.cleaned_data.get("commission_type"):
            body["commission_type"] = commission_type.identifier
        return body


def explain_approval(account, error: AffiliateNotApproved) -> str:
    """Where staff approve an affiliate, or add it to the program first."""
    slug, program_slug = error.params["affiliate"], error.params["program"]
    affiliate = account.affiliates.filter(slug=slug, deleted_at=None).first()
    program = account.programs.filter(slug=program_slug).first()
    if affiliate is None or program is None:
        return error.text
    enrollment = account.enrollments.filter(affiliate=affiliate, program=program).first()
    if enrollment is None:
        name, row, state, link = (
            "affiliate_program",
            affiliate,
            "not in",
            "Add it to the program",
        )
    else:
        name, row, link = "enrollment_approve", enrollment, "Approve it"
        state = "pending in" if enrollment.approved is None else "disapproved in"
    return format_html(
        "{} is {} {} and cannot earn there."
        ' <a class="underline" href="{}" target="_blank">{}</a> (in a new tab),'
        " then continue here.",
        slug,
        state,
        program.title,
        reverse(f"admin:tracking_{name}", args=[row.pk]),
        link,
    )


class AddConversionPage(MoneyFormPage):
    title = "Add conversion"
    permission = "tracking.add_conversion"
    form_class = NewConversionForm
    explanation = (
        "For sales that were not tracked. You see who earns what before anything is stored."
        " A sale of an earlier day is attributed, held and counted as of then, and rates for"
        " some sales are those of its day. Rates of commission types and groups, of which"
        " earlier ones are not kept, are those of today, and so are its ledger entries."
    )

    def get_initial(self):
        """What a link names: the affiliate by its ID, the order and its day."""
        query = self.request.GET
        slug = query.get("affiliate", "")
        rows = self.account.affiliates.not_deleted().filter(slug=slug)
        affiliate = rows.first() if SLUG_PATTERN.fullmatch(slug) else None
        named = {"affiliate": affiliate and affiliate.pk}
        named["external_id"] = query.get("external_id", "")[:MAX_ID_LENGTH]
        named["created_at"] = query.get("day", "")[:10]
        return super().get_initial() | {k: v for k, v in named.items() if v}

    def save(self, form, at):
        """Attribute the sale as the API does."""
        ensure_not_locked(self.account)
        query = {"override_max_cookie_time": form.cleaned_data["ignore_cookie_age"]}
        data = build_conversion_data(
            form.validated | query,
            form.validated.get("external_id"),
            created_at=form.get_sale_time(at),
        )
        conversion = create_conversion(self.account, data=data, at=at)
        commission_type = form.cleaned_data["commission_type"]
        if commission_type and commission_type.program_id != conversion.program_id:
            raise OtherProgramsType(program=conversion.program.title)
        return conversion

    def list_facts(self, form, conversion):
        commissions = self.account.commissions.filter(conversion=conversion)
        chosen = form.cleaned_data["affiliate"]
        day, today = map(self.account.get_day, (conversion.created_at, timezone.now()))
        other = chosen if chosen != conversion.affiliate else None
        return [
            ("Sale", format_money(conversion.amount, conversion.currency)),
            ("Sold", format_datetime(conversion.created_at)),
            ("Rates", day != today and "of types and groups: today's; for some sales: that day's"),
            ("Affiliate", conversion.affiliate.slug),
            ("Program", conversion.program.title),
            (
                "Decided by",
                TRACKING_SOURCE_TEXTS.get(conversion.tracking_source, conversion.tracking_source),
            ),
            ("Coupon", form.cleaned_data["coupon"]),
            (
                "Not earned by",
                other
                and f"{other}, whom you chose: a sale of a known customer belongs"
                f" to the affiliate of the customer, {conversion.affiliate}",
            ),
            ("Order ID", conversion.external_id),
            ("Customer", conversion.customer and conversion.customer.customer_id),
            *(
                (f"Commission of {each.affiliate}", describe_calculation(each))
                for each in commissions.select_related("affiliate").order_by("id")
            ),
            *list_skipped_parents(commissions),
        ]

    def get_done_message(self, conversion):
        amount = format_money(conversion.amount, conversion.currency)
        return f"{capfirst(name_sale(conversion))} of {amount} was added."


def describe_calculation(commission) -> str:
    """`Standard, 15 % of 300.00 EUR`, or `Standard, 5.00 EUR fixed`."""
    currency = commission.currency
    rate = f"{format_money(commission.rate, currency)} fixed"
    if commission.rate_kind == RateKind.PERCENTAGE:
        amount = format_money(commission.sub_amount, currency)
        rate = f"{format_decimal(commission.rate)} % of {amount}"
        if commission.rate_fixed:
            rate += f" + {format_money(commission.rate_fixed, currency)}"
    text = f"{commission.name}, {rate}"
    if commission.status != CommissionStatus.DISAPPROVED:
        return text
    return f"{text}; disapproved: {explain_initial_status(commission)}"


class OtherProgramsType(InvalidInput):
    """The commission type belongs to another program than the one that earns."""

    message = "Choose a commission type of {program}, which the sale belongs to."
    property_path = "commission_type"
