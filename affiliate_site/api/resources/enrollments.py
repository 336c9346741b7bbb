"""The affiliates of a program and the programs of an affiliate."""

import re
from typing import ClassVar

from rest_framework.exceptions import ValidationError

from accounts.ids import parse_numbered_id
from accounts.services.rate_limits import RateLimit
from affiliate_site.api.errors import FieldError
from affiliate_site.api.fields import (
    INVALID_TEXT,
    EmailField,
    QueryBooleanField,
    StrictBooleanField,
    TrimmedTextField,
)
from affiliate_site.api.filters import (
    BaseFilterSet,
    ChoiceFilter,
    EmailFilter,
    TextFilter,
)
from affiliate_site.api.input_serializers import InputSerializer
from affiliate_site.api.person_serializers import wants_welcome_mail
from affiliate_site.api.representations.affiliates import (
    EnrollmentRepresentation,
    enrollment_by_affiliate,
    enrollment_by_id,
)
from affiliate_site.api.representations.programs import (
    EnrolledProgramRepresentation,
)
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import AffiliateNotFound, UnknownReference
from tracking.models.enrollments import Enrollment
from tracking.services.affiliates import get_affiliate
from tracking.services.enrollments import (
    EnrollmentData,
    create_enrollment,
    get_enrollment,
    get_referenced_affiliate,
    set_approval,
    update_enrollment,
)
from tracking.services.portal_links import send_welcome_mail
from tracking.services.programs import get_program

APPROVAL_VALUES = {"true": True, "false": False, "pending": None}
APPROVAL_ALIASES = {
    "null": "pending",
    "pending": "pending",
    **{text: str(value).lower() for text, value in QueryBooleanField.BOOLEAN_VALUES.items()},
}


class AffiliateReferenceInputSerializer(InputSerializer):
    """A reference to an affiliate by id or e-mail address."""

    any_of = ("id", "email")

    id = TrimmedTextField(required=False)
    email = EmailField(required=False)

    def validate(self, attrs):
        attrs = super().validate(attrs)
        try:
            data = EnrollmentData(affiliate_id=attrs.get("id"), email=attrs.get("email"))
            get_referenced_affiliate(self.context["account"], data)
        except UnknownReference as error:
            raise ValidationError({"id": FieldError(error.text).detail}) from None
        return attrs


class EnrollmentInputSerializer(InputSerializer):
    """A new affiliate of a program; the default of `approved` is the program's."""

    aliases = {"affiliate_id": "affiliate.id"}

    affiliate = AffiliateReferenceInputSerializer()
    approved = StrictBooleanField(required=False, allow_null=True)
    coupon = TrimmedTextField(required=False, min_length=1, max_length=64)

    def normalize_input(self, data):
        values = self.resolve_aliases(data)
        # With an empty `affiliate`, the error is about `affiliate.id`.
        return {"affiliate": {}} | values if data.get("affiliate") else values


class ReferralCodeField(TrimmedTextField):
    """3 to 64 letters, digits, dashes and underscores."""

    base_schema_extra: ClassVar = {"pattern": "^[A-Za-z0-9_-]+$"}
    PATTERN = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)

    def to_internal_value(self, data):
        code = super().to_internal_value(data)
        if not self.PATTERN.fullmatch(code):
            raise FieldError(INVALID_TEXT)
        return code


class EnrollmentUpdateSerializer(InputSerializer):
    """Changes of an affiliate in a program; a blank or null coupon removes it."""

    coupon = TrimmedTextField(required=False, allow_null=True, max_length=64)
    approved = StrictBooleanField(required=False, allow_null=True)
    referral_code = ReferralCodeField(
        required=False, reject_blank=True, min_length=3, max_length=64
    )


class EnrollmentFilterSet(BaseFilterSet):
    """Filters of the affiliates of a program."""

    aliases = {"parentId": "parent_id"}

    source_id = TextFilter(method="filter_by_source")
    email = EmailFilter()
    parent_id = TextFilter(field_name="affiliate__parent__slug")
    affiliate_group_id = TextFilter(field_name="affiliate__group__public_id")
    approved = ChoiceFilter(
        choices=APPROVAL_VALUES, aliases=APPROVAL_ALIASES, method="filter_by_approval"
    )

    def filter_by_source(self, rows, name, value):
        source_pk, hex_digits = parse_numbered_id(value) or (0, "")
        sources = self.account.sources.filter(pk=source_pk, hex=hex_digits)
        return rows.filter(affiliate__in=sources.values("affiliate"))

    def filter_by_approval(self, rows, name, value):
        return rows.filter(approved=APPROVAL_VALUES[value])


