"""Forms of affiliates in programs: add, approve, disapprove, change the codes."""

import re
from typing import Any

from django import forms

from affiliate_site.api.resources.enrollments import (
    EnrollmentInputSerializer,
    EnrollmentUpdateSerializer,
    build_enrollment_data,
)
from affiliate_site.backoffice.affiliates.affiliate_detail import (
    APPROVAL_STATUSES,
    get_full_name,
)
from affiliate_site.backoffice.affiliates.affiliate_pages import (
    AffiliatePage,
    get_tab_url,
)
from affiliate_site.backoffice.bulk_pages import BulkPage
from affiliate_site.backoffice.fields import LinesField, ProgramField, RowChoiceField
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.forms import ServiceForm
from tracking.errors import DuplicateCoupon, DuplicateReferralCode
from tracking.models.enrollments import Enrollment
from tracking.services.enrollments import (
    create_enrollment,
    find_similar_coupon,
    update_enrollment,
)

APPROVAL_CHOICES = (
    ("", "As the program's settings say"),
    ("approved", "Approved: earns from now on"),
    ("pending", "Pending: wait for a decision"),
)
APPROVALS = {"approved": True, "pending": None}


ALIAS_PATTERN = re.compile(r"[\w.-]{1,64}", re.ASCII)


class CodeOwnerForm(ServiceForm):
    """A form with codes; it says who in the account has one that is taken."""

    def clean(self):
        values = super().clean()
        code = values.get("coupon")
        if code and "coupon" in self.changed_data:
            own = self.row if isinstance(self.row, Enrollment) else None
            similar = find_similar_coupon(self.account, code, enrollment=own)
            if similar:
                owner = similar.enrollment
                self.add_error(
                    "coupon",
                    f"{similar} is a coupon of {owner.affiliate} in"
                    f" {owner.program.title}; pages find coupons in any case.",
                )
        return values

    def add_error_at(self, path, text):
        tables: Any = {
            DuplicateCoupon.message: ["coupons"],
            DuplicateReferralCode.message: ["referral_codes", "referral_code_aliases"],
        }.get(text, [])
        for name in tables:
            text += find_owner(getattr(self.account, name), self.cleaned_data[path])
        super().add_error_at(path, text)


def find_owner(codes, code: str) -> str:
    """`: adastone in Harbor Lamps has it`; empty if it is free again."""
    row = codes.filter(code=code).first()
    if row is None:
        return ""
    if row.enrollment_id is None:
        return f": the prospect {get_full_name(row.prospect)} has it"
    return f": {row.enrollment.affiliate} in {row.enrollment.program.title} has it"


