"""architecture.md, section 17: staff act through the services that the API calls."""

import pytest
from django.conf import settings
from django.db import OperationalError
from django.urls import reverse

from accounts.exact_json import plain
from accounts.models.keys import Role
from accounts.services.keys import issue, recognise
from accounts.services.webhooks import add_postback, add_webhook
from affiliate_site.backoffice import actions, sales
from affiliate_site.backoffice.actions import MOST
from payouts.services.commissions import approve
from payouts.services.ledger import balances_of
from tests.conftest import NOW
from tests.proof import books_agree, everything
from tests.shop import SOLD


def chosen(client, page, action, rows, **told):
    """The answer to an action on these rows."""
    form = {"action": action, "_selected_action": [row.pk for row in rows]} | told
    return client.post(reverse(f"admin:{page}_changelist"), form, follow=True)


def confirmed(client, page, action, rows):
    """It was asked for, shown, and confirmed; the messages that came of it."""
    asked = chosen(client, page, action, rows).context.get("rows", ())
    shown = " ".join(f"{row.pk}:{amount}" for row, amount in asked)
    answer = chosen(client, page, action, rows, confirmed="yes", shown=shown)
    assert answer.status_code == 200
    return [str(message) for message in answer.context["messages"]]


@pytest.fixture
def commissions(shop):
    """Of 20 and of 5 EUR, and one of 12.5 that is approved."""
    first, second, third = (
        shop.commission_of(shop.sell(amount)) for amount in ("200", "50", "125")
    )
    approve(shop.account, commission_id=third.pk, at=SOLD)
    yield first, second, third
    books_agree(shop.account)


def test_says_what_it_would_move_and_what_it_leaves_out(staff, commissions, account):
    client = staff()
    before = everything(account)

    answer = chosen(client, "payouts_commission", "approve_chosen", commissions)

    page = answer.content.decode()
    assert "<strong>2 of commissions</strong>, together" in " ".join(page.split())
    assert "<strong>25 EUR</strong>" in page
    assert f"<li>{commissions[2]}: it is approved already</li>" in page
    assert everything(account) == before


def test_approves_many(staff, commissions, account):
    told = confirmed(staff(), "payouts_commission", "approve_chosen", commissions)

    third = commissions[2]
    assert told == [
        "Approve commissions: 2 done.",
        f"Left out: {third}: it is approved already",
    ]
    assert set(account.commissions.values_list("status", flat=True)) == {"approved"}
    assert balances_of(account) == {"minakessler": {"EUR": pytest.approx(37.5)}}
    actors = account.events.filter(kind="commission.updated").values_list("actor")
    assert ("staff owner@harbor.example.org",) in set(actors)


def test_disapproves_many(staff, commissions, account):
    confirmed(staff(), "payouts_commission", "disapprove_chosen", commissions)

    assert set(account.commissions.values_list("status", flat=True)) == {"disapproved"}


def test_names_what_the_service_refuses(staff, commissions, account):
    """An account that pays out of its fund, which is empty."""
    type(account).objects.filter(pk=account.pk).update(uses_payouts=True)
    account.uses_payouts = True
    first, *_ = commissions

    told = confirmed(staff(), "payouts_commission", "approve_chosen", [first])

    assert len(told) == 1
    assert told[0].startswith(f"Left out: {first}: ")
    assert account.commissions.get(pk=first.pk).status == "pending"
    type(account).objects.filter(pk=account.pk).update(uses_payouts=False)


def test_pays_what_is_owed_once(staff, commissions, account):
    client = staff()
    owed = list(account.ledger_accounts.filter(kind="payable"))

    page = chosen(client, "payouts_ledgeraccount", "pay_chosen", owed)
    assert "<strong>12.5 EUR</strong>" in page.content.decode()
    told = confirmed(client, "payouts_ledgeraccount", "pay_chosen", owed)
    again = confirmed(client, "payouts_ledgeraccount", "pay_chosen", owed)

    assert told == ["Pay affiliates: 1 done."]
    assert again == [f"Left out: {owed[0]}: nothing is owed"]
    (payment,) = account.payments.all()
    assert plain(payment.amount) == "12.5"
    assert balances_of(account) == {}


