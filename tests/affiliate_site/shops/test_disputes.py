"""A dispute keeps the commissions of its sale from being approved until it ends."""

from itertools import permutations

import pytest

from payouts.errors import DisputedSale, NoOpenDispute
from payouts.explanation import render_explanation
from payouts.services.commissions import approve_commission, reopen_commission
from payouts.services.conversion_updates import (
    add_commissions,
    delete_conversion,
    restore_conversion,
    update_commission,
    update_conversion,
)
from payouts.services.explanation import explain_conversion
from payouts.services.payments import cancel_payment
from payouts.services.shop_refunds import end_dispute
from tests.ledger_checks import assert_ledger_consistent, assert_unchanged
from tests.program_scenario import CONVERSION_CREATED_AT, build_line_items
from tests.shop_inbox import deliver, list_sales
from tests.stripe_events import SECRET, build_checkout, build_dispute
from tracking.models.shops import ConnectionMode
from tracking.services.connections import create_connection

pytestmark = pytest.mark.usefixtures("shared_scenario")

AT = CONVERSION_CREATED_AT


@pytest.fixture
def scenario(scenario):
    yield scenario
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def approves(scenario):
    """A program that approves commissions automatically."""
    scenario.program.update_row(auto_approve_commissions=True)


@pytest.fixture
def connection(scenario):
    return create_connection(
        scenario.account,
        kind="stripe",
        program=scenario.program,
        secret=SECRET,
        mode=ConnectionMode.LIVE,
        at=AT,
    )


@pytest.fixture
def sale(scenario):
    return build_checkout(client_reference_id=str(scenario.create_click().public_id))


OPEN = build_dispute("needs_response", hours=1)
WON = build_dispute("won", hours=2)
LOST = build_dispute("lost", hours=2)


def get_commission(account):
    return account.commissions.get()


def list_statuses(account):
    rows = account.commissions.not_deleted().order_by("id")
    return list(rows.values_list("status", flat=True))


WAYS_TO_APPROVE = {
    "by staff": lambda row: approve_commission(row.account, commission_id=row.pk, at=AT),
    "its status": lambda row: update_commission(
        row.account, commission_id=row.pk, changes={"status": "approved"}, at=AT
    ),
    "the status of the sale": lambda row: update_conversion(
        row.account,
        conversion_id=row.conversion_id,
        changes={},
        should_recalculate=False,
        status="approved",
        at=AT,
    ),
}


@pytest.mark.parametrize("way", WAYS_TO_APPROVE)
def test_refuses_to_approve_a_pending_commission(connection, sale, way):
    deliver(connection, sale)
    event = deliver(connection, OPEN)
    commission = get_commission(connection.account)
    with assert_unchanged(connection.account), pytest.raises(DisputedSale):
        WAYS_TO_APPROVE[way](commission)
    assert event.result == ["Its commissions wait for the end of the dispute."]


def test_the_api_answers_409(api, connection, sale):
    deliver(connection, sale)
    deliver(connection, OPEN)
    pk = get_commission(connection.account).pk
    for response in (
        api.put(f"/commissions/{pk}/approved/"),
        api.patch(f"/commissions/{pk}/", {"approved": True}),
    ):
        assert response.status_code == 409
        (error,) = response.json()["errors"]
        assert error == {
            "message": ("The shop has an open dispute about this sale: wait until it ends."),
            "code": "disputed_sale",
        }


def test_disapproving_stays_possible(scenario, connection, sale):
    deliver(connection, sale)
    deliver(connection, OPEN)
    scenario.disapprove(get_commission(connection.account))
    deliver(connection, WON)
    assert list_statuses(connection.account) == ["disapproved"]


WAYS_TO_SET_A_STATUS = {
    "the commission": lambda row, status: update_commission(
        row.account, commission_id=row.pk, changes={"status": status}, at=AT
    ),
    "the sale": lambda row, status: update_conversion(
        row.account,
        conversion_id=row.conversion_id,
        changes={},
        should_recalculate=False,
        status=status,
        at=AT,
    ),
}


