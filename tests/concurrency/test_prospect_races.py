"""Prospects and parents, changed by several processes at once.

Rules: docs/api-contract.md, sections 2.4.6 and 7.8.

Commits are real: each test creates its own account and does not delete it.
"""

from collections import Counter

import pytest

from tests.concurrency.worker import PROCESSES
from tests.program_scenario import AFFILIATE_CREATED_AT
from tracking.attribution import TrackingParameters
from tracking.services.affiliates import PersonData
from tracking.services.clicks import Visit, record_click
from tracking.services.prospects import ProspectData, create_prospect

pytestmark = pytest.mark.integration

ROUNDS = 5


def make_prospect(scenario, *, lastname="Lang", email=None):
    """Create a prospect; return its referral code and its asset and source."""
    person = PersonData(firstname="Pia", lastname=lastname, email=email)
    prospect = create_prospect(scenario.account, data=ProspectData(person), at=AFFILIATE_CREATED_AT)
    source = scenario.account.sources.get(prospect=prospect)
    code = scenario.account.referral_codes.get(prospect=prospect).code
    pair = {"asset_id": scenario.mina.asset_id, "source_id": str(source)}
    return {"referral_code": code}, pair


def build_conversion_task(scenario, parameters):
    return {
        "task": "create_conversion",
        "account": scenario.account.slug,
        "amount": "200",
    } | parameters


def test_promotes_prospect_once(workers, scenario):
    account = scenario.account
    for number in range(ROUNDS):
        by_code, by_pair = make_prospect(scenario, lastname=f"Lang{'x' * number}")
        click = {"click_id": str(create_click(scenario, by_code))}
        tracking_parameters = [by_code, by_pair, click, by_code]

        results = workers.run(
            *[build_conversion_task(scenario, parameters) for parameters in tracking_parameters]
        )

        assert results == ["done"] * PROCESSES
    promoted = account.affiliates.exclude(promoted_at=None)
    assert promoted.count() == account.prospects.exclude(affiliate=None).count()
    assert promoted.count() == account.enrollments.count() - 1 == ROUNDS
    slugs = account.commissions.values_list("affiliate__slug", flat=True)
    assert set(Counter(slugs).values()) == {PROCESSES}
    events = Counter(account.audit_log.values_list("kind", flat=True))
    assert events["affiliate_prospect.promoted"] == ROUNDS
    assert events["affiliate.created"] == ROUNDS + 1


def create_click(scenario, parameters):
    return record_click(
        scenario.account,
        visit=Visit(parameters=TrackingParameters(**parameters)),
        at=AFFILIATE_CREATED_AT,
    )


def test_one_of_several_prospects_gets_the_email(workers, scenario):
    account = scenario.account
    for number in range(ROUNDS):
        email = f"pia{number}@notes.example.org"
        tracking_parameters = [make_prospect(scenario, email=email)[0] for _ in range(PROCESSES)]

        results = workers.run(
            *[build_conversion_task(scenario, parameters) for parameters in tracking_parameters]
        )

        assert results == ["done"] * PROCESSES
        assert account.affiliates.with_email(email).count() == 1
    promoted = account.affiliates.exclude(promoted_at=None)
    assert promoted.count() == ROUNDS * PROCESSES
    assert promoted.filter(email=None).count() == ROUNDS * (PROCESSES - 1)


def test_assigns_every_click_to_the_promoted_affiliate(workers, scenario):
    account = scenario.account
    for _ in range(ROUNDS * 4):
        by_code, _ = make_prospect(scenario)
        click = {"task": "create_click", "account": account.slug} | by_code

        results = workers.run(build_conversion_task(scenario, by_code), click, click, click)

        assert results == ["done"] * PROCESSES
    assert account.clicks.filter(affiliate=None).count() == 0


def test_creates_no_cycle_of_parents(workers, scenario):
    account = scenario.account
    for number in range(ROUNDS):
        ring = [scenario.create_enrolled_affiliate(f"Ring{number}", name).slug for name in "ABCD"]
        moves = zip(ring, [*ring[1:], ring[0]], strict=True)
        tasks = [
            {
                "task": "set_parent",
                "account": account.slug,
                "affiliate_id": child,
                "parent_id": parent,
            }
            for child, parent in moves
        ]

        results = Counter(workers.run(*tasks))

        assert results == {"done": PROCESSES - 1, "AffiliateHierarchyCycle": 1}
        parents = dict(account.affiliates.values_list("slug", "parent__slug"))
        parent, steps = ring[0], 0
        while parent is not None:
            parent, steps = parents[parent], steps + 1
            assert steps <= PROCESSES


def test_leaves_no_child_below_deleted_parent(workers, scenario):
    account = scenario.account
    children = [scenario.create_enrolled_affiliate("Child", name).slug for name in "ABC"]
    for number in range(ROUNDS * 4):
        parent = scenario.create_enrolled_affiliate("Parent", "x" * (number + 1)).slug
        tasks = [
            {
                "task": "set_parent",
                "account": account.slug,
                "affiliate_id": child,
                "parent_id": parent,
            }
            for child in children
        ]
        removal = {
            "task": "delete_affiliate",
            "account": account.slug,
            "affiliate_id": parent,
        }

        results = workers.run(tasks[0], removal, *tasks[1:])

        assert results[1] == "done"
        assert set(results) <= {"done", "UnknownReference"}
        orphans = account.affiliates.filter(parent__deleted_at__isnull=False)
        assert list(orphans.values_list("slug", "parent__slug")) == []
