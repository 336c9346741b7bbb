"""Answers of banks to payout runs: settled, refused and returned payments."""

from datetime import date, timedelta
from decimal import Decimal
from hashlib import sha256
from unittest.mock import patch

import pytest

from accounts.errors import NotFound
from payouts.errors import ReceiverErased, ResultsOfOtherRun
from payouts.services import payout_results
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payments import cancel_payment
from payouts.services.payout_answers import (
    Booking,
    PayoutResult,
    ResultState,
    find_payment_id,
)
from payouts.services.payout_files import (
    get_payout_run,
    is_sepa_line,
    list_paid_lines,
    record_file,
)
from payouts.services.payout_methods import remove_payout_method, set_payout_method
from payouts.services.payout_results import (
    DEBITED_TWICE,
    NO_ANSWER,
    RETURN_REVERSED,
    SETTLED_BEFORE,
    apply_payout_results,
)
from payouts.services.payout_runs import list_unanswered_payments, record_export
from tests.ledger_checks import assert_atomic, assert_ledger_consistent
from tests.payout_scenario import BANK, CONFIRMED_AT, Paid, create_run, get_lines
from tests.program_scenario import ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

AT = CONFIRMED_AT + timedelta(days=3)
DAY = date(2026, 4, 7)
SETTLED, FAILED, RETURNED, UNKNOWN, DUPLICATE = (
    ResultState.SETTLED,
    ResultState.FAILED,
    ResultState.RETURNED,
    ResultState.UNKNOWN,
    ResultState.DUPLICATE,
)


@pytest.fixture
def run(scenario):
    """Mina is paid 20 EUR, which one commission covers, Nils 30 EUR and 5 USD."""
    commission = scenario.get_commission(scenario.create_conversion("200"))
    scenario.approve(commission)
    scenario.create_enrolled_affiliate("Nils", "Berg")
    run = create_run(
        scenario.account,
        Paid("20"),
        Paid("30", slug="nilsberg"),
        Paid("5", "USD", slug="nilsberg", details={"account_number": "1"}),
    )
    yield run
    assert_ledger_consistent(scenario.account)


def answer(line, state=SETTLED, **fields):
    return PayoutResult(line.payment.public_id, state, **fields)


def apply(account, *results, at=AT, **options):
    return apply_payout_results(account, results, at=at, **options)


def list_states(run):
    return [line.state for line in get_lines(run)]


def get_state(run):
    return run.reload().state


def set_method(run, **fields):
    line = get_lines(run)[0]
    return run.account.payout_methods.create(
        affiliate=line.affiliate, kind="bank", is_primary=True, **fields
    )


def test_settles_lines_with_reference_and_day(account, run):
    first, second, third = get_lines(run)
    results = [
        answer(first, reference="R1", day=DAY, amount=Decimal("20.00"), currency="EUR"),
        answer(second, reference="R2"),
        answer(third, UNKNOWN, reason="status PDNG"),
    ]
    applied = apply(account, *results)
    assert [each.payment for each in applied.settled] == [
        first.payment.public_id,
        second.payment.public_id,
    ]
    assert [(it.payment, it.reason) for it in applied.unknown] == [
        (third.payment.public_id, "status PDNG")
    ]
    first, second, third = get_lines(run)
    assert (first.state, first.bank_reference, first.answered_on) == (
        "settled",
        "R1",
        DAY,
    )
    assert (second.answered_on, third.state) == (AT.date(), "unknown")
    assert get_state(run) == "exported"
    apply(account, answer(third))
    assert get_state(run) == "settled"
    kinds = account.audit_log.filter(created_at=AT).values_list("kind", flat=True)
    assert sorted(kinds) == [
        *["payment.settled"] * 3,
        *["payout_run.results_imported"] * 2,
    ]


def test_changes_nothing_a_second_time(account, run):
    first, second, third = get_lines(run)
    results = [answer(first, reference="R1"), answer(second, FAILED), answer(third)]
    apply(account, *results)
    before = get_lines(run), account.audit_log.count()
    again = apply(account, *results, at=AT + timedelta(days=1))
    assert (again.already_applied, again.settled, again.failed) == (3, [], [])
    assert (get_lines(run), account.audit_log.count()) == before


