"""Forms of conversions and commissions: add, correct, remove, decide."""

from itertools import groupby

from django import forms
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from accounts.errors import InvalidInput
from accounts.exact_json import format_decimal
from accounts.services.accounts import ensure_not_locked
from affiliate_site.api.conversion_serializers import (
    ConversionInputSerializer,
    build_conversion_data,
)
from affiliate_site.api.resources.commissions import (
    CommissionUpdateSerializer,
    build_commission_changes,
)
from affiliate_site.api.resources.conversions import (
    CommissionInputSerializer,
    ConversionUpdateSerializer,
    build_added_line_items,
    build_conversion_changes,
)
from affiliate_site.backoffice.details import link_to
from affiliate_site.backoffice.formatters import format_money
from affiliate_site.backoffice.forms import (
    MULTI_LINE,
    MetaDataField,
    RowChoiceField,
    ServiceForm,
)
from affiliate_site.backoffice.money_pages import (
    MoneyForm,
    MoneyFormPage,
    get_amount_initial,
)
from payouts.models.commission_types import RateKind
from payouts.models.commissions import (
    MAX_COMMENT_LENGTH,
    Commission,
    CommissionKind,
    CommissionStatus,
    is_final,
)
from payouts.services.commissions import (
    approve_commission,
    disapprove_commission,
    reopen_commission,
)
from payouts.services.conversion_creation import create_conversion
from payouts.services.conversion_updates import (
    add_commissions,
    delete_conversion,
    lock_commission,
    lock_conversion,
    update_commission,
    update_conversion,
)
from tracking.attribution import CLICK_ID, COUPON, CUSTOMER
from tracking.errors import (
    AffiliateNotApproved,
    CookieExpired,
    DuplicateConversion,
    InvalidAssetOrSource,
    InvalidClickId,
    TooManyConversionAttempts,
    UnknownCoupon,
    UnknownCustomer,
)
from tracking.models.affiliates import Affiliate
from tracking.money import list_currencies

MAX_ID_LENGTH = 255
TRACKING_SOURCE_TEXTS = {
    "customer": "the customer's affiliate",
    "coupon": "coupon",
    "referral_code": "referral code",
    "click": "click",
    "asset_source": "affiliate and program, of an asset link or chosen by staff",
    "tracking_id": "tracking ID of a visitor",
}

# The fields of the tracking parameters that decide who earns.
PARAMETER_FIELDS = {CUSTOMER: "customer_id", COUPON: "coupon", CLICK_ID: "click_id"}


