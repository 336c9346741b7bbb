"""Contract 7.2 and 7.5: which rate a part earns at, and where the earning ends."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.errors import Several
from payouts.models.commission_types import RateKind
from payouts.reckoning import Circumstances, Rate
from payouts.services.rates import is_past_cap, rates_for, typed
from payouts.services.revising import remove_conversion
from tests.conftest import NOW
from tests.proof import books_agree
from tests.shop import SOLD, Shop, items_of

STANDARD = Rate(
    "standard", "Standard", "percentage", Decimal(10), "commission type standard"
)
FLAT = Rate("flat", "Flat fee", "fixed", Decimal("2.5"), "commission type flat")


@pytest.fixture
def shop(account):
    shop = Shop(account)
    shop.type("flat", "2.5", kind=RateKind.FIXED, title="Flat fee")
    yield shop
    books_agree(account)


def rate_of(shop, name):
    return typed(shop.account, shop.program, items_of(("1", name)), group=None)[0].rate


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        pytest.param(None, STANDARD, id="none-named"),
        pytest.param("default", STANDARD, id="default"),
        pytest.param("standard", STANDARD, id="by-its-identifier"),
        pytest.param("flat", FLAT, id="another"),
    ],
)
def test_finds_the_rate_that_a_part_names(shop, name, rate):
    assert rate_of(shop, name) == rate


def test_lets_default_mean_the_default_type_only(shop):
    shop.account.commission_types.update(is_default=False)
    shop.account.commission_types.filter(identifier="flat").update(is_default=True)

    assert rate_of(shop, "default") == rate_of(shop, None) == FLAT


def test_keeps_order_amounts_and_comments_of_the_parts(shop):
    items = items_of(("200", "flat"), "49.90", ("0", "standard"))

    parts = typed(shop.account, shop.program, items, group=None)

    assert [part.sub_amount for part in parts] == [item.sub_amount for item in items]
    assert [part.rate for part in parts] == [FLAT, STANDARD, STANDARD]
    assert [part.comment for part in parts] == [None, None, None]


def test_names_every_type_that_the_program_lacks(shop):
    items = items_of(("1", "gold"), ("2", "flat"), ("3", "STANDARD"), ("4", "silver"))

    with pytest.raises(Several) as refused:
        typed(shop.account, shop.program, items, group=None)

    assert [(it.text, it.path) for it in refused.value.refusals] == [
        ("Unknown commission type", "commissions[0].commission_type"),
        ("Unknown commission type", "commissions[2].commission_type"),
        ("Unknown commission type", "commissions[3].commission_type"),
    ]


def test_names_the_type_of_the_whole_sale(shop):
    with pytest.raises(Several) as refused:
        typed(shop.account, shop.program, items_of(("1", "gold")), group=None)

    assert [it.path for it in refused.value.refusals] == ["commission_type"]


def test_does_not_know_the_types_of_other_programs(shop, account, other_account):
    Shop(account, "second", email=None).type("gold", 50)
    Shop(other_account, mark="zz-marker-").type("silver", 50)

    for name in ("gold", "silver"):
        with pytest.raises(Several):
            rate_of(shop, name)


def test_gathers_what_the_commissions_depend_on(shop):
    shop.program.change(auto_approve_commissions=True)
    conversion = shop.sell(
        "200", customer_id="mina@notes.example.org", currency="JPY"
    ).again()
    parts = typed(shop.account, shop.program, items_of("200"), group=None)

    facts = rates_for(conversion, parts=parts)

    assert facts.currency == "JPY"
    assert facts.affiliate == shop.mina.affiliate.pk
    assert facts.parts == parts
    assert facts.circumstances == Circumstances(
        approves=True, warnings=("customer_is_affiliate",), past_cap=False
    )
    assert facts.ancestors == []


def statuses(shop, *, sales=3, **sale):
    """The states that the commissions of one customer's sales are born in."""
    made = [
        shop.sell(
            "200",
            customer_id="acct-1",
            at=SOLD + timedelta(minutes=number),
            **sale,
        )
        for number in range(sales)
    ]
    return [shop.commission_of(it).status for it in made]