def test_pays_no_other_amount_than_was_shown(staff, commissions, account):
    """Somebody else approves, or pays, while the page is looked at."""
    client = staff()
    (owed,) = account.ledger_accounts.filter(kind="payable")
    form = {"shown": f"{owed.pk}:12.5 ", "confirmed": "yes"}
    approve(account, commission_id=commissions[0].pk, at=SOLD)

    answer = chosen(client, "payouts_ledgeraccount", "pay_chosen", [owed], **form)

    told = [str(message) for message in answer.context["messages"]]
    assert told == [f"Left out: {owed}: it is 32.5 EUR by now"]
    assert not account.payments.exists()


def test_cancels_a_payment_once(staff, commissions, account):
    client = staff()
    owed = list(account.ledger_accounts.filter(kind="payable"))
    confirmed(client, "payouts_ledgeraccount", "pay_chosen", owed)
    payments = list(account.payments.all())

    assert confirmed(client, "payouts_payment", "cancel_chosen", payments) == [
        "Cancel payments: 1 done."
    ]
    assert confirmed(client, "payouts_payment", "cancel_chosen", payments) == [
        f"Left out: {payments[0]}: it is canceled already"
    ]
    assert balances_of(account) == {"minakessler": {"EUR": pytest.approx(12.5)}}


def test_archives_a_program_and_opens_it_again(staff, shop, account):
    client = staff()
    for action, archived in (("archive_chosen", True), ("unarchive_chosen", False)):
        confirmed(client, "tracking_program", action, [shop.program])
        assert bool(account.programs.get().archived_at) is archived


def test_decides_on_an_application(staff, shop, account):
    client = staff()
    odette = shop.join("Odette", "Varga", approved=None).enrolment

    for action, approved in (("approve_chosen", True), ("disapprove_chosen", False)):
        confirmed(client, "tracking_enrolment", action, [odette])
        assert account.enrolments.get(pk=odette.pk).approved is approved


def test_sends_a_delivery_again_and_disables_a_webhook(staff, shop, account):
    webhook = add_webhook(account, url="https://hooks.example.net/", at=NOW)
    account.refresh_from_db()
    shop.join("Odette", "Varga")
    deliveries = list(account.deliveries.all())
    account.deliveries.update(due_at=None)
    client = staff()

    confirmed(client, "accounts_delivery", "send_chosen_again", deliveries)
    assert not account.deliveries.filter(due_at=None).exists()
    for action, disabled in (("disable_chosen", True), ("enable_chosen", False)):
        confirmed(client, "accounts_webhookendpoint", action, [webhook])
        assert bool(account.webhook_endpoints.get().disabled_at) is disabled


# Roles: the same sets as for keys

MAY = [
    ("payouts_commission", "approve_chosen", {Role.MANAGER, Role.OWNER}),
    ("payouts_commission", "disapprove_chosen", {Role.MANAGER, Role.OWNER}),
    ("payouts_ledgeraccount", "pay_chosen", {Role.OWNER}),
    ("payouts_payment", "cancel_chosen", {Role.OWNER}),
    ("tracking_program", "archive_chosen", {Role.MANAGER, Role.OWNER}),
    ("tracking_program", "unarchive_chosen", {Role.MANAGER, Role.OWNER}),
    ("tracking_enrolment", "approve_chosen", {Role.MANAGER, Role.OWNER}),
    ("tracking_enrolment", "disapprove_chosen", {Role.MANAGER, Role.OWNER}),
    ("accounts_apikey", "revoke_chosen", {Role.OWNER}),
    ("accounts_webhookendpoint", "disable_chosen", {Role.OWNER}),
    ("accounts_webhookendpoint", "rotate_chosen", {Role.OWNER}),
    ("accounts_webhookendpoint", "enable_chosen", {Role.OWNER}),
    ("accounts_delivery", "send_chosen_again", {Role.MANAGER, Role.OWNER}),
]


@pytest.mark.parametrize("role", Role.values)
@pytest.mark.parametrize(("page", "action", "roles"), MAY)
def test_offers_an_action_to_those_who_may(
    staff, commissions, account, page, action, roles, role
):
    issue(account, name="shop", role=Role.OWNER, at=NOW)
    add_webhook(account, url="https://hooks.example.net/", at=NOW)

    answer = staff(role=role).get(reverse(f"admin:{page}_changelist"))

    form = answer.context.get("action_form")
    offered = dict(form.fields["action"].choices) if form else {}
    assert (action in offered) is (role in roles)


