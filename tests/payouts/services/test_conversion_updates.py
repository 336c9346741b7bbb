"""Updates of conversions (docs/api-contract.md, sections 2.2.6 to 2.2.8)."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError

from accounts.errors import ErrorList
from payouts.models.commission_types import RateKind
from payouts.services import conversion_updates
from payouts.services.conversion_updates import (
    add_commissions,
    delete_conversion,
    update_commission,
    update_conversion,
)
from payouts.services.ledger import get_payable_balances_by_slug
from tests.ledger_checks import (
    assert_atomic,
    assert_ledger_consistent,
    snapshot_account,
)
from tests.program_scenario import (
    CONVERSION_CREATED_AT,
    PROGRAM_CREATED_AT,
    build_line_items,
    mark_deleted,
)
from tracking.claims import Trust
from tracking.errors import (
    ConversionNotFound,
    DuplicateConversion,
)
from tracking.services.conversions import get_conversion

pytestmark = pytest.mark.usefixtures("shared_scenario")

LATER = CONVERSION_CREATED_AT + timedelta(days=1)


@pytest.fixture
def scenario(scenario):
    scenario.create_commission_type("accessories", "7.5")
    scenario.create_commission_type("flat", "2.5", kind=RateKind.FIXED)
    yield scenario
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def odette(scenario):
    """Mina's parent, whose level earns 3 %."""
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.add_child(scenario.mina, odette)
    scenario.create_level(2, "3")
    return odette


def apply_changes(conversion, amount, *, recalculate=True, **changes):
    return update_conversion(
        conversion.account,
        conversion_id=conversion.pk,
        changes={"amount": Decimal(amount)} | changes,
        should_recalculate=recalculate,
        at=LATER,
    )


def list_sub_amounts(conversion, kind="regular"):
    """Sub-amount and amount of each commission of a kind in the order of ids."""
    rows = conversion.account.commissions.filter(conversion=conversion, kind=kind)
    return [
        (f"{row.sub_amount.normalize():f}", f"{row.amount.normalize():f}")
        for row in rows.order_by("id")
    ]


def list_level_commissions(conversion):
    return list_sub_amounts(conversion, "level")


def add_line_items(conversion, *amounts, at=LATER):
    return add_commissions(
        conversion.account,
        conversion_id=conversion.pk,
        line_items=build_line_items(*amounts),
        at=at,
    )


def list_stored_commissions(conversion):
    return list(conversion.account.commissions.filter(conversion=conversion).order_by("id"))


def override_amount(commission, amount):
    """Override the amount of a commission."""
    update_commission(
        commission.account,
        commission_id=commission.pk,
        changes={"amount": Decimal(amount)},
        at=CONVERSION_CREATED_AT,
    )


# Updates.


@pytest.mark.parametrize(
    ("sold", "currency", "amount", "became"),
    [
        pytest.param(["200"], "EUR", "150", [("150", "15")], id="one"),
        pytest.param(["200"], "EUR", "0", [("0", "0")], id="one-to-zero"),
        pytest.param(["0"], "EUR", "49.9", [("49.9", "4.99")], id="one-from-zero"),
        pytest.param(
            ["200", ("49.90", "accessories")],
            "EUR",
            "100",
            [("80.03", "8"), ("19.97", "1.5")],
            id="two-types",
        ),
        pytest.param(
            ["1", "1", "1"],
            "EUR",
            "10",
            [("3.33", "0.33"), ("3.33", "0.33"), ("3.34", "0.33")],
            id="the-last-takes-the-remainder",
        ),
        pytest.param(
            ["1"] * 4,
            "EUR",
            "0.02",
            [("0.01", "0"), ("0.01", "0"), ("0", "0"), ("0", "0")],
            id="none-negative",
        ),
        pytest.param(
            ["0", ("0", "flat")],
            "EUR",
            "80",
            [("80", "8"), ("0", "2.5")],
            id="the-first-gets-all",
        ),
        pytest.param(
            [("200", "flat"), "100"],
            "EUR",
            "150",
            [("100", "2.5"), ("50", "5")],
            id="a-fixed-amount-stays",
        ),
        pytest.param(
            ["100", "100", "100"],
            "JPY",
            "1000",
            [("333", "33"), ("333", "33"), ("334", "33")],
            id="JPY",
        ),
        pytest.param(
            ["1", "1", "1"],
            "KWD",
            "1",
            [("0.333", "0.033"), ("0.333", "0.033"), ("0.334", "0.033")],
            id="KWD",
        ),
    ],
)
def test_allocates_a_new_amount_to_the_commissions(scenario, sold, currency, amount, became):
    conversion = scenario.create_conversion(*sold, currency=currency)

    changed = apply_changes(conversion, amount)

    assert changed.amount == conversion.reload().amount == Decimal(amount)
    assert list_sub_amounts(conversion) == became


