"""Contract 2.2.3 and 2.2.4: a sale and everything that follows from it, or nothing."""

from contextlib import suppress
from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.errors import Several
from payouts.services import recording
from payouts.services.ledger import Books
from payouts.services.rates import Item
from payouts.services.recording import Sale, record_conversion
from tests.proof import Broken, books_agree, everything, failing_at
from tests.shop import CLICKED, SOLD, Shop, items_of, remove
from tracking.attribution import Clues
from tracking.errors import (
    AffiliateDeleted,
    AffiliateNotApproved,
    BlankClue,
    CookieExpired,
    DuplicateConversion,
    InvalidAssetOrSource,
    InvalidClickId,
    InvalidTrackingId,
    NoClue,
    ProgramArchived,
    TooManyDigits,
    UnknownCoupon,
    UnknownCustomer,
    UnknownReferralCode,
)
from tracking.services.attribution import verify
from tracking.services.programs import archive

UNHEARD_OF = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def shop(account):
    shop = Shop(account)
    yield shop
    books_agree(account)


@pytest.fixture
def rival(shop):
    return shop.join("Odette", "Varga")


def refused(shop, kind, **sale):
    """Nothing is stored of a sale that is refused; the refusal."""
    before = everything(shop.account)
    with pytest.raises(kind) as refusal:
        shop.sell(*sale.pop("amounts", ["200"]), **sale)
    assert everything(shop.account) == before
    return refusal.value


# What is refused, and which refusal comes first.


def test_wants_a_clue(shop):
    assert str(refused(shop, NoClue, clues=Clues())) == "Missing mandatory parameter(s)"


@pytest.mark.parametrize(
    ("clues", "kind"),
    [
        pytest.param({"coupon": "NOBODY"}, UnknownCoupon, id="coupon"),
        pytest.param({"referral_code": "nobody"}, UnknownReferralCode, id="code"),
        pytest.param({"click_id": UNHEARD_OF}, InvalidClickId, id="click"),
        pytest.param({"click_id": "no id at all"}, InvalidClickId, id="odd-click"),
        pytest.param(
            {"asset_id": "1-abcdef", "source_id": "1-abcdef"},
            InvalidAssetOrSource,
            id="pair",
        ),
        pytest.param(
            {"asset_id": "abc", "source_id": "1"}, InvalidAssetOrSource, id="odd-pair"
        ),
        pytest.param({"tracking_id": "f" * 32}, InvalidTrackingId, id="visitor"),
        pytest.param({"customer_id": "acct-9"}, UnknownCustomer, id="customer"),
    ],
)
def test_refuses_a_clue_that_points_at_nobody(shop, clues, kind):
    refused(shop, kind, clues=Clues(**clues))


@pytest.mark.parametrize(
    ("sent", "decides"),
    [
        pytest.param(
            {"coupon": "", "referral_code": "nobody"},
            (BlankClue, "'coupon'"),
            id="blank-before-the-others",
        ),
        pytest.param(
            {"coupon": " ", "customer_id": "acct-9"},
            (BlankClue, "'coupon'"),
            id="blank-before-an-unknown-customer",
        ),
        pytest.param(
            {"coupon": "NOBODY", "referral_code": ""},
            (UnknownCoupon, "coupon"),
            id="the-highest-alone-decides",
        ),
        pytest.param(
            {"coupon": "NOBODY", "customer_id": "acct-9"},
            (UnknownCoupon, "coupon"),
            id="unknown-value-with-an-unknown-customer",
        ),
        pytest.param(
            {"asset_id": "", "source_id": "1-abcdef"},
            (BlankClue, "'asset_id'"),
            id="blank-asset",
        ),
        pytest.param(
            {"asset_id": "1-abcdef", "source_id": "\t"},
            (BlankClue, "'source_id'"),
            id="blank-source",
        ),
        pytest.param(
            {"asset_id": "1-abcdef", "tracking_id": ""},
            (BlankClue, "'tracking_id'"),
            id="half-a-pair-is-not-sent",
        ),
        pytest.param({"asset_id": "1-abcdef"}, (NoClue, "Missing"), id="half-alone"),
    ],
)
def test_lets_the_highest_clue_decide_alone(shop, sent, decides):
    kind, words = decides

    assert words in str(refused(shop, kind, clues=Clues(**sent)))


