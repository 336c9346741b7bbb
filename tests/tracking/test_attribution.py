"""Contract 2.2.4: who earned this, decided over plain data."""

import itertools
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import NOW
from tracking.attribution import (
    ASSET_ID,
    CLICK_ID,
    COUPON,
    CUSTOMER,
    REFERRAL_CODE,
    REGISTERING,
    REST,
    TRACKING_ID,
    Fault,
    Loser,
    Pointer,
    Standing,
    Verdict,
    decide,
    frozen_inputs,
    frozen_outcome,
    thawed,
)
from tracking.errors import (
    AffiliateDeleted,
    AffiliateNotApproved,
    BlankClue,
    CookieExpired,
    InvalidAssetOrSource,
    InvalidClickId,
    InvalidTrackingId,
    NoClue,
    ProgramArchived,
    UnknownCoupon,
    UnknownCustomer,
    UnknownReferralCode,
)

TICK = timedelta(microseconds=1)


def pointing(clue, affiliate="odettevarga", **facts):
    """A clue that may earn, unless the facts say otherwise."""
    facts = {"standing": Standing.APPROVED, "program": "harbor"} | facts
    return Pointer(clue=clue, value=f"a {clue}", affiliate=affiliate, **facts)


def clicked(age, days=45, **facts):
    return pointing(CLICK_ID, clicked_at=NOW - age, cookie_days=days, **facts)


def verdict_on(*pointers, order=REST, ignoring=False):
    return decide(pointers, order=order, at=NOW, ignore_cookie_age=ignoring)


def text_of(refusal):
    return str(refusal.value)


@pytest.mark.parametrize(
    ("higher", "lower"),
    list(itertools.pairwise(REST)),
    ids=[f"{higher}-over-{lower}" for higher, lower in itertools.pairwise(REST)],
)
def test_prefers_the_clue_that_stands_higher(higher, lower):
    first, second = pointing(higher), pointing(lower, affiliate="rival")

    for pointers in ([first, second], [second, first]):
        verdict = verdict_on(*pointers)

        assert verdict.deciding == first
        assert verdict.fault is None


def test_keeps_the_order_of_the_spec():
    assert REST == (
        "customer",
        "coupon",
        "referral_code",
        "click_id",
        "asset_id",
        "tracking_id",
    )
    assert list(REGISTERING) == list(REST)[1:]


@pytest.mark.parametrize(
    "order", list(itertools.permutations([COUPON, CLICK_ID, ASSET_ID])), ids="-".join
)
def test_takes_the_order_that_it_is_given(order):
    pointers = [pointing(clue) for clue in (CLICK_ID, COUPON, ASSET_ID)]

    assert verdict_on(*pointers, order=order).deciding.clue == order[0]


def test_does_not_ask_a_clue_outside_the_order():
    verdict = verdict_on(pointing(CUSTOMER), pointing(COUPON), order=REGISTERING)

    assert verdict.deciding.clue == COUPON
    assert verdict.losers == ()


def test_lets_nothing_decide_without_a_clue():
    verdict = verdict_on()

    assert verdict == Verdict(deciding=None, fault=Fault.NO_CLUE)
    with pytest.raises(NoClue) as refusal:
        verdict.require_clue()
    assert text_of(refusal) == "Missing mandatory parameter(s)"


@pytest.mark.parametrize(
    ("clue", "name"),
    [
        (COUPON, "coupon"),
        (REFERRAL_CODE, "referral_code"),
        (CLICK_ID, "click_id"),
        (ASSET_ID, "asset_id"),
        (ASSET_ID, "source_id"),
        (TRACKING_ID, "tracking_id"),
    ],
    ids=lambda value: value,
)
def test_refuses_the_highest_clue_when_it_is_blank(clue, name):
    verdict = verdict_on(Pointer(clue, "", blank=name))

    assert verdict.fault is Fault.BLANK
    with pytest.raises(BlankClue) as refusal:
        verdict.require_clue()
    assert text_of(refusal) == (
        f"Parameter '{name}' takes precedence for tracking, but no value was passed"
    )