def test_keeps_the_commissions_without_recalculation(scenario):
    conversion = scenario.create_conversion("200", "100")

    apply_changes(conversion, "30", recalculate=False)

    assert conversion.reload().amount == 30
    assert list_sub_amounts(conversion) == [("200", "20"), ("100", "10")]


def test_gives_the_whole_amount_to_the_only_commission(scenario):
    conversion = scenario.create_conversion("200")
    apply_changes(conversion, "30", recalculate=False)

    apply_changes(conversion, "60")

    assert list_sub_amounts(conversion) == [("60", "6")]


@pytest.mark.parametrize(
    ("sold", "added", "total", "amount", "became"),
    [
        (["1", "1", "1"], "3", "3", "10", ["3.33", "3.33", "3.33", "10"]),
        (["1", "1"], "1", "3", "20", ["6.67", "6.67", "6.66"]),
    ],
    ids=["sub-amounts-differ-from-the-total", "equal-the-total"],
)
def test_allocates_the_remainder_only_of_the_whole_amount(
    scenario, sold, added, total, amount, became
):
    conversion = scenario.create_conversion(*sold)
    add_line_items(conversion, added)
    apply_changes(conversion, total, recalculate=False)

    apply_changes(conversion, amount)

    assert [sub_amount for sub_amount, _ in list_sub_amounts(conversion)] == became


def test_recalculates_at_the_stored_rate(scenario, account):
    conversion = scenario.create_conversion("200")
    account.commission_types.filter(program=scenario.program).update(value=Decimal(50))

    apply_changes(conversion, "100")

    assert list_sub_amounts(conversion) == [("100", "10")]


