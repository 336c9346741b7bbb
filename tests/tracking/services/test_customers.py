"""Contract 2.1.3, 2.1.4 and 7.3: customers registered, moved, forgotten."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from threading import Barrier
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction

from payouts.services.programs import Rules, open_program
from payouts.services.rates import Item
from payouts.services.recording import Sale, record_conversion
from tests.conftest import NOW
from tests.factories.accounts import AccountFactory
from tests.factories.tracking import (
    AffiliateFactory,
    ClickFactory,
    CouponFactory,
    CustomerFactory,
    EnrolmentFactory,
)
from tests.proof import books_agree
from tracking.attribution import Clues
from tracking.errors import CustomerNotFound, DuplicateCustomer
from tracking.models.customers import Customer
from tracking.services.attribution import verify
from tracking.services.customers import (
    Registration,
    cancel,
    customer_named,
    register,
    remove,
    rename,
    restore,
)
from tracking.services.programs import archive

CODE = Clues(referral_code="qv7kd2p")
OLD = timedelta(days=45, microseconds=1)


@pytest.fixture
def harbor(account):
    """A program that sells, so that customers can buy."""
    rules = Rules(title="Harbor Lamp Partners", currency="EUR")
    return open_program(account, slug="harbor-lamp-partners", rules=rules, at=NOW)


@pytest.fixture
def odette(account, harbor):
    affiliate = AffiliateFactory(
        account=account, slug="odettevarga", email="odette@notes.example.org"
    )
    enrolment = EnrolmentFactory(
        account=account, program=harbor, affiliate=affiliate, code="qv7kd2p"
    )
    CouponFactory(account=account, enrolment=enrolment, code="ODETTE10")
    return enrolment


@pytest.fixture
def old_click(account, odette):
    return ClickFactory(account=account, enrolment=odette, created_at=NOW - OLD)


def registered(account, customer_id="acct-55120", clues=CODE, **said):
    return register(
        account,
        registration=Registration(customer_id=customer_id, clues=clues, **said),
        at=NOW,
    )


def bought(account, customer_id="acct-55120", clues=None, at=NOW):
    """A sale to this customer."""
    clues = replace(clues or Clues(), customer_id=customer_id)
    sale = Sale(clues=clues, items=[Item(sub_amount=Decimal(20))])
    conversion = record_conversion(account, sale=sale, at=at)
    books_agree(account)
    return conversion


# Registering


def test_makes_a_customer_of_whom_the_clue_names(account, odette):
    customer = registered(
        account,
        " acct 🛶",
        status="trial",
        meta_data={"plan": "basic"},
        user_agent="agent",
        ip="unknown, 203.0.113.7",
    ).again()

    assert re.fullmatch("cu_[A-Za-z0-9]{16}", customer.public_id)
    assert customer.customer_id == " acct 🛶"
    assert (customer.program, customer.affiliate) == (odette.program, odette.affiliate)
    assert customer.click is None
    assert (customer.status, customer.first_status) == ("trial", "trial")
    assert customer.meta_data == {"plan": "basic"}
    assert customer.warnings is None
    assert (customer.user_agent, customer.ip) == ("agent", "203.0.113.7")
    assert customer.created_at == NOW


def test_keeps_the_click_that_decided(account, odette):
    click = ClickFactory(account=account, enrolment=odette, created_at=NOW)

    customer = registered(account, clues=Clues(click_id=str(click)))

    assert customer.click == click


def test_keeps_no_click_that_did_not_decide(account, odette):
    click = ClickFactory(account=account, enrolment=odette, created_at=NOW)

    customer = registered(account, clues=Clues(coupon="ODETTE10", click_id=str(click)))

    assert customer.click is None


def test_keeps_the_decision_and_can_prove_it(account, odette):
    customer = registered(account)

    decision = account.decisions.get()
    assert decision.customer == customer
    assert verify(decision) is True


def test_writes_the_diary(account, odette):
    customer = registered(account)

    event = account.events.filter(kind__startswith="customer").get()
    assert event.kind == "customer.created"
    assert event.subject == f"customer:{customer.public_id}"
    assert event.facts == {}


def test_warns_when_the_customer_is_the_affiliate(account, odette):
    customer = registered(account, "ODETTE@notes.example.org")

    assert customer.again().warnings == ["customer_is_affiliate"]


def test_takes_a_customer_id_of_another_account(account, other_account, odette):
    CustomerFactory(account=other_account, customer_id="acct-55120")

    assert registered(account).customer_id == "acct-55120"


@pytest.mark.parametrize("rival", ["ACCT-55120", "acct-55120 ", "acct-5512"], ids=repr)
def test_tells_customer_ids_apart_to_the_byte(account, odette, rival):
    registered(account)

    assert registered(account, rival).customer_id == rival


# Each check against the next: the first one wins (contract 2.1.3, nos. 4 to 11)


class Worse:
    """What makes one check of the contract's table fail, and what it then says."""

    def __init__(self, account, odette, old_click):
        self.account, self.odette, self.old_click = account, odette, old_click
        self.clues = {"click_id": str(ClickFactory(account=account, enrolment=odette))}
        self.said = {}

    def no_clue(self):
        self.clues = {}
        return "Missing mandatory parameter(s)"

    def blank(self):
        self.clues = {"coupon": " "} | self.clues
        return (
            "Parameter 'coupon' takes precedence for tracking, but no value was passed"
        )

    def status(self):
        self.said["status"] = "paying"
        return "Invalid status 'paying'. Valid are 'new', 'trial', 'lead'"

    def duplicate(self):
        CustomerFactory(
            account=self.account, enrolment=self.odette, customer_id="acct-55120"
        )
        return (
            "Duplicate customer. There is already a customer for Customer id"
            " 'acct-55120'"
        )

    def unknown(self):
        self.clues = {"referral_code": "unknown"} | self.clues
        return "Unknown referral code"

    def deleted(self):
        self.odette.affiliate.change(removed_at=NOW)
        return "Affiliate is deleted"

    def not_approved(self):
        self.odette.change(approved=None)
        return "Affiliate is not approved for this program"

    def archived(self):
        archive(self.account, slug=self.odette.program.slug, at=NOW)
        return "Program is archived"

    def expired(self):
        self.clues |= {"click_id": str(self.old_click)}
        return "Cookie expired"