def test_lets_a_blank_clue_keep_the_precedence_over_a_good_one():
    blank, good = Pointer(COUPON, " ", blank=COUPON), pointing(REFERRAL_CODE)

    verdict = verdict_on(good, blank)

    assert verdict.deciding == blank
    assert verdict.fault is Fault.BLANK


def test_does_not_mind_a_blank_clue_below_the_deciding_one():
    verdict = verdict_on(pointing(COUPON), Pointer(CLICK_ID, "", blank=CLICK_ID))

    assert verdict.fault is None
    assert verdict.losers == (Loser(CLICK_ID, "", None, "sent without a value"),)


@pytest.mark.parametrize(
    ("clue", "refusal", "text"),
    [
        (COUPON, UnknownCoupon, "Unknown coupon code"),
        (REFERRAL_CODE, UnknownReferralCode, "Unknown referral code"),
        (CLICK_ID, InvalidClickId, "Invalid click id"),
        (ASSET_ID, InvalidAssetOrSource, "Invalid asset id or source id"),
        (TRACKING_ID, InvalidTrackingId, "Invalid tracking id"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_refuses_a_clue_that_points_at_nobody(clue, refusal, text):
    verdict = verdict_on(Pointer(clue, "x"), pointing(TRACKING_ID, affiliate="rival"))
    if clue == TRACKING_ID:
        verdict = verdict_on(Pointer(clue, "x"))

    verdict.require_clue()
    with pytest.raises(refusal) as refused:
        verdict.require_earner()
    assert verdict.fault is Fault.UNKNOWN
    assert text_of(refused) == text


FAULTY = [
    ({"standing": Standing.REMOVED}, Fault.REMOVED, AffiliateDeleted),
    ({"standing": Standing.WAITING}, Fault.NOT_APPROVED, AffiliateNotApproved),
    ({"standing": Standing.DISAPPROVED}, Fault.NOT_APPROVED, AffiliateNotApproved),
    ({"standing": Standing.STRANGER}, Fault.NOT_APPROVED, AffiliateNotApproved),
    ({"archived": True}, Fault.ARCHIVED, ProgramArchived),
    (
        {"standing": Standing.REMOVED, "archived": True},
        Fault.REMOVED,
        AffiliateDeleted,
    ),
    (
        {"standing": Standing.WAITING, "archived": True},
        Fault.NOT_APPROVED,
        AffiliateNotApproved,
    ),
]


@pytest.mark.parametrize("clue", REST)
@pytest.mark.parametrize(
    ("facts", "fault", "refusal"),
    FAULTY,
    ids=[
        "removed",
        "waiting",
        "disapproved",
        "stranger",
        "archived",
        "removed-before-archived",
        "waiting-before-archived",
    ],
)
def test_refuses_an_earner_that_may_not_earn(clue, facts, fault, refusal):
    verdict = verdict_on(pointing(clue, **facts))

    verdict.require_clue()
    verdict.require_fresh_click()
    with pytest.raises(refusal):
        verdict.require_earner()
    assert verdict.fault is fault


@pytest.mark.parametrize(
    ("facts", "fault"),
    [
        ({"standing": Standing.REMOVED}, Fault.REMOVED),
        ({"standing": Standing.WAITING}, Fault.NOT_APPROVED),
        ({"archived": True}, Fault.ARCHIVED),
    ],
    ids=["removed", "waiting", "archived"],
)
def test_names_the_age_of_a_click_last(facts, fault):
    verdict = verdict_on(clicked(timedelta(days=400), **facts))

    assert verdict.fault is fault


@pytest.mark.parametrize("days", [1, 45, 365])
@pytest.mark.parametrize("clue", [CLICK_ID, TRACKING_ID])
def test_takes_a_click_of_exactly_the_cookie_time(clue, days):
    pointer = replace(clicked(timedelta(hours=24 * days), days), clue=clue)

    verdict = verdict_on(pointer)

    verdict.require_earner()
    verdict.require_fresh_click()
    assert verdict.fault is None
    assert verdict.late_by is None


@pytest.mark.parametrize("days", [1, 45, 365])
@pytest.mark.parametrize("clue", [CLICK_ID, TRACKING_ID])
def test_refuses_a_click_one_microsecond_older(clue, days):
    pointer = replace(clicked(timedelta(hours=24 * days) + TICK, days), clue=clue)

    verdict = verdict_on(pointer)

    verdict.require_earner()
    with pytest.raises(CookieExpired) as refusal:
        verdict.require_fresh_click()
    assert text_of(refusal) == "Cookie expired"
    assert verdict.fault is Fault.EXPIRED
    assert verdict.late_by == TICK


def test_takes_an_old_click_when_its_age_is_ignored():
    verdict = verdict_on(clicked(timedelta(days=400)), ignoring=True)

    verdict.require_earner()
    verdict.require_fresh_click()
    assert verdict.fault is None
    assert verdict.late_by == timedelta(days=355)


def test_ignores_no_other_fault_with_the_age():
    old = clicked(timedelta(days=400), standing=Standing.WAITING)

    assert verdict_on(old, ignoring=True).fault is Fault.NOT_APPROVED


def test_does_not_ask_the_age_of_a_click_that_did_not_decide():
    old = clicked(timedelta(days=48, hours=4), affiliate="rival")

    verdict = verdict_on(pointing(COUPON), old)

    assert verdict.fault is None
    assert verdict.late_by is None
    assert verdict.losers == (
        Loser(CLICK_ID, "a click_id", "rival", "expired by 3 d 4 h"),
    )


LOSERS = [
    (pointing(CLICK_ID, affiliate="rival"), "coupon comes first"),
    (Pointer(CLICK_ID, "a click_id"), "points at nobody"),
    (Pointer(CLICK_ID, "a click_id", blank=CLICK_ID), "sent without a value"),
    (pointing(CLICK_ID, standing=Standing.REMOVED), "the affiliate is deleted"),
    (pointing(CLICK_ID, standing=Standing.WAITING), "not approved in the program"),
    (pointing(CLICK_ID, standing=Standing.DISAPPROVED), "not approved in the program"),
    (pointing(CLICK_ID, standing=Standing.STRANGER), "not approved in the program"),
    (pointing(CLICK_ID, archived=True), "the program is archived"),
    (clicked(timedelta(days=45) + TICK), "expired by 0 d 0 h"),
    (clicked(timedelta(days=46, hours=23, minutes=59)), "expired by 1 d 23 h"),
    (clicked(timedelta(days=45)), "coupon comes first"),
]


@pytest.mark.parametrize(
    ("pointer", "reason"), LOSERS, ids=[f"{n}-{it[1]}" for n, it in enumerate(LOSERS)]
)
def test_tells_a_loser_why(pointer, reason):
    verdict = verdict_on(pointing(COUPON), pointer)

    assert verdict.losers == (Loser(CLICK_ID, "a click_id", pointer.affiliate, reason),)


def test_names_the_losers_in_the_order_of_the_clues():
    clues = (TRACKING_ID, ASSET_ID, CLICK_ID, REFERRAL_CODE, COUPON, CUSTOMER)

    verdict = verdict_on(*(pointing(clue) for clue in clues))

    assert [it.clue for it in verdict.losers] == list(REGISTERING)
    assert {it.reason for it in verdict.losers} == {"customer comes first"}


def test_lets_a_known_customer_decide_over_a_blank_clue():
    verdict = verdict_on(pointing(CUSTOMER), Pointer(COUPON, "", blank=COUPON))

    assert verdict.deciding.clue == CUSTOMER
    assert verdict.fault is None


def test_passes_over_an_unknown_customer_beside_another_clue():
    verdict = verdict_on(Pointer(CUSTOMER, "acct-1"), pointing(REFERRAL_CODE))

    assert verdict.deciding.clue == REFERRAL_CODE
    assert verdict.fault is None


def test_refuses_an_unknown_customer_alone():
    verdict = verdict_on(Pointer(CUSTOMER, "acct-55120"))

    assert verdict.deciding is None
    assert verdict.fault is Fault.UNKNOWN_CUSTOMER
    with pytest.raises(UnknownCustomer) as refusal:
        verdict.require_earner(customer_id="acct-55120")
    assert text_of(refusal) == (
        "Missing tracking parameter value and no customer found for customer id:"
        " acct-55120"
    )


def test_asks_nothing_more_of_a_verdict_without_a_fault():
    verdict = verdict_on(clicked(timedelta(days=1)))

    verdict.require_clue()
    verdict.require_earner()
    verdict.require_fresh_click()


def test_keeps_what_it_was_given_as_plain_text():
    pointers = [pointing(COUPON), clicked(timedelta(days=1), affiliate="rival")]

    kept = frozen_inputs(pointers, order=REGISTERING, at=NOW, ignore_cookie_age=True)

    rest = {"archived": False, "blank": None, "program": "harbor"}
    assert json.loads(json.dumps(kept)) == {
        "order": ["coupon", "referral_code", "click_id", "asset_id", "tracking_id"],
        "at": "2026-03-04T09:15:27+00:00",
        "ignore_cookie_age": True,
        "pointers": [
            rest
            | {
                "clue": "coupon",
                "value": "a coupon",
                "affiliate": "odettevarga",
                "standing": "approved",
                "clicked_at": None,
                "cookie_days": None,
            },
            rest
            | {
                "clue": "click_id",
                "value": "a click_id",
                "affiliate": "rival",
                "standing": "approved",
                "clicked_at": "2026-03-03T09:15:27+00:00",
                "cookie_days": 45,
            },
        ],
    }


def test_keeps_what_it_said_as_plain_text():
    verdict = verdict_on(pointing(COUPON), pointing(CLICK_ID, affiliate="rival"))

    assert frozen_outcome(verdict) == {
        "clue": "coupon",
        "affiliate": "odettevarga",
        "program": "harbor",
        "fault": None,
        "late_by": None,
        "losers": [
            {
                "clue": "click_id",
                "value": "a click_id",
                "affiliate": "rival",
                "reason": "coupon comes first",
            }
        ],
    }


moments = st.datetimes(
    min_value=datetime(2020, 1, 1),  # noqa: DTZ001 - the zone is added
    max_value=datetime(2030, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
names = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
pointers = st.builds(
    Pointer,
    clue=st.sampled_from(REST),
    value=st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    affiliate=names,
    program=names,
    standing=st.none() | st.sampled_from(Standing),
    archived=st.booleans(),
    clicked_at=st.none() | moments,
    cookie_days=st.none() | st.integers(1, 365),
    blank=st.none() | st.sampled_from(REST),
)


@given(
    found=st.lists(pointers, max_size=6, unique_by=lambda it: it.clue),
    order=st.permutations(REST).map(tuple) | st.just(REGISTERING),
    at=moments,
    ignoring=st.booleans(),
)
def test_decides_the_same_again_from_what_it_kept(found, order, at, ignoring):
    how = {"order": order, "at": at, "ignore_cookie_age": ignoring}

    verdict = decide(found, **how)
    kept = json.dumps(frozen_inputs(found, **how))
    again = thawed(json.loads(kept))

    assert again == verdict
    assert json.dumps(frozen_outcome(again)) == json.dumps(frozen_outcome(verdict))


@given(
    found=st.lists(pointers, max_size=6, unique_by=lambda it: it.clue),
    at=moments,
    seed=st.randoms(use_true_random=False),
)
def test_does_not_care_in_which_order_clues_were_found(found, at, seed):
    shuffled = list(found)
    seed.shuffle(shuffled)

    first, second = (
        decide(each, order=REST, at=at, ignore_cookie_age=False)
        for each in (found, shuffled)
    )

    assert first == second
