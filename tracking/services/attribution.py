"""Attribution: every clue looked up, one verdict, and the reasons kept."""

import json
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from accounts.models.accounts import Account
from tracking import attribution
from tracking.attribution import CLICK_ID, ENGINE, Clues, Order, Verdict, decide
from tracking.models.affiliates import Affiliate
from tracking.models.clicks import Click
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer
from tracking.models.decisions import Decision
from tracking.models.enrolments import Enrolment
from tracking.models.programs import Program
from tracking.models.prospects import Prospect
from tracking.services.pointers import Found, find_all

Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Finding:
    """A verdict, what it was made of, and the rows that it speaks of."""

    verdict: Verdict
    inputs: dict[str, Any]
    found: dict[str, Found]

    @property
    def program(self) -> Program:
        return _there(self._deciding.program)

    @property
    def affiliate(self) -> Affiliate:
        return _there(self._deciding.affiliate)

    @property
    def enrolment(self) -> Enrolment | None:
        """The affiliate's place in the program; a known customer's is not looked up,
        and a prospect has none yet."""
        return self._deciding.enrolment

    @property
    def prospect(self) -> Prospect | None:
        """Whom the deciding clue points at, if that is no affiliate yet."""
        return self._deciding.prospect

    @property
    def group(self) -> int | None:
        """The group of whoever earns, a prospect's too."""
        earner = self.prospect or self.affiliate
        return earner.group_id

    def earned_by(self, enrolment: Enrolment) -> "Finding":
        """The same finding, its prospect an affiliate by now."""
        found = replace(
            self._deciding,
            affiliate=enrolment.affiliate,
            enrolment=enrolment,
            prospect=None,
        )
        return replace(self, found={**self.found, self.deciding_clue: found})

    @property
    def customer(self) -> Customer | None:
        """The customer that is known already, if one is."""
        known = self.found.get(attribution.CUSTOMER)
        return known.customer if known else None

    @property
    def deciding_clue(self) -> str:
        """The name of the clue that decided."""
        return _there(self.verdict.deciding).clue

    @property
    def deciding_click(self) -> Click | None:
        """The click that decided, if it was one."""
        return self._deciding.click

    @property
    def click(self) -> Click | None:
        """The deciding click, else one named beside it, else the customer's own."""
        named = self.found.get(CLICK_ID)
        for click in (self.deciding_click, named.click if named else None):
            if click is not None:
                return click
        return self.customer.click if self.customer else None

    @property
    def _deciding(self) -> Found:
        return self.found[self.deciding_clue]


def weigh(
    account: Account,
    *,
    clues: Clues,
    order: Order,
    at: datetime,
    ignore_cookie_age: bool,
) -> Finding:
    """Look every clue up and decide; raises nothing, the story asks the verdict."""
    found = find_all(account, clues)
    pointers = [it.pointer for it in found]
    how: Any = {"order": order, "at": at, "ignore_cookie_age": ignore_cookie_age}
    return Finding(
        verdict=decide(pointers, **how),
        inputs=attribution.frozen_inputs(pointers, **how),
        found={it.pointer.clue: it for it in found},
    )


def keep_decision(
    account: Account, finding: Finding, *, about: Customer | Conversion
) -> Decision:
    """Write down why this customer or this conversion is whose it is."""
    decision = Decision(
        account=account,
        customer=about if isinstance(about, Customer) else None,
        conversion=about if isinstance(about, Conversion) else None,
        engine=ENGINE,
        inputs=canonical(finding.inputs),
        outcome=canonical(attribution.frozen_outcome(finding.verdict)),
    )
    account.decisions.bulk_create([decision])
    return decision


def verify(decision: Decision) -> bool:
    """Decide again from the kept inputs: is it the same to the byte?"""
    again = attribution.thawed(json.loads(decision.inputs))
    return canonical(attribution.frozen_outcome(again)) == decision.outcome


def canonical(data: dict[str, Any]) -> str:
    """JSON with one spelling: sorted keys, no spaces."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _there(thing: Thing | None) -> Thing:
    """What a verdict without a fault always has."""
    if thing is None:
        raise LookupError("the verdict names nobody: ask require_earner() first")
    return thing