def fault(name, shop):
    """Break one rule of the sale that is made of `CHECKS`."""
    if name == "removed":
        remove(shop.mina.affiliate)
    elif name == "not-approved":
        shop.mina.enrolment.change(approved=None)
    elif name == "archived":
        archive(shop.account, slug=shop.program.slug, at=SOLD)
    elif name == "unknown-type":
        return {"amounts": [("200", "gold")]}
    elif name == "expired":
        return {"at": CLICKED + timedelta(days=46)}
    return {}


CHECKS = [
    ("removed", AffiliateDeleted),
    ("not-approved", AffiliateNotApproved),
    ("archived", ProgramArchived),
    ("unknown-type", Several),
    ("expired", CookieExpired),
]


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        pytest.param(name, later, kind, id=f"{name}-before-{later}")
        for number, (name, kind) in enumerate(CHECKS)
        for later, _ in CHECKS[number + 1 :]
    ],
)
def test_names_the_first_rule_that_is_broken(shop, first, second, kind):
    click = shop.click()
    sale = fault(second, shop) | fault(first, shop)

    refusal = refused(shop, kind, clues=Clues(click_id=str(click.public_id)), **sale)

    assert type(refusal) is kind


@pytest.mark.parametrize("approved", [None, False], ids=["waiting", "disapproved"])
def test_refuses_who_is_not_approved(shop, approved):
    shop.mina.enrolment.change(approved=approved)

    refused(shop, AffiliateNotApproved)


def test_refuses_who_is_not_in_the_program_of_the_asset(shop, account):
    elsewhere = Shop(account, "second", email=None)
    clues = Clues(asset_id=elsewhere.mina.asset_id, source_id=shop.mina.source_id)

    refused(shop, AffiliateNotApproved, clues=clues)


@pytest.mark.parametrize("rule", ["removed", "not-approved", "archived"])
def test_refuses_a_known_customer_for_the_same_reasons(shop, rule):
    shop.customer("acct-1")
    fault(rule, shop)

    refused(shop, dict(CHECKS)[rule], clues=Clues(customer_id="acct-1"))


def test_refuses_a_known_external_id(shop):
    shop.sell(external_id="order-1")

    refusal = refused(shop, DuplicateConversion, external_id="order-1")

    assert str(refusal) == (
        "Duplicate conversion. There is already a conversion for External id 'order-1'"
    )


def test_takes_an_external_id_again_in_other_letters_or_another_account(
    shop, other_account
):
    shop.sell(external_id="order-1")

    again = shop.sell(external_id="Order-1")
    theirs = Shop(other_account, mark="zz-marker-").sell(external_id="order-1")

    assert again.external_id == "Order-1"
    assert theirs.external_id == "order-1"


def test_takes_any_number_of_sales_without_external_id(shop):
    assert len({shop.sell().pk, shop.sell().pk}) == 2


@pytest.mark.parametrize(
    ("late", "kind"),
    [
        pytest.param(timedelta(0), None, id="to-the-second"),
        pytest.param(timedelta(seconds=1), CookieExpired, id="a-second-late"),
    ],
)
def test_counts_the_cookie_time_in_whole_days(shop, late, kind):
    click = shop.click()
    sale = {
        "clues": Clues(click_id=str(click.public_id)),
        "at": CLICKED + timedelta(days=45) + late,
    }

    if kind:
        refused(shop, kind, **sale)
    sold = shop.sell(**sale, ignore_cookie_age=bool(kind))

    assert sold.click == click


def test_counts_the_present_cookie_time_for_old_clicks_too(shop):
    click = shop.click()
    shop.program.change(cookie_time=1)
    clues = Clues(click_id=str(click.public_id))

    refused(shop, CookieExpired, clues=clues, at=CLICKED + timedelta(days=2))


def test_does_not_ask_for_the_age_of_a_click_that_does_not_decide(shop):
    click = shop.click()
    clues = Clues(coupon=shop.mina.coupon, click_id=str(click.public_id))

    sale = shop.sell(clues=clues, at=CLICKED + timedelta(days=400))

    assert (sale.click, sale.tracking_source) == (click, "coupon")


# Who earns.


@pytest.mark.parametrize(
    ("clue", "source"),
    [
        ("coupon", "coupon"),
        ("referral_code", "referral_code"),
        ("click_id", "click"),
        ("asset_id", "asset_source"),
        ("customer", "customer"),
    ],
)
def test_finds_the_affiliate_by_each_clue(shop, rival, clue, source):
    shop.customer("acct-1", member=rival)
    clues = {
        "coupon": Clues(coupon=rival.coupon),
        "referral_code": Clues(referral_code=rival.code),
        "click_id": Clues(click_id=str(shop.click(rival).public_id)),
        "asset_id": Clues(asset_id=rival.asset_id, source_id=rival.source_id),
        "customer": Clues(customer_id="acct-1"),
    }[clue]

    sale = shop.sell(clues=clues)

    assert sale.affiliate == shop.commission_of(sale).affiliate == rival.affiliate
    assert sale.program == shop.program
    assert sale.tracking_source == source


