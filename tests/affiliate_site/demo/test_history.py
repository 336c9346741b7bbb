"""The history of the demo account: 120 days that end now, and sales to explain."""

from collections import Counter
from datetime import datetime, timedelta
from statistics import mean

import pytest
from django.db.models import Count
from django.db.models.functions import TruncDay
from django.utils import timezone

from accounts.models.accounts import Account
from affiliate_site.demo import history, loading
from affiliate_site.demo.history import (
    AFFILIATES,
    GROUP_RATES,
    HISTORY_DAYS,
    PAYER,
    DemoHistory,
    create_history,
    get_first_moment,
)
from payouts.models.commissions import CommissionKind, CommissionStatus
from payouts.services.documents import DocumentProblem, list_unbilled
from payouts.services.explanation import explain_conversion
from tests.conftest import NOW
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import assert_ledger_consistent
from tracking.services.warnings import CUSTOMER_IS_AFFILIATE

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def few_demo_sales():
    """The demo account with all its sales."""


@pytest.fixture
def demo_account(demo_file):
    return Account.objects.get(slug=loading.ACCOUNT_SLUG)


@pytest.fixture
def few_sales(monkeypatch):
    monkeypatch.setattr(history, "SALES_PER_DAY", 0.3)
    monkeypatch.setattr(history, "VISITS_PER_SALE", 1)


def create_demo_history(slug="lamps", *, scale=1, at=NOW):
    account = AccountFactory(slug=slug, plan__name="enterprise")
    create_history(account, scale=scale, at=at, progress=iter)
    return account


def list_days(rows):
    by_day = rows.annotate(day=TruncDay("created_at")).values_list("day")
    return dict(by_day.annotate(Count("pk")).order_by("day"))


def find_sale(account, name):
    return account.conversions.get(external_id=f"order-{name}")


def test_covers_120_days_that_end_now(demo_account):
    now = timezone.now()
    for rows in (demo_account.clicks, demo_account.conversions):
        times = rows.order_by("created_at").values_list("created_at", flat=True)
        oldest, newest = times.first(), times.last()
        assert oldest >= get_first_moment(now) - timedelta(days=1)
        assert now - oldest > timedelta(days=HISTORY_DAYS - 4)
        assert now - timedelta(days=2) < newest < now


def test_grows_with_a_weekly_rhythm(demo_account):
    clicks = list_days(demo_account.clicks)
    days = sorted(clicks)[:-1]  # without today, which is not over
    counts = [clicks[day] for day in days]

    assert mean(counts[-30:]) > 1.5 * mean(counts[:30])
    recent = days[-56:]
    by_weekday = {
        weekday: mean(clicks[day] for day in recent if day.weekday() == weekday)
        for weekday in (0, 5)
    }
    assert by_weekday[0] > by_weekday[5]


def test_has_programs_groups_levels_coupons_and_refunds(demo_account):
    account = demo_account
    assert set(account.programs.values_list("currency", flat=True)) == {"EUR", "USD"}
    assert {group.title for group in account.affiliate_groups.all()} == set(GROUP_RATES)
    assert account.group_rates.count() == len(GROUP_RATES) == 4
    assert account.enrollments.filter(approved=None).count() == 4
    assert account.enrollments.filter(approved=False).count() == 1
    assert account.prospects.filter(promoted_at=None).count() == 2
    assert account.conversions.filter(deleted_at__isnull=False).count() > 5
    assert account.audit_log.filter(kind="conversion.updated").count() > 3
    sources = Counter(account.conversions.values_list("tracking_source", flat=True))
    assert set(sources) >= {"click", "coupon"}
    repeated = account.conversions.values("customer").annotate(number=Count("pk"))
    assert repeated.filter(customer__isnull=False, number__gt=2).exists()
    commissions = account.commissions.all()
    assert set(commissions.values_list("status", flat=True)) == set(CommissionStatus)
    assert set(commissions.values_list("kind", flat=True)) == set(CommissionKind)
    assert account.payments.filter(canceled_at__isnull=False).count() == 1
    assert account.notes.count() == 1
    assert_ledger_consistent(account)