# Keys, shown once


def test_makes_a_key_and_shows_it_once(staff, account):
    client = staff()

    answer = client.post(
        reverse("admin:accounts_apikey_add"), {"name": "shop", "role": "manager"}
    )

    key = account.api_keys.get()
    text = answer.context["secret"]
    assert recognise(text) == key
    assert (key.name, key.role) == ("shop", "manager")
    assert "no-store" in answer["Cache-Control"]
    page = client.get(reverse("admin:accounts_apikey_changelist")).content.decode()
    assert key.prefix in page
    assert text not in page


@pytest.mark.parametrize("role", [Role.VIEWER, Role.MANAGER])
def test_lets_owners_alone_make_keys(staff, account, role):
    answer = staff(role=role).post(
        reverse("admin:accounts_apikey_add"), {"name": "shop", "role": "owner"}
    )

    assert answer.status_code == 403
    assert not account.api_keys.exists()


def test_revokes_a_key(staff, account):
    key, text = issue(account, name="shop", role=Role.OWNER, at=NOW)

    confirmed(staff(), "accounts_apikey", "revoke_chosen", [key])

    assert recognise(text) is None


def test_makes_a_webhook_and_shows_its_secret_once(staff, account):
    client = staff()
    form = {"url": "https://hooks.example.net/", "events": ["conversion.created"]}

    answer = client.post(reverse("admin:accounts_webhookendpoint_add"), form)

    webhook = account.webhook_endpoints.get()
    assert answer.context["secret"] == webhook.secret
    assert webhook.events == ["conversion.created"]
    for path in (
        reverse("admin:accounts_webhookendpoint_changelist"),
        reverse("admin:accounts_webhookendpoint_change", args=[webhook.pk]),
    ):
        assert webhook.secret not in client.get(path).content.decode()


def test_tells_what_is_wrong_with_a_url(staff, account):
    answer = staff().post(
        reverse("admin:accounts_webhookendpoint_add"), {"url": "http://127.0.0.1/"}
    )

    assert "only https on port 443" in answer.content.decode()
    assert not account.webhook_endpoints.exists()


def test_gives_a_webhook_a_new_secret_and_shows_it_once(staff, account):
    webhook = add_webhook(account, url="https://hooks.example.net/", at=NOW)
    postback = add_postback(
        account, url="https://mina.example.net/", affiliate="mina", at=NOW
    )
    client = staff()

    page, act = "accounts_webhookendpoint", "rotate_chosen"
    answer = chosen(client, page, act, [webhook], confirmed="yes")

    now = webhook.again()
    assert answer.context["secret"] == now.secret != webhook.secret
    assert now.old_secret == webhook.secret
    assert "no-store" in answer["Cache-Control"]
    (told,) = confirmed(client, page, act, [postback])
    assert told == f"Left out: {postback}: a postback is not signed"
    assert not postback.again().secret


def test_tells_that_a_webhook_is_there_already(staff, account):
    client = staff()
    form = {"url": "https://hooks.example.net/"}
    path = reverse("admin:accounts_webhookendpoint_add")
    client.post(path, form)

    answer = client.post(path, form, follow=True)

    webhook = account.webhook_endpoints.get()
    assert [str(message) for message in answer.context["messages"]] == [
        f"'{webhook}' tells this URL of the same events already"
    ]


def test_moves_as_many_as_it_shows(staff, shop, account, monkeypatch):
    """What a page shows can be confirmed: a form has a thousand fields at most."""
    assert settings.DATA_UPLOAD_MAX_NUMBER_FIELDS > MOST + 10
    monkeypatch.setattr(actions, "MOST", 2)
    commissions = [shop.commission_of(shop.sell("10")) for _ in range(3)]

    told = confirmed(staff(), "payouts_commission", "approve_chosen", commissions)

    assert told == ["Choose 2 rows at most."]
    assert not account.commissions.filter(status="approved").exists()


def test_leaves_out_what_the_database_did_not_answer(
    staff, commissions, account, monkeypatch
):
    def fail(*_, **__):
        raise OperationalError("canceling statement due to lock timeout")

    monkeypatch.setattr(sales, "approve", fail)

    told = confirmed(staff(), "payouts_commission", "approve_chosen", commissions[:1])

    assert told == [
        f"Left out: {commissions[0]}: the database did not answer in time; try again"
    ]