CHECKS = [
    "no_clue",
    "blank",
    "status",
    "duplicate",
    "unknown",
    "deleted",
    "not_approved",
    "archived",
    "expired",
]


@pytest.fixture
def worse(account, odette, old_click):
    return Worse(account, odette, old_click)


def refusal_of(account, worse):
    with pytest.raises(Exception) as refusal:  # noqa: PT011 - its text is compared
        registered(account, clues=Clues(**worse.clues), **worse.said)
    return str(refusal.value)


@pytest.mark.parametrize("check", CHECKS)
def test_refuses_for_each_reason_of_the_table(account, worse, check):
    before = account.customers.count()
    told = getattr(worse, check)()

    assert refusal_of(account, worse) == told
    assert account.customers.count() == before + (check == "duplicate")
    assert account.decisions.count() == 0
    assert not account.events.filter(kind__startswith="customer").exists()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pair
        for pair in pairwise(CHECKS)
        if pair != ("no_clue", "blank")  # both at once cannot be
    ],
    ids=lambda value: value,
)
def test_refuses_for_the_first_of_two_reasons(account, worse, first, second):
    getattr(worse, second)()
    told = getattr(worse, first)()

    assert refusal_of(account, worse) == told


def test_refuses_for_the_first_of_all_reasons(account, worse):
    for check in reversed(CHECKS[1:]):
        told = getattr(worse, check)()

        assert refusal_of(account, worse) == told


@pytest.mark.parametrize("status", ["new", "trial", "lead"])
def test_begins_with_a_status_of_the_three(account, odette, status):
    assert registered(account, status=status).status == status


@pytest.mark.parametrize("status", ["", "paying", "canceled", "Trial", "{status}"])
def test_refuses_to_begin_with_another_status(account, odette, status):
    with pytest.raises(Exception) as refusal:  # noqa: PT011 - its text is compared
        registered(account, status=status)

    assert str(refusal.value) == (
        f"Invalid status '{status}'. Valid are 'new', 'trial', 'lead'"
    )


def test_takes_a_click_of_exactly_the_cookie_time(account, odette):
    at_the_border = NOW - timedelta(hours=24 * 45)
    click = ClickFactory(account=account, enrolment=odette, created_at=at_the_border)

    assert registered(account, clues=Clues(click_id=str(click))).click == click


def test_takes_an_old_click_when_its_age_is_ignored(account, old_click):
    clues = Clues(click_id=str(old_click))

    customer = registered(account, clues=clues, ignore_cookie_age=True)

    assert customer.click == old_click