class EnrollmentForm(CodeOwnerForm):
    """An affiliate, given by the page, in a program."""

    serializer_class: type = EnrollmentInputSerializer

    program = ProgramField()
    approval = forms.ChoiceField(required=False, choices=APPROVAL_CHOICES)
    coupon = forms.CharField(
        required=False,
        help_text="Customers who enter it count for the affiliate.",
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        field: Any = self.fields["program"]
        if affiliate := self.get_affiliate():
            present = self.account.enrollments.filter(affiliate=affiliate)
            field.queryset = field.queryset.exclude(pk__in=present.values("program"))
        programs = field.queryset
        if len(programs[:2]) == 1:
            self.initial.setdefault("program", programs[0].pk)

    def get_affiliate(self):
        """The affiliate of the page."""
        return self.row

    def build_body(self):
        values = self.cleaned_data
        body: dict[str, Any] = {}
        if affiliate := self.get_affiliate() or values.get("affiliate"):
            body["affiliate"] = {"id": affiliate.slug}
        if coupon := values.get("coupon"):
            body["coupon"] = coupon
        if approval := values.get("approval"):
            body["approved"] = APPROVALS[approval]
        return body

    def add_error_at(self, path, text):
        is_about_affiliate = path == "affiliate.id" and "affiliate" not in self.fields
        super().add_error_at("program" if is_about_affiliate else path, text)


class EnrollmentSavePage(FormPage):
    """Adds the affiliate to the program; shows it on the page of the affiliate."""

    form_class = EnrollmentForm
    permission = "tracking.add_enrollment"
    button = "Add to program"
    explanation = (
        "The affiliate gets a referral link of the program. If it is disapproved later,"
        " it stays in the program's list and earns nothing new."
    )

    def save(self, form, at):
        program = form.cleaned_data["program"]
        data = build_enrollment_data(
            form.validated, is_auto_approved=program.auto_approve_affiliates
        )
        return create_enrollment(self.account, program=program, data=data, at=at)

    def get_done_message(self, enrollment):
        status = "approved" if enrollment.approved else "pending"
        return f"Added to {enrollment.program.title}: {status}."

    def get_done_url(self, enrollment):
        return get_tab_url(enrollment.affiliate_id, "programs")


class AddToProgramPage(EnrollmentSavePage, AffiliatePage):
    name = "program"
    title = "Add to a program"


class AddEnrollmentPage(EnrollmentSavePage):
    """Add a searched affiliate to a program."""

    title = "Add an affiliate to a program"

    class Form(EnrollmentForm):
        affiliate = RowChoiceField(
            "affiliates", search_field=Enrollment._meta.get_field("affiliate")
        )

        field_order = ("affiliate", "program", "approval", "coupon")

        def get_affiliate(self):
            return None


class EnrollmentPage(FormPage):
    """A form page of an affiliate in a program, neither of them gone."""

    model = Enrollment
    service = staticmethod(update_enrollment)
    subject = "{row.affiliate} in {row.program.title}"

    @classmethod
    def is_offered(cls, enrollment):
        affiliate, program = enrollment.affiliate, enrollment.program
        return affiliate.deleted_at is None and program.archived_at is None

    def get_row_arguments(self):
        row = self.row
        return {"program": row.program, "affiliate_id": row.affiliate.slug}

    def get_back_url(self):
        return get_tab_url(self.row.affiliate_id, "programs")


class ApprovalPage(BulkPage, EnrollmentPage):
    """Confirms a decision about an affiliate in a program."""

    approved: bool | None = None

    @classmethod
    def find_obstacle(cls, enrollment):
        is_done = enrollment.approved is cls.approved
        return f"already {APPROVAL_STATUSES[cls.approved]}" if is_done else ""

    def get_values(self, form):
        return {"changes": {"approved": self.approved}}


class ApproveEnrollmentPage(ApprovalPage):
    name = "approve"
    title = button = "Approve"
    bulk_title = "Approve affiliates"
    approved = True
    done_message = "{result.affiliate} is approved in {row.program.title}."
    explanation = "The affiliate earns from clicks and sales from now on."


class DisapproveEnrollmentPage(ApprovalPage):
    """Disapprove an affiliate: it stays in the program's list and earns nothing new."""

    name = "disapprove"
    title = button = "Disapprove"
    bulk_title = "Disapprove affiliates"
    approved = False
    done_message = "{result.affiliate} is disapproved in {row.program.title}."
    is_dangerous = True
    explanation = (
        "The affiliate earns nothing new in this program; its links and its coupon are"
        " refused. Commissions that it has earned stay as they are.\n"
        "This is the way out of a program: the affiliate stays in its list and can be"
        " approved again."
    )


class ResetEnrollmentPage(ApprovalPage):
    """Put an affiliate back to pending, to be decided later."""

    name = "reset"
    title = button = "Back to pending"
    done_message = "{result.affiliate} is pending in {row.program.title}."
    explanation = "The affiliate waits for a decision again and earns nothing new until then."


class CodesForm(CodeOwnerForm):
    """The codes of an affiliate in a program."""

    serializer_class = EnrollmentUpdateSerializer

    coupon = forms.CharField(
        required=False,
        help_text="1 to 64 characters. Empty: no coupon.",
    )
    referral_code = forms.CharField(help_text="3 to 64 letters, digits, dashes and underscores.")
    aliases = LinesField(
        label="Further codes",
        required=False,
        help_text="One per line, such as those of an earlier system. Links with them"
        " count for the affiliate, too.",
    )

    def build_body(self):
        values = self.get_changed_values()
        values.pop("aliases", None)
        return values

    def clean_aliases(self):
        codes = self.cleaned_data["aliases"]
        wrong = [code for code in codes if not ALIAS_PATTERN.fullmatch(code)]
        if wrong:
            raise forms.ValidationError(
                f"{wrong[0][:80]} is not valid: a code has 1 to 64 letters, digits,"
                " dots, dashes and underscores."
            )
        return codes


def list_aliases(enrollment) -> list[str]:
    """The further codes of an affiliate in a program."""
    rows = enrollment.account.referral_code_aliases.filter(enrollment=enrollment)
    return list(rows.order_by("code").values_list("code", flat=True))


class EditCodesPage(EnrollmentPage):
    """Change the coupon and the codes of an affiliate in a program."""

    name = "codes"
    title = "Change coupon or code"
    locks_account = True
    form_class = CodesForm
    explanation = (
        "A replaced coupon or code stops working at once. Links with the old code that"
        " the affiliate has published earn nothing more."
    )
    done_message = "The coupon and the referral code were saved."

    def get_unlocked_initial(self, enrollment):
        account = enrollment.account
        coupon = account.coupons.filter(enrollment=enrollment).first()
        code = account.referral_codes.filter(enrollment=enrollment).first()
        return {
            "coupon": coupon.code if coupon else "",
            "referral_code": code.code if code else "",
            "aliases": list_aliases(enrollment),
        }

    def get_values(self, form):
        changes = dict(form.values)
        if "coupon" in changes:
            changes["coupon"] = changes["coupon"] or None
        if "aliases" in form.changed_data:
            changes["aliases"] = form.cleaned_data["aliases"]
        return {"changes": changes}


ENROLLMENT_PAGES = (
    ApproveEnrollmentPage,
    ResetEnrollmentPage,
    EditCodesPage,
    DisapproveEnrollmentPage,
)
