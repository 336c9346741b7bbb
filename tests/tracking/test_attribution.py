"""Attribution without a database (docs/api-contract.md, section 2.2.4)."""

import itertools
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import NOW
from tracking.attribution import (
    ASSET_AND_SOURCE,
    CLICK_ID,
    COUPON,
    CUSTOMER,
    REFERRAL_CODE,
    REST_CONVERSION_ORDER,
    REST_CUSTOMER_ORDER,
    TRACKING_ID,
    AttributionResult,
    Candidate,
    EnrollmentStatus,
    RejectedCandidate,
    RejectionReason,
    replay_attribution,
    select_winner,
    serialize_inputs,
    serialize_outcome,
)
from tracking.claims import Trust
from tracking.errors import (
    AffiliateDeleted,
    AffiliateNotApproved,
    BlankTrackingParameter,
    CookieExpired,
    InvalidAssetOrSource,
    InvalidClickId,
    InvalidTrackingId,
    MissingTrackingParameter,
    ProgramArchived,
    UnknownCoupon,
    UnknownCustomer,
    UnknownReferralCode,
)

MICROSECOND = timedelta(microseconds=1)


def build_candidate(parameter, affiliate="odettevarga", **fields):
    """A candidate that may earn, unless the fields say otherwise."""
    defaults = {"enrollment_status": EnrollmentStatus.APPROVED, "program": "harbor"}
    return Candidate(
        parameter=parameter,
        value=f"a {parameter}",
        affiliate=affiliate,
        **defaults | fields,
    )


def build_click(age, days=45, **fields):
    return build_candidate(CLICK_ID, clicked_at=NOW - age, cookie_time_days=days, **fields)


def run_attribution(*candidates, order=REST_CONVERSION_ORDER, ignore_cookie_age=False):
    return select_winner(candidates, order=order, at=NOW, ignore_cookie_age=ignore_cookie_age)


@pytest.mark.parametrize(
    ("higher", "lower"),
    list(itertools.pairwise(REST_CONVERSION_ORDER)),
    ids=[f"{higher}-over-{lower}" for higher, lower in itertools.pairwise(REST_CONVERSION_ORDER)],
)
def test_selects_the_parameter_with_higher_precedence(higher, lower):
    first, second = build_candidate(higher), build_candidate(lower, affiliate="rival")

    for candidates in ([first, second], [second, first]):
        result = run_attribution(*candidates)

        assert result.winner == first
        assert result.rejection_reason is None


def test_orders_parameters_as_specified():
    assert (
        *("customer", "coupon", "referral_code", "click_id"),
        *("asset_id", "tracking_id"),
    ) == REST_CONVERSION_ORDER
    assert list(REST_CUSTOMER_ORDER) == list(REST_CONVERSION_ORDER)[1:]


@pytest.mark.parametrize(
    "order",
    list(itertools.permutations([COUPON, CLICK_ID, ASSET_AND_SOURCE])),
    ids="-".join,
)
def test_uses_the_given_order(order):
    candidates = [build_candidate(parameter) for parameter in (CLICK_ID, COUPON, ASSET_AND_SOURCE)]

    assert run_attribution(*candidates, order=order).winner.parameter == order[0]


def test_ignores_parameters_outside_the_order():
    result = run_attribution(
        build_candidate(CUSTOMER), build_candidate(COUPON), order=REST_CUSTOMER_ORDER
    )

    assert result.winner.parameter == COUPON
    assert result.rejected_candidates == ()


def test_has_no_winner_without_parameters():
    result = run_attribution()

    assert result == AttributionResult(winner=None, rejection_reason=RejectionReason.NO_PARAMETER)
    with pytest.raises(MissingTrackingParameter) as error:
        result.ensure_parameter_sent()
    assert str(error.value) == "Missing mandatory parameter(s)"


@pytest.mark.parametrize(
    ("parameter", "name"),
    [
        (COUPON, "coupon"),
        (REFERRAL_CODE, "referral_code"),
        (CLICK_ID, "click_id"),
        (ASSET_AND_SOURCE, "asset_id"),
        (ASSET_AND_SOURCE, "source_id"),
        (TRACKING_ID, "tracking_id"),
    ],
    ids=lambda value: value,
)
def test_rejects_a_blank_winner(parameter, name):
    result = run_attribution(Candidate(parameter, "", blank_parameter=name))

    assert result.rejection_reason is RejectionReason.BLANK
    with pytest.raises(BlankTrackingParameter) as error:
        result.ensure_parameter_sent()
    assert str(error.value) == (
        f"Parameter '{name}' takes precedence for tracking, but no value was passed"
    )


