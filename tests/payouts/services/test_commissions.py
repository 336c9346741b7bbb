"""Contract 2.3.3: what may be decided about a commission, and what it moves."""

from contextlib import contextmanager, suppress
from datetime import timedelta
from decimal import Decimal

import pytest

from payouts.errors import CommissionApproved, CommissionNotFound, CommissionUnfunded
from payouts.services.commissions import approve, disapprove
from payouts.services.ledger import balances_of
from tests.proof import Broken, books_agree, everything, failing_at
from tests.shop import SOLD, Shop, remove
from tracking.services.programs import archive

DECIDED = SOLD + timedelta(days=1)
LATER = SOLD + timedelta(days=2)


@pytest.fixture
def shop(account):
    shop = Shop(account)
    yield shop
    books_agree(account)


@pytest.fixture
def commission(shop):
    """20 EUR of a sale of 200, pending."""
    return shop.commission_of(shop.sell("200"))


def turn_on_payouts(account):
    """From now on the account pays through the service."""
    account.uses_payouts = True
    account.save()


@contextmanager
def fund(account, amount, currency="EUR"):
    """A payout balance for a while; topping it up is not built yet."""
    row, _ = account.ledger_accounts.get_or_create(
        currency=currency, kind="funding", defaults={"balance": Decimal(0)}
    )
    row.change(balance=-Decimal(amount))
    yield
    row.change(balance=Decimal(0))


def put(account, commission, status):
    """Bring a pending commission into this state."""
    if status == "approved":
        approve(account, commission_id=commission.pk, at=DECIDED)
    elif status == "disapproved":
        disapprove(account, commission_id=commission.pk, at=DECIDED)


@pytest.mark.parametrize("status", ["pending", "approved", "disapproved"])
@pytest.mark.parametrize(
    ("decide", "goal", "balances"),
    [
        pytest.param(
            approve, "approved", {"minakessler": {"EUR": Decimal(20)}}, id="approve"
        ),
        pytest.param(disapprove, "disapproved", {}, id="disapprove"),
    ],
)
def test_decides_from_any_state_without_the_payout_feature(
    account, commission, status, decide, goal, balances
):
    put(account, commission, status)

    decided = decide(account, commission_id=commission.pk, at=LATER)

    assert decided.pk == commission.pk
    assert (decided.status, decided.finalized_at) == (goal, None)
    assert (commission.again().status, commission.again().finalized_at) == (goal, None)
    assert balances_of(account) == balances


@pytest.mark.parametrize("decide", [approve, disapprove])
def test_changes_nothing_when_it_is_repeated(account, commission, decide):
    decide(account, commission_id=commission.pk, at=DECIDED)
    before = everything(account)

    again = decide(account, commission_id=commission.pk, at=LATER)

    assert again.status == commission.again().status
    assert everything(account) == before


def test_goes_up_and_down_any_number_of_times(account, shop, commission):
    other = shop.commission_of(shop.sell("50"))

    for _ in range(3):
        approve(account, commission_id=commission.pk, at=DECIDED)
        approve(account, commission_id=other.pk, at=DECIDED)
        disapprove(account, commission_id=commission.pk, at=LATER)
        books_agree(account)

    assert balances_of(account) == {"minakessler": {"EUR": Decimal(5)}}


def test_notes_each_change_in_the_diary(account, commission):
    written = account.events.count()

    approve(account, commission_id=commission.pk, at=DECIDED)
    disapprove(account, commission_id=commission.pk, at=LATER)

    told = account.events.order_by("id")[written:]
    assert [(it.kind, it.subject, it.facts, it.created_at) for it in told] == [
        (
            "commission.updated",
            f"commission:{commission.pk}",
            {"status": ["pending", "approved"]},
            DECIDED,
        ),
        (
            "commission.updated",
            f"commission:{commission.pk}",
            {"status": ["approved", "disapproved"]},
            LATER,
        ),
    ]


@pytest.mark.parametrize("decide", [approve, disapprove])
@pytest.mark.parametrize("number", [0, 999_999_999, 2**63 - 1])
def test_does_not_know_other_numbers(account, commission, decide, number):
    with pytest.raises(CommissionNotFound):
        decide(account, commission_id=number, at=DECIDED)


@pytest.mark.parametrize("decide", [approve, disapprove])
def test_does_not_know_the_commissions_of_other_accounts(
    account, other_account, commission, decide
):
    with pytest.raises(CommissionNotFound):
        decide(other_account, commission_id=commission.pk, at=DECIDED)

    assert commission.again().status == "pending"


def test_decides_though_the_program_is_archived_or_the_affiliate_removed(
    account, shop, commission
):
    archive(account, slug=shop.program.slug, at=DECIDED)
    remove(shop.mina.affiliate)

    assert approve(account, commission_id=commission.pk, at=LATER).status == "approved"
    again = disapprove(account, commission_id=commission.pk, at=LATER)
    assert again.status == "disapproved"


