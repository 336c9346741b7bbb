"""Alerts: opened once, closed when it is over, dismissed with a note, mailed once."""

from datetime import UTC, datetime, timedelta

import pytest

from accounts.errors import InvalidSetting
from accounts.models.api_keys import Role
from accounts.services.staff import create_staff_user
from payouts.errors import AlertNotOpen
from payouts.models.payments import PayoutMethod
from payouts.services.alerts import (
    dismiss_alert,
    evaluate_watches,
    queue_alert_mails,
    set_alert_mails,
    update_watches,
)

AT = datetime(2026, 4, 20, 12, tzinfo=UTC)
AN_HOUR = timedelta(hours=1)
RETURNED = "A payment came back: nothing is paid there until you have looked."


@pytest.fixture
def method(scenario):
    return scenario.account.payout_methods.create(
        affiliate=scenario.mina.affiliate, kind="paypal", on_hold_reason="pa_1: closed"
    )


def release(method):
    PayoutMethod.objects.filter(pk=method.pk).update(on_hold_reason="")


def hold(method):
    PayoutMethod.objects.filter(pk=method.pk).update(on_hold_reason="pa_2: closed")


def list_states(account):
    return [(row.watch, row.state) for row in account.alerts.order_by("pk")]


def test_an_alert_is_opened_once_and_closed_when_it_is_over(scenario, method):
    account = scenario.account

    assert [evaluate_watches(account, at=AT + AN_HOUR * n) for n in range(3)] == [1, 0, 0]
    alert = account.alerts.get()
    assert (alert.watch, alert.object_id, alert.text) == ("returned_account", method.pk, RETURNED)
    assert (alert.affiliate, alert.created_at) == (scenario.mina.affiliate, AT)

    release(method)
    evaluate_watches(account, at=AT + AN_HOUR * 3)
    alert = alert.reload()
    assert (alert.state, alert.closed_at) == ("over", AT + AN_HOUR * 3)
    hold(method)
    evaluate_watches(account, at=AT + AN_HOUR * 4)
    assert [state for _, state in list_states(account)] == ["over", "open"]
    kinds = account.audit_log.filter(kind__startswith="alert.").values_list("kind", "actor")
    assert list(kinds) == [("alert.opened", "system")] * 2


def test_a_dismissed_alert_stays_so_while_it_lasts(scenario, method):
    account = scenario.account
    evaluate_watches(account, at=AT)
    alert = account.alerts.get()

    dismiss_alert(account, pk=alert.pk, note="We have called her", at=AT + AN_HOUR)
    evaluate_watches(account, at=AT + AN_HOUR * 2)

    assert list_states(account) == [("returned_account", "dismissed")]
    assert alert.reload().note == "We have called her"
    with pytest.raises(AlertNotOpen):
        dismiss_alert(account, pk=alert.pk, note="", at=AT)
    release(method)
    evaluate_watches(account, at=AT + AN_HOUR * 3)
    hold(method)
    evaluate_watches(account, at=AT + AN_HOUR * 4)
    assert [state for _, state in list_states(account)] == ["over", "open"]
    with pytest.raises(AlertNotOpen):
        dismiss_alert(account, pk=alert.pk, note="", at=AT)


def test_the_figures_are_those_of_the_last_look(scenario):
    account = scenario.account
    settings = {"no_clicks": {"is_on": True, "threshold": 1}}
    update_watches(account, settings=settings, at=AT)
    for days in (10, 29):
        scenario.create_click(at=AT - timedelta(days=days))

    evaluate_watches(account, at=AT)
    before = account.alerts.get().text
    evaluate_watches(account, at=AT + timedelta(days=1))

    assert (
        before
        == "No click in Harbor Lamp Partners on 2026-04-19 or later; 2 in the 28 days before."
    )
    assert (
        account.alerts.get().text
        == "No click in Harbor Lamp Partners on 2026-04-20 or later; 1 in the 28 days before."
    )


def test_a_watch_that_is_switched_off_closes_its_alerts(scenario, method):
    account = scenario.account
    evaluate_watches(account, at=AT)

    settings = {"returned_account": {"is_on": False, "threshold": 0}}
    update_watches(account, settings=settings, at=AT)
    evaluate_watches(account, at=AT + AN_HOUR)

    assert list_states(account) == [("returned_account", "over")]
    (entry,) = account.audit_log.filter(kind="account.watches_changed")
    assert entry.details == {"watches": [None, settings]}


def test_thresholds_have_limits(account):
    with pytest.raises(InvalidSetting) as error:
        update_watches(account, settings={"no_clicks": {"is_on": True, "threshold": 91}}, at=AT)
    assert error.value.path == "no_clicks_threshold"


def test_one_mail_a_day_has_what_is_new(scenario, method):
    account = scenario.account
    user, _ = create_staff_user(
        account, email="ada@example.org", role=Role.MANAGER, password=None, at=AT
    )

    def mail(at):
        evaluate_watches(account, at=at)
        return queue_alert_mails(account, build_url=lambda alert: f"/{alert.pk}/", at=at)

    assert mail(AT) == 0  # nobody wants it
    other = account.payout_methods.create(
        affiliate=scenario.mina.affiliate, kind="wise", on_hold_reason="pa_3: closed"
    )
    set_alert_mails(user, is_on=True, at=AT)
    assert mail(AT + AN_HOUR) == 1
    second = account.alerts.get(object_id=other.pk)
    (sent,) = account.mails.all()
    assert sent.recipient == user.email
    assert sent.subject == f"{account.name}: Returned payout account"
    assert sent.text == (
        f"Returned payout account\n{RETURNED}\n/{second.pk}/\n\n"
        "You get this mail because you asked for it. Switch it off under Watches."
    )
    third = account.payout_methods.create(
        affiliate=scenario.mina.affiliate, kind="other", on_hold_reason="pa_4: closed"
    )
    assert [mail(AT + AN_HOUR * number) for number in (2, 11, 12, 13)] == [0, 0, 1, 0]
    assert f"/{account.alerts.get(object_id=third.pk).pk}/" in account.mails.latest("pk").text
    set_alert_mails(user, is_on=False, at=AT)
    release(method)
    hold(method)
    assert mail(AT + timedelta(days=2)) == 0


def test_two_accounts_have_their_own_alerts(scenario, method, other_account):
    evaluate_watches(other_account, at=AT)
    evaluate_watches(scenario.account, at=AT)

    assert not other_account.alerts.exists()
    with pytest.raises(AlertNotOpen):
        dismiss_alert(other_account, pk=scenario.account.alerts.get().pk, note="", at=AT)
