"""Attribution: look up all tracking parameters, select a winner, store the record."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from accounts.models.accounts import Account
from tracking.attribution import (
    CLAIM,
    CLICK_ID,
    CUSTOMER,
    ENGINE,
    IMPORT,
    STAFF,
    TRACKING_ID,
    AttributionResult,
    CandidateOrder,
    TrackingParameters,
    replay_attribution,
    select_winner,
    serialize_inputs,
    serialize_outcome,
)
from tracking.claims import Trust
from tracking.models.affiliates import Affiliate
from tracking.models.clicks import Click
from tracking.models.conversions import AttributionRecord, Conversion, ConversionClaim
from tracking.models.customers import Customer
from tracking.models.enrollments import Enrollment
from tracking.models.programs import Program
from tracking.models.prospects import Prospect
from tracking.services.candidates import (
    ResolvedCandidate,
    resolve_candidates,
    resolve_import,
    resolve_staff_choice,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Attribution:
    """An attribution's result, its serialized inputs and the rows of its candidates."""

    result: AttributionResult
    inputs: dict[str, Any]
    candidates: dict[str, ResolvedCandidate]
    trust: Trust

    @property
    def program(self) -> Program:
        return _require(self._winner.program)

    @property
    def affiliate(self) -> Affiliate:
        return _require(self._winner.affiliate)

    @property
    def enrollment(self) -> Enrollment | None:
        """The affiliate's enrollment; None for a prospect."""
        return self._winner.enrollment

    @property
    def prospect(self) -> Prospect | None:
        """The prospect of the winner, if it is not an affiliate yet."""
        return self._winner.prospect

    @property
    def awaits_fact(self) -> bool:
        """Whether a claim promoted the affiliate, and nobody has approved it yet."""
        return self.enrollment is not None and self.enrollment.awaits_fact

    @property
    def group_id(self) -> int | None:
        """The affiliate group of the winner."""
        person = self.prospect or self.affiliate
        return person.group_id

    def with_enrollment(self, enrollment: Enrollment) -> "Attribution":
        """Return the attribution after the promotion of its prospect.

        The new affiliate has the clicks of the prospect, as in the database.
        """
        for candidate in self.candidates.values():
            click = candidate.click
            if click is not None and click.prospect == self.prospect:
                click.affiliate, click.enrollment = enrollment.affiliate, enrollment
        winner = replace(
            self._winner,
            affiliate=enrollment.affiliate,
            enrollment=enrollment,
            prospect=None,
        )
        return replace(self, candidates={**self.candidates, self.winning_parameter: winner})

    @property
    def customer(self) -> Customer | None:
        """The existing customer, if the customer id is known."""
        candidate = self.candidates.get(CUSTOMER)
        return candidate.customer if candidate else None

    @property
    def is_doubtful(self) -> bool:
        """Whether nothing but claims names the affiliate, and they may be wrong.

        Either an unconfirmed customer decides, or a claim decides whose affiliate is
        not that of the unconfirmed customer. The customer stays unconfirmed, and the
        commissions stay pending.
        """
        if not self._winner.candidate.is_claim:
            return False
        if self._winner.customer is not None:
            return not self._winner.customer.is_confirmed
        customer = self.customer
        return (
            customer is not None
            and not customer.is_confirmed
            and customer.affiliate_id != self.affiliate.pk
        )

    @property
    def is_contested(self) -> bool:
        """Whether one of several claims decides; staff have the last word."""
        return self._winner.is_contested

    @property
    def can_confirm_customer(self) -> bool:
        """Whether the call confirms an unconfirmed customer."""
        return self.trust is Trust.FACT and not self.is_doubtful and not self.is_contested

    @property
    def is_decided_by_fact(self) -> bool:
        """Whether a fact names the affiliate, not only a claim."""
        return self.trust is Trust.FACT and not self._winner.candidate.is_claim

    @property
    def is_decided_by_claim(self) -> bool:
        """Whether the affiliate is that of the claim to be confirmed."""
        return self.winning_parameter == CLAIM

    @property
    def tracking_id(self) -> str | None:
        """The tracking id that was sent, if any."""
        candidate = self.candidates.get(TRACKING_ID)
        return candidate.candidate.value if candidate else None

    @property
    def winning_parameter(self) -> str:
        """The tracking parameter of the winner."""
        return _require(self.result.winner).parameter

    @property
    def winning_click(self) -> Click | None:
        return self._winner.click

    @property
    def click(self) -> Click | None:
        """The winner's click, else that of the click id, else the customer's."""
        candidate = self.candidates.get(CLICK_ID)
        for click in (self.winning_click, candidate.click if candidate else None):
            if click is not None:
                return click
        return self.customer.click if self.customer else None

    @property
    def _winner(self) -> ResolvedCandidate:
        return self.candidates[self.winning_parameter]


