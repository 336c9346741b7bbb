"""Creation of conversions (docs/api-contract.md, sections 2.2.3 and 2.2.4)."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.days import start_of_day
from accounts.errors import ErrorList
from payouts.calculation import LineItem
from payouts.services.conversion_creation import ConversionData, create_conversion
from tests.ledger_checks import (
    assert_atomic,
    assert_ledger_consistent,
    assert_unchanged,
)
from tests.program_scenario import (
    CLICK_CREATED_AT,
    CONVERSION_CREATED_AT,
    ProgramScenario,
    mark_deleted,
)
from tracking.attribution import TrackingParameters
from tracking.claims import Trust
from tracking.errors import (
    AffiliateDeleted,
    AffiliateNotApproved,
    AmountTooLarge,
    ClickAfterSale,
    CookieExpired,
    DuplicateConversion,
    ProgramArchived,
    SaleDayOutOfRange,
)
from tracking.services.attribution import verify_attribution_record

pytestmark = pytest.mark.usefixtures("shared_scenario", "consistent_ledger")


@pytest.fixture
def second_affiliate(scenario):
    return scenario.create_enrolled_affiliate("Odette", "Varga")


def assert_rejected(scenario, kind, **conversion):
    """Check that a conversion is rejected and stores nothing; return the error."""
    with assert_unchanged(scenario.account), pytest.raises(kind) as rejection:
        scenario.create_conversion(*conversion.pop("amounts", ["200"]), **conversion)
    return rejection.value


# An external id that was free when the caller looked.


@pytest.mark.parametrize("trust", [Trust.FACT, Trust.CLAIM])
def test_looks_again_if_a_free_id_was_taken_meanwhile(scenario, trust):
    first = scenario.create_conversion("200", external_id="order-1", trust=trust)
    data = ConversionData(
        TrackingParameters(coupon=scenario.mina.coupon),
        [LineItem(Decimal(50))],
        external_id="order-1",
    )

    def create():
        at = CONVERSION_CREATED_AT
        return create_conversion(scenario.account, data=data, is_id_free=True, at=at)

    if trust is Trust.CLAIM:
        assert create() == first
        assert scenario.account.conversions.get().amount == 50
    else:
        with assert_unchanged(scenario.account), pytest.raises(DuplicateConversion):
            create()


# Rejections and their order.


def test_reports_the_first_violated_rule(scenario):
    """Each step breaks a rule that is checked before those of the earlier steps."""
    click = scenario.create_click()
    scenario.create_customer("acct-1")
    sale = {
        "parameters": TrackingParameters(click_id=str(click.public_id)),
        "at": CLICK_CREATED_AT + timedelta(days=46),
    }
    of_customer = {"parameters": TrackingParameters(customer_id="acct-1")}

    def assert_rejects_both(kind):
        assert type(assert_rejected(scenario, kind, **sale)) is kind
        assert_rejected(scenario, kind, **of_customer)

    assert_rejected(scenario, CookieExpired, **sale)
    sale["amounts"] = [("200", "gold")]
    assert type(assert_rejected(scenario, ErrorList, **sale)) is ErrorList
    scenario.archive()
    assert_rejects_both(ProgramArchived)
    scenario.mina.enrollment.update_row(approved=None)
    assert_rejects_both(AffiliateNotApproved)
    mark_deleted(scenario.mina.affiliate)
    assert_rejects_both(AffiliateDeleted)


def test_rejects_a_duplicate_external_id(scenario):
    scenario.create_conversion(external_id="order-1")

    rejection = assert_rejected(scenario, DuplicateConversion, external_id="order-1")

    assert str(rejection) == (
        "Duplicate conversion. There is already a conversion for External id 'order-1'"
    )


def test_accepts_an_external_id_in_other_case_or_account(scenario, other_account):
    scenario.create_conversion(external_id="order-1")

    again = scenario.create_conversion(external_id="Order-1")
    theirs = ProgramScenario(other_account, prefix="zz-marker-").create_conversion(
        external_id="order-1"
    )

    assert again.external_id == "Order-1"
    assert theirs.external_id == "order-1"


def test_accepts_any_number_of_conversions_without_external_id(scenario):
    assert len({scenario.create_conversion().pk, scenario.create_conversion().pk}) == 2


# Attribution.


def test_keeps_the_affiliate_of_a_customer_whatever_else_is_sent(scenario, second_affiliate):
    scenario.create_customer("acct-1")

    for coupon in ("", "NOBODY", second_affiliate.coupon):
        parameters = TrackingParameters(customer_id="acct-1", coupon=coupon)
        conversion = scenario.create_conversion(parameters=parameters)

        assert conversion.affiliate == scenario.mina.affiliate
        assert conversion.tracking_source == "customer"


def test_stores_a_verifiable_attribution_record(scenario, account):
    conversion = scenario.create_conversion(customer_id="acct-1")

    decision = account.attribution_records.get(conversion=conversion)

    assert verify_attribution_record(decision)
    assert account.attribution_records.count() == 1


# The customer.


@pytest.mark.parametrize("status", ["new", "trial", "lead", "paying", "canceled"])
def test_moves_a_known_customer_to_paying(scenario, account, status):
    customer = scenario.create_customer("acct-1")
    customer.update_row(status=status)

    conversion = scenario.create_conversion(customer_id="acct-1")

    assert conversion.customer == customer
    assert customer.reload().status == "paying"
    entries = account.audit_log.filter(kind="customer.updated")
    assert [event.details for event in entries] == (
        [] if status == "paying" else [{"status": [status, "paying"]}]
    )


def test_creates_an_unknown_customer(scenario, account):
    click = scenario.create_click()
    parameters = TrackingParameters(customer_id="acct-1", click_id=str(click.public_id))

    conversion = scenario.create_conversion(parameters=parameters)

    customer = account.customers.get()
    assert conversion.customer == customer
    assert (customer.customer_id, customer.status) == ("acct-1", "paying")
    assert customer.initial_status == "new"
    assert customer.created_at == CONVERSION_CREATED_AT
    assert (customer.program, customer.click) == (scenario.program, click)
    assert customer.affiliate == scenario.mina.affiliate


def test_creates_one_customer_for_two_conversions(scenario, account, second_affiliate):
    first = scenario.create_conversion(customer_id="acct-1")

    second = scenario.create_conversion(customer_id="acct-1", affiliate=second_affiliate)

    assert first.customer == second.customer == account.customers.get()
    assert second.affiliate == scenario.mina.affiliate


def test_creates_no_customer_without_customer_id(scenario, account):
    assert scenario.create_conversion().customer is None
    assert not account.customers.exists()


def test_creates_a_deleted_customer_again(scenario, account):
    gone = scenario.create_customer("acct-1")
    gone.update_row(deleted_at=CONVERSION_CREATED_AT, customer_id="")

    conversion = scenario.create_conversion(customer_id="acct-1")

    assert conversion.customer != gone
    assert account.customers.not_deleted().get() == conversion.customer


# Stored values.


def test_stores_a_conversion_as_sent(scenario, account):
    scenario.create_commission_type("accessories", "7.5")

    conversion = create_conversion(
        account,
        data=ConversionData(
            parameters=TrackingParameters(coupon=scenario.mina.coupon),
            line_items=[
                LineItem(Decimal(200), comment="two lamps"),
                LineItem(Decimal("49.90"), "accessories"),
            ],
            external_id="order-10417",
            meta_data={"channel": "web"},
            user_agent="Harbor/1",
            ip="unknown, 192.0.2.7, 198.51.100.1",
        ),
        at=CONVERSION_CREATED_AT,
    )

    stored = account.conversions.values().get()
    assert stored == {
        "id": conversion.pk,
        "account_id": account.pk,
        "external_id": "order-10417",
        "program_id": scenario.program.pk,
        "affiliate_id": scenario.mina.affiliate.pk,
        "customer_id": None,
        "click_id": None,
        "amount": Decimal("249.9"),
        "first_amount": None,
        "currency": "EUR",
        "tracking_source": "coupon",
        "meta_data": {"channel": "web"},
        "warnings": None,
        "user_agent": "Harbor/1",
        "ip": "192.0.2.7",
        "created_at": CONVERSION_CREATED_AT,
        "deleted_at": None,
        "claim_status": None,
        "is_amount_claimed": False,
        "is_contested": False,
        "disputed_at": None,
    }
    earned = account.commissions.order_by("id").values_list(
        *("sub_amount", "amount", "rate_kind", "rate", "commission_type", "name"),
        *("currency", "status", "kind", "comment", "created_at", "finalized_at"),
    )
    same = ("EUR", "pending", "regular")
    assert list(earned) == [
        (
            *(Decimal(200), Decimal(20), "percentage", Decimal(10)),
            *("standard", "Standard", *same, "two lamps", CONVERSION_CREATED_AT, None),
        ),
        (
            *(Decimal("49.9"), Decimal("3.74"), "percentage", Decimal("7.5")),
            *("accessories", "Accessories", *same, None, CONVERSION_CREATED_AT, None),
        ),
    ]


def test_logs_the_conversion_and_its_commissions(scenario, account):
    written = account.audit_log.count()

    conversion = scenario.create_conversion("200", "49.90", customer_id="acct-1")

    numbers = account.commissions.order_by("id").values_list("id", flat=True)
    entries = account.audit_log.order_by("id").values_list("kind", "subject")[written:]
    assert list(entries) == [
        ("customer.created", f"customer:{conversion.customer.public_id}"),
        ("conversion.created", f"conversion:{conversion.pk}"),
        *(("commission.created", f"commission:{number}") for number in numbers),
    ]


@pytest.mark.parametrize(
    ("currency", "amounts", "whole", "earned"),
    [
        pytest.param(None, ["0.005", "0.005"], "0.02", ["0", "0"], id="each-by-itself"),
        pytest.param(None, ["0.30000000000000004"], "0.3", ["0.03"], id="binary"),
        pytest.param(None, ["0.004"], "0", ["0"], id="to-zero"),
        pytest.param("JPY", ["99.5"], "100", ["10"], id="yen"),
        pytest.param("KWD", ["1.2345"], "1.235", ["0.124"], id="dinar"),
        pytest.param("KWD", ["1.2344"], "1.234", ["0.123"], id="dinar-down"),
        pytest.param(None, ["9999999999999.99"], "9999999999999.99", ["1000000000000"], id="most"),
    ],
)
def test_rounds_each_amount_once(scenario, account, currency, amounts, whole, earned):
    conversion = scenario.create_conversion(*amounts, currency=currency)

    assert conversion.amount == Decimal(whole)
    assert conversion.currency == (currency or "EUR")
    stored = account.commissions.order_by("id").values_list("amount", "currency")
    assert list(stored) == [(Decimal(row), conversion.currency) for row in earned]


@pytest.mark.parametrize(
    ("amounts", "paths"),
    [
        pytest.param(["10000000000000"], ["amount"], id="one-14-digits"),
        pytest.param(
            ["1", "10000000000000", "9999999999999.995"],
            ["commissions[1].sub_amount", "commissions[2].sub_amount"],
            id="line-items",
        ),
    ],
)
def test_rejects_amounts_with_too_many_digits(scenario, amounts, paths):
    rejection = assert_rejected(scenario, ErrorList, amounts=amounts)

    assert [(error.text, error.path) for error in rejection.errors] == [
        ("This value has too many digits.", path) for path in paths
    ]


def test_counts_digits_in_the_currency_of_the_conversion(scenario):
    long = "1234567890123.456"

    rejection = assert_rejected(scenario, ErrorList, amounts=[long], currency="KWD")
    conversion = scenario.create_conversion(long)

    assert [error.path for error in rejection.errors] == ["amount"]
    assert conversion.amount == Decimal("1234567890123.46")


def test_rejects_line_items_whose_sum_has_too_many_digits(scenario):
    assert_rejected(scenario, AmountTooLarge, amounts=["9999999999999.99", "0.01"])


def test_rejects_a_negative_line_item(scenario):
    rejection = assert_rejected(scenario, ErrorList, amounts=["-0.01"])

    assert [error.text for error in rejection.errors] == ["This value should be 0 or more."]


def test_accepts_a_negative_amount_that_rounds_to_zero(scenario):
    assert scenario.create_conversion("-0.004").amount == 0


@pytest.mark.parametrize(
    ("customer_id", "warnings", "status"),
    [
        pytest.param("acct-1", None, "approved", id="without-warnings"),
        pytest.param(
            "MINA@notes.example.org",
            ["customer_is_affiliate"],
            "pending",
            id="the-affiliate-itself-in-any-case",
        ),
        pytest.param("mina@notes.example.or", None, "approved", id="almost"),
    ],
)
def test_keeps_commissions_with_warnings_pending(scenario, customer_id, warnings, status):
    scenario.program.update_row(auto_approve_commissions=True)

    conversion = scenario.create_conversion("200", "49.90", customer_id=customer_id)

    assert conversion.warnings == warnings
    created = scenario.account.commissions.values_list("status", flat=True)
    assert list(created) == [status, status]


def test_keeps_unfunded_commissions_pending(scenario, account):
    scenario.enable_payouts()
    scenario.program.update_row(auto_approve_commissions=True)

    conversion = scenario.create_conversion("200", "0")

    created = account.commissions.filter(conversion=conversion).order_by("id")
    assert [(row.status, row.finalized_at) for row in created] == [
        ("pending", None),
        ("approved", CONVERSION_CREATED_AT),
    ]
    assert '"reason": "insufficient_funds"' in created[0].calculation


# Atomicity.


@pytest.mark.parametrize(
    "conditions",
    [
        pytest.param({}, id="the-first-conversion"),
        pytest.param({"approves": True}, id="approved-at-creation"),
        pytest.param({"known": True}, id="of-a-known-customer"),
        pytest.param({"covered": True}, id="with-the-payout-feature"),
    ],
)
def test_stores_nothing_when_any_statement_fails(scenario, account, conditions):
    scenario.program.update_row(
        auto_approve_commissions=bool(conditions.get("approves")), recurring_cap=9
    )
    if conditions.get("known"):
        scenario.create_customer("acct-1")
    account.uses_payouts = bool(conditions.get("covered"))
    account.save()

    def create():
        scenario.create_conversion("200", "49.90", customer_id="acct-1", external_id="order-1")

    assert_atomic(account, create, least=16)
    assert account.conversions.count() == 1
    assert_ledger_consistent(account)


def test_dates_a_sale_and_what_belongs_to_it_back(scenario, account):
    scenario.program.update_row(hold_days=10)
    sold_at = CONVERSION_CREATED_AT - timedelta(days=40)

    sale = scenario.create_conversion("200", customer_id="acct-1", created_at=sold_at)

    commission = scenario.get_commission(sale)
    assert {sale.created_at, sale.customer.created_at, commission.created_at} == {sold_at}
    assert commission.due_at == sold_at + timedelta(days=10)
    assert account.transfers.get().created_at == CONVERSION_CREATED_AT


def test_counts_the_age_of_a_click_on_the_day_of_the_sale(scenario):
    click = scenario.create_click()
    found = {
        "parameters": TrackingParameters(click_id=str(click.public_id)),
        "at": CLICK_CREATED_AT + timedelta(days=400),
    }
    assert_rejected(scenario, CookieExpired, **found)

    sold_at = CLICK_CREATED_AT + timedelta(days=1)
    assert scenario.create_conversion(**found, created_at=sold_at).click == click


@pytest.mark.parametrize("days", [0, 1])
def test_rejects_a_click_of_a_later_day_than_the_sale(scenario, days):
    click = scenario.create_click()
    found = {
        "parameters": TrackingParameters(click_id=str(click.public_id)),
        "at": CLICK_CREATED_AT + timedelta(days=2),
    }
    day = start_of_day(CLICK_CREATED_AT.date(), scenario.account.zone)

    if days:
        sold_at = day - timedelta(seconds=1)
        assert_rejected(scenario, ClickAfterSale, **found, created_at=sold_at)
    else:
        assert scenario.create_conversion(**found, created_at=day).click == click


@pytest.mark.parametrize(
    ("rule", "status"),
    [("recurring_cap", "disapproved"), ("recurring_period_days", "pending")],
)
def test_compares_a_sale_of_an_earlier_day_with_the_cap(scenario, rule, status):
    """All sales of the customer count, so that no more earn than the cap says; the period
    begins with the customer, whose first sale may be added last."""
    scenario.program.update_row(**{rule: 1})
    scenario.create_conversion("200", customer_id="acct-1")

    sold_at = CONVERSION_CREATED_AT - timedelta(days=40)
    sale = scenario.create_conversion("200", customer_id="acct-1", created_at=sold_at)

    assert scenario.get_commission(sale).status == status


@pytest.mark.parametrize(
    "sold_at",
    [CONVERSION_CREATED_AT + timedelta(seconds=1), CONVERSION_CREATED_AT.replace(year=1989)],
)
def test_rejects_a_sale_of_a_day_out_of_range(scenario, sold_at):
    assert_rejected(scenario, SaleDayOutOfRange, created_at=sold_at)


def test_keeps_the_time_of_a_page_that_reported_the_sale(scenario, account):
    claim = scenario.create_conversion("200", external_id="order-1", trust=Trust.CLAIM)
    sold_at = CONVERSION_CREATED_AT - timedelta(days=40)

    sale = scenario.create_conversion("200", external_id="order-1", created_at=sold_at)

    assert sale.pk == claim.pk
    times = account.commissions.not_deleted().values_list("created_at", flat=True)
    assert {sale.created_at, *times} == {CONVERSION_CREATED_AT}


def test_accepts_any_number_of_line_items(scenario, account):
    conversion = scenario.create_conversion(*["1"] * 100)

    assert conversion.amount == 100
    assert account.commissions.filter(conversion=conversion).count() == 100