def test_owes_a_refused_payment_again(account, run):
    first, *_ = get_lines(run)
    applied = apply(account, answer(first, FAILED, reason="AC04: account closed"))
    assert [(it.amount, it.reason) for it in applied.failed] == [
        (Decimal(20), "AC04: account closed")
    ]
    assert get_payable_balances_by_slug(account)["minakessler"] == {"EUR": 20}
    payment = account.payments.get(pk=first.payment_id)
    assert (payment.canceled_at, payment.cancel_reason) == (AT, "AC04: account closed")
    assert account.commissions.get().payment is None
    line = get_lines(run)[0]
    assert (line.state, line.bank_reason) == ("returned", "AC04: account closed")
    assert get_state(run) == "partly_failed"


def test_owes_a_payment_again_that_came_back_weeks_after_it_was_settled(account, run):
    first, second, third = get_lines(run)
    apply(account, answer(first, day=DAY), answer(second), answer(third))
    later = AT + timedelta(days=40)
    apply(account, answer(first, RETURNED, day=later.date()), at=later)
    assert get_payable_balances_by_slug(account)["minakessler"] == {"EUR": 20}
    assert list_states(run) == ["returned", "settled", "settled"]
    assert get_state(run) == "partly_failed"

    # The statement that settled it, once more, is no news; one from later on is.
    assert apply(account, answer(first, day=DAY)).already_applied == 1
    result = answer(first, day=later.date() + timedelta(days=1))
    again = apply(account, result, at=later + timedelta(days=1))
    [reported] = again.unmatched
    assert reported.reason == f"it was returned on {later.date()}, but has arrived"


def test_lets_the_return_win_over_the_debit_of_one_file(account, run):
    first, *_ = get_lines(run)
    applied = apply(account, answer(first, RETURNED), answer(first), answer(first, UNKNOWN))
    assert (len(applied.failed), applied.settled) == (1, [])


IS_DUPLICATE = "it was ordered twice"
# What two files say of one payment, what is left, and what of the second one to check.
FILES = {
    (SETTLED, SETTLED): ("settled", ""),
    (SETTLED, FAILED): ("settled", "it was settled on 2026-04-07, but is refused"),
    (SETTLED, RETURNED): ("returned", ""),
    (SETTLED, DUPLICATE): ("settled", IS_DUPLICATE),
    (SETTLED, UNKNOWN): ("settled", ""),
    (FAILED, SETTLED): ("returned", "it was refused on 2026-04-07, but has arrived"),
    (FAILED, FAILED): ("returned", ""),
    (FAILED, RETURNED): ("returned", ""),
    (FAILED, DUPLICATE): ("returned", IS_DUPLICATE),
    (FAILED, UNKNOWN): ("returned", ""),
    (RETURNED, SETTLED): ("returned", "it was refused on 2026-04-07, but has arrived"),
    (RETURNED, FAILED): ("returned", ""),
    (RETURNED, RETURNED): ("returned", ""),
    (RETURNED, DUPLICATE): ("returned", IS_DUPLICATE),
    (RETURNED, UNKNOWN): ("returned", ""),
    (DUPLICATE, SETTLED): ("settled", ""),
    (DUPLICATE, FAILED): ("returned", ""),
    (DUPLICATE, RETURNED): ("returned", ""),
    (DUPLICATE, DUPLICATE): ("unknown", IS_DUPLICATE),
    (DUPLICATE, UNKNOWN): ("unknown", ""),
    (UNKNOWN, SETTLED): ("settled", ""),
    (UNKNOWN, FAILED): ("returned", ""),
    (UNKNOWN, RETURNED): ("returned", ""),
    (UNKNOWN, DUPLICATE): ("unknown", IS_DUPLICATE),
    (UNKNOWN, UNKNOWN): ("unknown", ""),
}
# The same in one file, in any order.
ONE_FILE = {
    (SETTLED, FAILED): ("settled", "it is refused, but settled in the same file"),
    (SETTLED, RETURNED): ("returned", ""),
    (SETTLED, DUPLICATE): ("settled", IS_DUPLICATE),
    (SETTLED, UNKNOWN): ("settled", ""),
    (FAILED, RETURNED): ("returned", ""),
    (FAILED, DUPLICATE): ("returned", IS_DUPLICATE),
    (FAILED, UNKNOWN): ("returned", ""),
    (RETURNED, DUPLICATE): ("returned", IS_DUPLICATE),
    (RETURNED, UNKNOWN): ("returned", ""),
    (DUPLICATE, UNKNOWN): ("unknown", IS_DUPLICATE),
}