def attribute(
    account: Account,
    *,
    parameters: TrackingParameters,
    order: CandidateOrder,
    at: datetime,
    ignore_cookie_age: bool,
    trust: Trust = Trust.FACT,
    claim: Conversion | ConversionClaim | None = None,
) -> Attribution:
    """Look up all tracking parameters and select the winner.

    `claim` is the claim that the call, a fact, confirms. Its affiliate is a candidate
    that only an unconfirmed customer comes after. A winner that is not eligible raises
    no error: callers use the checks of the result.
    """
    return _attribute(
        resolve_candidates(account, parameters, claim),
        order=(CLAIM, *order) if claim else order,
        at=at,
        ignore_cookie_age=ignore_cookie_age,
        trust=trust,
    )


def attribute_by_staff(
    account: Account, *, program: Program, affiliate: Affiliate, at: datetime
) -> Attribution:
    """Attribute a sale to the affiliate that staff chose.

    It may not be eligible: callers use the check of the result.
    """
    return _attribute(
        [resolve_staff_choice(account, program, affiliate)],
        order=(STAFF,),
        at=at,
        ignore_cookie_age=True,
        trust=Trust.FACT,
    )


def attribute_by_import(program: Program, affiliate: Affiliate, at: datetime) -> Attribution:
    """Attribute a sale to the affiliate that another system had decided on."""
    return _attribute(
        [resolve_import(program, affiliate)],
        order=(IMPORT,),
        at=at,
        ignore_cookie_age=True,
        trust=Trust.FACT,
    )


def _attribute(
    resolved: Sequence[ResolvedCandidate], *, trust: Trust, **options: Any
) -> Attribution:
    candidates = [each.candidate for each in resolved]
    options["trust"] = trust
    return Attribution(
        result=select_winner(candidates, **options),
        inputs=serialize_inputs(candidates, **options),
        candidates={each.candidate.parameter: each for each in resolved},
        trust=trust,
    )


def create_attribution_record(
    account: Account, attribution: Attribution, *, subject: Customer | Conversion
) -> AttributionRecord:
    """Store the attribution of a customer or a conversion as the latest record."""
    record = build_attribution_record(account, attribution, subject=subject)
    (stored,) = account.attribution_records.bulk_create([record])
    return stored


def build_attribution_record(
    account: Account, attribution: Attribution, *, subject: Customer | Conversion
) -> AttributionRecord:
    """Return the record of an attribution, which is not stored yet."""
    owner = "customer" if isinstance(subject, Customer) else "conversion"
    values = serialize_attribution(attribution) | {owner: subject}
    return AttributionRecord(account=account, **values)


def serialize_attribution(attribution: Attribution) -> dict[str, Any]:
    """The columns of an attribution record: `engine`, `inputs` and `outcome`."""
    return {
        "engine": ENGINE,
        "inputs": serialize_canonical_json(attribution.inputs),
        "outcome": serialize_canonical_json(serialize_outcome(attribution.result)),
    }


def store_attribution_record(serialized: dict[str, Any], *, conversion: Conversion) -> str:
    """Store a serialized attribution as the latest record of a conversion.

    Returns the tracking parameter that decided.
    """
    account = conversion.account
    account.attribution_records.create(conversion=conversion, **serialized)  # type: ignore[misc]  # stubs: a `**` is no value
    parameter: str = json.loads(serialized["outcome"])["parameter"]
    return parameter


def get_attribution_record(conversion: Conversion) -> AttributionRecord:
    """Get the latest attribution record of a conversion."""
    rows = conversion.account.attribution_records.filter(conversion=conversion)
    return rows.latest("id")


def verify_attribution_record(record: AttributionRecord) -> bool:
    """Replay the stored inputs; return whether the outcome is the same to the byte."""
    result = replay_attribution(json.loads(record.inputs))
    return serialize_canonical_json(serialize_outcome(result)) == record.outcome


def serialize_canonical_json(data: dict[str, Any]) -> str:
    """Serialize to canonical JSON: sorted keys, no spaces."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _require(value: T | None) -> T:
    if value is None:
        raise LookupError("no eligible winner: call ensure_affiliate_eligible() first")
    return value