@pytest.mark.usefixtures("approves")
@pytest.mark.parametrize("events", ["sale first", "dispute first"])
@pytest.mark.parametrize("way", [*WAYS_TO_SET_A_STATUS, "by staff"])
def test_what_was_disapproved_and_reopened_meanwhile_stays_pending(
    scenario, connection, sale, way, events
):
    """The end of the dispute does not undo a decision about one commission."""
    account = connection.account
    for body in (sale, OPEN) if events == "sale first" else (OPEN, sale):
        deliver(connection, body)
    commission = get_commission(account)
    if way == "by staff":
        scenario.disapprove(commission)
        reopen_commission(account, commission_id=commission.pk, at=AT)
    else:
        for status in ("disapproved", "pending"):
            WAYS_TO_SET_A_STATUS[way](commission, status)

    event = deliver(connection, WON)

    assert (list_statuses(account), event.result) == (["pending"], [])


@pytest.mark.usefixtures("approves")
def test_a_decision_about_one_commission_leaves_the_others(scenario, connection, sale):
    account = connection.account
    deliver(connection, sale)
    items = build_line_items("20")
    pk = account.conversions.get().pk
    add_commissions(account, conversion_id=pk, line_items=items, at=AT)
    deliver(connection, OPEN)
    first = account.commissions.order_by("id")[0]
    scenario.disapprove(first)
    reopen_commission(account, commission_id=first.pk, at=AT)

    deliver(connection, WON)

    assert list_statuses(account) == ["pending", "approved"]


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize(("end", "is_won"), [(WON, True), (LOST, False)])
@pytest.mark.parametrize("is_automatic", [True, False])
def test_ends_as_before_or_not_at_all_in_every_order(
    scenario, connection, sale, order, end, is_won, is_automatic
):
    scenario.program.update_row(auto_approve_commissions=is_automatic)
    events = [sale, OPEN, end]
    for number in order:
        deliver(connection, events[number])
    status = "approved" if is_automatic else "pending"
    expected = [("pi_1", "100", [("10", status)])] if is_won else []
    account = connection.account
    assert list_sales(account) == expected
    assert account.conversions.filter(disputed_at__isnull=False).count() == 0


@pytest.mark.parametrize("order", list(permutations(range(2))))
@pytest.mark.parametrize("is_automatic", [True, False])
def test_nothing_is_payable_while_it_is_open(scenario, connection, sale, order, is_automatic):
    scenario.program.update_row(auto_approve_commissions=is_automatic)
    for number in order:
        deliver(connection, [sale, OPEN][number])
    assert list_sales(connection.account) == [("pi_1", "100", [("10", "pending")])]
    with pytest.raises(DisputedSale):
        scenario.approve(get_commission(connection.account))


@pytest.mark.usefixtures("approves")
def test_an_extra_commission_waits_too(scenario, connection, sale):
    account = connection.account
    deliver(connection, sale)
    deliver(connection, OPEN)
    conversion = account.conversions.get()
    items = build_line_items("20")
    add_commissions(account, conversion_id=conversion.pk, line_items=items, at=AT)
    assert list_statuses(account) == ["pending", "pending"]
    deliver(connection, WON)
    assert list_statuses(account) == ["approved", "approved"]


@pytest.mark.usefixtures("approves")
@pytest.mark.parametrize("order", list(permutations(range(2))))
def test_levels_wait_with_their_base(scenario, connection, sale, order):
    scenario.create_level(2, "5")
    parent = scenario.create_enrolled_affiliate("Ada", "Parent")
    scenario.add_child(scenario.mina.affiliate, parent.affiliate)
    for number in order:
        deliver(connection, [sale, OPEN][number])
    assert list_statuses(connection.account) == ["pending", "pending"]
    deliver(connection, WON)
    assert list_statuses(connection.account) == ["approved", "approved"]


@pytest.mark.usefixtures("approves")
def test_a_restored_sale_waits(connection, sale):
    account = connection.account
    deliver(connection, sale)
    conversion = account.conversions.get()
    delete_conversion(account, conversion_id=conversion.pk, at=AT)
    deliver(connection, OPEN)
    restore_conversion(account, conversion_id=conversion.pk, at=AT)
    assert list_statuses(account) == ["pending"]
    deliver(connection, WON)
    assert list_statuses(account) == ["approved"]