def test_decides_in_the_currency_of_the_commission(account, shop):
    yen = shop.commission_of(shop.sell("1000", currency="JPY"))
    dinar = shop.commission_of(shop.sell("1.234", currency="KWD"))

    for it in (yen, dinar):
        approve(account, commission_id=it.pk, at=DECIDED)

    assert balances_of(account) == {
        "minakessler": {"JPY": Decimal(100), "KWD": Decimal("0.123")}
    }


# With the payout feature.


@pytest.mark.parametrize("decide", [approve, disapprove])
def test_freezes_what_is_approved_with_the_payout_feature(account, commission, decide):
    approve(account, commission_id=commission.pk, at=DECIDED)
    turn_on_payouts(account)
    before = everything(account)

    with pytest.raises(CommissionApproved) as refused:
        decide(account, commission_id=commission.pk, at=LATER)

    assert str(refused.value) == "The commission is approved and cannot be changed."
    assert refused.value.code == "commission_approved"
    assert everything(account) == before


@pytest.mark.parametrize("status", ["pending", "disapproved"])
def test_disapproves_with_the_payout_feature(account, commission, status):
    put(account, commission, status)
    turn_on_payouts(account)

    decided = disapprove(account, commission_id=commission.pk, at=LATER)

    assert decided.status == "disapproved"


@pytest.mark.parametrize("status", ["pending", "disapproved"])
def test_wants_cover_with_the_payout_feature(account, commission, status):
    put(account, commission, status)
    turn_on_payouts(account)
    before = everything(account)

    with pytest.raises(CommissionUnfunded) as refused:
        approve(account, commission_id=commission.pk, at=LATER)

    assert str(refused.value) == "The payout balance does not cover this commission."
    assert refused.value.code == "commission_unfunded"
    assert everything(account) == before


@pytest.mark.parametrize("status", ["pending", "disapproved"])
def test_makes_a_covered_commission_final(account, commission, status):
    put(account, commission, status)
    turn_on_payouts(account)

    with fund(account, "20"):
        decided = approve(account, commission_id=commission.pk, at=LATER)

    assert (decided.status, decided.finalized_at) == ("approved", LATER)
    assert commission.again().finalized_at == LATER
    for decide in (approve, disapprove):
        with pytest.raises(CommissionApproved):
            decide(account, commission_id=commission.pk, at=LATER)


@pytest.mark.parametrize(
    ("funds", "covered"),
    [
        pytest.param("49.99", False, id="a-cent-short"),
        pytest.param("50", True, id="exactly"),
        pytest.param("50.01", True, id="a-cent-more"),
    ],
)
def test_counts_what_is_owed_to_everybody(account, shop, commission, funds, covered):
    rival = shop.join("Odette", "Varga")
    for sale in (shop.sell("100"), shop.sell("200", member=rival)):
        put(account, shop.commission_of(sale), "approved")
    turn_on_payouts(account)

    with fund(account, funds):
        if covered:
            approve(account, commission_id=commission.pk, at=LATER)
        else:
            with pytest.raises(CommissionUnfunded):
                approve(account, commission_id=commission.pk, at=LATER)

    assert (commission.again().status == "approved") is covered


def test_does_not_count_what_is_owed_in_other_currencies(account, shop, commission):
    put(account, shop.commission_of(shop.sell("9000", currency="JPY")), "approved")
    turn_on_payouts(account)

    with fund(account, "1000000", "JPY"), pytest.raises(CommissionUnfunded):
        approve(account, commission_id=commission.pk, at=LATER)
    with fund(account, "20"):
        decided = approve(account, commission_id=commission.pk, at=LATER)

    assert decided.status == "approved"


@pytest.mark.parametrize(
    ("owed", "covered"),
    [pytest.param("0", True, id="nothing-owed"), pytest.param("10", False, id="owed")],
)
def test_approves_nought_when_what_is_owed_is_covered(account, shop, owed, covered):
    put(account, shop.commission_of(shop.sell(owed)), "approved")
    nought = shop.commission_of(shop.sell("0"))
    turn_on_payouts(account)

    with suppress(CommissionUnfunded):
        approve(account, commission_id=nought.pk, at=LATER)

    assert (nought.again().status == "approved") is covered


def test_keeps_nothing_when_any_statement_fails(account, shop, commission):
    for decide in (approve, disapprove):
        before = everything(account)
        for number in range(100):
            with failing_at(number) as asked, suppress(Broken):
                decide(account, commission_id=commission.pk, at=DECIDED)
            if len(asked) == number:
                break
            assert everything(account) == before, f"{number}: {asked[number]}"
        assert number > 6
        books_agree(account)

    assert commission.again().status == "disapproved"