@pytest.mark.parametrize(
    ("higher", "lower"),
    [
        ("customer", "coupon"),
        ("coupon", "referral_code"),
        ("referral_code", "click_id"),
        ("click_id", "asset"),
        ("asset", "tracking_id"),
    ],
)
def test_prefers_the_higher_clue(shop, rival, higher, lower):
    shop.customer("acct-1", member=rival)

    def of(member):
        return {
            "customer": {"customer_id": "acct-1"},
            "coupon": {"coupon": member.coupon},
            "referral_code": {"referral_code": member.code},
            "click_id": {"click_id": str(shop.click(member).public_id)},
            "asset": {"asset_id": member.asset_id, "source_id": member.source_id},
            "tracking_id": {"tracking_id": "f" * 32},
        }

    sale = shop.sell(clues=Clues(**of(shop.mina)[lower] | of(rival)[higher]))

    assert sale.affiliate == rival.affiliate


def test_keeps_a_customer_with_its_affiliate_whatever_is_sent_beside(shop, rival):
    shop.customer("acct-1")

    for clues in ({"coupon": ""}, {"coupon": "NOBODY"}, {"coupon": rival.coupon}):
        sale = shop.sell(clues=Clues(customer_id="acct-1", **clues))

        assert (sale.affiliate, sale.tracking_source) == (
            shop.mina.affiliate,
            "customer",
        )


def test_does_not_see_the_clues_of_another_account(shop, other_account):
    theirs = Shop(other_account, mark="zz-marker-").mina

    refused(shop, UnknownCoupon, clues=Clues(coupon=theirs.coupon))
    refused(shop, UnknownReferralCode, clues=Clues(referral_code=theirs.code))
    refused(
        shop,
        InvalidAssetOrSource,
        clues=Clues(asset_id=shop.mina.asset_id, source_id=theirs.source_id),
    )


def test_shows_the_click_that_decided_or_was_named_or_the_customers(shop, rival):
    own, named = shop.click(), shop.click(rival)
    shop.customer("acct-1", click_id=str(own.public_id))

    def click_of(**clues):
        return shop.sell(clues=Clues(**clues)).click

    assert click_of(click_id=str(own.public_id)) == own
    assert click_of(coupon=shop.mina.coupon, click_id=str(named.public_id)) == named
    assert click_of(coupon=shop.mina.coupon, click_id=UNHEARD_OF) is None
    assert click_of(customer_id="acct-1") == own
    assert click_of(customer_id="acct-1", click_id=str(named.public_id)) == named
    assert click_of(coupon=shop.mina.coupon) is None


def test_keeps_the_decision_so_that_it_can_be_proved(shop, account):
    sale = shop.sell(customer_id="acct-1")

    decision = account.decisions.get(conversion=sale)

    assert verify(decision)
    assert account.decisions.count() == 1


# The customer.


@pytest.mark.parametrize("status", ["new", "trial", "lead", "paying", "canceled"])
def test_moves_a_known_customer_to_paying(shop, account, status):
    customer = shop.customer("acct-1")
    customer.change(status=status)

    sale = shop.sell(customer_id="acct-1")

    assert sale.customer == customer
    assert customer.again().status == "paying"
    told = account.events.filter(kind="customer.updated")
    assert [event.facts for event in told] == (
        [] if status == "paying" else [{"status": [status, "paying"]}]
    )


def test_makes_an_unknown_customer(shop, account):
    click = shop.click()
    clues = Clues(customer_id="acct-1", click_id=str(click.public_id))

    sale = shop.sell(clues=clues)

    customer = account.customers.get()
    assert sale.customer == customer
    assert (customer.customer_id, customer.status) == ("acct-1", "paying")
    assert (customer.first_status, customer.created_at) == ("new", SOLD)
    assert (customer.program, customer.affiliate, customer.click) == (
        shop.program,
        shop.mina.affiliate,
        click,
    )


def test_makes_one_customer_of_two_sales(shop, account, rival):
    first = shop.sell(customer_id="acct-1")

    second = shop.sell(customer_id="acct-1", member=rival)

    assert first.customer == second.customer == account.customers.get()
    assert second.affiliate == shop.mina.affiliate