def test_has_a_settled_and_a_partly_failed_payout_run(demo_account):
    account = demo_account
    settled, failed = account.payout_runs.order_by("id")
    assert (settled.state, failed.state) == ("settled", "partly_failed")
    assert failed.payer["iban"] == settled.payer["iban"] == PAYER["payer_iban"]
    reasons = set(account.payout_lines.values_list("reason", flat=True))
    assert reasons >= {"below_minimum", "no_method"}
    returned = account.payout_lines.get(run=failed, state="returned")
    assert returned.method == "bank"
    assert returned.payment.canceled_at is not None
    assert account.notes.get().affiliate == returned.affiliate
    on_hold = account.payout_methods.exclude(on_hold_reason="").get()
    assert on_hold.affiliate == returned.affiliate


def test_has_documents_and_payments_that_cannot_be_billed(demo_account):
    account = demo_account
    kinds = Counter(account.documents.values_list("kind", "vat_rate"))
    assert min(kinds["self_billing", 19], kinds["self_billing", 0]) > 0
    problems = {each.problem for each in list_unbilled(account, limit=100)}
    assert problems == {DocumentProblem.NO_TAX_DATA}


def test_tells_stories(demo_account):
    account = demo_account
    known = find_sale(account, "known-customer-before-click")
    assert (known.affiliate.slug, known.tracking_source) == ("adastone", "customer")
    assert find_sale(account, "coupon-beats-click").affiliate.slug == "carlandiaye"
    own = find_sale(account, "own-purchase")
    assert own.warnings == [CUSTOMER_IS_AFFILIATE]
    contested = find_sale(account, "contested")
    assert contested.is_contested
    claims = account.conversion_claims.filter(conversion=contested)
    assert {claim.affiliate.slug for claim in claims} == {"gretaimanov", "hanawhitlock"}
    for name in ("cap-1", "cap-2", "cap-3"):
        conversion = find_sale(account, name)
        statuses = set(conversion.commissions.values_list("status", flat=True))
        assert CommissionStatus.DISAPPROVED not in statuses
    reached = find_sale(account, "cap-reached")
    (commission,) = explain_conversion(account, conversion_id=reached.pk).commissions
    assert "cap" in commission["initial_status"]["reason"]


@pytest.mark.engine_independent  # that it can be created is shown above
def test_is_the_same_for_the_same_day_and_scale(db, few_sales):
    accounts = [create_demo_history(slug) for slug in ("first", "second")]

    first, second = (
        [
            list(account.conversions.order_by("id").values_list(*columns))
            for columns in (
                ("external_id", "amount", "affiliate__slug", "created_at"),
                ("customer__customer_id", "tracking_source", "deleted_at"),
            )
        ]
        + [
            list(rows.order_by("id").values_list(*columns))
            for rows, columns in (
                (account.clicks, ("affiliate__slug", "landing_page", "created_at")),
                (account.commissions, ("amount", "status", "created_at")),
                (account.payments, ("affiliate__slug", "amount", "canceled_at")),
                (account.referral_codes.filter(prospect=None), ("code",)),
            )
        ]
        for account in accounts
    )
    assert first == second


@pytest.mark.engine_independent  # that it can be created is shown above
@pytest.mark.parametrize("hour", [0, 23])
def test_never_lies_in_the_future(db, few_sales, hour):
    at = datetime(2026, 3, 4, hour, 5, tzinfo=NOW.tzinfo)

    account = create_demo_history(at=at)

    assert not account.audit_log.filter(created_at__gt=at).exists()
    assert not account.clicks.filter(created_at__gt=at).exists()


@pytest.mark.engine_independent  # that it can be created is shown above
def test_scale_multiplies_the_data(db, few_sales):
    account = create_demo_history(scale=2)

    members = account.enrollments.filter(program__currency="EUR", approved=True)
    welcomed = sum(event[2] is DemoHistory.welcome for event in history.EVENTS)
    assert members.count() == 2 * len(AFFILIATES) + welcomed
