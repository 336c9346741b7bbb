"""Contract 2.2.5: a known sale, a hasty retry, and what is remembered of a failure."""

from datetime import timedelta

import pytest

from accounts.engines import database_now
from tests.conftest import NOW
from tests.proof import books_agree
from tracking.errors import DuplicateConversion, TooManyAttempts
from tracking.models.conversions import Origin
from tracking.services import attempts
from tracking.services.attempts import admit, forget, remember_failure

SALE = {"source": Origin.API, "external_id": "order-1"}
FAILED = NOW


@pytest.fixture
def failed(account, monkeypatch):
    """A sale that failed at FAILED: `failed(ago=…)` moves the database's clock."""

    def ask(*, ago):
        monkeypatch.setattr(attempts, "database_now", lambda: FAILED + ago)

    ask(ago=timedelta(0))
    remember_failure(account, **SALE, message="Unknown coupon code")
    return ask


def kept(account):
    """What is remembered."""
    return list(
        account.conversion_attempts.order_by("id").values_list(
            "source", "external_id", "failed_at", "message"
        )
    )


def test_admits_a_sale_that_nobody_knows(account):
    assert admit(account, **SALE) is False
    assert kept(account) == []


def test_remembers_when_and_why_a_sale_failed(account, failed):
    assert kept(account) == [("api", "order-1", FAILED, "Unknown coupon code")]


@pytest.mark.parametrize(
    "ago",
    [
        pytest.param(timedelta(0), id="at-once"),
        pytest.param(timedelta(seconds=9, microseconds=999_999), id="just-under"),
        pytest.param(timedelta(seconds=-1), id="clocks-were-set"),
    ],
)
def test_refuses_a_retry_within_ten_seconds(account, failed, ago):
    before = kept(account)
    failed(ago=ago)

    with pytest.raises(TooManyAttempts) as refused:
        admit(account, **SALE)

    assert str(refused.value) == (
        "To many concurrent attempts to create conversion with id 'order-1'"
    )
    assert kept(account) == before


@pytest.mark.parametrize(
    "ago",
    [
        pytest.param(timedelta(seconds=10), id="exactly"),
        pytest.param(timedelta(seconds=10, microseconds=1), id="just-over"),
        pytest.param(timedelta(days=30), id="a-month"),
    ],
)
def test_admits_a_retry_after_ten_seconds_and_says_so(account, failed, ago):
    before = kept(account)
    failed(ago=ago)

    assert admit(account, **SALE) is True
    assert kept(account) == before


def test_begins_the_pause_anew_with_the_next_failure(account, failed):
    failed(ago=timedelta(seconds=10))
    remember_failure(account, **SALE, message="Cookie expired")

    failed(ago=timedelta(seconds=19))

    with pytest.raises(TooManyAttempts):
        admit(account, **SALE)
    assert kept(account) == [
        ("api", "order-1", FAILED + timedelta(seconds=10), "Cookie expired")
    ]


@pytest.mark.parametrize(
    "sale",
    [
        pytest.param(SALE | {"external_id": "order-2"}, id="another-sale"),
        pytest.param(SALE | {"external_id": "Order-1"}, id="other-letters"),
        pytest.param(SALE | {"external_id": "order-1 "}, id="a-space"),
        pytest.param(SALE | {"source": "postback"}, id="another-source"),
        pytest.param(SALE | {"source": "browser"}, id="a-browser"),
    ],
)
def test_never_delays_another_sale(account, failed, sale):
    assert admit(account, **sale) is False


def test_never_delays_another_account(account, other_account, failed):
    assert admit(other_account, **SALE) is False


def test_keeps_the_failures_of_each_source_apart(account, failed):
    remember_failure(account, **SALE | {"source": "postback"}, message="Cookie expired")

    forget(account, **SALE)

    assert [row[0] for row in kept(account)] == ["postback"]


def test_forgets_a_failure_of_one_sale_of_one_account(account, other_account, failed):
    remember_failure(other_account, **SALE, message="")
    remember_failure(account, **SALE | {"external_id": "order-2"}, message="")

    forget(account, **SALE)

    assert [row[1] for row in kept(account)] == ["order-2"]
    assert [row[1] for row in kept(other_account)] == ["order-1"]
    assert admit(account, **SALE) is False


def test_forgets_what_nobody_remembers(account):
    forget(account, **SALE)

    assert kept(account) == []


def test_knows_a_sale_that_is_stored_before_any_pause(shop, account, failed):
    shop.sell("200", external_id="order-1")

    for ago in (timedelta(0), timedelta(days=1)):
        failed(ago=ago)
        with pytest.raises(DuplicateConversion) as refused:
            admit(account, **SALE)

    assert str(refused.value) == (
        "Duplicate conversion. There is already a conversion for External id 'order-1'"
    )
    books_agree(account)


@pytest.mark.parametrize("source", ["api", "postback", "browser"])
def test_looks_for_duplicates_at_all_sources(shop, account, source):
    shop.sell("200", external_id="order-1")

    with pytest.raises(DuplicateConversion):
        admit(account, **SALE | {"source": source})

    books_agree(account)


def test_frees_the_id_of_a_removed_sale(shop, account):
    shop.sell("0", external_id="order-1").change(removed_at=NOW)

    assert admit(account, **SALE) is False


def test_does_not_know_the_sales_of_another_account(shop, account, other_account):
    shop.sell("200", external_id="order-1")

    assert admit(other_account, **SALE) is False
    books_agree(account)


def test_reads_the_clock_of_the_database(account):
    before = database_now()
    remember_failure(account, **SALE, message="")
    after = database_now()

    assert before <= kept(account)[0][2] <= after