def test_makes_no_customer_when_none_is_named(shop, account):
    assert shop.sell().customer is None
    assert not account.customers.exists()


def test_makes_a_removed_customer_anew(shop, account):
    gone = shop.customer("acct-1")
    gone.change(removed_at=SOLD, customer_id="")

    sale = shop.sell(customer_id="acct-1")

    assert sale.customer != gone
    assert account.customers.present().get() == sale.customer


# What is written.


def test_stores_a_sale_as_it_was_told(shop, account):
    shop.type("accessories", "7.5")

    sale = record_conversion(
        account,
        sale=Sale(
            clues=Clues(coupon=shop.mina.coupon),
            items=[
                Item(Decimal(200), comment="two lamps"),
                Item(Decimal("49.90"), "accessories"),
            ],
            external_id="order-10417",
            meta_data={"channel": "web"},
            user_agent="Harbor/1",
            ip="unknown, 192.0.2.7, 198.51.100.1",
        ),
        at=SOLD,
    )

    kept = account.conversions.values().get()
    assert kept == {
        "id": sale.pk,
        "account_id": account.pk,
        "external_id": "order-10417",
        "program_id": shop.program.pk,
        "affiliate_id": shop.mina.affiliate.pk,
        "customer_id": None,
        "click_id": None,
        "amount": Decimal("249.9"),
        "currency": "EUR",
        "tracking_source": "coupon",
        "meta_data": {"channel": "web"},
        "warnings": None,
        "user_agent": "Harbor/1",
        "ip": "192.0.2.7",
        "created_at": SOLD,
        "removed_at": None,
    }
    earned = account.commissions.order_by("id").values_list(
        *("sub_amount", "amount", "rate_kind", "rate", "commission_type", "name"),
        *("currency", "status", "kind", "comment", "created_at", "finalized_at"),
    )
    same = ("EUR", "pending", "regular")
    assert list(earned) == [
        (
            *(Decimal(200), Decimal(20), "percentage", Decimal(10)),
            *("standard", "Standard", *same, "two lamps", SOLD, None),
        ),
        (
            *(Decimal("49.9"), Decimal("3.74"), "percentage", Decimal("7.5")),
            *("accessories", "Accessories", *same, None, SOLD, None),
        ),
    ]


def test_notes_the_sale_and_its_commissions_in_the_diary(shop, account):
    written = account.events.count()

    sale = shop.sell("200", "49.90", customer_id="acct-1")

    numbers = account.commissions.order_by("id").values_list("id", flat=True)
    told = account.events.order_by("id").values_list("kind", "subject")[written:]
    assert list(told) == [
        ("customer.created", f"customer:{sale.customer.public_id}"),
        ("conversion.created", f"conversion:{sale.pk}"),
        *(("commission.created", f"commission:{number}") for number in numbers),
    ]


@pytest.mark.parametrize(
    ("currency", "amounts", "whole", "earned"),
    [
        pytest.param(None, ["0.005", "0.005"], "0.02", ["0", "0"], id="each-by-itself"),
        pytest.param(None, ["0.30000000000000004"], "0.3", ["0.03"], id="binary"),
        pytest.param(None, ["0.004"], "0", ["0"], id="to-nought"),
        pytest.param("JPY", ["99.5"], "100", ["10"], id="yen"),
        pytest.param("KWD", ["1.2345"], "1.235", ["0.124"], id="dinar"),
        pytest.param("KWD", ["1.2344"], "1.234", ["0.123"], id="dinar-down"),
        pytest.param(
            None, ["9999999999999.99"], "9999999999999.99", ["1000000000000"], id="most"
        ),
    ],
)
def test_rounds_each_amount_once_when_it_enters(
    shop, account, currency, amounts, whole, earned
):
    sale = shop.sell(*amounts, currency=currency)

    assert sale.amount == Decimal(whole)
    assert sale.currency == (currency or "EUR")
    kept = account.commissions.order_by("id").values_list("amount", "currency")
    assert list(kept) == [(Decimal(it), sale.currency) for it in earned]


@pytest.mark.parametrize(
    ("amounts", "paths"),
    [
        pytest.param(["10000000000000"], ["amount"], id="one-14-digits"),
        pytest.param(
            ["1", "10000000000000", "9999999999999.995"],
            ["commissions[1].sub_amount", "commissions[2].sub_amount"],
            id="parts",
        ),
    ],
)
def test_refuses_amounts_that_do_not_fit(shop, amounts, paths):
    refusal = refused(shop, Several, amounts=amounts)

    assert [(it.text, it.path) for it in refusal.refusals] == [
        ("This value has too many digits.", path) for path in paths
    ]


