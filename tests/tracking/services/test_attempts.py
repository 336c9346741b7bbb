"""Conversion attempts (docs/api-contract.md, section 2.2.5)."""

from datetime import timedelta

import pytest

from accounts.db_compat import get_database_time
from tests.conftest import NOW
from tests.ledger_checks import assert_ledger_consistent
from tracking.claims import Trust
from tracking.errors import (
    CookieExpired,
    DuplicateConversion,
    TooManyConversionAttempts,
    UnknownCoupon,
)
from tracking.models.conversions import ConversionOrigin
from tracking.services import attempts
from tracking.services.attempts import Attempt, record_failed_attempt

CONVERSION = {"origin": ConversionOrigin.API, "external_id": "order-1"}
FAILED_AT = NOW


@pytest.fixture
def failed_attempt(account, monkeypatch):
    """An attempt that failed at FAILED_AT; call it to set the time since then."""

    def set_elapsed(*, elapsed):
        monkeypatch.setattr(attempts, "get_database_time", lambda: FAILED_AT + elapsed)

    set_elapsed(elapsed=timedelta(0))
    record_failed_attempt(account, **CONVERSION, error=UnknownCoupon())
    return set_elapsed


def start_attempt(account, conversion=CONVERSION):
    attempt = Attempt(account, **conversion)
    attempt.ensure_allowed()
    return attempt


def check_attempt(account, conversion=CONVERSION):
    """Return what an attempt that is allowed found out."""
    attempt = start_attempt(account, conversion)
    return attempt.has_failed_before, attempt.is_id_free


def list_attempts(account):
    return list(
        account.conversion_attempts.order_by("id").values_list(
            "origin", "external_id", "failed_at", "reason"
        )
    )


def test_allows_a_new_conversion(account):
    assert check_attempt(account) == (False, True)
    assert list_attempts(account) == []


def test_records_time_and_reason_of_a_failure(account, failed_attempt):
    assert list_attempts(account) == [("api", "order-1", FAILED_AT, "unknown_coupon")]


@pytest.mark.parametrize(
    "elapsed",
    [
        pytest.param(timedelta(0), id="at-once"),
        pytest.param(timedelta(seconds=9, microseconds=999_999), id="just-under"),
        pytest.param(timedelta(seconds=-1), id="clock-set-back"),
    ],
)
def test_rejects_a_retry_within_ten_seconds(account, failed_attempt, elapsed):
    before = list_attempts(account)
    failed_attempt(elapsed=elapsed)

    with pytest.raises(TooManyConversionAttempts) as error:
        start_attempt(account)

    assert str(error.value) == (
        "To many concurrent attempts to create conversion with id 'order-1'"
    )
    assert list_attempts(account) == before


@pytest.mark.parametrize(
    "elapsed",
    [
        pytest.param(timedelta(seconds=10), id="exactly"),
        pytest.param(timedelta(seconds=10, microseconds=1), id="just-over"),
        pytest.param(timedelta(days=30), id="a-month"),
    ],
)
def test_allows_a_retry_after_ten_seconds(account, failed_attempt, elapsed):
    before = list_attempts(account)
    failed_attempt(elapsed=elapsed)

    assert check_attempt(account) == (True, True)
    assert list_attempts(account) == before


def test_next_failure_restarts_the_ten_seconds(account, failed_attempt):
    failed_attempt(elapsed=timedelta(seconds=10))
    record_failed_attempt(account, **CONVERSION, error=CookieExpired())

    failed_attempt(elapsed=timedelta(seconds=19))

    with pytest.raises(TooManyConversionAttempts):
        start_attempt(account)
    assert list_attempts(account) == [
        ("api", "order-1", FAILED_AT + timedelta(seconds=10), "cookie_expired")
    ]


@pytest.mark.parametrize(
    "conversion",
    [
        pytest.param(CONVERSION | {"external_id": "order-2"}, id="another-conversion"),
        pytest.param(CONVERSION | {"external_id": "Order-1"}, id="another-case"),
        pytest.param(CONVERSION | {"external_id": "order-1 "}, id="a-space"),
        pytest.param(CONVERSION | {"origin": "postback"}, id="another-origin"),
        pytest.param(CONVERSION | {"origin": "browser"}, id="a-browser"),
    ],
)
def test_does_not_delay_other_conversions(account, failed_attempt, conversion):
    assert check_attempt(account, conversion) == (False, True)


def test_does_not_delay_other_accounts(account, other_account, failed_attempt):
    assert check_attempt(other_account) == (False, True)


def test_separates_failures_by_origin(account, failed_attempt):
    record_failed_attempt(account, **CONVERSION | {"origin": "postback"}, error=CookieExpired())

    failed_attempt(elapsed=timedelta(seconds=10))
    start_attempt(account).succeed()

    assert [row[0] for row in list_attempts(account)] == ["postback"]


def test_deletes_the_failure_of_one_conversion_of_one_account(
    account, other_account, failed_attempt
):
    record_failed_attempt(other_account, **CONVERSION, error=CookieExpired())
    record_failed_attempt(account, **CONVERSION | {"external_id": "order-2"}, error=CookieExpired())

    failed_attempt(elapsed=timedelta(seconds=10))
    start_attempt(account).succeed()

    assert [row[1] for row in list_attempts(account)] == ["order-2"]
    assert [row[1] for row in list_attempts(other_account)] == ["order-1"]
    assert check_attempt(account) == (False, True)


def test_deleting_without_a_failure_does_nothing(account):
    start_attempt(account).succeed()

    assert list_attempts(account) == []


def test_checks_duplicates_before_retries(scenario, account, failed_attempt):
    scenario.create_conversion("200", external_id="order-1")

    for elapsed in (timedelta(0), timedelta(days=1)):
        failed_attempt(elapsed=elapsed)
        with pytest.raises(DuplicateConversion) as error:
            start_attempt(account)

    assert str(error.value) == (
        "Duplicate conversion. There is already a conversion for External id 'order-1'"
    )
    assert_ledger_consistent(account)


@pytest.mark.parametrize("origin", ["api", "postback", "browser"])
def test_finds_duplicates_of_all_origins(scenario, account, origin):
    scenario.create_conversion("200", external_id="order-1")

    with pytest.raises(DuplicateConversion):
        start_attempt(account, CONVERSION | {"origin": origin})

    assert_ledger_consistent(account)


def test_allows_the_id_of_a_deleted_conversion(scenario, account):
    scenario.create_conversion("0", external_id="order-1").update_row(deleted_at=NOW)

    assert check_attempt(account) == (False, True)


def test_tells_that_a_claim_has_the_id(scenario, account):
    scenario.create_conversion("200", external_id="order-1", trust=Trust.CLAIM)

    assert check_attempt(account) == (False, False)
    assert_ledger_consistent(account)


def test_ignores_conversions_of_other_accounts(scenario, account, other_account):
    scenario.create_conversion("200", external_id="order-1")

    assert check_attempt(other_account) == (False, True)
    assert_ledger_consistent(account)


def test_uses_the_clock_of_the_database(account):
    before = get_database_time()
    record_failed_attempt(account, **CONVERSION, error=CookieExpired())
    after = get_database_time()

    assert before <= list_attempts(account)[0][2] <= after
