"""Affiliates, prospects and related objects."""

from typing import Any

from accounts.compiled_queries import compiled
from accounts.models.accounts import Account
from affiliate_site.api.representations.base import (
    Boolean,
    Inline,
    Integer,
    List,
    Map,
    Nested,
    Representation,
    Text,
    TextMap,
    Time,
)
from affiliate_site.api.representations.nested import (
    AddressRepresentation,
    CompanyRepresentation,
    ProgramSummaryRepresentation,
    ReferralLinkRepresentation,
)
from payouts.models.payments import PayoutMethod, PayoutMethodKind
from tracking.models.affiliates import Affiliate, AffiliateGroup, CustomField, Note
from tracking.models.enrollments import Enrollment
from tracking.models.programs import Program
from tracking.models.prospects import Prospect


class AffiliateRepresentation(Representation):
    """An affiliate."""

    model = Affiliate

    id = Text("slug", example="noraweld")
    firstname = Text(example="Nora")
    lastname = Text(example="Weld")
    email = Text(null=True, example="nora@leaves.example.org")
    company = Nested(CompanyRepresentation, null=True)
    address = Nested(AddressRepresentation, null=True)
    meta_data = TextMap(example={"tier": "gold"})
    parent_id = Text("parent__slug", null=True)
    created_at = Time(example="2026-05-01T07:30:00+00:00")
    affiliate_group_id = Text("group__public_id", null=True)
    promoted_at = Time(null=True)
    promotion_method = Text(null=True)
    custom_fields = Map(example={"website": "https://leaves.example.org"})


@compiled
def affiliate_by_slug(account: Account, slug: str) -> Any:
    """The affiliate with this slug, unless it is deleted."""
    rows = Affiliate.objects.of(account).not_deleted()
    return AffiliateRepresentation.select(rows.filter(slug=slug))


class CreatedAffiliateRepresentation(Representation):
    """A new affiliate; `password` is set only if it was generated."""

    affiliate = Inline(AffiliateRepresentation)
    password = Text("generated_password", null=True, example="k8Jw3TzQ5mXr9BvN")


class EnrollmentRepresentation(Representation):
    """An affiliate in a program."""

    model = Enrollment
    join_method = "with_link_parts"

    affiliate = Inline(AffiliateRepresentation, "affiliate")
    referral_link = Nested(ReferralLinkRepresentation)
    coupon = Text("coupon__code", null=True, example="NORA5")
    approved = Boolean(null=True, example=True)
    applied_at = Time(example="2026-05-01T07:45:00+00:00")


@compiled
def enrollment_by_affiliate(account: Account, program: Program, affiliate_slug: str) -> Any:
    """The enrollment of an affiliate in a program, unless the affiliate is deleted."""
    rows = Enrollment.objects.of(account).not_deleted().filter(program=program)
    return EnrollmentRepresentation.select(rows.filter(affiliate__slug=affiliate_slug))


@compiled
def enrollment_by_id(account: Account, pk: int) -> Any:
    """The enrollment with this key, unless its affiliate is deleted."""
    rows = Enrollment.objects.of(account).not_deleted()
    return EnrollmentRepresentation.select(rows.filter(pk=pk))


class EnrollmentEventRepresentation(EnrollmentRepresentation):
    """An affiliate in a program, with the program."""

    program = Nested(ProgramSummaryRepresentation, "program")


class ProspectRepresentation(Representation):
    """A prospect: a person who may become an affiliate."""

    model = Prospect
    join_method = "with_link_parts"

    id = Text("public_id", example="ap_x2Lp9RcVm4Tj7HsG")
    firstname = Text(example="Ines")
    lastname = Text(example="Sorel")
    email = Text(null=True, example="ines@cups.example.org")
    company = Nested(CompanyRepresentation, null=True)
    address = Nested(AddressRepresentation, null=True)
    signup_source = Text(example="api")
    referral_link = Nested(ReferralLinkRepresentation)
    created_at = Time(example="2026-05-03T12:00:00+00:00")
    promoted_at = Time(null=True)
    promotion_method = Text(null=True)


@compiled
def prospect_by_public_id(account: Account, public_id: str) -> Any:
    """The prospect with this id, unless it is deleted."""
    rows = Prospect.objects.of(account).not_deleted()
    return ProspectRepresentation.select(rows.filter(public_id=public_id))


class AffiliateGroupRepresentation(Representation):
    """A group of affiliates."""

    model = AffiliateGroup
    join_method = "with_affiliate_count"

    id = Text("public_id", example="ag_m3Rk7TsYb9Qx4LhC")
    title = Text(example="Gold")
    affiliate_count = Integer(example=4)


@compiled
def group_by_public_id(account: Account, public_id: str) -> Any:
    """The group with this id."""
    rows = AffiliateGroup.objects.of(account)
    return AffiliateGroupRepresentation.select(rows.filter(public_id=public_id))


class CustomFieldRepresentation(Representation):
    """A custom field of the account's affiliates."""

    model = CustomField

    id = Text("slug", example="website")
    key = Text("slug", example="website")
    title = Text(example="Website")
    name = Text("title", example="Website")
    type = Text(example="url")
    required = Boolean(example=False)
    options = List(null=True)


class NoteRepresentation(Representation):
    """A note about an affiliate."""

    model = Note

    id = Text("public_id", example="no_z6Yq1GdSf8Kx3WvB")
    note = Text(example="Met at the fair in Tampere")
    created_at = Time(example="2026-05-02T09:15:00+00:00")


@compiled
def note_by_public_id(account: Account, affiliate: Affiliate, public_id: str) -> Any:
    """The note about an affiliate with this id."""
    rows = Note.objects.of(account).filter(affiliate=affiliate)
    return NoteRepresentation.select(rows.filter(public_id=public_id))


def get_payout_method_title(kind: str) -> str:
    """Return the title of a kind of payout methods."""
    return str(PayoutMethodKind(kind).label)


class PayoutMethodRepresentation(Representation):
    """A payout method of an affiliate."""

    model = PayoutMethod

    id = Text("kind", example="bank")
    type = Text("kind", example="bank")
    title = Text("kind", function=get_payout_method_title, example="Bank account")
    details = TextMap(example={"iban": "FI00 0000 0000"})
    primary = Boolean("is_primary", example=True)


@compiled
def payout_method_by_kind(account: Account, affiliate: Affiliate, kind: str) -> Any:
    """The payout method of an affiliate of this kind."""
    rows = PayoutMethod.objects.of(account).filter(affiliate=affiliate)
    return PayoutMethodRepresentation.select(rows.filter(kind=kind))
