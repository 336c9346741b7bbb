"""Affiliates in a program, and the programs of an affiliate."""

import re
from typing import ClassVar

from rest_framework.exceptions import ValidationError

from accounts.ids import numbered
from accounts.services.usage import Rate
from affiliate_site.api.errors import Flaw
from affiliate_site.api.fields import (
    NO_TEXT,
    Email,
    Flag,
    Lookup,
    QueryFlag,
)
from affiliate_site.api.filters import Address, Choice, ListFilter, Words
from affiliate_site.api.inputs import Input
from affiliate_site.api.shapes.people import EnrolmentShape, enrolment_shape
from affiliate_site.api.shapes.programs import MembershipShape, membership_shape
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import AffiliateNotFound, UnknownAffiliate
from tracking.models.enrolments import Enrolment
from tracking.services.affiliates import affiliate_named
from tracking.services.enrolments import (
    Entry,
    affiliate_meant,
    change_enrolment,
    decide_on,
    enrol,
    enrolment_named,
)
from tracking.services.programs import program_named

APPROVED = {"true": True, "false": False, "pending": None}
SPELLINGS = {
    "null": "pending",
    "pending": "pending",
    **{word: str(value).lower() for word, value in QueryFlag.words.items()},
}


class WhoInput(Input):
    """An affiliate, by id or by e-mail address."""

    one_of = ("id", "email")

    id = Lookup(required=False)
    email = Email(required=False)

    def validate(self, said):
        said = super().validate(said)
        try:
            meant = Entry(affiliate_id=said.get("id"), email=said.get("email"))
            affiliate_meant(self.context["account"], meant)
        except UnknownAffiliate as refusal:
            raise ValidationError({"id": Flaw(refusal.text).detail}) from None
        return said


class EnrolmentInput(Input):
    """Who joins a program; `approved` absent: as the program decides."""

    aliases = {"affiliate_id": "affiliate.id"}

    affiliate = WhoInput()
    approved = Flag(required=False, allow_null=True)
    coupon = Lookup(required=False, min_length=1, max_length=64)

    def sent(self, data):
        said = self.named(data)
        # Of an affiliate in which nothing is said, it is the id that is missing.
        return {"affiliate": {}} | said if data.get("affiliate") else said


class ReferralCode(Lookup):
    """3 to 64 letters, digits, dashes and underscores."""

    form: ClassVar = {"pattern": "^[A-Za-z0-9_-]+$"}
    letters = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)

    def to_internal_value(self, data):
        code = super().to_internal_value(data)
        if not self.letters.fullmatch(code):
            raise Flaw(NO_TEXT)
        return code


class EnrolmentChange(Input):
    """What may change; a blank coupon is removed, as null is."""

    coupon = Lookup(required=False, allow_null=True, max_length=64)
    approved = Flag(required=False, allow_null=True)
    referral_code = ReferralCode(
        required=False, filled=True, min_length=3, max_length=64
    )


class EnrolmentFilter(ListFilter):
    """All of them narrow together."""

    aliases = {"parentId": "parent_id"}

    source_id = Words(method="by_source")
    email = Address(method="by_email")
    parent_id = Words(field_name="affiliate__parent__slug")
    affiliate_group_id = Words(field_name="affiliate__group__public_id")
    approved = Choice(choices=APPROVED, aliases=SPELLINGS, method="by_approval")

    def by_source(self, rows, name, value):
        number, hex_digits = numbered(value) or (0, "")
        sources = self.account.sources.filter(pk=number, hex=hex_digits)
        return rows.filter(affiliate__in=sources.values("affiliate"))

    def by_email(self, rows, name, value):
        return rows.with_email(value)

    def by_approval(self, rows, name, value):
        return rows.filter(approved=APPROVED[value])


class EnrolmentViewSet(TenantViewSet):
    """Contract 2.7.2."""

    thing = Enrolment
    rates = Rate(1500, minutes=5)
    reads = {"create": EnrolmentInput, "partial_update": EnrolmentChange}
    filters = {"list": EnrolmentFilter}
    conflicts = ("create", "partial_update", "approve", "disapprove")
    answers = {
        "list": EnrolmentShape(many=True),
        "create": EnrolmentShape,
        "retrieve": EnrolmentShape,
        "partial_update": EnrolmentShape,
        "approve": EnrolmentShape,
        "disapprove": EnrolmentShape,
    }

    def list(self, request, program_id):
        """The affiliates of a program, whatever their approval, newest first."""
        program = program_named(self.account, program_id)
        rows = self.account.enrolments.present().filter(program=program)
        return self.page(enrolment_shape, rows.newest_first())

    def create(self, request, program_id):
        """Add an affiliate to a program; it gets a referral code of its own."""
        program = program_named(self.account, program_id)
        entry = entry_of(self.read(), by_default=program.auto_approve_affiliates)
        enrolment = enrol(self.account, program=program, entry=entry, at=self.at)
        return self.shown(pk=enrolment.pk)

    def retrieve(self, request, program_id, affiliate_id):
        """One affiliate in a program."""
        program = program_named(self.account, program_id)
        return self.shown(program=program, affiliate__slug=affiliate_id)

    def partial_update(self, request, program_id, affiliate_id):
        """Change coupon, approval or referral code; the old code stops working."""
        program = program_named(self.account, program_id)
        enrolment_named(self.account, program, affiliate_id)
        said = self.read()
        if "coupon" in said:
            said["coupon"] = said["coupon"] or None
        enrolment = change_enrolment(
            self.account,
            program=program,
            affiliate_id=affiliate_id,
            changes=said,
            at=self.at,
        )
        return self.shown(pk=enrolment.pk)

    def approve(self, request, program_id, affiliate_id):
        """Let the affiliate earn in the program; repeatable."""
        return self.decide(program_id, affiliate_id, approved=True)

    def disapprove(self, request, program_id, affiliate_id):
        """Let the affiliate earn no more; old commissions stay. Repeatable."""
        return self.decide(program_id, affiliate_id, approved=False)

    def decide(self, program_id, affiliate_id, *, approved):
        enrolment = decide_on(
            self.account,
            program=program_named(self.account, program_id),
            affiliate_id=affiliate_id,
            approved=approved,
            at=self.at,
        )
        return self.shown({"approved": approved}, pk=enrolment.pk)

    def shown(self, done=None, **which):
        rows = self.account.enrolments.present().filter(**which)
        row = self.found(rows, AffiliateNotFound, **(done or {}))
        return self.answer(enrolment_shape(row))


class MembershipViewSet(TenantViewSet):
    """Contract 2.4.9: the programs of an affiliate."""

    thing = Enrolment
    rates = Rate(1500, minutes=5)
    filters = {"list": ListFilter}
    answers = {"list": MembershipShape(many=True)}

    def list(self, request, affiliate_id):
        """The programs that an affiliate is in, and how it stands there."""
        affiliate = affiliate_named(self.account, affiliate_id)
        rows = self.account.enrolments.filter(affiliate=affiliate).newest_first()
        return self.page(membership_shape, rows, "as_shown_by_program")


def entry_of(said: dict, *, by_default: bool) -> Entry:
    """What was read, as the service takes it."""
    return Entry(
        affiliate_id=said["affiliate"].get("id"),
        email=said["affiliate"].get("email"),
        approved=said.get("approved", by_default or None),
        coupon=said.get("coupon"),
    )