@pytest.mark.parametrize("amount", ["200", "100"])
def test_overwrites_an_overridden_amount(scenario, amount):
    conversion = scenario.create_conversion("200")
    commission = scenario.get_commission(conversion)
    override_amount(commission, "99")
    assert json.loads(commission.reload().calculation)["is_overridden"]

    apply_changes(conversion, amount)

    assert list_sub_amounts(conversion) == [(amount, str(int(amount) // 10))]
    assert "is_overridden" not in json.loads(commission.reload().calculation)


def test_overwrites_an_overridden_fixed_amount(scenario):
    conversion = scenario.create_conversion(("200", "flat"))
    override_amount(scenario.get_commission(conversion), "99")

    apply_changes(conversion, "100")

    assert list_sub_amounts(conversion) == [("100", "2.5")]


def test_keeps_statuses_and_posts_the_difference(scenario, account):
    conversion = scenario.create_conversion("100", "100", "100")
    approved, disapproved, _ = list_stored_commissions(conversion)
    scenario.approve(approved)
    scenario.disapprove(disapproved)
    other = scenario.get_commission(scenario.create_conversion("50"))
    scenario.approve(other)

    apply_changes(conversion, "600")

    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": Decimal(25)}}
    assert [row.status for row in list_stored_commissions(conversion)] == [
        "approved",
        "disapproved",
        "pending",
    ]
    assert_ledger_consistent(account)
    apply_changes(conversion, "0")
    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": Decimal(5)}}


def test_reduces_a_commission_that_is_already_paid(scenario, account):
    conversion = scenario.create_conversion("200")
    commission = scenario.get_commission(conversion)
    scenario.approve(commission)
    scenario.pay(20)

    apply_changes(conversion, "50")

    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": Decimal(-15)}}
    assert commission.reload().payment is not None


def test_recalculates_level_commissions(scenario, odette):
    conversion = scenario.create_conversion("200", ("100", "accessories"))

    apply_changes(conversion, "30")

    assert list_sub_amounts(conversion) == [("20", "2"), ("10", "0.75")]
    assert list_level_commissions(conversion) == [("20", "0.6"), ("10", "0.3")]


def test_overwrites_an_overridden_level_amount(scenario, odette):
    conversion = scenario.create_conversion("200")
    _, level = list_stored_commissions(conversion)
    override_amount(level, "77")

    apply_changes(conversion, "100")

    assert (list_sub_amounts(conversion), list_level_commissions(conversion)) == (
        [("100", "10")],
        [("100", "3")],
    )


def test_updates_a_conversion_whose_commissions_are_all_final(scenario, account):
    conversion = scenario.create_conversion("200")
    scenario.enable_payouts(100)
    scenario.approve(scenario.get_commission(conversion))

    apply_changes(conversion, "100")

    assert conversion.reload().amount == 100
    assert list_sub_amounts(conversion) == [("200", "20")]
    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": Decimal(20)}}


@pytest.mark.parametrize(
    ("sold", "final", "regular", "level"),
    [
        (
            ["100", "100"],
            0,
            [("100", "10"), ("50", "5")],
            [("100", "3"), ("50", "1.5")],
        ),
        (["200"], 1, [("100", "10")], [("200", "6")]),
        (["200"], 0, [("200", "20")], [("200", "6")]),
    ],
    ids=["one-of-two", "a-level", "the-base-of-a-level"],
)
def test_keeps_final_commissions_and_scales_the_others(
    scenario, odette, sold, final, regular, level
):
    conversion = scenario.create_conversion(*sold)
    scenario.enable_payouts(100)
    scenario.approve(list_stored_commissions(conversion)[final])

    apply_changes(conversion, "100")

    assert conversion.reload().amount == 100
    assert list_sub_amounts(conversion) == regular
    assert list_level_commissions(conversion) == level


def test_logs_changes_only(scenario, account):
    conversion = scenario.create_conversion("0", "200", ("100", "flat"))
    written = account.audit_log.count()

    apply_changes(conversion, "150")

    _, first, second = list_stored_commissions(conversion)
    entries = account.audit_log.order_by("id")[written:]
    assert [(row.kind, row.subject) for row in entries] == [
        ("commission.updated", f"commission:{first.pk}"),
        ("commission.updated", f"commission:{second.pk}"),
        ("conversion.updated", f"conversion:{conversion.pk}"),
    ]


@pytest.mark.parametrize("recalculate", [True, False])
def test_changes_nothing_if_the_amount_stays(scenario, account, recalculate):
    conversion = scenario.create_conversion("66.67", "66.67", "66.66")
    before = snapshot_account(account)

    apply_changes(conversion, "200", recalculate=recalculate)

    after = snapshot_account(account)
    changed = [name for name in after if after[name] != before[name]]
    assert changed == []


@pytest.fixture
def miss_holder_once(monkeypatch):
    """The external id is taken after the first attempt has looked for its holder."""

    def lock(account, conversion_id, external_id):
        monkeypatch.undo()
        return get_conversion(account, conversion_id, lock=True), None

    monkeypatch.setattr(conversion_updates, "lock_with_holder", lock)


def test_looks_again_if_a_claim_takes_the_external_id_meanwhile(scenario, miss_holder_once):
    claim = scenario.create_conversion(
        "1", external_id="order-1", trust=Trust.CLAIM, is_browser_sale=True
    )
    conversion = scenario.create_conversion("200")

    apply_changes(conversion, "200", external_id="order-1")

    assert conversion.reload().external_id == "order-1"
    assert claim.reload().external_id is None


def test_rejects_an_external_id_that_a_fact_takes_meanwhile(scenario, miss_holder_once):
    scenario.create_conversion("1", external_id="order-1")
    conversion = scenario.create_conversion("200")

    with pytest.raises(DuplicateConversion):
        apply_changes(conversion, "200", external_id="order-1")


def test_another_integrity_error_is_not_explained_by_the_external_id(scenario, monkeypatch):
    def fail(*args, **kwargs):
        raise IntegrityError

    conversion = scenario.create_conversion("200", external_id="order-1")
    monkeypatch.setattr(conversion_updates, "apply_conversion_changes", fail)

    for external_id in ("order-1", "order-2"):
        with pytest.raises(IntegrityError):
            apply_changes(conversion, "200", external_id=external_id)


def test_a_deleted_conversion_takes_no_external_id(scenario, account):
    scenario.create_conversion("1", external_id="order-1")
    conversion = scenario.create_conversion("200")
    delete_conversion(account, conversion_id=conversion.pk, at=LATER)

    with pytest.raises(ConversionNotFound):
        apply_changes(conversion, "200", external_id="order-1")


def test_accepts_the_external_id_of_a_deleted_conversion(scenario, account):
    gone = scenario.create_conversion("1", external_id="order-1")
    conversion = scenario.create_conversion("200")
    scenario.delete(gone, at=LATER)

    apply_changes(conversion, "200", external_id="order-1")

    assert conversion.reload().external_id == "order-1"


# Deletion.


def test_deletes_a_conversion_and_takes_back_its_amounts(scenario, account, odette):
    stored = scenario.create_conversion("50")
    conversion = scenario.create_conversion("200", customer_id="acct-1")
    for row in (*list_stored_commissions(stored), *list_stored_commissions(conversion)):
        scenario.approve(row)

    scenario.delete(conversion, at=LATER)

    assert get_payable_balances_by_slug(account) == {
        "minakessler": {"EUR": Decimal(5)},
        "odettevarga": {"EUR": Decimal("1.5")},
    }
    assert not account.commissions.not_deleted().filter(conversion=conversion).exists()
    assert account.customers.get().status == "paying"


def test_deletes_a_paid_conversion(scenario, account):
    conversion = scenario.create_conversion("200")
    commission = scenario.get_commission(conversion)
    scenario.approve(commission)
    scenario.pay(20)

    scenario.delete(conversion, at=LATER)

    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": Decimal(-20)}}
    assert commission.reload().payment is None


def test_deletes_a_conversion_without_final_commissions_with_payouts(scenario, account):
    conversion = scenario.create_conversion("200", "100")
    scenario.disapprove(list_stored_commissions(conversion)[0])
    scenario.enable_payouts()

    scenario.delete(conversion, at=LATER)

    assert not account.conversions.not_deleted().exists()


def make_commission(account, number, at=LATER):
    return add_commissions(account, conversion_id=number, line_items=build_line_items("1"), at=at)


def delete_by_id(account, number):
    delete_conversion(account, conversion_id=number, at=LATER)


def change(account, number):
    update_conversion(
        account,
        conversion_id=number,
        changes={"amount": Decimal(1)},
        should_recalculate=True,
        at=LATER,
    )


OPERATIONS = pytest.mark.parametrize("operation", [change, delete_by_id, make_commission])


# Added commissions.


def test_adds_commissions_and_keeps_the_amount(scenario, account, odette):
    conversion = scenario.create_conversion("200", currency="JPY")
    written = account.audit_log.count()

    made = add_line_items(conversion, "15", ("100", "accessories"))

    assert [
        (
            commission.kind,
            commission.affiliate_id,
            commission.commission_type,
            commission.sub_amount,
            commission.amount,
        )
        for commission in made
    ] == [
        ("regular", scenario.mina.affiliate.pk, "standard", 15, 2),  # 1.5, half up
        ("regular", scenario.mina.affiliate.pk, "accessories", 100, 8),
        ("level", odette.affiliate.pk, "level-2", 15, 0),
        ("level", odette.affiliate.pk, "level-2", 100, 3),
    ]
    assert {
        (commission.currency, commission.status, commission.created_at) for commission in made
    } == {("JPY", "pending", LATER)}
    assert conversion.reload().amount == 200
    entries = account.audit_log.order_by("id")[written:]
    assert [(it.kind, it.subject) for it in entries] == [
        ("commission.created", f"commission:{it.pk}") for it in made
    ]


def test_adds_commissions_past_the_cap(scenario, account):
    scenario.program.update_row(
        recurring=False, recurring_period_days=1, auto_approve_commissions=True
    )
    first = scenario.create_conversion("200", customer_id="acct-1")
    second = scenario.create_conversion("200", customer_id="acct-1")
    late = CONVERSION_CREATED_AT + timedelta(days=300)

    made = [
        *make_commission(account, first.pk, late),
        *make_commission(account, second.pk, late),
    ]

    assert [commission.status for commission in made] == ["approved", "approved"]


@pytest.mark.parametrize(
    ("approves", "customer_id", "status"),
    [
        pytest.param(False, None, "pending", id="manual-approval"),
        pytest.param(True, None, "approved", id="by-itself"),
        pytest.param(True, "mina@notes.example.org", "pending", id="warnings"),
    ],
)
def test_creates_added_commissions_with_the_usual_initial_status(
    scenario, account, approves, customer_id, status
):
    scenario.program.update_row(auto_approve_commissions=approves)
    conversion = scenario.create_conversion("0", customer_id=customer_id)

    (made,) = add_line_items(conversion, "100")

    assert made.status == status
    payables = {"minakessler": {"EUR": Decimal(10)}} if status == "approved" else {}
    assert get_payable_balances_by_slug(account) == payables


def test_keeps_an_unfunded_added_commission_pending(scenario, account):
    scenario.program.update_row(auto_approve_commissions=True)
    conversion = scenario.create_conversion("0")
    scenario.enable_payouts(10)

    made = add_line_items(conversion, "60", "60", "40")

    assert [commission.status for commission in made] == [
        "approved",
        "pending",
        "approved",
    ]
    assert [commission.finalized_at for commission in made] == [LATER, None, LATER]


def test_reports_unknown_types_before_other_rules(scenario, account):
    conversion = scenario.create_conversion("200")
    scenario.archive()
    mark_deleted(scenario.mina.affiliate)
    items = build_line_items(("1", "nothing"), "1", ("1", "level-2"))

    with pytest.raises(ErrorList) as raised:
        add_commissions(account, conversion_id=conversion.pk, line_items=items, at=LATER)

    assert [(error.text, error.path) for error in raised.value.errors] == [
        ("Unknown commission type", "commissions[0].commission_type"),
        ("Unknown commission type", "commissions[2].commission_type"),
    ]


# Atomicity.


@OPERATIONS
@pytest.mark.parametrize("payouts", [False, True], ids=["payouts-off", "payouts-on"])
def test_stores_nothing_when_any_statement_fails(scenario, account, odette, operation, payouts):
    scenario.program.update_row(auto_approve_commissions=True)
    conversion = scenario.create_conversion("200", "100")
    if payouts:
        for row in list_stored_commissions(conversion):
            scenario.disapprove(row)
        scenario.enable_payouts(1000, at=PROGRAM_CREATED_AT)
    before = snapshot_account(account)

    assert_atomic(account, lambda: operation(account, conversion.pk), least=11)
    assert snapshot_account(account) != before
    assert_ledger_consistent(account)