def test_refuses_the_second_of_one_name(account, odette):
    registered(account)

    with pytest.raises(DuplicateCustomer):
        registered(account, clues=Clues(coupon="ODETTE10"))

    assert account.customers.count() == account.decisions.count() == 1


def test_gives_two_at_once_one_customer_and_one_refusal(committed):
    account = AccountFactory(slug=f"race-{uuid4().hex}")
    EnrolmentFactory(account=account, code="qv7kd2p")
    start = Barrier(2)

    def attempt(_):
        try:
            start.wait(10)
            return registered(account).public_id
        except DuplicateCustomer as refusal:
            return str(refusal)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(attempt, range(2)))

    duplicate = (
        "Duplicate customer. There is already a customer for Customer id 'acct-55120'"
    )
    customer = account.customers.get()
    assert sorted(answers) == sorted([duplicate, customer.public_id])
    assert account.decisions.count() == 1


# Renaming


def renamed(account, customer, customer_id=None, meta_data=None):
    return rename(
        account,
        customer=customer,
        customer_id=customer_id,
        meta_data=meta_data,
        at=NOW,
    )


@pytest.fixture
def customer(account, odette):
    return CustomerFactory(
        account=account,
        enrolment=odette,
        customer_id="acct-55120",
        meta_data={"plan": "basic"},
    )


def test_renames_a_customer(account, customer):
    renamed(account, customer, " acct-9 ")

    again = customer.again()
    assert again.customer_id == " acct-9 "
    assert again.meta_data == {"plan": "basic"}


def test_replaces_all_meta_data(account, customer):
    renamed(account, customer, meta_data={"tier": "gold"})

    again = customer.again()
    assert again.customer_id == "acct-55120"
    assert again.meta_data == {"tier": "gold"}


def test_tells_the_diary_which_fields_changed_but_no_value(account, customer):
    renamed(account, customer, "acct-9", {"tier": "gold"})

    event = account.events.filter(kind="customer.updated").get()
    assert event.facts == {"fields": ["customer_id", "meta_data"]}


@pytest.mark.parametrize(
    "change",
    [{}, {"customer_id": "acct-55120"}, {"meta_data": {"plan": "basic"}}],
    ids=["nothing", "the-same-id", "the-same-meta-data"],
)
def test_writes_nothing_when_nothing_changes(account, customer, change):
    renamed(account, customer, **change)

    assert not account.events.filter(kind="customer.updated").exists()


def test_refuses_a_name_that_another_customer_has(account, odette, customer):
    CustomerFactory(account=account, enrolment=odette, customer_id="acct-9")

    with pytest.raises(DuplicateCustomer) as refusal:
        renamed(account, customer, "acct-9", {"tier": "gold"})

    assert str(refusal.value) == (
        "Duplicate customer. There is already a customer for Customer id 'acct-9'"
    )
    again = customer.again()
    assert (again.customer_id, again.meta_data) == ("acct-55120", {"plan": "basic"})


def test_takes_a_name_of_a_removed_customer(account, odette, customer):
    former = CustomerFactory(account=account, enrolment=odette, customer_id="acct-9")
    remove(account, public_id=former.public_id, at=NOW)

    renamed(account, customer, "acct-9")

    assert customer.again().customer_id == "acct-9"


# The states of contract 7.3


@pytest.mark.parametrize("status", ["new", "trial", "lead", "paying", "canceled"])
def test_cancels_from_any_state(account, customer, status):
    customer.change(status=status)

    for _ in range(2):
        cancel(account, public_id=customer.public_id, at=NOW)

    assert customer.again().status == "canceled"
    events = account.events.filter(kind="customer.updated")
    told = [] if status == "canceled" else [{"status": [status, "canceled"]}]
    assert [event.facts for event in events] == told


@pytest.mark.parametrize("status", ["new", "trial", "lead", "paying"])
def test_leaves_a_customer_that_is_not_canceled(account, customer, status):
    customer.change(status=status)

    restore(account, public_id=customer.public_id, at=NOW)

    assert customer.again().status == status
    assert not account.events.filter(kind="customer.updated").exists()


@pytest.mark.parametrize("first_status", ["new", "trial", "lead"])
def test_restores_the_status_it_was_created_with(account, odette, first_status):
    customer = registered(account, status=first_status)
    cancel(account, public_id=customer.public_id, at=NOW)

    restore(account, public_id=customer.public_id, at=NOW)

    assert customer.again().status == first_status