class NewConversionForm(MoneyForm):
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

    affiliate = RowChoiceField(
        "affiliates",
        search_field=Affiliate._meta.get_field("parent"),
        required=False,
    )
    program = RowChoiceField(
        "programs",
        required=False,
        label_from=lambda program: program.title,
        help_text="Empty: the only one that the affiliate is approved in.",
    )
    coupon = forms.CharField(required=False, max_length=MAX_ID_LENGTH)
    click_id = forms.CharField(
        label="Click ID", required=False, max_length=MAX_ID_LENGTH
    )
    ignore_cookie_age = forms.BooleanField(
        label="Accept a click older than the cookie lifetime", required=False
    )
    customer_id = forms.CharField(
        label="Customer ID",
        required=False,
        max_length=MAX_ID_LENGTH,
        help_text="Your own ID of the buyer. The affiliate of a known customer earns,"
        " whatever else is entered.",
    )
    amount = forms.DecimalField(
        help_text="Without tax and shipping, if these earn no commission."
    )
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
        (
            "Who earned it: an affiliate, a coupon or a click",
            ("affiliate", "program", "coupon", "click_id", "ignore_cookie_age"),
        ),
        ("More", ("commission_type", "meta_data")),
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        programs = self.account.programs.filter(archived_at=None).order_by("title")
        types = self.account.commission_types.select_related("program")
        types = types.order_by("program__title", "program", "id")
        for name, rows in (("program", programs), ("commission_type", types)):
            self.fields[name].queryset = rows  # type: ignore[attr-defined]
        self.fields["commission_type"].choices = [  # type: ignore[attr-defined]
            ("", "The default type of the program"),
            *(
                (program, [(row.pk, f"{row.title} ({program})") for row in rows])
                for program, rows in groupby(types, lambda row: row.program.title)
            ),
        ]
        if len(programs[:2]) == 1:
            self.initial.setdefault("program", programs[0].pk)

    def get_currency(self):
        """The chosen currency, else that of the chosen program."""
        program = self.cleaned_data.get("program")
        return self.cleaned_data.get("currency") or (program and program.currency)

    def clean(self):
        """Exactly one affiliate, coupon or click, unless the customer is known."""
        sent = [
            name
            for name in ("affiliate", "coupon", "click_id")
            if self.cleaned_data.get(name)
        ]
        if len(sent) > 1:
            labels = " and ".join(self.get_label(name) for name in sent)
            self.add_error(sent[-1], f"Enter one of these only: {labels}.")
        if sent == ["affiliate"] and self.cleaned_data.get("program", "") is None:
            self.choose_program(self.cleaned_data["affiliate"])
        if not sent and not self.cleaned_data.get("customer_id") and not self.errors:
            self.add_error("affiliate", "Enter an affiliate, a coupon or a click.")
        return super().clean()

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
        self.add_error(
            "program", f"Choose the program; {affiliate} is approved in: {titles}."
        )

    def add_domain_error(self, error):
        """Lead to the approval of an affiliate that is not approved."""
        if not isinstance(error, AffiliateNotApproved):
            return super().add_domain_error(error)
        field = PARAMETER_FIELDS.get(error.params["parameter"], "affiliate")
        return self.add_error(field, self.explain_approval(error))

    def explain_approval(self, error: AffiliateNotApproved) -> str:
        """Where staff approve an affiliate, or add it to the program first."""
        slug, program_slug = error.params["affiliate"], error.params["program"]
        affiliate = self.account.affiliates.filter(slug=slug, deleted_at=None).first()
        program = self.account.programs.filter(slug=program_slug).first()
        if affiliate is None or program is None:
            return error.text
        enrollment = self.account.enrollments.filter(
            affiliate=affiliate, program=program
        ).first()
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

    def build_body(self):
        """An affiliate in a program stands for its asset and source."""
        body = super().build_body()
        affiliate, program = (
            self.cleaned_data.get(name) for name in ("affiliate", "program")
        )
        for name in ("affiliate", "program", "ignore_cookie_age"):
            body.pop(name, None)
        if affiliate is not None and program is not None:
            asset = self.account.assets.filter(program=program).first()
            source = self.account.sources.filter(affiliate=affiliate).first()
            body["asset_id"] = f"{asset.pk}-{asset.hex}" if asset else ""
            body["source_id"] = f"{source.pk}-{source.hex}" if source else ""
        if commission_type := self.cleaned_data.get("commission_type"):
            body["commission_type"] = commission_type.identifier
        return body


class AddConversionPage(MoneyFormPage):
    """Add a conversion by hand."""

    title = "Add conversion"
    button = "Continue"
    confirm_button = "Add conversion"
    permission = "tracking.add_conversion"
    form_class = NewConversionForm
    explanation = (
        "For sales that were not tracked. The next page shows who earns what before"
        " anything is stored."
    )
    commissions: list[Commission] = []  # of the conversion that `save` created

    def save(self, form, at):
        """Attribute the sale as the API does."""
        ensure_not_locked(self.account)
        query = {"override_max_cookie_time": form.cleaned_data["ignore_cookie_age"]}
        data = build_conversion_data(
            form.validated, query, form.validated.get("external_id")
        )
        conversion = create_conversion(self.account, data=data, at=at)
        commission_type = form.cleaned_data["commission_type"]
        if commission_type and commission_type.program_id != conversion.program_id:
            raise OtherProgramsType(program=conversion.program.title)
        # A preview has no rows any more when it is shown.
        rows = self.account.commissions.filter(conversion=conversion)
        self.commissions = list(rows.select_related("affiliate").order_by("id"))
        return conversion

    def list_facts(self, conversion):
        return [
            ("Sale", format_money(conversion.amount, conversion.currency)),
            ("Affiliate", conversion.affiliate.slug),
            ("Program", conversion.program.title),
            (
                "Decided by",
                TRACKING_SOURCE_TEXTS.get(
                    conversion.tracking_source, conversion.tracking_source
                ),
            ),
            ("Order ID", conversion.external_id),
            ("Customer", conversion.customer and conversion.customer.customer_id),
            *(
                (f"Commission of {each.affiliate}", describe_calculation(each))
                for each in self.commissions
            ),
        ]

    def get_done_message(self, conversion):
        amount = format_money(conversion.amount, conversion.currency)
        return f"Conversion {conversion} of {amount} was added."


def describe_calculation(commission) -> str:
    """`Standard, 15 % of 300.00 EUR`, or `Standard, 5.00 EUR fixed`."""
    currency = commission.currency
    rate = f"{format_money(commission.rate, currency)} fixed"
    if commission.rate_kind == RateKind.PERCENTAGE:
        amount = format_money(commission.sub_amount, currency)
        rate = f"{format_decimal(commission.rate)} % of {amount}"
    return f"{commission.name}, {rate}"