@pytest.mark.parametrize(
    ("rules", "born"),
    [
        pytest.param({}, ["pending"] * 3, id="for-ever"),
        pytest.param(
            {"recurring": False},
            ["pending", "disapproved", "disapproved"],
            id="the-first-only",
        ),
        pytest.param(
            {"recurring_cap": 1},
            ["pending", "disapproved", "disapproved"],
            id="cap-of-1",
        ),
        pytest.param(
            {"recurring_cap": 2}, ["pending", "pending", "disapproved"], id="cap-of-2"
        ),
        pytest.param(
            {"recurring": False, "recurring_cap": 3},
            ["pending", "disapproved", "disapproved"],
            id="the-first-only-whatever-the-cap",
        ),
    ],
)
def test_lets_so_many_sales_of_a_customer_earn(shop, rules, born):
    shop.program.change(**rules)

    assert statuses(shop) == born


def test_counts_the_sales_of_each_customer_apart(shop):
    shop.program.change(recurring=False)
    shop.sell("200", customer_id="acct-1")

    sale = shop.sell("200", customer_id="acct-2")

    assert shop.commission_of(sale).status == "pending"


def test_lets_every_sale_without_a_customer_earn(shop):
    shop.program.change(recurring=False, recurring_cap=1, recurring_period_days=1)

    sales = [shop.sell("200") for _ in range(3)]

    assert [shop.commission_of(it).status for it in sales] == ["pending"] * 3
    assert not is_past_cap(sales[2])


def test_does_not_count_removed_sales(shop):
    first = shop.sell("0", customer_id="acct-1")
    shop.program.change(recurring=False)
    remove_conversion(shop.account, conversion_id=first.pk, at=NOW)

    sale = shop.sell("200", customer_id="acct-1")

    assert shop.commission_of(sale).status == "pending"


@pytest.mark.parametrize("cap", [1, 2])
def test_counts_only_sales_that_earn(shop, cap):
    """Contract 7.5: the cap says how many earn, not how many were tried."""
    shop.program.change(recurring_cap=cap)
    first, *_ = [shop.sell("200", customer_id="acct-1") for _ in range(cap + 1)]
    remove_conversion(shop.account, conversion_id=first.pk, at=NOW)

    statuses = [
        shop.commission_of(shop.sell("200", customer_id="acct-1")).status
        for _ in range(2)
    ]

    assert statuses == ["pending", "disapproved"]


def test_counts_sales_that_earned_nothing(shop):
    shop.program.change(recurring_cap=1)
    shop.sell("0", customer_id="acct-1")

    sale = shop.sell("200", customer_id="acct-1")

    assert shop.commission_of(sale).status == "disapproved"


@pytest.mark.parametrize(
    ("later", "status"),
    [
        pytest.param(timedelta(days=30, seconds=-1), "pending", id="just-before"),
        pytest.param(timedelta(days=30, seconds=1), "disapproved", id="just-after"),
    ],
)
def test_ends_the_earning_so_many_days_after_the_customer_was_made(shop, later, status):
    shop.program.change(recurring_period_days=30)
    customer = shop.customer("acct-1", status="lead")

    sale = shop.sell("200", customer_id="acct-1", at=customer.created_at + later)

    assert shop.commission_of(sale).status == status


def test_applies_cap_and_days_together(shop):
    shop.program.change(recurring_period_days=30, recurring_cap=1)
    customer = shop.customer("acct-1")
    inside = customer.created_at + timedelta(days=1)

    sales = [shop.sell("200", customer_id="acct-1", at=inside) for _ in range(2)]

    assert [shop.commission_of(it).status for it in sales] == ["pending", "disapproved"]


def test_disapproves_all_parts_past_the_cap_whatever_the_program_approves(shop):
    shop.program.change(recurring=False, auto_approve_commissions=True)
    shop.sell("200", customer_id="acct-1")

    sale = shop.sell("200", ("49.90", "flat"), customer_id="acct-1")

    commissions = shop.account.commissions.filter(conversion=sale).order_by("id")
    assert [(it.status, it.amount) for it in commissions] == [
        ("disapproved", Decimal(20)),
        ("disapproved", Decimal("2.5")),
    ]


def test_moves_the_customer_to_paying_past_the_cap_too(shop):
    """Contract 7.5: "the customer's status is not touched" by the cap; 7.3 rules."""
    shop.program.change(recurring_cap=1)
    shop.sell("200", customer_id="acct-1")

    sale = shop.sell("200", customer_id="acct-1")

    assert sale.customer.again().status == "paying"
