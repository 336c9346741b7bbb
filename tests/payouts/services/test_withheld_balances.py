"""A balance that staff take out of a draft is withheld until they lift that."""

from datetime import timedelta

import pytest

from accounts.actor import use_actor
from payouts.errors import BalanceNotWithheld, PayoutRunChanged, PayoutRunEmpty
from payouts.services.erasure import erase_person
from payouts.services.payout_limits import (
    get_withheld_balances,
    lift_withheld_balance,
)
from payouts.services.payout_runs import (
    create_draft,
    put_back,
    remake_draft,
    take_out,
)
from payouts.services.run_confirmation import confirm_run, describe_changes
from tests.ledger_checks import assert_unchanged
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario
from tracking.errors import AffiliateNotFound
from tracking.services.affiliates import delete_affiliate

pytestmark = pytest.mark.usefixtures("shared_scenario", "consistent_ledger")

DAY = timedelta(days=1)
AT = CONVERSION_CREATED_AT + 3 * DAY
MINA_EUR, MINA_USD = ("minakessler", "EUR"), ("minakessler", "USD")
ODETTE_EUR = ("odettevarga", "EUR")


@pytest.fixture(scope="module")
def shared_scenario(shared_rows):
    """Mina is owed 20 EUR and 2 USD, Odette 3 EUR."""
    from tests.conftest import create_account

    scenario = ProgramScenario(create_account())
    scenario.create_commission_type("all", 100)
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    for affiliate in (scenario.mina, odette):
        set_method(affiliate.affiliate)
    earn(scenario, "20")
    earn(scenario, "2", currency="USD")
    earn(scenario, "3", affiliate=odette)
    return scenario


def set_method(affiliate):
    affiliate.account.payout_methods.create(
        affiliate=affiliate,
        kind="paypal",
        details={"email": "mina@notes.example.org"},
        is_primary=True,
    )


def earn(scenario, amount, **conversion):
    sale = scenario.create_conversion((amount, "all"), **conversion)
    scenario.approve(scenario.get_commission(sale))


def draft(account, at=AT):
    return create_draft(account, due_until=at.date(), at=at)


def confirm(run):
    return confirm_run(run.account, pk=run.pk, at=AT)


def find_line(run, key=MINA_EUR):
    slug, currency = key
    lines = run.account.payout_lines.filter(run=run, currency=currency)
    return lines.get(affiliate__slug=slug)


def withhold(run, key=MINA_EUR, reason="Asked us to wait"):
    return take_out(run.account, pk=find_line(run, key).pk, reason=reason, at=AT)


def lift(account, key=MINA_EUR):
    slug, currency = key
    lift_withheld_balance(account, affiliate_id=slug, currency=currency, at=AT)


def list_states(run):
    rows = run.account.payout_lines.filter(run=run)
    return {
        (slug, currency): reason or state
        for slug, currency, reason, state in rows.values_list(
            "affiliate__slug", "currency", "reason", "state"
        )
    }


def list_withheld(account):
    rows = account.withheld_balances.order_by("id")
    return list(rows.values_list("affiliate__slug", "currency", "reason"))


def list_paid(account):
    rows = account.payments.order_by("affiliate", "currency")
    return list(rows.values_list("affiliate__slug", "currency", "amount"))


def list_kinds(account):
    rows = account.audit_log.order_by("id")
    return list(rows.values_list("kind", "subject", "details"))


ALL_INCLUDED = dict.fromkeys([MINA_EUR, MINA_USD, ODETTE_EUR], "included")
WITHOUT_MINA_EUR = ALL_INCLUDED | {MINA_EUR: "withheld"}


def test_stays_out_of_all_drafts_until_it_is_lifted(scenario):
    account, run = scenario.account, draft(scenario.account)

    with use_actor("staff 7"):
        withhold(run)

    [row] = get_withheld_balances(account).values()
    assert (row.created_by, row.created_at, row.currency) == ("staff 7", AT, "EUR")
    for _ in range(2):
        assert list_states(run) == WITHOUT_MINA_EUR
        line = find_line(run)
        assert (line.state, line.note) == ("taken_out", "Asked us to wait")
        remake_draft(account, pk=run.pk, at=AT)
    confirm(run)
    earn(scenario, "5")
    following = draft(account, AT + 31 * DAY)
    assert list_states(following) == {MINA_EUR: "withheld"}
    with pytest.raises(PayoutRunEmpty):
        confirm(following)

    lift(account)

    assert list_states(following) == {MINA_EUR: "withheld"}
    remake_draft(account, pk=following.pk, at=AT)
    confirm(following)
    assert list_paid(account) == [(*MINA_EUR, 25), (*MINA_USD, 2), (*ODETTE_EUR, 3)]


def test_a_rule_that_leaves_it_out_for_a_while_does_not_lift_it(scenario):
    account, run = scenario.account, draft(scenario.account)
    withhold(run)
    account.payout_methods.update(on_hold_reason="came back")
    remake_draft(account, pk=run.pk, at=AT)
    assert list_states(run)[MINA_EUR] == "method_on_hold"

    account.payout_methods.update(on_hold_reason="")
    remake_draft(account, pk=run.pk, at=AT)

    assert list_states(run) == WITHOUT_MINA_EUR