def test_counts_digits_in_the_currency_of_the_sale(shop):
    long = "1234567890123.456"

    refusal = refused(shop, Several, amounts=[long], currency="KWD")
    sale = shop.sell(long)

    assert [it.path for it in refusal.refusals] == ["amount"]
    assert sale.amount == Decimal("1234567890123.46")


def test_refuses_parts_whose_sum_does_not_fit(shop):
    refused(shop, TooManyDigits, amounts=["9999999999999.99", "0.01"])


def test_refuses_a_negative_part(shop):
    refusal = refused(shop, Several, amounts=["-0.01"])

    assert [it.text for it in refusal.refusals] == ["This value should be 0 or more."]


def test_takes_what_rounds_to_nought_from_below(shop):
    assert shop.sell("-0.004").amount == 0


@pytest.mark.parametrize(
    ("customer_id", "warnings", "status"),
    [
        pytest.param("acct-1", None, "approved", id="nothing-odd"),
        pytest.param(
            "MINA@notes.example.org",
            ["customer_is_affiliate"],
            "pending",
            id="the-affiliate-itself-in-any-case",
        ),
        pytest.param("mina@notes.example.or", None, "approved", id="almost"),
    ],
)
def test_keeps_commissions_of_odd_sales_pending(shop, customer_id, warnings, status):
    shop.program.change(auto_approve_commissions=True)

    sale = shop.sell("200", "49.90", customer_id=customer_id)

    assert sale.warnings == warnings
    born = shop.account.commissions.values_list("status", flat=True)
    assert list(born) == [status, status]


def test_lets_what_lacks_cover_wait(shop, account):
    account.uses_payouts = True
    account.save()
    shop.program.change(auto_approve_commissions=True)

    sale = shop.sell("200", "0")

    born = account.commissions.filter(conversion=sale).order_by("id")
    assert [(it.status, it.finalized_at) for it in born] == [
        ("pending", None),
        ("approved", SOLD),
    ]
    assert '"reason": "the payout balance does not cover it"' in born[0].working


# Nothing is half-stored.


@pytest.mark.parametrize(
    "step",
    [
        *("weigh", "typed", "create_conversion", "rates_for", "reckon"),
        *("hold", "grant", "note", "note_each"),
    ],
)
def test_stores_nothing_when_a_step_fails(shop, account, monkeypatch, step):
    def fail(*args, **kwargs):
        raise RuntimeError(step)

    before = everything(account)
    monkeypatch.setattr(recording, step, fail)

    with pytest.raises(RuntimeError, match=step):
        shop.sell("200", "49.90", customer_id="acct-1")

    assert everything(account) == before


@pytest.mark.parametrize("step", ["earn", "close"])
def test_stores_nothing_when_the_books_fail(shop, account, monkeypatch, step):
    def fail(*args, **kwargs):
        raise RuntimeError(step)

    before = everything(account)
    monkeypatch.setattr(Books, step, fail)

    with pytest.raises(RuntimeError, match=step):
        shop.sell("200", "49.90", customer_id="acct-1")

    assert everything(account) == before


@pytest.mark.parametrize(
    "story",
    [
        pytest.param({}, id="the-first-sale"),
        pytest.param({"approves": True}, id="approved-at-birth"),
        pytest.param({"known": True}, id="of-a-known-customer"),
        pytest.param({"covered": True}, id="with-the-payout-feature"),
    ],
)
def test_stores_nothing_when_any_statement_fails(shop, account, story):
    shop.program.change(
        auto_approve_commissions=bool(story.get("approves")), recurring_cap=9
    )
    if story.get("known"):
        shop.customer("acct-1")
    account.uses_payouts = bool(story.get("covered"))
    account.save()
    before = everything(account)

    for number in range(200):
        with failing_at(number) as asked, suppress(Broken):
            shop.sell("200", "49.90", customer_id="acct-1", external_id="order-1")
        if len(asked) == number:
            break
        assert everything(account) == before, f"statement {number}: {asked[number]}"

    assert number > 15
    assert account.conversions.count() == 1
    books_agree(account)


def test_takes_parts_in_any_number(shop, account):
    parts = items_of(*(["1"] * 100))

    sale = record_conversion(
        account, sale=Sale(clues=Clues(coupon=shop.mina.coupon), items=parts), at=SOLD
    )

    assert sale.amount == 100
    assert account.commissions.filter(conversion=sale).count() == 100
