"""Opening balances: what affiliates were owed, or owed, on the day they moved in."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import transaction

from accounts.actor import use_actor
from accounts.errors import InvalidSetting
from payouts.errors import (
    BalanceTooLarge,
    DuplicateOpeningBalance,
    OpeningBalanceNotFound,
)
from payouts.services.bookkeeping import get_period_closings
from payouts.services.documents import issue_documents
from payouts.services.erasure import erase_person
from payouts.services.ledger import (
    get_payable_balances_by_slug,
    open_ledger_session,
)
from payouts.services.opening_balances import (
    import_opening_balance,
    list_opening_balances,
    post_opening_balance,
    reverse_opening_balance,
)
from payouts.services.payables import get_amounts_due, get_payment_balance
from payouts.services.payments import cancel_payment
from payouts.services.payout_runs import create_draft
from payouts.services.run_confirmation import confirm_run
from payouts.services.statements import get_statement, sum_statements
from tests.document_scenario import set_rule, set_taxes, switch_on
from tests.ledger_checks import (
    assert_atomic,
    assert_ledger_consistent,
    assert_unchanged,
)
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tracking.errors import AffiliateNotFound, UnknownCurrency
from tracking.models.affiliates import Affiliate
from tracking.services.affiliates import delete_affiliate
from tracking.services.imports import ImportMap, ImportProblem

pytestmark = pytest.mark.usefixtures("shared_scenario")

MINA = "minakessler"
MOVED_AT = datetime(2026, 1, 31, tzinfo=UTC)
A_DAY = timedelta(days=1)


@pytest.fixture
def scenario(scenario):
    """Commissions are 100 % of the conversion."""
    scenario.create_commission_type("all", 100)
    yield scenario
    assert_ledger_consistent(scenario.account)


def open_balance(account, amount, *, currency="EUR", to=MINA):
    transfer = post_opening_balance(
        account,
        affiliate_id=to,
        currency=currency,
        amount=Decimal(amount),
        at=MOVED_AT,
    )
    assert_ledger_consistent(account)
    return transfer


def reverse(account, *, currency="EUR"):
    transfer = reverse_opening_balance(account, affiliate_id=MINA, currency=currency, at=AT)
    assert_ledger_consistent(account)
    return transfer


def earn(scenario, *amounts):
    """Approved commissions of these amounts."""
    rows = []
    for amount in amounts:
        sale = scenario.create_conversion((amount, "all"))
        rows.append(scenario.get_commission(sale))
        scenario.approve(rows[-1])
    return rows


def pay(scenario, amount):
    payment = scenario.pay(amount)
    assert_ledger_consistent(scenario.account)
    return payment


def cancel(payment):
    cancel_payment(payment.account, payment_id=payment.public_id, at=AT)
    assert_ledger_consistent(payment.account)


def list_paid(commissions):
    return [row.reload().payment_id is not None for row in commissions]


def describe(transfer):
    sides = (transfer.debit.kind, transfer.credit.kind)
    return (transfer.kind, *sides, transfer.amount, transfer.created_at)


def get_balances(account):
    return get_payable_balances_by_slug(account).get(MINA, {})


def get_parts(payment):
    found = get_payment_balance(payment)
    return (
        found.brought_forward,
        found.opening,
        found.paid,
        found.carried_forward,
    )


def list_movements(scenario):
    end = (AT + 60 * A_DAY).date()
    [statement] = get_statement(
        scenario.account, scenario.mina.affiliate, start=MOVED_AT.date(), end=end
    ).currencies
    return [(line.kind.value, line.amount) for line in statement.lines]


def test_is_a_transfer_from_expense_to_payable_at_its_date(scenario, account):
    with use_actor("operator anna"):
        transfer = open_balance(account, "50.25")

    assert describe(transfer) == (
        *("opening_balance", "expense", "payable"),
        *(Decimal("50.25"), MOVED_AT),
    )
    assert (transfer.actor, transfer.commission, transfer.payment) == (
        *("operator anna", None),
        None,
    )
    assert get_balances(account) == {"EUR": Decimal("50.25")}


def test_is_a_transfer_the_other_way_if_the_affiliate_owes(scenario, account):
    transfer = open_balance(account, "-50", currency=" jpy ")

    assert describe(transfer)[1:4] == ("payable", "expense", 50)
    assert get_balances(account) == {"JPY": -50}


def test_logs_who_was_owed_how_much(scenario, account):
    written = account.audit_log.count()

    open_balance(account, "-7.50")
    reverse(account)

    subject = f"affiliate:{scenario.mina.affiliate.log_id}"
    assert [
        (row.kind, row.subject, row.details) for row in account.audit_log.order_by("id")[written:]
    ] == [
        ("opening_balance.posted", subject, {"amount": "-7.5 EUR"}),
        ("opening_balance.reversed", subject, {"amount": "-7.5 EUR"}),
    ]


@pytest.mark.parametrize(
    ("amount", "currency", "error_class"),
    [
        pytest.param("0", "EUR", InvalidSetting, id="zero"),
        pytest.param("0.005", "EUR", InvalidSetting, id="half-a-cent"),
        pytest.param("-0.5", "JPY", InvalidSetting, id="half-a-yen"),
        pytest.param("1E+13", "EUR", InvalidSetting, id="fourteen-digits"),
        pytest.param("1", "XXX", UnknownCurrency, id="unknown-currency"),
    ],
)
def test_rejects_invalid_amounts(scenario, account, amount, currency, error_class):
    with assert_unchanged(account), pytest.raises(error_class):
        open_balance(account, amount, currency=currency)


def test_rejects_affiliates_of_other_accounts(scenario, account, other_account):
    with assert_unchanged(other_account), pytest.raises(AffiliateNotFound):
        open_balance(other_account, "1")


def test_rejects_a_balance_that_exceeds_its_column(scenario, account):
    for _ in range(90):
        scenario.pay("9999999999999")

    with assert_unchanged(account), pytest.raises(BalanceTooLarge):
        open_balance(account, "-99")


def test_is_possible_for_a_removed_affiliate(scenario, account):
    delete_affiliate(account, affiliate_id=MINA, at=AT)

    open_balance(account, "1")

    assert get_balances(account) == {"EUR": 1}


def test_is_one_per_affiliate_and_currency(scenario, account):
    nils = scenario.create_enrolled_affiliate("Nils", "Berg")
    open_balance(account, "-50")
    open_balance(account, "50", to=nils.slug)
    open_balance(account, "50", currency="USD")

    with assert_unchanged(account), pytest.raises(DuplicateOpeningBalance) as caught:
        open_balance(account, "20")

    assert str(caught.value) == (
        "minakessler has an opening balance of -50 EUR already: take it back first."
    )


@pytest.mark.parametrize("amount", [50, -50])
def test_is_taken_back_by_its_reversal_and_posted_again(scenario, account, amount):
    first = open_balance(account, amount)
    reversal = reverse(account)

    assert reversal.reversal_of == first
    assert (reversal.debit, reversal.credit) == (first.credit, first.debit)
    assert (reversal.kind, reversal.amount) == ("opening_balance", 50)
    assert (reversal.created_at, get_balances(account)) == (AT, {})
    second = open_balance(account, "7")
    assert list_opening_balances(scenario.mina.affiliate) == [second]
    reverse(account)
    assert list_opening_balances(scenario.mina.affiliate) == []


def test_takes_back_only_what_there_is(scenario, account):
    open_balance(account, "1", currency="USD")
    reverse(account, currency="USD")

    for currency in ("EUR", "USD"):
        with assert_unchanged(account), pytest.raises(OpeningBalanceNotFound):
            reverse(account, currency=currency)


def test_stores_nothing_when_any_statement_fails(scenario, account):
    key = {"affiliate_id": MINA, "currency": "EUR", "at": AT}

    def post():
        post_opening_balance(account, amount=Decimal(1), **key)

    assert_atomic(account, post, least=5)
    assert_atomic(account, lambda: reverse_opening_balance(account, **key), least=5)


def test_a_payment_of_the_opening_balance_pays_no_commission(scenario, account):
    open_balance(account, "50")
    commissions = earn(scenario, "10", "40")

    payment = pay(scenario, "50")

    assert list_paid(commissions) == [False, False]
    assert get_parts(payment) == (0, 50, 0, 0)
    assert pay(scenario, "50").pk
    assert list_paid(commissions) == [True, True]


def test_a_payment_pays_the_opening_balance_before_commissions(scenario, account):
    open_balance(account, "50")
    commissions = earn(scenario, "10", "40", "5")

    first, second = pay(scenario, "30"), pay(scenario, "33")

    assert list_paid(commissions) == [True, False, False]
    assert get_parts(first) == (0, 30, 0, 0)
    assert get_parts(second) == (0, 20, 10, 3)
    third = pay(scenario, "42")
    assert list_paid(commissions) == [True, True, True]
    assert get_parts(third) == (3, 0, 45, 0)
    assert get_balances(account) == {}


def test_what_the_affiliate_owes_is_deducted_from_its_commissions(scenario, account):
    open_balance(account, "-20")
    commissions = earn(scenario, "15", "25", "60")
    assert get_balances(account) == {"EUR": 80}

    first = pay(scenario, "20")

    assert list_paid(commissions) == [True, True, False]
    assert get_parts(first) == (0, -20, 40, 0)
    assert get_parts(pay(scenario, "60")) == (0, 0, 60, 0)
    assert get_balances(account) == {}


def test_a_canceled_payment_leaves_the_opening_balance_to_the_next(scenario, account):
    open_balance(account, "50")
    commissions = earn(scenario, "10")
    first, second = pay(scenario, "50"), pay(scenario, "10")
    assert list_paid(commissions) == [True]

    cancel(first)

    assert get_balances(account) == {"EUR": 50}
    assert get_parts(second) == (0, 10, 10, -10)
    third = pay(scenario, "50")
    assert get_parts(third) == (-10, 40, 0, 0)
    assert list_paid(commissions) == [True]


@pytest.mark.parametrize(
    ("opening", "earned", "paid", "parts"),
    [("50", [], "50", (0, 50, 0, 0)), ("-4", ["20"], "16", (0, -4, 20, 0))],
)
def test_a_payment_before_it_pays_nothing_of_it(scenario, account, opening, earned, paid, parts):
    earn(scenario, "10")
    before = pay(scenario, "10")
    open_balance(account, opening)
    earn(scenario, *earned)

    after = pay(scenario, paid)

    assert (get_parts(before), get_parts(after)) == ((0, 0, 10, 0), parts)


def test_a_payment_between_two_postings_pays_nothing_of_it(scenario, account):
    open_balance(account, "50")
    reverse(account)
    earn(scenario, "10")
    between = pay(scenario, "10")
    open_balance(account, "50")

    after = pay(scenario, "50")

    assert (get_parts(between), get_parts(after)) == ((0, 0, 10, 0), (0, 50, 0, 0))


@pytest.mark.parametrize(
    ("opening", "first", "corrected", "second", "parts"),
    [
        ("50", "50", "60", "10", [(0, 50, 0, 0), (0, 10, 0, 0)]),
        ("50", "50", "30", "10", [(0, 30, 0, 20), (20, 0, 0, 30)]),
        ("-4", "16", "-6", "8", [(0, -4, 20, 0), (0, -2, 10, 0)]),
        ("50", "50", "-6", "8", [(0, 0, 0, 50), (50, -6, 30, 34)]),
    ],
)
def test_a_payment_pays_what_is_left_of_one_that_was_corrected(
    scenario, account, opening, first, corrected, second, parts
):
    if opening == "-4":
        earn(scenario, "20")
    open_balance(account, opening)
    payment = pay(scenario, first)
    reverse(account)
    open_balance(account, corrected)
    if corrected.startswith("-"):
        earn(scenario, *(["10"] if opening == "-4" else ["20", "10"]))

    later = pay(scenario, second)

    assert [get_parts(payment), get_parts(later)] == parts


def test_one_that_was_taken_back_is_not_paid(scenario, account):
    open_balance(account, "50")
    reverse(account)
    commissions = earn(scenario, "10")

    payment = pay(scenario, "10")

    assert list_paid(commissions) == [True]
    assert get_parts(payment) == (0, 0, 10, 0)


def test_is_due_at_once(scenario, account):
    scenario.program.update_row(hold_days=30)
    open_balance(account, "50")
    earn(scenario, "10")

    pk = scenario.mina.affiliate.pk
    amounts = get_amounts_due(account, [pk], at=AT)[pk, "EUR"]

    assert (amounts.due, amounts.on_hold) == (50, 10)


@pytest.mark.parametrize(
    ("opening", "earned", "paid"),
    [("50", "10", 60), ("50", None, 50), ("-4", "10", 6), ("-10", "10", None)],
)
def test_a_payout_run_pays_it(scenario, account, opening, earned, paid):
    details = {"kind": "paypal", "details": {"email": "a@x.example"}}
    account.payout_methods.create(affiliate=scenario.mina.affiliate, is_primary=True, **details)
    open_balance(account, opening)
    commissions = earn(scenario, earned) if earned else []

    run = create_draft(account, due_until=AT.date(), at=AT)
    if paid:
        confirm_run(account, pk=run.pk, at=AT)

    amounts = account.payments.values_list("amount", flat=True)
    assert list(amounts) == ([paid] if paid else [])
    assert all(list_paid(commissions)) == bool(paid or not commissions)


def test_needs_cover_like_any_balance(scenario, account):
    scenario.enable_payouts("59.99")
    open_balance(account, "50")
    sale = scenario.create_conversion(("10", "all"))
    commission = scenario.get_commission(sale)

    with pytest.raises(Exception, match="does not cover"):
        scenario.approve(commission)
    scenario.enable_payouts("0.01")
    scenario.approve(commission)


def test_is_a_line_of_the_statement(scenario, account):
    open_balance(account, "50")
    open_balance(account, "9", currency="USD")
    reverse(account, currency="USD")
    earn(scenario, "10")
    pay(scenario, "50")

    days = {"start": MOVED_AT.date(), "end": (AT + A_DAY).date()}
    euros, dollars = get_statement(account, scenario.mina.affiliate, **days).currencies

    assert [(line.kind.value, line.amount) for line in euros.lines] == [
        ("opening_balance", 50),
        ("commission", 10),
        ("payment", -50),
    ]
    assert (euros.opening, euros.closing) == (0, 10)
    assert [(line.kind.label, line.amount) for line in dollars.lines] == [
        ("Opening balance", 9),
        ("Opening balance taken back", -9),
    ]
    pk = scenario.mina.affiliate.pk
    totals = sum_statements(account, [pk], **days)[pk, "EUR"]
    assert (totals.opening, totals.earned, totals.paid, totals.closing) == (
        *(50, 10, 50),
        10,
    )


def test_is_a_movement_of_the_closing_of_its_period(scenario, account):
    nils = scenario.create_enrolled_affiliate("Nils", "Berg")
    open_balance(account, "50")
    open_balance(account, "-20", to=nils.slug)

    closing = get_period_closings(account, start=MOVED_AT.date(), end=MOVED_AT.date())["EUR"]

    assert closing.movements == {"opening_balance": (0, 30)}
    assert closing.is_explained


@pytest.mark.parametrize(("opening", "billed"), [("50", 50), ("-4", -4), (None, None)])
def test_is_named_by_the_document_of_its_payment(scenario, account, opening, billed):
    switch_on(account)
    set_taxes(account, MINA)
    set_rule(account)
    address = {"address": "Ring 1", "postal_code": "1010", "city": "Wien"}
    Affiliate.objects.filter(account=account).update(country="AT", **address)
    if opening:
        open_balance(account, opening)
    earn(scenario, "10", "7")
    payment, later = pay(scenario, 10 + int(opening or 0)), pay(scenario, "7")

    first, second = issue_documents(account, at=AT)
    cancel(payment)

    correction = account.documents.get(corrects=first)
    assert (first.payment, second.payment) == (payment, later)
    assert (first.opening, second.opening) == (billed, None)
    assert correction.opening == (-billed if billed else None)


def test_is_not_named_by_the_document_of_a_payment_before_it(scenario, account):
    switch_on(account)
    set_taxes(account, MINA)
    set_rule(account)
    address = {"address": "Ring 1", "postal_code": "1010", "city": "Wien"}
    Affiliate.objects.filter(account=account).update(country="AT", **address)
    earn(scenario, "10")
    pay(scenario, "10")
    open_balance(account, "50")
    pay(scenario, "50")

    first, second = issue_documents(account, at=AT)

    assert (first.opening, second.opening) == (None, 50)


def test_does_not_hinder_an_erasure(scenario, account):
    open_balance(account, "50")

    erasure = erase_person(account, identifier=MINA, at=AT)

    assert list(erasure.balances.values()) == [{"EUR": 50}]


class TestImport:
    @pytest.fixture
    def imports(self, account):
        return ImportMap(account, "table", AT)

    @pytest.fixture
    def store(self, account, imports):
        """Post one row as an import does; return its transfer."""

        def store(body):
            with transaction.atomic():
                with open_ledger_session(account, [], at=AT) as ledger:
                    import_opening_balance(imports, body, ledger)
                [transfer] = ledger.written
            return transfer

        return store

    def build(self, **changes):
        body = {"affiliate_id": MINA, "currency": "EUR", "amount": "50.00"}
        return body | {"date": "2026-01-31"} | changes

    def test_posts_a_row(self, scenario, account, store):
        transfer = store(self.build())

        assert describe(transfer)[3:] == (50, MOVED_AT)
        assert account.audit_log.latest("id").created_at == AT

    def test_takes_the_time_of_the_import_without_a_date(self, scenario, store):
        transfer = store(self.build(date="", amount=-3))

        assert describe(transfer)[1:] == ("payable", "expense", 3, AT)

    @pytest.mark.parametrize(
        ("changes", "code", "path"),
        [
            ({"affiliate_id": "nobody"}, "unknown_affiliate", "affiliate_id"),
            ({"affiliate_id": None}, "unknown_affiliate", "affiliate_id"),
            ({"currency": "XXX"}, "unknown_currency", "currency"),
            ({"amount": "0.00"}, "zero_amount", "amount"),
            ({"amount": "0.001"}, "invalid_amount", "amount"),
            ({"amount": "1,50"}, "invalid_amount", "amount"),
            ({"amount": None}, "missing", "amount"),
            ({"date": "31.01.2026"}, "invalid_time", "date"),
        ],
    )
    def test_says_what_is_wrong(self, account, store, changes, code, path):
        body = self.build(**changes)

        with assert_unchanged(account), pytest.raises(ImportProblem) as caught:
            store(body)

        problem = caught.value
        value = "" if code == "missing" else str(body[path])
        assert (problem.code, problem.path, problem.value) == (code, path, value)

    def test_names_a_second_balance(self, scenario, store):
        store(self.build())

        with pytest.raises(ImportProblem) as caught:
            store(self.build(amount="7"))

        assert caught.value.code == "duplicate_opening_balance"
        assert caught.value.value == MINA
