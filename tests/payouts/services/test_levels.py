"""Contract 7.2: which rate counts, the group's or the type's; what parents earn."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest

from payouts.models.commission_types import RateKind
from payouts.services.commissions import approve
from payouts.services.funding import top_up
from payouts.services.ledger import balances_of
from payouts.services.revising import change_conversion
from tests.factories.accounts import PlanFactory
from tests.proof import books_agree
from tests.shop import SOLD, Shop, remove
from tracking.services.affiliates import remove_affiliate
from tracking.services.placement import make_group, put_below, put_into_group
from tracking.services.programs import archive

LATER = SOLD + timedelta(days=1)


@pytest.fixture
def shop(account):
    shop = Shop(account)
    yield shop
    books_agree(account)


@pytest.fixture
def family(shop):
    """Mina below Odette below Pavel; level 2 earns 3 %, level 3 earns 1 %."""
    shop.odette = shop.join("Odette", "Varga")
    shop.pavel = shop.join("Pavel", "Horn")
    below(shop.mina, shop.odette)
    below(shop.odette, shop.pavel)
    shop.level(2, "3")
    shop.level(3, "1")
    return shop


def below(child, parent):
    put_below(
        child.affiliate.account,
        affiliate_id=child.slug,
        parent=parent and parent.slug,
        at=SOLD,
    )


def lines(sale):
    """The commissions of a sale by number: whose, as what, how much, in which state."""
    rows = sale.account.commissions.filter(conversion=sale).order_by("id")
    return [
        (it.affiliate.slug, it.commission_type, it.amount, it.status)
        for it in rows.select_related("affiliate")
    ]


def earned(sale):
    """The same, without the states."""
    return [line[:3] for line in lines(sale)]


MINA = ("minakessler", "standard", Decimal(20))
ODETTE = ("odettevarga", "level-2", Decimal(6))
PAVEL = ("pavelhorn", "level-3", Decimal(2))


# Whose rate.


@pytest.fixture
def circle(shop, account):
    """The group that Mina is in."""
    group = make_group(account, title="Inner circle", at=SOLD)
    put_into_group(
        account, affiliate_id=shop.mina.slug, group_id=group.public_id, at=SOLD
    )
    return group


@pytest.mark.parametrize(
    ("kind", "value", "amount"),
    [
        pytest.param(RateKind.PERCENTAGE, "12.5", "25", id="a-share"),
        pytest.param(RateKind.PERCENTAGE, "0", "0", id="nothing"),
        pytest.param(RateKind.FIXED, "3.33", "3.33", id="an-amount"),
    ],
)
def test_pays_the_rate_of_the_group_in_place_of_the_types(
    shop, circle, kind, value, amount
):
    shop.group_rate(circle, value, kind=kind)

    commission = shop.commission_of(shop.sell("200"))

    assert (commission.commission_type, commission.name) == ("standard", "Standard")
    assert (commission.rate_kind, commission.rate) == (kind, Decimal(value))
    assert commission.amount == Decimal(amount)
    assert json.loads(commission.working)["rate"]["from"] == (
        f"group {circle.public_id} for type standard"
    )


def test_pays_a_group_for_the_type_that_it_has_a_rate_for(shop, circle):
    shop.type("accessories", "7.5")
    shop.group_rate(circle, "50", of="accessories")

    sale = shop.sell("200", ("200", "accessories"), ("200", "default"))

    assert earned(sale) == [
        MINA,
        ("minakessler", "accessories", Decimal(100)),
        MINA,
    ]


def test_pays_the_rate_of_nobody_elses_group(shop, account, circle):
    rival = shop.join("Odette", "Varga")
    others = make_group(account, title="Inner circle", at=SOLD)
    shop.group_rate(others, "99")

    assert earned(shop.sell("200")) == [MINA]
    assert earned(shop.sell("200", member=rival)) == [
        ("odettevarga", "standard", Decimal(20))
    ]


def test_pays_the_groups_rate_of_the_moment_of_the_sale(shop, account, circle):
    shop.group_rate(circle, "50")
    early = shop.sell("200")

    put_into_group(account, affiliate_id=shop.mina.slug, group_id=None, at=LATER)

    late = shop.sell("200", at=LATER)
    assert [shop.commission_of(it).amount for it in (early, late)] == [100, 20]


def test_pays_no_rate_of_another_program(shop, account, circle):
    other = Shop(account, "other-lamps", mark="o-", email="o-mina@notes.example.org")
    other.group_rate(circle, "99")

    assert earned(shop.sell("200")) == [MINA]


def test_pays_parents_by_the_level_whatever_groups_get(family, account, circle):
    for member in (family.odette, family.pavel):
        put_into_group(
            account, affiliate_id=member.slug, group_id=circle.public_id, at=SOLD
        )
    family.group_rate(circle, "50")

    sale = family.sell("200")

    assert earned(sale) == [
        ("minakessler", "standard", Decimal(100)),
        ODETTE,
        PAVEL,
    ]


# The parents.


def test_pays_each_level_by_the_same_sub_amount(family, account):
    sale = family.sell("200")

    assert earned(sale) == [MINA, ODETTE, PAVEL]
    regular, *levels = account.commissions.filter(conversion=sale).order_by("id")
    assert [(it.kind, it.sub_amount, it.follows_id) for it in levels] == [
        ("level", 200, regular.pk),
        ("level", 200, regular.pk),
    ]
    assert (regular.kind, regular.follows_id) == ("regular", None)


def test_pays_each_level_once_for_every_part(family, account):
    family.type("accessories", "7.5")

    sale = family.sell("200", ("49.90", "accessories"))

    rows = account.commissions.filter(conversion=sale)
    family_tree = {
        (
            it.follows.commission_type if it.follows else None,
            it.affiliate.slug,
            it.commission_type,
            it.amount,
        )
        for it in rows.select_related("affiliate", "follows")
    }
    assert rows.count() == 6
    assert family_tree == {
        (None, "minakessler", "standard", Decimal(20)),
        ("standard", "odettevarga", "level-2", Decimal(6)),
        ("standard", "pavelhorn", "level-3", Decimal(2)),
        (None, "minakessler", "accessories", Decimal("3.74")),
        ("accessories", "odettevarga", "level-2", Decimal("1.50")),
        ("accessories", "pavelhorn", "level-3", Decimal("0.50")),
    }


def test_pays_nobody_above_for_a_type_that_leaves_parents_out(family):
    family.type("accessories", "7.5").change(mlm=False)

    sale = family.sell("200", ("200", "accessories"))

    assert earned(sale) == [
        MINA,
        ("minakessler", "accessories", Decimal(15)),
        ODETTE,
        PAVEL,
    ]


def test_pays_a_fixed_level_in_any_currency(family):
    family.account.levels.filter(level=2).update(kind=RateKind.FIXED, value=Decimal(5))

    sale = family.sell("150", currency="JPY")

    assert earned(sale) == [
        ("minakessler", "standard", Decimal(15)),
        ("odettevarga", "level-2", Decimal(5)),
        ("pavelhorn", "level-3", Decimal(2)),  # 1.5, half up
    ]


def test_books_levels_of_nought(family):
    assert [amount for _, _, amount in earned(family.sell("0"))] == [0, 0, 0]


@pytest.mark.parametrize(
    ("seller", "paid"),
    [
        pytest.param("mina", ["standard", "level-2", "level-3"], id="whole-chain"),
        pytest.param("odette", ["standard", "level-2"], id="shorter-chain"),
        pytest.param("pavel", ["standard"], id="nobody-above"),
    ],
)
def test_counts_levels_from_whoever_sold(family, seller, paid):
    sale = family.sell("200", member=getattr(family, seller))

    assert [kind for _, kind, _ in earned(sale)] == paid


def test_stops_where_the_levels_end(family):
    below(family.pavel, family.join("Rosa", "Lind"))

    assert earned(family.sell("200")) == [MINA, ODETTE, PAVEL]


def test_pays_no_level_of_another_program(shop, account):
    below(shop.mina, shop.join("Odette", "Varga"))
    Shop(account, "other", mark="o-", email="o@notes.example.org").level(2, "50")

    assert earned(shop.sell("200")) == [MINA]


def test_pays_no_levels_without_the_feature(family, account):
    account.plan = PlanFactory(name="pro")
    account.save()

    assert earned(family.sell("200")) == [MINA]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(
            lambda parent: remove(parent.affiliate),
            "the affiliate is deleted",
            id="deleted",
        ),
        pytest.param(
            lambda parent: parent.enrolment.change(approved=False),
            "not approved in the program",
            id="disapproved",
        ),
        pytest.param(
            lambda parent: parent.enrolment.change(approved=None),
            "not approved in the program",
            id="undecided",
        ),
    ],
)
def test_passes_a_parent_over_and_moves_nobody_up(family, account, change, reason):
    change(family.odette)

    sale = family.sell("200")

    assert earned(sale) == [MINA, PAVEL]
    regular = account.commissions.get(conversion=sale, kind="regular")
    assert json.loads(regular.working)["passed_over"] == [
        {"level": 2, "affiliate": "odettevarga", "reason": reason}
    ]


def test_passes_over_whoever_is_approved_in_another_program_alone(family, account):
    other = Shop(account, "other-lamps", mark="o-", email="o@notes.example.org")
    stranger = other.join("Rosa", "Lind")
    below(stranger, family.pavel)
    below(family.mina, stranger)

    assert earned(family.sell("200")) == [MINA, PAVEL]


def test_pays_nobody_above_an_affiliate_whose_parent_left(family, account):
    remove_affiliate(account, affiliate_id=family.odette.slug, at=SOLD)

    assert earned(family.sell("200")) == [MINA]


def test_pays_the_chain_of_the_moment_of_the_sale(family, account):
    sale = family.sell("200")

    below(family.mina, None)
    change_conversion(
        account,
        conversion_id=sale.pk,
        changes={"amount": Decimal(400)},
        recalculate=True,
        at=LATER,
    )

    assert [amount for _, _, amount in earned(sale)] == [40, 12, 4]
    assert earned(family.sell("200", at=LATER)) == [MINA]


# The states that levels are born in.


@pytest.mark.parametrize("approves", [True, False])
def test_bears_levels_in_the_state_of_what_they_follow(family, account, approves):
    family.program.change(auto_approve_commissions=approves)

    sale = family.sell("200")

    status = "approved" if approves else "pending"
    assert lines(sale) == [(*it, status) for it in (MINA, ODETTE, PAVEL)]
    owed = {
        "minakessler": {"EUR": Decimal(20)},
        "odettevarga": {"EUR": Decimal(6)},
        "pavelhorn": {"EUR": Decimal(2)},
    }
    assert balances_of(account) == (owed if approves else {})


def test_bears_levels_past_the_cap_disapproved(family):
    family.program.change(auto_approve_commissions=True, recurring=False)

    first, second = (family.sell("200", customer_id="acct-1") for _ in range(2))

    assert lines(first) == [(*it, "approved") for it in (MINA, ODETTE, PAVEL)]
    assert lines(second) == [(*it, "disapproved") for it in (MINA, ODETTE, PAVEL)]


def test_keeps_the_levels_of_an_odd_sale_pending(family):
    family.program.change(auto_approve_commissions=True)

    sale = family.sell("200", customer_id="MINA@notes.example.org")

    assert lines(sale) == [(*it, "pending") for it in (MINA, ODETTE, PAVEL)]


def test_lets_a_level_live_its_own_life(family, account):
    sale = family.sell("200")
    regular = account.commissions.get(conversion=sale, kind="regular")

    approve(account, commission_id=regular.pk, at=LATER)

    assert [status for *_, status in lines(sale)] == ["approved", "pending", "pending"]
    assert balances_of(account) == {"minakessler": {"EUR": Decimal(20)}}


@pytest.mark.parametrize(
    ("funds", "states"),
    [
        pytest.param("19.99", "pending pending pending", id="not-even-the-first"),
        pytest.param("20", "approved pending pending", id="the-first-alone"),
        pytest.param("22", "approved pending approved", id="what-fits-beside-it"),
        pytest.param("26", "approved approved pending", id="all-but-the-last"),
        pytest.param("28", "approved approved approved", id="all"),
    ],
)
def test_lets_a_level_wait_that_lacks_cover_for_itself(family, account, funds, states):
    family.program.change(auto_approve_commissions=True)
    account.uses_payouts = True
    account.save()
    top_up(account, amount=Decimal(funds), currency="EUR", at=SOLD)

    sale = family.sell("200")

    assert [status for *_, status in lines(sale)] == states.split()
    made = account.commissions.filter(conversion=sale).order_by("id")
    assert [it.finalized_at == SOLD for it in made] == [
        state == "approved" for state in states.split()
    ]


def test_pays_levels_of_a_sale_that_was_made_before_the_archive(family, account):
    sale = family.sell("200")
    archive(account, slug=family.program.slug, at=LATER)

    change_conversion(
        account,
        conversion_id=sale.pk,
        changes={"amount": Decimal(100)},
        recalculate=True,
        at=LATER,
    )

    assert [amount for _, _, amount in earned(sale)] == [10, 3, 1]
