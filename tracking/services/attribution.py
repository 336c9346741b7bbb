"""Attribution: look up all tracking parameters, select a winner, store the record."""

import json
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from accounts.models.accounts import Account
from tracking.attribution import (
    CLICK_ID,
    CUSTOMER,
    ENGINE,
    AttributionResult,
    CandidateOrder,
    TrackingParameters,
    replay_attribution,
    select_winner,
    serialize_inputs,
    serialize_outcome,
)
from tracking.models.affiliates import Affiliate
from tracking.models.attribution_records import AttributionRecord
from tracking.models.clicks import Click
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer
from tracking.models.enrollments import Enrollment
from tracking.models.programs import Program
from tracking.models.prospects import Prospect
from tracking.services.candidates import ResolvedCandidate, resolve_candidates

T = TypeVar("T")


@dataclass(frozen=True)
class Attribution:
    """An attribution's result, its serialized inputs and the rows of its candidates."""

    result: AttributionResult
    inputs: dict[str, Any]
    candidates: dict[str, ResolvedCandidate]

    @property
    def program(self) -> Program:
        return _require(self._winner.program)

    @property
    def affiliate(self) -> Affiliate:
        return _require(self._winner.affiliate)

    @property
    def enrollment(self) -> Enrollment | None:
        """The affiliate's enrollment; None for a known customer or a prospect."""
        return self._winner.enrollment

    @property
    def prospect(self) -> Prospect | None:
        """The prospect of the winner, if it is not an affiliate yet."""
        return self._winner.prospect

    @property
    def group_id(self) -> int | None:
        """The affiliate group of the winner."""
        person = self.prospect or self.affiliate
        return person.group_id

    def with_enrollment(self, enrollment: Enrollment) -> "Attribution":
        """The same attribution after its prospect was promoted to this enrollment."""
        winner = replace(
            self._winner,
            affiliate=enrollment.affiliate,
            enrollment=enrollment,
            prospect=None,
        )
        return replace(
            self, candidates={**self.candidates, self.winning_parameter: winner}
        )

    @property
    def customer(self) -> Customer | None:
        """The existing customer, if the customer id is known."""
        candidate = self.candidates.get(CUSTOMER)
        return candidate.customer if candidate else None

    @property
    def winning_parameter(self) -> str:
        """The tracking parameter of the winner."""
        return _require(self.result.winner).parameter

    @property
    def winning_click(self) -> Click | None:
        """The click of the winner, if it has one."""
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
) -> Attribution:
    """Look up all tracking parameters and select the winner.

    Ineligible winners do not raise here: callers use the checks of the result.
    """
    resolved = resolve_candidates(account, parameters)
    candidates = [each.candidate for each in resolved]
    options: Any = {"order": order, "at": at, "ignore_cookie_age": ignore_cookie_age}
    return Attribution(
        result=select_winner(candidates, **options),
        inputs=serialize_inputs(candidates, **options),
        candidates={each.candidate.parameter: each for each in resolved},
    )


def create_attribution_record(
    account: Account, attribution: Attribution, *, subject: Customer | Conversion
) -> AttributionRecord:
    """Store the attribution of a customer or a conversion."""
    record = AttributionRecord(
        account=account,
        customer=subject if isinstance(subject, Customer) else None,
        conversion=subject if isinstance(subject, Conversion) else None,
        engine=ENGINE,
        inputs=serialize_canonical_json(attribution.inputs),
        outcome=serialize_canonical_json(serialize_outcome(attribution.result)),
    )
    account.attribution_records.bulk_create([record])
    return record


def verify_attribution_record(record: AttributionRecord) -> bool:
    """Replay the stored inputs; return whether the outcome is the same to the byte."""
    result = replay_attribution(json.loads(record.inputs))
    return serialize_canonical_json(serialize_outcome(result)) == record.outcome


def serialize_canonical_json(data: dict[str, Any]) -> str:
    """Serialize to canonical JSON: sorted keys, no spaces."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _require(value: T | None) -> T:
    """Return a value that every eligible winner has."""
    if value is None:
        raise LookupError("no eligible winner: call ensure_affiliate_eligible() first")
    return value