class EnrollmentViewSet(TenantViewSet):
    """Affiliates of a program (docs/api-contract.md, section 2.7.2)."""

    permission_model = Enrollment
    throttle_rate = RateLimit(1500, minutes=5)
    serializer_classes = {
        "create": EnrollmentInputSerializer,
        "partial_update": EnrollmentUpdateSerializer,
    }
    filterset_class = EnrollmentFilterSet
    conflict_actions = ("create", "partial_update", "approve", "disapprove")
    representation = EnrollmentRepresentation

    def list(self, request, program_id):
        """List the affiliates of a program, newest first."""
        program = get_program(self.account, program_id)
        rows = self.account.enrollments.not_deleted().filter(program=program)
        return self.list_page(rows.newest_first())

    def create(self, request, program_id):
        """Add an affiliate to a program and assign a referral code."""
        program = get_program(self.account, program_id)
        data = build_enrollment_data(
            self.validate_body(), is_auto_approved=program.auto_approve_affiliates
        )
        enrollment = create_enrollment(self.account, program=program, data=data, at=self.at)
        if wants_welcome_mail(self.request):
            send_welcome_mail(self.account, enrollment.affiliate, at=self.at)
        return self.render_enrollment(enrollment)

    def retrieve(self, request, program_id, affiliate_id):
        """Retrieve an affiliate of a program."""
        program = get_program(self.account, program_id)
        row = self.get_row(
            enrollment_by_affiliate,
            AffiliateNotFound,
            program=program,
            affiliate_slug=affiliate_id,
        )
        return self.render_row(row)

    def partial_update(self, request, program_id, affiliate_id):
        """Update coupon, approval or referral code; a replaced code stops working."""
        program = get_program(self.account, program_id)
        get_enrollment(self.account, program, affiliate_id)
        changes = self.validate_body()
        if "coupon" in changes:
            changes["coupon"] = changes["coupon"] or None
        enrollment = update_enrollment(
            self.account,
            program=program,
            affiliate_id=affiliate_id,
            changes=changes,
            at=self.at,
        )
        return self.render_enrollment(enrollment)

    def approve(self, request, program_id, affiliate_id):
        """Approve an affiliate for a program."""
        return self.set_approval(program_id, affiliate_id, approved=True)

    def disapprove(self, request, program_id, affiliate_id):
        """Disapprove an affiliate for a program; existing commissions remain."""
        return self.set_approval(program_id, affiliate_id, approved=False)

    def set_approval(self, program_id, affiliate_id, *, approved):
        enrollment = set_approval(
            self.account,
            program=get_program(self.account, program_id),
            affiliate_id=affiliate_id,
            approved=approved,
            at=self.at,
        )
        return self.render_enrollment(enrollment, approved=approved)

    def render_enrollment(self, enrollment, **changed):
        """Render an enrollment, with the values that this request has just written."""
        row = self.get_row(enrollment_by_id, AffiliateNotFound, pk=enrollment.pk)
        return self.render_row(EnrollmentRepresentation.replace(row, **changed))


class EnrolledProgramViewSet(TenantViewSet):
    """Programs of an affiliate (docs/api-contract.md, section 2.4.9)."""

    permission_model = Enrollment
    throttle_rate = RateLimit(1500, minutes=5)
    representation = EnrolledProgramRepresentation

    def list(self, request, affiliate_id):
        """List the programs of an affiliate, newest first."""
        affiliate = get_affiliate(self.account, affiliate_id)
        rows = self.account.enrollments.filter(affiliate=affiliate).newest_first()
        return self.list_page(rows)


def build_enrollment_data(data: dict, *, is_auto_approved: bool) -> EnrollmentData:
    """Build the service's input from validated data."""
    return EnrollmentData(
        affiliate_id=data["affiliate"].get("id"),
        email=data["affiliate"].get("email"),
        approved=data.get("approved", is_auto_approved or None),
        coupon=data.get("coupon"),
    )