class OtherProgramsType(InvalidInput):
    """The commission type belongs to another program than the one that earns."""

    message = "Choose a commission type of {program}, which the sale belongs to."
    property_path = "commission_type"


class ConversionForm(MoneyForm):
    """What can be corrected about a conversion."""

    serializer_class = ConversionUpdateSerializer
    error_fields = {DuplicateConversion: "external_id"}

    amount = forms.DecimalField()
    should_recalculate = forms.BooleanField(
        label="Recalculate the commissions",
        required=False,
        help_text="If you switch this off, the commissions keep their amounts.",
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
    """A page of a conversion that is not removed."""

    permission = "tracking.change_conversion"

    @classmethod
    def is_offered(cls, conversion):
        return conversion.deleted_at is None

    def get_subject(self):
        return f"conversion {self.row.external_id or self.row}"

    def lock_row(self, at):
        return lock_conversion(self.account, self.row.pk)

    def list_alerts(self):
        return warn_of_payments(self.account.commissions.filter(conversion=self.row))


def warn_of_payments(commissions) -> list[str]:
    """An alert about the commissions that are paid, if there are any."""
    paid = commissions.exclude(payment=None).select_related("payment").order_by("id")
    links = format_html_join(
        ", ",
        "commission {} of {} by {}",
        (
            (each, format_money(each.amount, each.currency), link_to(each.payment))
            for each in paid
        ),
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


class EditConversionPage(ConversionPage):
    """Correct amount, order ID or meta data."""

    name = "edit"
    title = "Correct"
    confirm_button = "Confirm correction"
    form_class = ConversionForm
    explanation = (
        "With a new amount the commissions follow at the rates that they were"
        " calculated with, unless you keep them. A partial refund is a lower amount."
    )

    def get_unlocked_initial(self, conversion):
        return {
            "amount": get_amount_initial(conversion.amount, conversion.currency),
            "should_recalculate": True,
            "external_id": conversion.external_id or "",
            "meta_data": conversion.meta_data,
        }

    def must_be_confirmed(self, form):
        return "amount" in form.changed_data

    def save(self, form, at):
        self.should_recalculate = form.cleaned_data["should_recalculate"]
        return update_conversion(
            self.account,
            conversion_id=self.row.pk,
            changes=build_conversion_changes(form.validated),
            should_recalculate=self.should_recalculate,
            at=at,
        )

    def list_facts(self, conversion):
        return [
            ("Amount before", format_money(self.row.amount, self.row.currency)),
            ("Amount after", format_money(conversion.amount, conversion.currency)),
            ("Commissions", "" if self.should_recalculate else "keep their amounts"),
        ]

    def get_done_message(self, conversion):
        return f"Conversion {conversion} was saved."


class RemoveConversionPage(ConversionPage):
    """Refund a sale: remove the conversion with its commissions."""

    name = "remove"
    title = "Remove (refund)"
    button = "Remove conversion"
    permission = "tracking.delete_conversion"
    is_dangerous = True
    explanation = (
        "A removed conversion counts nowhere any more; its commissions are taken back."
        " It stays visible here, and its order ID can be used again. This cannot be"
        " undone."
    )

    def save(self, form, at):
        delete_conversion(self.account, conversion_id=self.row.pk, at=at)

    def get_done_message(self, result):
        return f"Conversion {self.row} was removed."


class NewCommissionForm(MoneyForm):
    """A commission that is added to a conversion."""

    serializer_class = CommissionInputSerializer
    amount_fields = ("conversion_sub_amount",)

    conversion_sub_amount = forms.DecimalField(
        label="Amount that earns",
        help_text="The rate of the commission type applies to it. The conversion's own"
        " amount stays.",
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
    button = "Continue"
    confirm_button = "Add commission"
    permission = "payouts.add_commission"
    form_class = NewCommissionForm

    def get_unlocked_initial(self, conversion):
        return {}

    def save(self, form, at):
        return add_commissions(
            self.account,
            conversion_id=self.row.pk,
            line_items=build_added_line_items([form.validated], is_array=False),
            at=at,
        )

    def get_done_message(self, commissions):
        return f"Added to conversion {self.row}: " + ", ".join(
            f"commission {each} of {format_money(each.amount, each.currency)}"
            for each in commissions
        )


class CommissionForm(MoneyForm):
    """What can be corrected about a commission."""

    serializer_class = CommissionUpdateSerializer
    amount_fields = ("amount", "conversion_sub_amount")

    amount = forms.DecimalField(
        label="Commission",
        help_text="A new amount replaces the calculated one. Commissions of parent"
        " affiliates stay.",
    )
    conversion_sub_amount = forms.DecimalField(
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
        if is_final(self.row.status, self.account):
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


class CommissionPage(MoneyFormPage):
    """A page of a commission that is not removed."""

    permission = "payouts.change_commission"

    @classmethod
    def is_offered(cls, commission):
        return commission.deleted_at is None

    def get_subject(self):
        return f"commission {self.row} of {self.row.affiliate}"

    def lock_row(self, at):
        return lock_commission(self.account, commission_id=self.row.pk, at=at)

    def list_alerts(self):
        return warn_of_payments(self.account.commissions.filter(pk=self.row.pk))

    def list_facts(self, result):
        payment = self.row.payment
        return [("Paid by", payment and f"{payment}: it will count as unpaid")]


class EditCommissionPage(CommissionPage):
    """Correct amount or comment."""

    name = "edit"
    title = "Correct"
    confirm_button = "Confirm correction"
    form_class = CommissionForm

    def get_unlocked_initial(self, commission):
        currency = commission.currency
        initial = {
            "amount": get_amount_initial(commission.amount, currency),
            "comment": commission.comment or "",
        }
        if commission.kind == CommissionKind.REGULAR:
            initial["conversion_sub_amount"] = get_amount_initial(
                commission.sub_amount, currency
            )
        return initial

    def list_facts(self, result):
        return []

    def save(self, form, at):
        return update_commission(
            self.account,
            commission_id=self.row.pk,
            changes=build_commission_changes(form.validated),
            at=at,
        )

    def get_done_message(self, commission):
        return f"Commission {commission} was saved."


class DecisionPage(CommissionPage):
    """Sets the status of a commission; the state table says when."""

    target_status = ""

    @classmethod
    def is_offered(cls, commission):
        return (
            super().is_offered(commission)
            and commission.status != cls.target_status
            and not is_final(commission.status, commission.account)
        )

    def get_done_message(self, commission):
        amount = format_money(self.row.amount, self.row.currency)
        return f"Commission {self.row} of {amount} is {self.target_status} now."


class ApproveCommissionPage(DecisionPage):
    """Approve a commission."""

    name = "approve"
    title = "Approve"
    button = "Approve commission"
    target_status = CommissionStatus.APPROVED

    def get_explanation(self):
        if self.account.uses_payouts:
            return "An approved commission cannot be changed any more."
        return ""

    def list_facts(self, result):
        return [
            *super().list_facts(result),
            ("To check", describe_pending_base(self.row)),
            ("Not approved with it", self.list_pending_followers()),
        ]

    def list_pending_followers(self) -> str:
        """The commissions of parents that follow this one and stay pending."""
        rows = self.account.commissions.not_deleted().filter(
            conversion=self.row.conversion_id,
            base_commission=self.row,
            status=CommissionStatus.PENDING,
        )
        return ", ".join(
            f"commission {each} of {each.affiliate}"
            for each in rows.select_related("affiliate").order_by("id")
        )

    def save(self, form, at):
        return approve_commission(self.account, commission_id=self.row.pk, at=at)


def describe_pending_base(commission) -> str:
    """That the commission which this one follows is not decided; empty if it is."""
    base = commission.base_commission
    if base is None or base.status != CommissionStatus.PENDING:
        return ""
    return f"commission {base} of {base.affiliate}, which it follows, is still pending"


class ReasonForm(ServiceForm):
    """The reason of a disapproval."""

    reason = forms.CharField(
        max_length=500,
        widget=MULTI_LINE({"rows": 3, "autofocus": True}),
        help_text="Kept in the comment of the commission, which the API shows, too.",
    )


class DisapproveCommissionPage(DecisionPage):
    """Disapprove a commission, with a reason."""

    name = "disapprove"
    title = "Disapprove"
    button = "Continue"
    confirm_button = "Disapprove commission"
    is_dangerous = True
    form_class = ReasonForm
    target_status = CommissionStatus.DISAPPROVED

    def save(self, form, at):
        return disapprove_commission(
            self.account,
            commission_id=self.row.pk,
            reason=form.cleaned_data["reason"],
            at=at,
        )


class ReopenCommissionPage(DecisionPage):
    """Set a commission back to pending."""

    name = "reopen"
    title = "Put back to pending"
    button = "Put back to pending"
    target_status = CommissionStatus.PENDING

    def save(self, form, at):
        return reopen_commission(self.account, commission_id=self.row.pk, at=at)


CONVERSION_PAGES = (EditConversionPage, AddCommissionPage, RemoveConversionPage)
COMMISSION_PAGES = (
    ApproveCommissionPage,
    DisapproveCommissionPage,
    ReopenCommissionPage,
    EditCommissionPage,
)