def build_answer(run, line, state, *, is_whole):
    """One payment, or the whole file that pays it."""
    if not is_whole:
        return answer(line, state, day=DAY)
    return PayoutResult(name_message(run), state, Decimal(20), day=DAY, is_message=True, count=1)


def name_message(run):
    return run.public_id.replace("_", "-")


def ensure_outcome(line, applied, outcome):
    state, problem = outcome
    reasons = [it.reason for it in applied.unmatched]
    assert len(reasons) == bool(problem)
    assert all(reason.startswith(problem) for reason in reasons)
    assert line.reload().state == state
    is_owed = line.payment.reload().canceled_at is not None
    assert is_owed == (state == "returned")


@pytest.mark.parametrize("is_whole", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize(("states", "outcome"), FILES.items())
def test_two_answers_in_two_files(scenario, account, states, outcome, is_whole):
    """Each may be about the payment, or about the whole file."""
    run = create_run(account, Paid("20"))
    [line] = get_lines(run)
    first, second = (
        build_answer(run, line, state, is_whole=whole)
        for state, whole in zip(states, is_whole, strict=True)
    )
    apply(account, first)
    ensure_outcome(line, apply(account, second), outcome)
    assert_ledger_consistent(account)


def test_all_pairs_of_answers_are_tested():
    assert len(FILES) == len(ResultState) ** 2
    assert len(ONE_FILE) == len(ResultState) * (len(ResultState) - 1) / 2


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(("states", "outcome"), ONE_FILE.items())
def test_two_answers_in_one_file(scenario, account, states, outcome, order):
    run = create_run(account, Paid("20"))
    [line] = get_lines(run)
    answers = [answer(line, state, day=DAY) for state in states[::order]]
    ensure_outcome(line, apply(account, *answers), outcome)


def test_a_refusal_is_not_applied_if_another_amount_has_arrived(account, run):
    first, *_ = get_lines(run)
    arrived = answer(first, SETTLED, amount=Decimal(19))
    applied = apply(account, answer(first, FAILED), arrived)
    assert len(applied.unmatched) == 2
    assert list_states(run) == ["unknown"] * 3


def test_a_file_that_is_a_duplicate_is_named_once(account, run):
    name = name_message(run)
    result = PayoutResult(name, DUPLICATE, is_message=True)
    [reported] = apply(account, result, run=run).unmatched
    assert reported.payment == name
    assert reported.reason.startswith(IS_DUPLICATE)


def pay_german_and_emirates(account):
    """Two lines to IBANs: the bank file has only the first one."""
    run = create_run(
        account,
        Paid("20"),
        Paid("30", slug="nilsberg", details={"iban": "AE070331234567890123456"}),
    )
    return run, get_lines(run)


def record(run, lines, at=AT, **options):
    options = {"format_name": "pain001", "is_message": True} | options
    return record_file(run, lines, at=at, **options)


@pytest.mark.parametrize("state", [SETTLED, FAILED])
@pytest.mark.parametrize("sums", [{}, {"count": 1}, {"amount": Decimal(20)}])
def test_an_answer_about_a_file_is_about_its_payments(account, run, state, sums):
    run, [german, emirates] = pay_german_and_emirates(account)
    file = record(run, [german])
    record(run, [emirates], format_name="csv", is_message=False)

    apply(account, PayoutResult(file.message_id, state, is_message=True, **sums))

    expected = "settled" if state == SETTLED else "returned"
    assert list_states(run) == [expected, "unknown"]


@pytest.mark.parametrize(
    "sums",
    [{"count": 2}, {"amount": Decimal(50)}, {"currency": "USD"}, {"count": -1}],
)
def test_an_answer_with_other_sums_is_not_applied(account, run, sums):
    run, [german, _] = pay_german_and_emirates(account)
    file = record(run, [german])
    result = PayoutResult(file.message_id, FAILED, is_message=True, **sums)

    [reported] = apply(account, result, run=run).unmatched

    assert reported.payment == file.message_id
    assert reported.reason.endswith("but the file has 1 payment, 20.00 EUR")
    assert list_states(run) == ["unknown"] * 2


def test_what_happens_after_a_file_was_made_does_not_matter(account, run):
    """A canceled line, an erased receiver, another rule of the format."""
    run, [first, second] = pay_german_and_emirates(account)
    file = record(run, [first, second])
    cancel_payment(account, payment_id=first.payment.public_id, at=AT)
    account.payout_lines.filter(pk=second.pk).update(receiver={}, method="paypal")
    result = PayoutResult(file.message_id, SETTLED, is_message=True, count=2)

    [reported] = apply(account, result).unmatched

    assert reported.payment == first.payment.public_id
    assert reported.reason == "it was canceled, but has arrived"
    assert list_states(run) == ["canceled", "settled"]


def test_other_payments_make_another_message(account, run):
    first, second, _ = get_lines(run)
    file = record(run, [first, second])
    assert file.message_id == name_message(run)
    assert (file.payments, file.control_sum, file.currency, file.created_at) == (
        [str(first.payment), str(second.payment)],
        50,
        "EUR",
        AT,
    )
    assert record(run, [second, first], at=AT + timedelta(days=1)) == file
    other = record(run, [second])
    assert other.message_id == f"{name_message(run)}.2"
    assert record(run, [second]) == other
    assert record(run, [first, second]) == file
    by_list = record(run, [second], format_name="csv", is_message=False)
    assert by_list.message_id is None

    apply(account, PayoutResult(other.message_id, SETTLED, is_message=True, count=1))
    assert list_states(run) == ["unknown", "settled", "unknown"]


def test_knows_no_files_of_other_accounts(account, other_account, run):
    other = ProgramScenario(other_account, prefix="zz-marker-")
    other_run = create_run(other_account, Paid("7", slug=other.mina.slug))
    file = record(other_run, get_lines(other_run))
    result = PayoutResult(file.message_id, SETTLED, is_message=True)
    [reported] = apply(account, result).unmatched
    assert reported.reason == "there is no such file"
    with pytest.raises(ResultsOfOtherRun, match=file.message_id):
        apply(account, result, run=run)
    assert list_states(other_run) == ["unknown"]


@pytest.mark.parametrize(
    ("paid", "sums", "is_applied"),
    [
        ([Paid("20")], {"count": 1}, True),
        ([Paid("20")], {"amount": Decimal(20)}, True),
        ([Paid("20")], {}, False),
        ([Paid("20")], {"count": 2}, False),
        ([Paid("20"), Paid("5", "USD")], {"count": 2}, False),
        ([Paid("20"), Paid("5", "USD")], {"count": 1}, False),
    ],
)
def test_a_file_of_an_earlier_release_has_all_lines_or_is_unknown(
    scenario, account, paid, sums, is_applied
):
    run = create_run(account, *paid)
    name = name_message(run)
    applied = apply(account, PayoutResult(name, SETTLED, is_message=True, **sums))
    assert bool(applied.settled) is is_applied
    assert bool(applied.unmatched) is not is_applied
    later = PayoutResult(f"{name}.2", SETTLED, is_message=True, **sums)
    assert apply(account, later).unmatched


@pytest.mark.parametrize(("canceled", "number"), [(False, ""), (True, ".2")])
def test_a_file_that_an_earlier_release_made_keeps_its_number(account, run, canceled, number):
    """Unless a payment of it was canceled since: it may have had that, too."""
    run.update_row(state="confirmed")
    record_export(run, at=AT)
    first, second, _ = get_lines(run)
    if canceled:
        cancel_payment(account, payment_id=first.payment.public_id, at=AT)
    assert record(run, [second]).message_id == f"{name_message(run)}{number}"
    following = record(run, [first]).message_id
    assert following == f"{name_message(run)}.{3 if number else 2}"


def test_makes_no_file_with_an_erased_receiver(account, run):
    first, second, _ = get_lines(run)
    account.payout_lines.filter(pk=first.pk).update(receiver={})
    with pytest.raises(ReceiverErased, match=str(first.payment)):
        record(run, [second, get_lines(run)[0]])
    assert not account.payout_files.exists()


def test_puts_the_method_on_hold_that_was_used(account, run):
    line = get_lines(run)[0]
    method = set_method(run)
    apply(account, answer(line, FAILED, reason="AC04"))
    assert method.reload().on_hold_reason == f"{line.payment}: AC04"


def put_method(account, details=BANK):
    return set_payout_method(
        account,
        affiliate_id="minakessler",
        kind="bank",
        details=details,
        is_primary=True,
        at=AT,
    )


def add_again(account):
    """Remove the method and add it again, as spaces in its IBAN do not matter."""
    remove_payout_method(account, affiliate_id="minakessler", kind="bank", at=AT)
    spaced = BANK | {"iban": "DE89 3704 0044 0532 0130 00"}
    return put_method(account, spaced)


def test_a_method_added_again_is_still_on_hold(account, run):
    line = get_lines(run)[0]
    held = f"{line.payment}: AC04"
    put_method(account)
    apply(account, answer(line, FAILED, reason="AC04"))
    assert add_again(account).on_hold_reason == held
    assert put_method(account, BANK | {"iban": "SI56"}).on_hold_reason == ""
    assert put_method(account).on_hold_reason == held


def test_a_payment_that_arrived_later_ends_the_hold(account, run):
    apply(account, answer(get_lines(run)[0], FAILED))
    later = create_run(account, Paid("1"), at=AT)
    apply(account, answer(get_lines(later)[0]))
    put_method(account)
    assert add_again(account).on_hold_reason == ""


def test_the_hold_of_another_affiliate_or_kind_does_not_matter(account, run):
    first, second, _ = get_lines(run)  # to equal accounts
    apply(account, answer(second, FAILED))
    assert put_method(account).on_hold_reason == ""
    account.payout_lines.filter(pk=first.pk).update(method="wire_transfer")
    apply(account, answer(first, FAILED))
    assert add_again(account).on_hold_reason == ""


@pytest.mark.parametrize("days", [0, 1])
def test_holds_no_method_that_was_changed_since(account, run, days):
    method = set_method(run, details_changed_at=CONFIRMED_AT + timedelta(days=days))
    apply(account, answer(get_lines(run)[0], FAILED))
    assert bool(method.reload().on_hold_reason) is (days == 0)


def test_cancels_payments_by_hand_that_came_back(scenario, account):
    payment = scenario.pay(10)
    result = PayoutResult(payment.public_id, FAILED, reason="AC01")
    assert apply(account, PayoutResult(payment.public_id, SETTLED)).already_applied == 1
    assert [it.payment for it in apply(account, result).failed] == [payment.public_id]
    assert payment.reload().cancel_reason == "AC01"
    assert apply(account, result).already_applied == 1


@pytest.mark.parametrize(
    ("amount", "currency", "told"),
    [
        ("19.99", "EUR", "19.99 EUR"),
        ("20.01", "", "20.01 EUR"),
        ("20", "USD", "20 USD"),
    ],
)
def test_names_an_amount_that_differs(account, run, amount, currency, told):
    first, *_ = get_lines(run)
    result = answer(first, amount=Decimal(amount), currency=currency)
    applied = apply(account, result)
    [reported] = applied.unmatched
    assert reported.reason == f"the file says {told}, the payment is 20.00 EUR"
    assert reported.amount == Decimal(amount)
    assert list_states(run) == ["unknown"] * 3


def test_names_a_payment_that_is_settled_twice_in_a_file(account, run):
    first, *_ = get_lines(run)
    one, other = answer(first, reference="R1"), answer(first, reference="R2")
    applied = apply(account, one, one, other)
    assert [each.reference for each in applied.settled] == ["R1"]
    assert [each.reason for each in applied.unmatched] == [
        "it is settled twice in the file, also as R1"
    ]


def debit(line, reference, *, booking=Booking.TRANSACTION, **fields):
    return answer(line, reference=reference, booking=booking, **fields)


def list_problems(applied):
    return [(each.reference, each.reason) for each in applied.unmatched]


@pytest.mark.parametrize("is_dry_run", [False, True])
def test_a_second_debit_is_named_in_whichever_file_it_comes(account, run, is_dry_run):
    """Who only sees one of them believes the payment is in order."""
    first, *_ = get_lines(run)
    apply(account, debit(first, "A"))
    apply(account, debit(first, "B"), is_dry_run=is_dry_run)
    for _ in range(2):  # whenever the file is imported
        applied = apply(account, debit(first, "A"), debit(first, "B"))
        assert list_problems(applied) == [("B", DEBITED_TWICE)]
        assert applied.already_applied == 1
    assert list_problems(apply(account, debit(first, "C"))) == [("C", DEBITED_TWICE)]
    first = first.reload()
    assert (first.state, first.bank_reference) == ("settled", "A")
    assert [len(digests) for digests in first.debits.values()] == [2]


@pytest.mark.parametrize("files", [[3], [1, 2], [2, 1], [1, 1, 1]])
def test_a_return_of_one_of_two_debits_changes_nothing(account, run, files):
    """The other one has paid the affiliate: it must not be owed again."""
    first, *_ = get_lines(run)
    answers = [
        debit(first, "A"),
        debit(first, "B"),
        answer(first, RETURNED, reference="C"),
    ]
    problems = []
    for count in files:
        problems += list_problems(apply(account, *answers[:count]))
        del answers[:count]
    assert sorted(problems) == [("B", DEBITED_TWICE), ("C", DEBITED_TWICE)]
    assert first.reload().state == "settled"
    assert "minakessler" not in get_payable_balances_by_slug(account)


@pytest.fixture
def settled_before(account, run):
    """A payment that an earlier release has settled, of which it kept no debit."""
    first, *_ = get_lines(run)
    apply(account, debit(first, "A"))
    digest = sha256(b"A").hexdigest()[:16]
    account.payout_lines.filter(pk=first.pk).update(debits={"earlier": [digest]})
    return first


def test_knows_the_debit_that_had_settled_a_payment(account, settled_before):
    assert list_problems(apply(account, debit(settled_before, "A"))) == []
    problems = list_problems(apply(account, debit(settled_before, "B")))
    assert problems == [("B", DEBITED_TWICE)]


def test_another_reference_than_the_earlier_one_is_for_staff(account, settled_before):
    returned = answer(settled_before, RETURNED, reference="R")
    problems = list_problems(apply(account, debit(settled_before, "B")))
    assert problems == [("B", SETTLED_BEFORE)]
    assert list_problems(apply(account, returned)) == [("R", SETTLED_BEFORE)]
    assert settled_before.reload().state == "settled"


def test_a_return_of_what_had_been_settled_takes_it_back(account, settled_before):
    apply(account, answer(settled_before, RETURNED, reference="R"))
    assert settled_before.reload().state == "returned"


def test_a_debit_after_the_return_of_another_is_named(account, run):
    first, *_ = get_lines(run)
    apply(account, debit(first, "A", day=DAY))
    apply(account, answer(first, RETURNED, day=DAY))
    assert list_problems(apply(account, debit(first, "A", day=DAY))) == []
    applied = apply(account, debit(first, "B", day=DAY))
    assert list_problems(applied) == [("B", DEBITED_TWICE)]


@pytest.mark.parametrize(
    "other",
    [
        {"booking": Booking.NONE},  # pain.002 has other references than a statement
        {"booking": Booking.ENTRY},  # a statement with the batch, another with its parts
        {"amount": Decimal(19)},  # no debit of this payment, such as a fee
    ],
    ids=["status", "batch", "fee"],
)
def test_another_reference_may_be_no_second_debit(account, run, other):
    first, *_ = get_lines(run)
    apply(account, debit(first, "A"))
    problems = list_problems(apply(account, debit(first, "B", **other)))
    assert DEBITED_TWICE not in dict(problems).values()
    apply(account, answer(first, RETURNED))
    assert first.reload().state == "returned"


def test_names_a_return_that_the_bank_has_taken_back(account, run):
    first, *_ = get_lines(run)
    reversal = answer(first, UNKNOWN, booking=Booking.REVERSAL, reference="C")
    apply(account, debit(first, "A"))
    apply(account, answer(first, RETURNED))
    assert list_problems(apply(account, reversal)) == [("C", RETURN_REVERSED)]
    assert first.reload().state == "returned"


@pytest.mark.parametrize("state", [SETTLED, FAILED, RETURNED])
@pytest.mark.parametrize(
    ("day", "is_applied"),
    [
        (CONFIRMED_AT - timedelta(days=2), False),
        (CONFIRMED_AT - timedelta(days=1), True),
        (AT + timedelta(days=7), True),
        (AT + timedelta(days=8), False),
    ],
)
def test_names_a_day_that_is_wrong(account, run, state, day, is_applied):
    first, *_ = get_lines(run)
    applied = apply(account, answer(first, state, day=day.date()))
    reasons = [f"the file says {day.date()}, which is before the payment or in the future"]
    assert [it.reason for it in applied.unmatched] == ([] if is_applied else reasons)
    assert (first.reload().state == "unknown") != is_applied


def test_names_a_canceled_payment_that_arrived(account, run):
    first, *_ = get_lines(run)
    cancel_payment(account, payment_id=first.payment.public_id, at=CONFIRMED_AT)
    [reported] = apply(account, answer(first)).unmatched
    assert reported.reason == "it was canceled, but has arrived"
    assert apply(account, answer(first, FAILED)).already_applied == 1


def test_names_a_refused_payment_that_arrived_after_all(account, run):
    """It is owed again: who paid it a second time would lose the money."""
    first, *_ = get_lines(run)
    apply(account, answer(first, FAILED, day=DAY))
    for result in (answer(first), answer(first, day=DAY)):
        applied = apply(account, result)
        [reported] = applied.unmatched
        assert reported.reason == f"it was refused on {DAY}, but has arrived"
        assert applied.already_applied == 0


def test_the_history_of_a_run_tells_what_was_not_applied(account, run):
    first, second, _ = get_lines(run)
    apply(account, answer(first), answer(second, amount=Decimal("30.01")))
    entry = account.audit_log.get(kind="payout_run.results_imported")
    assert entry.details == {"settled": 1, "failed": 0, "not_applied": 1}


def test_lists_payments_without_a_word_as_unknown(account, run):
    first, second, third = get_lines(run)
    applied = apply(account, answer(first))
    expected = [
        (second.payment.public_id, NO_ANSWER),
        (third.payment.public_id, NO_ANSWER),
    ]
    assert [(it.payment, it.reason) for it in applied.unknown] == expected
    assert len(apply(account, run=run).unknown) == 2
    assert apply(account).unknown == []


def test_lists_the_payments_without_an_answer(account, run):
    pks = [line.payment_id for line in get_lines(run)]
    apply(account, answer(get_lines(run)[0]), answer(get_lines(run)[1], FAILED))

    found = list_unanswered_payments(account.payout_lines.all(), [None, *pks])

    assert found == {pks[2]}
    assert list_unanswered_payments(account.payout_lines.all(), [None, pks[0]]) == set()


def test_knows_only_the_payments_of_the_account(account, other_account, run):
    other = ProgramScenario(other_account, prefix="zz-marker-")
    other_run = create_run(other_account, Paid("7", slug=other.mina.slug))
    [line] = get_lines(other_run)
    applied = apply(account, answer(line, FAILED), answer(get_lines(run)[0]))
    assert [it.reason for it in applied.unmatched] == ["there is no such payment"]
    assert len(applied.settled) == 1
    with pytest.raises(ResultsOfOtherRun, match=line.payment.public_id):
        apply(account, answer(line), run=run)
    with pytest.raises(NotFound):
        get_payout_run(account, other_run.public_id)
    message = other_run.public_id.replace("_", "-")
    result = PayoutResult(message, FAILED, is_message=True)
    assert [it.payment for it in apply(account, result).unmatched] == [message]
    assert list_states(other_run) == ["unknown"]


def test_refuses_answers_about_another_run(account, run, scenario):
    other_run = create_run(account, Paid("1"))
    payment = scenario.pay(10)
    first, *_ = get_lines(run)
    for result in (
        answer(get_lines(other_run)[0]),
        PayoutResult(payment.public_id, FAILED),
        PayoutResult("pa-0000000000000000", SETTLED),
    ):
        with pytest.raises(ResultsOfOtherRun):
            apply(account, answer(first), result, run=run)
    assert list_states(run) == ["unknown"] * 3


def test_only_says_what_it_would_do(account, run):
    first, second, _ = get_lines(run)
    results = [answer(first), answer(second, FAILED)]
    planned = apply(account, *results, is_dry_run=True)
    assert list_states(run) == ["unknown"] * 3
    assert apply(account, *results) == planned


def test_is_applied_whole_or_not_at_all(account, run):
    set_method(run)
    first, second, third = get_lines(run)
    results = [answer(first, FAILED), answer(second, FAILED), answer(third)]
    assert_atomic(account, lambda: apply(account, *results), least=40)
    assert list_states(run) == ["returned", "returned", "settled"]


def test_tries_again_if_somebody_cancels_a_payment_meanwhile(account, run):
    first, *_ = get_lines(run)
    lock = payout_results.open_ledger_session
    cancellations = [first.payment.public_id]

    def cancel_before_the_lock(account, keys, *, at):
        if cancellations:
            cancel_payment(account, payment_id=cancellations.pop(), at=at)
        return lock(account, keys, at=at)

    with patch.object(payout_results, "open_ledger_session", cancel_before_the_lock):
        applied = apply(account, answer(first, FAILED))
    assert len(applied.failed) == 1  # the cancellation was rolled back with it


def test_answers_for_all_payments_of_a_message(account, run):
    record(run, get_lines(run)[:2])
    name = run.public_id.replace("_", "-")
    whole = PayoutResult(
        name,
        SETTLED,
        Decimal(50),
        "EUR",
        reference="B1",
        is_message=True,
        count=2,
    )
    [reported] = apply(
        account, PayoutResult(name, SETTLED, Decimal("49.99"), is_message=True)
    ).unmatched
    assert reported.payment == name
    assert len(apply(account, whole).settled) == 2
    assert list_states(run) == ["settled", "settled", "unknown"]
    assert {line.bank_reference for line in get_lines(run)} == {"B1", ""}


def test_lists_lines_that_files_pay(account, run):
    lines = list_paid_lines(run)
    assert [is_sepa_line(line) for line in lines] == [True, True, False]
    cancel_payment(account, payment_id=lines[0].payment.public_id, at=AT)
    assert len(list_paid_lines(run)) == 2


def test_records_an_export(account, run):
    run.update_row(state="confirmed")
    record_export(run, at=AT)
    record_export(run, at=AT + timedelta(days=1))
    assert (get_state(run), run.reload().exported_at) == ("exported", AT)
    assert account.audit_log.filter(kind="payout_run.exported").count() == 2


@pytest.mark.parametrize(
    ("text", "payment_id"),
    [
        ("pa_0123456789ABCDef", "pa_0123456789ABCDef"),
        ("for pa-0123456789ABCDef.", "pa_0123456789ABCDef"),
        ("pa0123456789ABCDef", "pa_0123456789ABCDef"),
        ("xpa_0123456789ABCDef", ""),
        ("pa_0123456789ABCDefg", ""),
        ("pa_short", ""),
    ],
)
def test_finds_the_reference_in_any_spelling(text, payment_id):
    assert find_payment_id(text) == payment_id