def test_a_draft_that_includes_it_cannot_be_confirmed(scenario):
    account = scenario.account
    run, other = draft(account), draft(account)
    withhold(run)

    with assert_unchanged(account), pytest.raises(PayoutRunChanged) as caught:
        confirm(other)

    text = "minakessler: the EUR balance is withheld, lift that to pay it"
    assert caught.value.params["changes"] == text == describe_changes(other, at=AT)
    remake_draft(account, pk=other.pk, at=AT)
    confirm(other)
    assert list_paid(account) == [(*MINA_USD, 2), (*ODETTE_EUR, 3)]
    assert list_withheld(account) == [(*MINA_EUR, "Asked us to wait")]


def test_who_is_put_back_is_paid_and_no_longer_withheld(scenario):
    account = scenario.account
    run, other = draft(account), draft(account)
    withhold(run)
    remake_draft(account, pk=other.pk, at=AT)

    put_back(account, pk=find_line(run).pk, at=AT)

    assert list_withheld(account) == []
    assert find_line(run).note == ""
    # The other draft is as it was, and can be changed in the same way.
    assert list_states(other) == WITHOUT_MINA_EUR
    put_back(account, pk=find_line(other).pk, at=AT)
    assert list_states(other) == ALL_INCLUDED
    confirm(run)
    assert list_paid(account)[0] == (*MINA_EUR, 20)


def test_taking_out_of_two_drafts_keeps_the_later_reason(scenario):
    account = scenario.account
    run, other = draft(account), draft(account)

    withhold(run)
    with use_actor("staff 8"):
        withhold(other, reason="Their lawyer wrote")

    [row] = get_withheld_balances(account).values()
    assert (row.reason, row.created_by) == ("Their lawyer wrote", "staff 8")


def test_each_currency_is_withheld_by_itself(scenario):
    account, run = scenario.account, draft(scenario.account)
    withhold(run)
    withhold(run, MINA_USD, "No")
    withhold(run, ODETTE_EUR, "No")
    mina = scenario.mina.affiliate
    assert get_withheld_balances(account, [mina.pk]).keys() == {
        (mina.pk, "EUR"),
        (mina.pk, "USD"),
    }

    lift(account, MINA_USD)

    assert [row[:2] for row in list_withheld(account)] == [MINA_EUR, ODETTE_EUR]
    assert list_states(draft(account)) == ALL_INCLUDED | {
        MINA_EUR: "withheld",
        ODETTE_EUR: "withheld",
    }


def test_the_audit_log_has_both_steps(scenario):
    account, run = scenario.account, draft(scenario.account)
    mina = scenario.mina.affiliate
    before = account.audit_log.count()

    withhold(run)
    put_back(account, pk=find_line(run).pk, at=AT)
    withhold(run)
    lift(account)
    put_back(account, pk=find_line(run).pk, at=AT)

    of_run = (f"payoutrun:{run}", {"affiliate": mina.log_id})
    of_mina = (f"affiliate:{mina.log_id}", {"currency": "EUR"})
    assert list_kinds(account)[before:] == [
        ("affiliate.balance_withheld", *of_mina),
        ("payout_run.taken_out", *of_run),
        ("affiliate.balance_lifted", *of_mina),
        ("payout_run.put_back", *of_run),
        ("affiliate.balance_withheld", *of_mina),
        ("payout_run.taken_out", *of_run),
        ("affiliate.balance_lifted", *of_mina),
        ("payout_run.put_back", *of_run),
    ]


def test_lifts_only_what_is_withheld(scenario):
    account = scenario.account
    withhold(draft(account))

    with pytest.raises(BalanceNotWithheld, match="USD balance of minakessler is not"):
        lift(account, MINA_USD)
    with pytest.raises(AffiliateNotFound):
        lift(account, ("nobody", "EUR"))
    assert len(list_withheld(account)) == 1


def test_payments_by_hand_stay_possible(scenario):
    account = scenario.account
    withhold(draft(account))

    scenario.pay("20")

    assert list_paid(account) == [(*MINA_EUR, 20)]
    assert len(list_withheld(account)) == 1


def test_a_removed_and_an_erased_affiliate_stay_withheld(scenario):
    account = scenario.account
    withhold(draft(account))
    mina = scenario.mina.affiliate
    delete_affiliate(account, affiliate_id=mina.slug, at=AT)
    assert list_states(draft(account)) == WITHOUT_MINA_EUR

    erase_person(account, identifier=mina.slug, at=AT)

    slug = mina.reload().slug
    assert list_withheld(account) == [(slug, "EUR", "")]
    set_method(mina)
    run = draft(account)
    assert list_states(run)[slug, "EUR"] == "withheld"
    lift(account, (slug, "EUR"))
    remake_draft(account, pk=run.pk, at=AT)
    assert list_states(run)[slug, "EUR"] == "included"


def test_ignores_other_accounts(scenario, other_account):
    theirs = ProgramScenario(other_account, prefix="zz-marker-", email=None)
    theirs.create_commission_type("all", 100)
    set_method(theirs.mina.affiliate)
    earn(theirs, "77")
    withhold(draft(other_account), (theirs.mina.slug, "EUR"))
    account, pk = scenario.account, theirs.mina.affiliate.pk

    assert get_withheld_balances(account) == get_withheld_balances(account, [pk]) == {}
    assert list_states(draft(account)) == ALL_INCLUDED
    with assert_unchanged(other_account), pytest.raises(BalanceNotWithheld):
        lift(account)
    assert len(list_withheld(other_account)) == 1