@pytest.mark.usefixtures("approves")
def test_a_commission_waits_whose_payment_is_canceled(scenario, connection, sale):
    account = connection.account
    deliver(connection, sale)
    payment = scenario.pay("10")
    deliver(connection, OPEN)
    assert list_statuses(account) == ["approved"]
    cancel_payment(account, payment_id=payment.public_id, at=AT)
    assert list_statuses(account) == ["pending"]
    deliver(connection, WON)
    assert list_statuses(account) == ["approved"]


@pytest.mark.usefixtures("approves")
def test_what_is_approved_for_good_stays_and_new_ones_wait(scenario, connection, sale):
    account = connection.account
    scenario.enable_payouts(15)
    deliver(connection, sale)
    deliver(connection, OPEN)
    conversion = account.conversions.get()
    items = build_line_items("100")
    add_commissions(account, conversion_id=conversion.pk, line_items=items, at=AT)
    assert list_statuses(account) == ["approved", "pending"]
    event = deliver(connection, WON)
    assert event.result == [
        "The payout balance does not cover all of them: approve the rest later."
    ]
    assert list_statuses(account) == ["approved", "pending"]


@pytest.mark.usefixtures("approves")
def test_a_funded_one_that_came_after_the_dispute_is_approved_when_it_is_won(
    scenario, connection, sale
):
    scenario.enable_payouts(15)
    deliver(connection, OPEN)
    deliver(connection, sale)
    assert list_statuses(connection.account) == ["pending"]
    deliver(connection, WON)
    assert list_statuses(connection.account) == ["approved"]


@pytest.mark.usefixtures("approves")
def test_the_second_of_two_disputes_keeps_it_waiting(connection, sale):
    second = build_dispute("needs_response", hours=1, id="dp_2")
    for body in (sale, OPEN, second, WON):
        deliver(connection, body)
    assert list_statuses(connection.account) == ["pending"]
    deliver(connection, build_dispute("won", hours=3, id="dp_2"))
    assert list_statuses(connection.account) == ["approved"]


@pytest.mark.usefixtures("approves")
def test_a_sale_that_the_api_reported_waits_too(scenario, connection, sale):
    account = connection.account
    scenario.create_conversion(("100", None), external_id="pi_1")
    for body in (OPEN, sale):
        deliver(connection, body)
    assert list_statuses(account) == ["pending"]
    deliver(connection, WON)
    assert list_statuses(account) == ["approved"]


@pytest.mark.usefixtures("approves")
def test_the_explanation_says_so(connection, sale):
    account = connection.account
    deliver(connection, OPEN)
    deliver(connection, sale)
    explanation = explain_conversion(account, conversion_id=account.conversions.get().pk)
    text = "\n".join(render_explanation(explanation, at=AT))
    assert "Pending because the shop had an open dispute about the sale" in text
    assert "until then nobody can approve a commission." in text
    assert explanation.differences == []


def test_the_audit_log_has_both_ends(connection, sale):
    account = connection.account
    for body in (sale, OPEN, WON):
        deliver(connection, body)
    kinds = list(account.audit_log.order_by("id").values_list("kind", flat=True))
    assert kinds[-2:] == ["conversion.disputed", "conversion.dispute_ended"]


def end(connection):
    sale = connection.account.conversions.get()
    return end_dispute(connection.account, conversion_id=sale.pk, at=AT)


def test_staff_end_a_dispute_that_the_shop_does_not(connection, sale, approves):
    deliver(connection, sale)
    deliver(connection, OPEN)
    assert list_statuses(connection.account) == ["pending"]

    assert end(connection).reload().disputed_at is None

    assert list_statuses(connection.account) == ["approved"]
    with assert_unchanged(connection.account), pytest.raises(NoOpenDispute):
        end(connection)


@pytest.mark.parametrize(
    ("event", "statuses"),
    [(OPEN | {"id": "evt_again"}, ["approved"]), (WON, ["approved"]), (LOST, [])],
    ids=["the same again", "won", "lost"],
)
def test_what_the_shop_reports_later_counts(connection, sale, approves, event, statuses):
    deliver(connection, sale)
    deliver(connection, OPEN)
    end(connection)

    deliver(connection, event)

    assert list_statuses(connection.account) == statuses