def test_blank_parameter_keeps_its_precedence():
    blank, good = (
        Candidate(COUPON, " ", blank_parameter=COUPON),
        build_candidate(REFERRAL_CODE),
    )

    result = run_attribution(good, blank)

    assert result.winner == blank
    assert result.rejection_reason is RejectionReason.BLANK


def test_accepts_a_blank_parameter_of_lower_precedence():
    result = run_attribution(
        build_candidate(COUPON), Candidate(CLICK_ID, "", blank_parameter=CLICK_ID)
    )

    assert result.rejection_reason is None
    assert result.rejected_candidates == (RejectedCandidate(CLICK_ID, "", None, "blank"),)


@pytest.mark.parametrize(
    ("parameter", "error_class", "text"),
    [
        (COUPON, UnknownCoupon, "Unknown coupon code"),
        (REFERRAL_CODE, UnknownReferralCode, "Unknown referral code"),
        (CLICK_ID, InvalidClickId, "Invalid click id"),
        (ASSET_AND_SOURCE, InvalidAssetOrSource, "Invalid asset id or source id"),
        (TRACKING_ID, InvalidTrackingId, "Invalid tracking id"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_rejects_an_unknown_value(parameter, error_class, text):
    result = run_attribution(
        Candidate(parameter, "x"), build_candidate(TRACKING_ID, affiliate="rival")
    )
    if parameter == TRACKING_ID:
        result = run_attribution(Candidate(parameter, "x"))

    result.ensure_parameter_sent()
    with pytest.raises(error_class) as error:
        result.ensure_affiliate_eligible()
    assert result.rejection_reason is RejectionReason.UNKNOWN
    assert str(error.value) == text


STATUS = "enrollment_status"
DELETED = (RejectionReason.AFFILIATE_DELETED, AffiliateDeleted)
NOT_APPROVED = (RejectionReason.NOT_APPROVED, AffiliateNotApproved)
ARCHIVED = {"is_program_archived": True}
REJECTED = {
    "deleted": ({STATUS: EnrollmentStatus.DELETED}, *DELETED),
    "pending": ({STATUS: EnrollmentStatus.PENDING}, *NOT_APPROVED),
    "disapproved": ({STATUS: EnrollmentStatus.DISAPPROVED}, *NOT_APPROVED),
    "not-enrolled": ({STATUS: EnrollmentStatus.NOT_ENROLLED}, *NOT_APPROVED),
    "archived": (ARCHIVED, RejectionReason.PROGRAM_ARCHIVED, ProgramArchived),
    "deleted-too": ({STATUS: EnrollmentStatus.DELETED} | ARCHIVED, *DELETED),
    "pending-too": ({STATUS: EnrollmentStatus.PENDING} | ARCHIVED, *NOT_APPROVED),
}


@pytest.mark.parametrize("parameter", REST_CONVERSION_ORDER)
@pytest.mark.parametrize("name", REJECTED)
def test_rejects_an_ineligible_affiliate(parameter, name):
    fields, reason, error_class = REJECTED[name]
    expired = build_click(timedelta(days=400), **fields)

    for candidate in (build_candidate(parameter, **fields), expired):
        result = run_attribution(candidate)

        result.ensure_parameter_sent()
        result.ensure_cookie_valid()
        with pytest.raises(error_class):
            result.ensure_affiliate_eligible()
        assert result.rejection_reason is reason


@pytest.mark.parametrize("days", [1, 45, 365])
@pytest.mark.parametrize("parameter", [CLICK_ID, TRACKING_ID])
def test_counts_the_cookie_time_to_the_microsecond(parameter, days):
    age = timedelta(hours=24 * days)
    click, late = (
        run_attribution(replace(build_click(each, days), parameter=parameter))
        for each in (age, age + MICROSECOND)
    )

    click.ensure_parameter_sent()
    click.ensure_affiliate_eligible()
    click.ensure_cookie_valid()
    assert click.rejection_reason is click.expired_by is None
    late.ensure_affiliate_eligible()
    with pytest.raises(CookieExpired) as error:
        late.ensure_cookie_valid()
    assert str(error.value) == "Cookie expired"
    assert late.rejection_reason is RejectionReason.COOKIE_EXPIRED
    assert late.expired_by == MICROSECOND


def test_accepts_an_expired_click_if_the_cookie_age_is_ignored():
    result = run_attribution(build_click(timedelta(days=400)), ignore_cookie_age=True)

    result.ensure_affiliate_eligible()
    result.ensure_cookie_valid()
    assert result.rejection_reason is None
    assert result.expired_by == timedelta(days=355)


def test_ignoring_the_cookie_age_ignores_no_other_reason():
    old = build_click(timedelta(days=400), enrollment_status=EnrollmentStatus.PENDING)

    assert (
        run_attribution(old, ignore_cookie_age=True).rejection_reason
        is RejectionReason.NOT_APPROVED
    )


def test_accepts_an_expired_click_that_is_not_the_winner():
    old = build_click(timedelta(days=48, hours=4), affiliate="rival")

    result = run_attribution(build_candidate(COUPON), old)

    assert result.rejection_reason is None
    assert result.expired_by is None
    assert result.rejected_candidates == (
        RejectedCandidate(CLICK_ID, "a click_id", "rival", "cookie_expired", 76),
    )


REJECTED_CANDIDATES = [
    (build_candidate(CLICK_ID, affiliate="rival"), "lower_precedence"),
    (Candidate(CLICK_ID, "a click_id"), "unknown"),
    (
        Candidate(CLICK_ID, "a click_id", blank_parameter=CLICK_ID),
        "blank",
    ),
    (
        build_candidate(CLICK_ID, enrollment_status=EnrollmentStatus.DELETED),
        "affiliate_deleted",
    ),
    (
        build_candidate(CLICK_ID, enrollment_status=EnrollmentStatus.PENDING),
        "not_approved",
    ),
    (
        build_candidate(CLICK_ID, enrollment_status=EnrollmentStatus.DISAPPROVED),
        "not_approved",
    ),
    (
        build_candidate(CLICK_ID, enrollment_status=EnrollmentStatus.NOT_ENROLLED),
        "not_approved",
    ),
    (build_candidate(CLICK_ID, is_program_archived=True), "program_archived"),
    (build_click(timedelta(days=45)), "lower_precedence"),
]


@pytest.mark.parametrize(
    ("candidate", "reason"),
    REJECTED_CANDIDATES,
    ids=[f"{n}-{reason}" for n, (_, reason) in enumerate(REJECTED_CANDIDATES)],
)
def test_gives_the_reason_of_a_rejected_candidate(candidate, reason):
    result = run_attribution(build_candidate(COUPON), candidate)

    assert result.rejected_candidates == (
        RejectedCandidate(CLICK_ID, "a click_id", candidate.affiliate, reason),
    )


@pytest.mark.parametrize(
    ("age", "hours"),
    [
        (timedelta(days=45) + MICROSECOND, 0),
        (timedelta(days=46, hours=23, minutes=59), 47),
    ],
)
def test_counts_the_full_hours_since_a_cookie_expired(age, hours):
    [rejected] = run_attribution(build_candidate(COUPON), build_click(age)).rejected_candidates

    assert (rejected.reason, rejected.expired_by_hours) == ("cookie_expired", hours)


def test_lists_rejected_candidates_by_precedence():
    parameters = (
        TRACKING_ID,
        ASSET_AND_SOURCE,
        CLICK_ID,
        REFERRAL_CODE,
        COUPON,
        CUSTOMER,
    )

    result = run_attribution(*(build_candidate(parameter) for parameter in parameters))

    assert [each.parameter for each in result.rejected_candidates] == list(REST_CUSTOMER_ORDER)
    assert {each.reason for each in result.rejected_candidates} == {"lower_precedence"}


def test_known_customer_precedes_a_blank_parameter():
    result = run_attribution(
        build_candidate(CUSTOMER), Candidate(COUPON, "", blank_parameter=COUPON)
    )

    assert result.winner.parameter == CUSTOMER
    assert result.rejection_reason is None


def test_skips_an_unknown_customer_if_there_is_another_parameter():
    result = run_attribution(Candidate(CUSTOMER, "acct-1"), build_candidate(REFERRAL_CODE))

    assert result.winner.parameter == REFERRAL_CODE
    assert result.rejection_reason is None


def test_rejects_an_unknown_customer_without_other_parameters():
    result = run_attribution(Candidate(CUSTOMER, "acct-55120"))

    assert result.winner is None
    assert result.rejection_reason is RejectionReason.UNKNOWN_CUSTOMER
    with pytest.raises(UnknownCustomer) as error:
        result.ensure_affiliate_eligible(customer_id="acct-55120")
    assert str(error.value) == (
        "Missing tracking parameter value and no customer found for customer id: acct-55120"
    )


def test_serializes_inputs():
    candidates = [
        build_candidate(COUPON),
        build_click(timedelta(days=1), affiliate="rival"),
    ]

    stored = serialize_inputs(
        candidates,
        order=REST_CUSTOMER_ORDER,
        at=NOW,
        ignore_cookie_age=True,
        trust=Trust.FACT,
    )

    common = {
        "is_program_archived": False,
        "blank_parameter": None,
        "is_claim": False,
        "program": "harbor",
    }
    assert json.loads(json.dumps(stored)) == {
        "trust": "fact",
        "order": ["coupon", "referral_code", "click_id", "asset_id", "tracking_id"],
        "at": "2026-03-04T09:15:27+00:00",
        "ignore_cookie_age": True,
        "candidates": [
            common
            | {
                "parameter": "coupon",
                "value": "a coupon",
                "affiliate": "odettevarga",
                "enrollment_status": "approved",
                "clicked_at": None,
                "cookie_time_days": None,
            },
            common
            | {
                "parameter": "click_id",
                "value": "a click_id",
                "affiliate": "rival",
                "enrollment_status": "approved",
                "clicked_at": "2026-03-03T09:15:27+00:00",
                "cookie_time_days": 45,
            },
        ],
    }


moments = st.datetimes(
    min_value=datetime(2020, 1, 1),  # noqa: DTZ001 - the zone is added
    max_value=datetime(2030, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
names = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
candidate_strategy = st.builds(
    Candidate,
    parameter=st.sampled_from(REST_CONVERSION_ORDER),
    value=st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    affiliate=names,
    program=names,
    enrollment_status=st.none() | st.sampled_from(EnrollmentStatus),
    is_program_archived=st.booleans(),
    clicked_at=st.none() | moments,
    cookie_time_days=st.none() | st.integers(1, 365),
    blank_parameter=st.none() | st.sampled_from(REST_CONVERSION_ORDER),
    is_claim=st.booleans(),
)


@given(
    candidates=st.lists(
        candidate_strategy, max_size=6, unique_by=lambda candidate: candidate.parameter
    ),
    order=st.permutations(REST_CONVERSION_ORDER).map(tuple) | st.just(REST_CUSTOMER_ORDER),
    at=moments,
    ignore_cookie_age=st.booleans(),
    trust=st.sampled_from(Trust),
)
def test_replay_of_stored_inputs_gives_the_same_result(
    candidates, order, at, ignore_cookie_age, trust
):
    options = {
        "order": order,
        "at": at,
        "ignore_cookie_age": ignore_cookie_age,
        "trust": trust,
    }

    result = select_winner(candidates, **options)
    stored = json.dumps(serialize_inputs(candidates, **options))
    replayed = replay_attribution(json.loads(stored))

    assert replayed == result
    assert json.dumps(serialize_outcome(replayed)) == json.dumps(serialize_outcome(result))


@given(
    candidates=st.lists(
        candidate_strategy, max_size=6, unique_by=lambda candidate: candidate.parameter
    ),
    at=moments,
    seed=st.randoms(use_true_random=False),
)
def test_result_does_not_depend_on_the_order_of_candidates(candidates, at, seed):
    shuffled = list(candidates)
    seed.shuffle(shuffled)

    first, second = (
        select_winner(each, order=REST_CONVERSION_ORDER, at=at, ignore_cookie_age=False)
        for each in (candidates, shuffled)
    )

    assert first == second