def test_restores_to_paying_after_a_sale(account, odette):
    customer = registered(account, status="trial")
    bought(account)
    cancel(account, public_id=customer.public_id, at=NOW)

    restore(account, public_id=customer.public_id, at=NOW)

    assert customer.again().status == "paying"


def test_restores_past_a_sale_that_was_deleted(account, odette):
    customer = registered(account, status="trial")
    bought(account).change(removed_at=NOW)
    cancel(account, public_id=customer.public_id, at=NOW)

    restore(account, public_id=customer.public_id, at=NOW)

    assert customer.again().status == "trial"


def test_restores_a_customer_of_a_deleted_sale_to_new(account, odette):
    conversion = bought(account, clues=CODE)
    customer = conversion.customer
    conversion.change(removed_at=NOW)
    cancel(account, public_id=customer.public_id, at=NOW)

    restore(account, public_id=customer.public_id, at=NOW)

    assert customer.again().status == "new"


@pytest.mark.parametrize("status", ["new", "trial", "lead", "paying", "canceled"])
def test_pays_from_any_state_once_it_buys(account, customer, status):
    customer.change(status=status)

    bought(account)

    assert customer.again().status == "paying"


def test_is_born_paying_by_a_sale(account, odette):
    customer = bought(account, clues=CODE).customer

    assert customer.again().status == "paying"
    assert (customer.program, customer.affiliate) == (odette.program, odette.affiliate)


@pytest.mark.parametrize("act", [cancel, restore, remove])
@pytest.mark.parametrize("which", ["unknown", "removed", "foreign"])
def test_moves_no_customer_that_is_not_there(
    account, other_account, customer, act, which
):
    removed = CustomerFactory(account=account, removed_at=NOW)
    foreign = CustomerFactory(account=other_account)
    public_id = {
        "unknown": "cu_0000000000000000",
        "removed": removed.public_id,
        "foreign": foreign.public_id,
    }[which]

    with pytest.raises(CustomerNotFound):
        act(account, public_id=public_id, at=NOW)

    assert foreign.again().removed_at is None
    assert foreign.again().status == "new"


# Removing


def test_forgets_a_customer(account, odette):
    customer = registered(
        account,
        "odette@notes.example.org",
        meta_data={"plan": "basic"},
        user_agent="agent",
        ip="203.0.113.7",
    )

    remove(account, public_id=customer.public_id, at=NOW)

    tombstone = customer.again()
    assert tombstone.removed_at == NOW
    assert tombstone.public_id == customer.public_id
    assert tombstone.customer_id == ""
    assert tombstone.meta_data == {}
    assert (tombstone.user_agent, tombstone.ip) == (None, None)
    with pytest.raises(CustomerNotFound):
        customer_named(account, customer.public_id)


def test_lets_its_sales_stay(account, odette):
    conversion = bought(account, clues=CODE)

    remove(account, public_id=conversion.customer.public_id, at=NOW)

    assert account.conversions.present().get() == conversion
    assert conversion.again().customer_id == conversion.customer_id


def test_frees_the_callers_id_for_another_customer(account, odette):
    former = registered(account)
    remove(account, public_id=former.public_id, at=NOW)

    later = registered(account)

    assert later.customer_id == "acct-55120"
    assert later.public_id != former.public_id
    assert account.customers.present().get() == later


def test_removes_any_number_of_customers(account, odette):
    for _ in range(3):
        remove(account, public_id=registered(account).public_id, at=NOW)

    assert account.customers.count() == 3
    assert account.customers.present().count() == 0


def test_never_uses_the_id_of_a_removed_customer_again(account, customer):
    remove(account, public_id=customer.public_id, at=NOW)
    again = Customer(
        account=account,
        public_id=customer.public_id,
        customer_id="acct-9",
        program=customer.program,
        affiliate=customer.affiliate,
        status="new",
        first_status="new",
    )

    with pytest.raises(IntegrityError), transaction.atomic():
        account.customers.bulk_create([again])


def test_removes_once(account, customer):
    remove(account, public_id=customer.public_id, at=NOW)

    with pytest.raises(CustomerNotFound):
        remove(account, public_id=customer.public_id, at=NOW)

    event = account.events.filter(kind="customer.deleted").get()
    assert event.subject == f"customer:{customer.public_id}"
    assert event.facts == {}
