"""Payout runs: who is in a draft, who is left out and why, and what is paid."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from accounts.actor import use_actor
from payouts.errors import (
    PayoutDayOutOfRange,
    PayoutLineInOtherState,
    PayoutRunChanged,
    PayoutRunEmpty,
    PayoutRunNotDraft,
    PayoutRunNotFound,
    SecondPersonRequired,
    Unprintable,
)
from payouts.models.runs import PayoutLine
from payouts.services import documents, run_confirmation
from payouts.services.conversion_updates import update_commission
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payments import cancel_payment
from payouts.services.payout_runs import (
    create_draft,
    discard_run,
    list_totals,
    put_back,
    record_export,
    remake_draft,
    set_note,
    take_out,
    update_run_state,
)
from payouts.services.payout_settings import PAYER_COLUMNS
from payouts.services.run_confirmation import confirm_run
from tests.document_scenario import set_taxes, switch_on
from tests.latin_fonts import use_latin_fonts
from tests.ledger_checks import assert_atomic, assert_unchanged
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario, mark_deleted
from tracking.errors import UnknownReference

pytestmark = pytest.mark.usefixtures("shared_scenario", "consistent_ledger")

DAY = timedelta(days=1)
AT = CONVERSION_CREATED_AT + 3 * DAY
UNTIL = AT.date()


@pytest.fixture(scope="module")
def shared_scenario(shared_rows):
    """Commissions of the type `all` are 100 % of a sale; Mina is paid by PayPal."""
    from tests.conftest import create_account

    scenario = ProgramScenario(create_account())
    scenario.create_commission_type("all", 100)
    set_method(scenario, scenario.mina)
    return scenario


def set_method(scenario, affiliate, kind="paypal", **fields):
    return scenario.account.payout_methods.create(
        affiliate=getattr(affiliate, "affiliate", affiliate),
        kind=kind,
        details={"email": "mina@notes.example.org"},
        is_primary=True,
        **fields,
    )


def earn(scenario, amount, *, due_at=None, **conversion):
    """Create an approved commission of this amount."""
    commission = scenario.get_commission(scenario.create_conversion((amount, "all"), **conversion))
    scenario.approve(commission)
    scenario.account.commissions.filter(pk=commission.pk).update(due_at=due_at)
    return commission


def draft(account, **basis):
    return create_draft(account, **{"due_until": UNTIL, "at": AT} | basis)


def confirm(run):
    return confirm_run(run.account, pk=run.pk, at=AT)


def list_lines(run):
    """The state or the reason, and the amount of each line."""
    rows = run.account.payout_lines.filter(run=run).select_related("affiliate")
    return {
        (row.affiliate.slug, row.currency): (row.reason or row.state, row.amount) for row in rows
    }


def list_mina(run):
    return list_lines(run)["minakessler", "EUR"]


def list_payments(account):
    rows = account.payments.order_by("id").values_list("affiliate__slug", "amount")
    return [(slug, amount) for slug, amount in rows]


def test_includes_what_is_due(scenario):
    earn(scenario, "20")
    earn(scenario, "5", due_at=AT - DAY)

    run = draft(scenario.account)

    assert list_lines(run) == {("minakessler", "EUR"): ("included", 25)}
    line = run.account.payout_lines.get(run=run)
    assert (line.method, line.commission_count) == ("paypal", 2)
    assert (run.state, run.created_by) == ("draft", "system")
    assert list_totals(run) == {"EUR": Decimal(25)}


def test_includes_what_becomes_due_until_the_end_of_the_day_in_the_zone(scenario):
    account = scenario.account
    account.time_zone = "America/New_York"
    account.save()
    end = datetime(2026, 3, 8, 5, tzinfo=UTC)
    earn(scenario, "1", due_at=end - timedelta(microseconds=1))
    earn(scenario, "2", due_at=end)

    run = draft(account, due_until=date(2026, 3, 7))

    assert run.due_before == end
    assert list_mina(run) == ("included", 1)


def test_leaves_out_what_is_on_hold(scenario):
    earn(scenario, "20", due_at=AT + DAY)

    assert list_mina(draft(scenario.account)) == ("on_hold", 20)


def test_subtracts_what_was_paid_in_advance(scenario):
    scenario.pay("30")
    earn(scenario, "20")
    assert list_mina(draft(scenario.account)) == ("negative_balance", -10)

    earn(scenario, "5", due_at=AT + DAY)
    earn(scenario, "25")
    run = draft(scenario.account)

    assert list_mina(run) == ("included", 15)
    confirm(run)
    assert list_payments(scenario.account)[1:] == [("minakessler", 15)]
    assert get_payable_balances_by_slug(scenario.account) == {"minakessler": {"EUR": Decimal(5)}}


def test_adds_what_payments_have_not_reached(scenario):
    commission = earn(scenario, "20")
    scenario.pay("20")
    update_commission(
        scenario.account,
        commission_id=commission.pk,
        changes={"amount": Decimal(26)},
        at=AT,
    )

    run = draft(scenario.account)
    confirm(run)

    assert list_mina(run) == ("unknown", 6)
    assert get_payable_balances_by_slug(scenario.account) == {}


@pytest.mark.parametrize(
    ("of_account", "of_run", "of_affiliate", "reason"),
    [
        (None, None, None, "included"),
        ("20", None, None, "included"),
        ("20.01", None, None, "below_minimum"),
        ("20.01", "20", None, "included"),
        ("1", "21", None, "below_minimum"),
        ("1", "1", "21", "below_minimum"),
        ("30", "30", "20", "included"),
    ],
)
def test_applies_the_minimum(scenario, of_account, of_run, of_affiliate, reason):
    earn(scenario, "20")
    minimums = scenario.account.payout_minimums
    for affiliate, amount in ((None, of_account), (scenario.mina, of_affiliate)):
        if amount:
            minimums.create(
                affiliate=affiliate and affiliate.affiliate,
                currency="EUR",
                amount=Decimal(amount),
            )
    minimums.create(affiliate=None, currency="USD", amount=Decimal(99))

    run = draft(scenario.account, minimums={"EUR": Decimal(of_run)} if of_run else {})

    assert list_mina(run) == (reason, 20)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (None, "no_method"),
        ({"is_primary": False}, "no_method"),
        ({"details": {}}, "method_incomplete"),
        ({"on_hold_reason": "returned"}, "method_on_hold"),
    ],
)
def test_leaves_out_who_cannot_be_paid(scenario, fields, reason):
    earn(scenario, "20")
    methods = scenario.account.payout_methods.all()
    methods.update(**fields) if fields else methods.delete()

    assert list_mina(draft(scenario.account)) == (reason, 20)


def test_selects_by_the_basis(scenario):
    account = scenario.account
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    group = account.affiliate_groups.create(public_id="gr_1", title="Gold")
    odette.affiliate.update_row(group=group)
    other = ProgramScenario(account, slug="other", prefix="other-", email=None)
    other.create_commission_type("all", 100)
    earn(scenario, "1")
    earn(scenario, "2", currency="USD")
    earn(scenario, "4", affiliate=odette)
    mina = other.enroll(scenario.mina.affiliate)
    earn(other, "8", affiliate=mina)
    mina_eur, mina_usd = ("minakessler", "EUR"), ("minakessler", "USD")
    odette_eur = ("odettevarga", "EUR")

    def select(**basis):
        return list_lines(draft(account, **basis))

    assert select() == {
        mina_eur: ("included", 9),
        mina_usd: ("included", 2),
        odette_eur: ("no_method", 4),
    }
    assert select(currencies=["USD"]) == {mina_usd: ("included", 2)}
    assert select(groups=["gr_1"]) == {odette_eur: ("no_method", 4)}
    assert select(programs=["other-other"]) == {mina_eur: ("included", 8)}
    assert select(methods=["bank"]) == {odette_eur: ("no_method", 4)}
    assert select(methods=["paypal"]).keys() == {mina_eur, mina_usd, odette_eur}

    run = draft(account, programs=["other-other"])
    confirm(run)
    covered = account.commissions.exclude(payment=None).values_list("amount", flat=True)
    assert list(covered) == [8]
    assert select() == {
        mina_eur: ("included", 1),
        mina_usd: ("included", 2),
        odette_eur: ("no_method", 4),
    }


def test_wire_transfers_are_paid_by_bank(scenario):
    earn(scenario, "20")
    scenario.account.payout_methods.update(
        kind="wire_transfer", details={"iban": "DE89370400440532013000"}
    )

    assert list_mina(draft(scenario.account, methods=["bank"])) == ("included", 20)


@pytest.mark.parametrize("basis", [{"programs": ["x"]}, {"groups": ["gr_x"]}])
def test_refuses_an_unknown_basis(scenario, basis, other_account):
    ProgramScenario(other_account, slug="x", email=None)

    with pytest.raises(UnknownReference):
        draft(scenario.account, **basis)
    assert not scenario.account.payout_runs.exists()


@pytest.mark.parametrize("day", [date.max])
def test_refuses_a_day_without_an_end(scenario, day):
    scenario.account.time_zone = "Asia/Tokyo"

    with pytest.raises(PayoutDayOutOfRange):
        draft(scenario.account, due_until=day)


def test_takes_out_and_puts_back(scenario):
    earn(scenario, "20")
    account = scenario.account
    run = draft(account)
    pk = account.payout_lines.get(run=run).pk

    take_out(account, pk=pk, reason="Asked us to wait", at=AT)
    assert list_mina(run) == ("withheld", 20)
    with pytest.raises(PayoutLineInOtherState, match="minakessler is taken out"):
        take_out(account, pk=pk, reason="again", at=AT)
    with pytest.raises(PayoutRunEmpty):
        confirm(run)

    put_back(account, pk=pk, at=AT)
    assert list_mina(run) == ("included", 20)
    assert account.payout_lines.get(run=run).note == ""
    with pytest.raises(PayoutLineInOtherState):
        put_back(account, pk=pk, at=AT)


def test_a_draft_that_is_made_again_keeps_what_staff_decided(scenario):
    account = scenario.account
    earn(scenario, "20")
    run = draft(account, note="March")
    line = account.payout_lines.get(run=run)
    take_out(account, pk=line.pk, reason="Asked us to wait", at=AT)
    held = earn(scenario, "5")

    with use_actor("staff 1"):
        run = remake_draft(account, pk=run.pk, at=AT)

    assert list_mina(run) == ("withheld", 25)
    assert (run.note, run.created_by) == ("March", "staff 1")
    with pytest.raises(PayoutRunNotFound):
        put_back(account, pk=line.pk, at=AT)

    # A rule that leaves it out for a while does not undo the decision.
    account.commissions.update(due_at=AT + DAY)
    assert list_mina(remake_draft(account, pk=run.pk, at=AT)) == ("on_hold", 25)
    account.commissions.filter(pk=held.pk).update(due_at=AT)
    assert list_mina(remake_draft(account, pk=run.pk, at=AT)) == ("withheld", 5)


def test_confirming_pays_exactly_the_commissions_that_are_due(scenario):
    account = scenario.account
    held = earn(scenario, "7", due_at=AT + DAY)
    due = [earn(scenario, "20"), earn(scenario, "0.01", due_at=AT)]
    scenario.mina.affiliate.update_row(
        company_name="Kessler Ltd", address="Quay 1", city="Ljubljana", country="SI"
    )
    account.payout_settings.create(payer_name="Harbor", payer_iban="SI56")
    run = draft(account)

    with use_actor("staff 7"):
        run = confirm(run)

    payment = account.payments.get()
    assert (payment.amount, payment.payout_kind) == (Decimal("20.01"), "paypal")
    rows = account.commissions.filter(payment=payment).order_by("id")
    assert list(rows) == due
    assert account.commissions.get(pk=held.pk).payment is None
    assert account.payment_allocations.filter(payment=payment).count() == 2
    line = account.payout_lines.get(run=run)
    assert (line.state, line.payment) == ("unknown", payment)
    assert line.receiver == {
        "name": "Kessler Ltd",
        "kind": "paypal",
        "details": {"email": "mina@notes.example.org"},
        "address": {
            "street": "Quay 1",
            "postal_code": "",
            "city": "Ljubljana",
            "country": "SI",
        },
    }
    assert (run.state, run.confirmed_by, run.confirmed_at) == (
        *("confirmed", "staff 7"),
        AT,
    )
    stored = run.reload().payer
    assert stored == {"name": "Harbor", "iban": "SI56", "country": ""} | stored
    kinds = account.audit_log.filter(kind__startswith="payout_run").order_by("id")
    assert list(kinds.values_list("kind", flat=True)) == [
        *("payout_run.created", "payout_run.confirmed")
    ]


def test_pays_out_of_the_payout_balance(scenario):
    scenario.enable_payouts(100)
    earn(scenario, "20")

    confirm(draft(scenario.account))

    assert scenario.account.ledger_accounts.get(kind="funding").balance == -80


def test_confirming_twice_pays_once(scenario):
    earn(scenario, "20")
    run = draft(scenario.account)
    confirm(run)

    with assert_unchanged(scenario.account):
        assert confirm(run).state == "confirmed"


def test_confirming_is_atomic(scenario):
    for name in ("Ada", "Bea", "Cleo", "Dora", "Eva"):
        affiliate = scenario.create_enrolled_affiliate(name, "Lund")
        set_method(scenario, affiliate)
        earn(scenario, "20", affiliate=affiliate)
    run = draft(scenario.account)

    assert_atomic(scenario.account, lambda: confirm(run), least=15)

    assert len(list_payments(scenario.account)) == 5


def test_pays_more_than_a_batch(scenario, monkeypatch):
    people = [scenario.mina]
    people += [scenario.create_enrolled_affiliate("Ada", name) for name in "abcd"]
    for number, person in enumerate(people):
        if number:
            set_method(scenario, person)
        for _ in range(number + 1):
            earn(scenario, "2", affiliate=person)
    monkeypatch.setattr("accounts.db_compat.BATCH_SIZE", 2)
    monkeypatch.setattr("accounts.db_compat.MAX_VALUES", 40)
    monkeypatch.setattr("accounts.db_compat.LARGE_BATCH_SIZE", 2)
    monkeypatch.setattr("payouts.services.ledger.MAX_SINGLE_CHANGES", 1)
    batches = []

    def progress(rows):
        for row in rows:
            yield row
            batches.append(len(row))

    run = draft(scenario.account)
    confirm_run(scenario.account, pk=run.pk, at=AT, progress=progress)

    assert batches == [2, 2, 1]
    assert [amount for _, amount in list_payments(scenario.account)] == [*(2, 4, 6, 8, 10)]
    assert not scenario.account.commissions.unpaid().exists()
    assert get_payable_balances_by_slug(scenario.account) == {}


def test_a_draft_writes_nothing_or_all(scenario):
    earn(scenario, "20")

    assert_atomic(scenario.account, lambda: draft(scenario.account), least=8)


def approve_another(scenario, commission):
    earn(scenario, "6")


def take_back(scenario, commission):
    scenario.disapprove(commission)


def replace_commission(scenario, commission):
    scenario.disapprove(commission)
    earn(scenario, "20")


def pay_by_api(scenario, commission):
    scenario.pay("20")


def hold(scenario, commission):
    scenario.account.commissions.filter(pk=commission.pk).update(due_at=AT + DAY)


def get_methods(scenario):
    return scenario.account.payout_methods.filter(affiliate=scenario.mina.affiliate)


def set_other_account(scenario, commission):
    get_methods(scenario).update(details={"email": "o@x.example"})


def set_other_kind(scenario, commission):
    get_methods(scenario).update(kind="other")


def hold_method(scenario, commission):
    get_methods(scenario).update(on_hold_reason="returned")


def remove_method(scenario, commission):
    get_methods(scenario).delete()


def remove_affiliate(scenario, commission):
    mark_deleted(scenario.mina.affiliate)


def change_affiliate(**fields):
    def change(scenario, commission):
        scenario.mina.affiliate.update_row(**fields)

    return change


PAYER_FIELDS = {
    "payer_name": "Harbor AG",
    "payer_iban": "DE02120300000000202051",
    "payer_bic": "BYLADEM1001",
    "payer_street": "Kai",
    "payer_building": "9",
    "payer_postal_code": "1",
    "payer_city": "Bonn",
    "payer_country": "DE",
}


def change_payer(**fields):
    def change(scenario, commission):
        scenario.account.payout_settings.update(**fields)

    return change


@pytest.fixture
def payer(scenario):
    fields = {"payer_name": "Harbor", "payer_iban": "NL91ABNA0417164300"}
    scenario.account.payout_settings.create(**fields)


NAME_CHANGES = [
    (change_affiliate(**{name: "xx"}), "minakessler: the name or address is another")
    for name in (
        *("firstname", "lastname", "company_name", "address", "address_two"),
        *("postal_code", "city", "country"),
    )
]
PAYER_CHANGES = [
    (change_payer(**{name: text}), f"since the draft was made: the payer \\({word}\\)")
    for name, text in PAYER_FIELDS.items()
    for word in [name.removeprefix("payer_").replace("_", " ")]
]


@pytest.mark.usefixtures("payer")
@pytest.mark.parametrize(
    ("change", "named"),
    [
        *NAME_CHANGES,
        *PAYER_CHANGES,
        (change_affiliate(slug="nina"), "nina: the name or address is another"),
        (approve_another, "the amount was 20 EUR, is 26 EUR"),
        (approve_another, "the number of commissions was 1, is 2"),
        (take_back, "the amount was 20 EUR, is 0 EUR"),
        (replace_commission, "the number of commissions was 1, is 1 others"),
        (pay_by_api, "the amount was 20 EUR, is 0 EUR"),
        (hold, "the amount was 20 EUR, is 0 EUR"),
        (set_other_account, "method was paypal, is paypal with other details"),
        (set_other_kind, "the payout method was paypal, is other"),
        (hold_method, "the payout method was paypal, is payout method to check"),
        (remove_method, "the payout method was paypal, is no payout method"),
        (remove_affiliate, "minakessler: the affiliate was there, is removed"),
    ],
)
def test_pays_nothing_if_something_changed_since_the_draft(scenario, change, named):
    commission = earn(scenario, "20")
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    set_method(scenario, odette)
    earn(scenario, "3", affiliate=odette)
    run = draft(scenario.account)
    change(scenario, commission)

    with (
        assert_unchanged(scenario.account),
        pytest.raises(PayoutRunChanged, match=named) as error,
    ):
        confirm(run)

    assert "odettevarga" not in error.value.text
    run = remake_draft(scenario.account, pk=run.pk, at=AT)
    confirm(run)
    assert ("odettevarga", 3) in list_payments(scenario.account)


def test_each_part_of_the_payer_is_compared():
    assert set(PAYER_COLUMNS.values()) == set(PAYER_FIELDS)


def test_a_draft_without_a_payer_takes_the_first_one(scenario):
    earn(scenario, "20")
    run = draft(scenario.account)
    fields = {"payer_name": "Harbor", "payer_iban": "NL91ABNA0417164300"}
    scenario.account.payout_settings.create(**fields)
    assert confirm(run).payer["name"] == "Harbor"


def test_a_draft_of_an_earlier_release_is_made_again(scenario):
    earn(scenario, "20")
    run = draft(scenario.account)
    run.update_row(payer={})
    with pytest.raises(PayoutRunChanged, match="an earlier release made the draft"):
        confirm(run)
    assert confirm(remake_draft(scenario.account, pk=run.pk, at=AT)).confirmed_at


def test_a_draft_that_is_made_again_meanwhile_is_read_again(scenario, monkeypatch):
    """Its affiliates are locked before the run."""
    earn(scenario, "20")
    run = draft(scenario.account)
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    set_method(scenario, odette)
    earn(scenario, "3", affiliate=odette)
    lock, calls = run_confirmation.lock_run, []

    def remake_once(account, pk):
        if not calls:
            calls.append(pk)
            remake_draft(account, pk=pk, at=AT)
        return lock(account, pk)

    monkeypatch.setattr(run_confirmation, "lock_run", remake_once)
    confirm(run)
    # The transaction that found it was rolled back, with what was made again in it.
    assert list_payments(scenario.account) == [("minakessler", 20)]


def test_what_changed_for_others_does_not_matter(scenario):
    earn(scenario, "20")
    run = draft(scenario.account)
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    earn(scenario, "3", affiliate=odette)

    confirm(run)

    assert list_payments(scenario.account) == [("minakessler", 20)]


def test_names_some_changes_and_counts_the_others(scenario, monkeypatch):
    monkeypatch.setattr(run_confirmation, "MAX_NAMED_CHANGES", 1)
    earn(scenario, "20")
    run = draft(scenario.account)
    earn(scenario, "3")

    with pytest.raises(PayoutRunChanged, match=r"is 23 EUR; and 1 more\. Re-make"):
        confirm(run)


@pytest.mark.parametrize("is_required", [True, False])
def test_a_second_person_confirms(scenario, is_required):
    scenario.account.payout_settings.create(requires_second_person=is_required)
    earn(scenario, "20")
    with use_actor("staff 1"):
        run = draft(scenario.account)
        if is_required:
            with pytest.raises(SecondPersonRequired):
                confirm(run)
        else:
            confirm(run)
    with use_actor("staff 2"):
        confirm(run)

    assert len(list_payments(scenario.account)) == 1


def test_a_run_that_is_no_draft_cannot_be_changed(scenario):
    account = scenario.account
    earn(scenario, "20")
    discarded, run = draft(account), draft(account)
    discard_run(account, pk=discarded.pk, at=AT)
    with pytest.raises(PayoutRunNotDraft, match="is discarded and can no longer"):
        confirm(discarded)
    confirm(run)

    line = account.payout_lines.get(run=run)
    with pytest.raises(PayoutRunNotDraft, match="is confirmed and can no longer"):
        discard_run(account, pk=run.pk, at=AT)
    with pytest.raises(PayoutRunNotDraft):
        remake_draft(account, pk=run.pk, at=AT)
    with pytest.raises(PayoutRunNotDraft):
        take_out(account, pk=line.pk, reason="late", at=AT)
    assert set_note(account, pk=run.pk, note="Paid", at=AT).reload().note == "Paid"


def test_states_follow_the_lines(scenario):
    account = scenario.account
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    set_method(scenario, odette)
    earn(scenario, "20")
    earn(scenario, "3", affiliate=odette)
    run = confirm(draft(account))
    record_export(run, at=AT)
    record_export(run, at=AT + DAY)
    assert (run.reload().state, run.reload().exported_at) == ("exported", AT)

    first, last = account.payout_lines.filter(run=run).order_by("id")
    first.update_row(state="settled")
    update_run_state(run)
    assert run.reload().state == "exported"
    last.update_row(state="settled")
    update_run_state(run)
    assert run.reload().state == "settled"

    cancel_payment(account, payment_id=last.payment.public_id, at=AT)
    assert last.reload().state == "canceled"
    assert run.reload().state == "partly_failed"
    assert list_lines(draft(account)) == {("odettevarga", "EUR"): ("included", 3)}


def test_canceling_keeps_that_a_payment_was_returned(scenario):
    earn(scenario, "20")
    run = confirm(draft(scenario.account))
    line = scenario.account.payout_lines.get(run=run)
    line.update_row(state="returned")

    cancel_payment(scenario.account, payment_id=line.payment.public_id, at=AT)

    assert line.reload().state == "returned"


def test_ignores_other_accounts(scenario, other_account):
    theirs = ProgramScenario(other_account, prefix="zz-marker-", email=None)
    theirs.create_commission_type("all", 100)
    set_method(theirs, theirs.mina)
    earn(theirs, "77")
    earn(scenario, "20")
    run, foreign = draft(scenario.account), draft(other_account)
    foreign_line = other_account.payout_lines.get(run=foreign)

    assert list_lines(run) == {("minakessler", "EUR"): ("included", 20)}
    with assert_unchanged(other_account):
        for change in (confirm_run, remake_draft, discard_run):
            with pytest.raises(PayoutRunNotFound):
                change(scenario.account, pk=foreign.pk, at=AT)
        with pytest.raises(PayoutRunNotFound):
            take_out(scenario.account, pk=foreign_line.pk, reason="x", at=AT)
        with pytest.raises(PayoutRunNotFound):
            put_back(scenario.account, pk=foreign_line.pk, at=AT)
        confirm(run)
    assert PayoutLine.objects.of(scenario.account).count() == 1


def test_the_database_does_not_tell_where_money_goes(scenario, capture_queries):
    earn(scenario, "20")

    with capture_queries() as captured:
        confirm(draft(scenario.account))

    written = [query["sql"] for query in captured if "payouts_payoutline" in query["sql"]]
    assert not any("notes.example.org" in sql for sql in written)


def test_statements_do_not_depend_on_the_number_of_lines(scenario, capture_queries):
    scenario.pay("1")  # opens ledger accounts
    numbers = []
    for count in (10, 20):
        for number in range(count):
            affiliate = scenario.create_enrolled_affiliate("Ada", f"L{count}x{number}")
            set_method(scenario, affiliate)
            earn(scenario, "20", affiliate=affiliate)
        with capture_queries() as drafting:
            run = draft(scenario.account)
        with capture_queries() as confirming:
            confirm(run)
        numbers.append((len(drafting), len(confirming)))

    assert numbers[0] == numbers[1]
    assert numbers[0][0] <= 18
    assert numbers[0][1] <= 36


@pytest.mark.parametrize(
    ("consents", "payer", "texts"),
    [
        (["mina", "nils"], {}, "minakessler: 李; nilsberg: ไท"),
        (["nils"], {"payer_city": "明"}, "the payer: 明; nilsberg: ไท"),
        ([], {}, ""),  # nobody gets a document
        (["mina", "nils"], {"documents_from": None}, ""),
    ],
)
def test_refuses_documents_with_boxes_for_letters(scenario, monkeypatch, consents, payer, texts):
    use_latin_fonts(monkeypatch)
    account = scenario.account
    nils = scenario.create_enrolled_affiliate("Nils", "Berg")
    people = {"mina": scenario.mina.affiliate, "nils": nils.affiliate}
    people["mina"].update_row(lastname="Keßler 李")
    people["nils"].update_row(city="ไท")
    for name in consents:
        set_taxes(account, people[name].slug)
    switch_on(account, **payer)
    earn(scenario, "20")
    earn(scenario, "30", affiliate=nils)
    set_method(scenario, nils)
    run = draft(account)
    if not texts:
        assert confirm(run).state == "confirmed"
        return
    with assert_unchanged(account), pytest.raises(Unprintable) as caught:
        confirm(run)
    assert str(caught.value) == (
        f"No font of this server prints {texts}. An operator has to install fonts:"
        " apt-get install fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji"
    )


def test_names_some_of_many_whom_no_font_prints(scenario, monkeypatch):
    use_latin_fonts(monkeypatch)
    monkeypatch.setattr(documents, "MAX_NAMED", 1)
    nils = scenario.create_enrolled_affiliate("Nils", "明明李")
    scenario.mina.affiliate.update_row(lastname="李明")
    set_taxes(scenario.account, "minakessler", nils.slug)
    switch_on(scenario.account)
    earn(scenario, "20")
    earn(scenario, "30", affiliate=nils)
    set_method(scenario, nils)
    with pytest.raises(Unprintable, match=r"prints minakessler: 李; and 1 more\."):
        confirm(draft(scenario.account))
