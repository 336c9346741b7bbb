"""Actions of staff call the same services as the API (docs/architecture.md)."""

import re
from decimal import Decimal
from html import escape, unescape

import pytest
from django.conf import settings
from django.db import OperationalError
from django.urls import reverse

from accounts.exact_json import format_decimal
from accounts.models.api_keys import Role
from accounts.services.api_keys import create_api_key, find_api_key
from accounts.services.webhooks import create_postback_endpoint, create_webhook
from affiliate_site.backoffice import actions
from affiliate_site.backoffice.actions import MAX_ROWS
from affiliate_site.backoffice.conversions.decision_pages import ApproveCommissionPage
from affiliate_site.backoffice.formatters import format_labels
from affiliate_site.backoffice.payouts.payout_texts import COMMISSION_STATUSES, PAID
from payouts.services.conversion_updates import update_commission
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payments import cancel_payment
from tests.conftest import NOW
from tests.ledger_checks import assert_ledger_consistent, snapshot_account
from tests.program_scenario import CONVERSION_CREATED_AT


def get_list_url(rows):
    meta = rows[0]._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")


def post_action(client, action, rows, **extra_fields):
    """The response to an action on these rows."""
    form = {"action": action, "_selected_action": [row.pk for row in rows]}
    return client.post(get_list_url(rows), form | extra_fields, follow=True)


def submit_confirmation(client, action, rows, **extra_fields):
    """Request an action and confirm it; the response."""
    shown = post_action(client, action, rows).context.get("rows", ())
    amounts = " ".join(f"{row.pk}:{amount}" for row, amount in shown)
    fields = {"confirmed": "yes", "confirmed_amounts": amounts} | extra_fields
    return post_action(client, action, rows, **fields)


def list_messages(response):
    assert response.status_code == 200
    return [str(message) for message in response.context["messages"]]


def confirm_action(client, action, rows, **extra_fields):
    """Request an action and confirm it; the messages of the response."""
    return list_messages(submit_confirmation(client, action, rows, **extra_fields))


@pytest.fixture
def commissions(scenario):
    """Pending commissions of 20 and 5 EUR, and an approved one of 12.50 EUR."""
    first, second, third = (
        scenario.get_commission(scenario.create_conversion(amount))
        for amount in ("200", "50", "125")
    )
    scenario.approve(third)
    yield first, second, third
    assert_ledger_consistent(scenario.account)


def test_confirmation_shows_totals_and_skipped_rows(staff_client, commissions, account):
    client = staff_client()
    before = snapshot_account(account)

    response = post_action(client, "approve_selected", commissions)

    page = response.content.decode()
    assert "<strong>2 commissions</strong>, total" in " ".join(page.split())
    assert "<strong>25.00 EUR</strong>" in page
    assert f'>{commissions[2]}</td><td data-title="Why">Already approved</td>' in page
    assert snapshot_account(account) == before


def test_approves_commissions(staff_client, commissions, account):
    messages = confirm_action(staff_client(), "approve_selected", commissions)

    third = commissions[2]
    assert messages == [
        "Approve commissions: 2 done. Total: 25.00 EUR.",
        f"Skipped: {third}: already approved",
    ]
    assert set(account.commissions.values_list("status", flat=True)) == {"approved"}
    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": pytest.approx(37.5)}}
    actors = account.audit_log.filter(kind="commission.updated").values_list("actor")
    assert (account.staff.get().actor_name,) in set(actors)


def list_hidden_fields(response):
    """What the form of the page would send."""
    context = response.context
    return {
        "action": context["action"],
        "_selected_action": [row.pk for row, _ in context["rows"]],
        "confirmed": "yes",
        "confirmed_amounts": " ".join(f"{row.pk}:{token}" for row, token in context["rows"]),
    }


def test_disapproves_commissions_with_a_reason(staff_client, commissions, account):
    confirm_action(
        staff_client(),
        "disapprove_selected",
        commissions,
        reason=" Own orders ",
    )

    found = account.commissions.values_list("status", "comment")
    assert set(found) == {("disapproved", "Disapproved: Own orders")}


@pytest.mark.parametrize("reason", ["", "   ", "x" * 501])
def test_a_disapproval_needs_a_reason(staff_client, commissions, account, reason):
    response = submit_confirmation(
        staff_client(), "disapprove_selected", commissions, reason=reason
    )

    assert response.context["form"].errors["reason"]
    assert response.context["rows"]  # the selection stays
    assert not account.commissions.filter(status="disapproved").exists()


def test_confirmation_lists_rows_with_reasons_and_balances(
    staff_client, scenario, commissions, account
):
    first, _, third = commissions
    account.commissions.filter(pk=first.pk).update(comment="a")
    scenario.pay("12.50")

    response = post_action(staff_client(), "disapprove_selected", commissions)

    listing = {
        int(title): [value for _, value in values]
        for _, title, values, _ in response.context["listing"]
    }
    assert listing[first.pk][1:] == [
        f"{first.conversion_id}: 200.00\u00a0EUR",
        "The program requires manual approval; by coupon",
        format_labels([COMMISSION_STATUSES["pending"]]),
    ]
    assert listing[third.pk][-1] == format_labels([PAID])
    page = " ".join(response.content.decode().split())
    assert "Balance due of minakessler becomes negative: -12.50 EUR." in page
    assert account.commissions.get(pk=third.pk).payment is not None


def test_a_row_whose_status_changed_is_skipped(staff_client, scenario, commissions, account):
    first, *_ = commissions
    client = staff_client()
    shown = post_action(client, "disapprove_selected", [first])
    scenario.approve(first)

    form = list_hidden_fields(shown) | {"reason": "a"}
    response = client.post(get_list_url([first]), form, follow=True)

    assert list_messages(response) == [f"Skipped: {first}: it is approved now"]
    assert account.commissions.get(pk=first.pk).status == "approved"


def test_an_approval_can_be_undone(staff_client, scenario, commissions, account):
    client, url = staff_client(), get_list_url(commissions)
    done = submit_confirmation(client, "approve_selected", commissions)
    page = done.content.decode()
    assert "Undo: put back to pending" in page
    assert f'<form method="post" action="{url}">' in page  # without filters
    undo = list_hidden_fields(done)

    (text,) = list_messages(client.post(url, undo, follow=True))

    assert text.startswith("Put back to pending: 2 done. Total: ")
    statuses = account.commissions.order_by("id").values_list("status", flat=True)
    assert list(statuses) == ["pending", "pending", "approved"]
    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": pytest.approx(12.5)}}


def test_the_page_after_an_action_leads_back_to_the_filtered_list(staff_client, commissions):
    client, url = staff_client(), get_list_url(commissions)
    filtered = f"{url}?status__exact=pending&currency=EUR"
    form = {"action": "approve_selected", "_selected_action": [commissions[0].pk]}
    shown = client.post(filtered, form).context["rows"]
    amounts = " ".join(f"{row.pk}:{amount}" for row, amount in shown)
    confirmed = form | {"confirmed": "yes", "confirmed_amounts": amounts}

    done = client.post(filtered, confirmed)
    page = done.content.decode()
    assert f'href="{escape(filtered)}"' in page
    query = re.search(r'name="list_query" value="([^"]*)"', page)[1]
    undo = list_hidden_fields(done) | {"list_query": unescape(query)}

    assert client.post(url, undo).url == filtered
    reopen = confirmed | {"action": "reopen_selected"}
    assert client.post(filtered, reopen).url == filtered


def test_an_undo_leaves_out_what_was_paid_meanwhile(staff_client, scenario, commissions, account):
    client, url = staff_client(), get_list_url(commissions)
    done = submit_confirmation(client, "approve_selected", commissions)
    scenario.pay("37.50")

    response = client.post(url, list_hidden_fields(done), follow=True)

    assert list_messages(response)[0].endswith("it is paid now")
    assert set(account.commissions.values_list("status", flat=True)) == {"approved"}


def test_a_final_approval_cannot_be_undone(staff_client, scenario, account):
    scenario.enable_payouts(100)
    commission = scenario.get_commission(scenario.create_conversion("200"))
    client = staff_client()

    done = submit_confirmation(client, "approve_selected", [commission])

    assert "Undo: put back to pending" not in done.content.decode()
    assert account.commissions.get().status == "approved"
    assert done.redirect_chain
    messages = confirm_action(client, "reopen_selected", [commission])
    assert messages == [f"Skipped: {commission}: an approved commission is final"]


@pytest.mark.parametrize("action", ["approve_selected", "disapprove_selected", "reopen_selected"])
def test_leaves_out_what_changes_while_the_action_runs(
    staff_client, commissions, account, monkeypatch, action
):
    """The rows are compared with the confirmation again under their lock."""
    first, second, third = commissions
    rows = [third] if action == "reopen_selected" else [first, second]
    partition = actions.partition_rows

    def change_after_comparing(selected_rows, admin_action, confirmed_amounts=None):
        parts = partition(selected_rows, admin_action, confirmed_amounts)
        if confirmed_amounts:
            changes = {"amount": Decimal(7)}
            update_commission(account, commission_id=rows[0].pk, changes=changes, at=NOW)
        return parts

    monkeypatch.setattr(actions, "partition_rows", change_after_comparing)
    status = account.commissions.get(pk=rows[0].pk).status

    messages = confirm_action(staff_client(), action, rows, reason="wrong")

    changed = account.commissions.get(pk=rows[0].pk)
    assert (changed.amount, changed.status) == (7, status)
    expected = f"Failed: {changed}: The commission is now 7 EUR and {status}"
    assert messages[-1] == expected
    assert len(messages) == len(rows)


def test_reports_errors_of_the_service(staff_client, scenario, commissions, account):
    """The account pays out of its payout balance, which is empty."""
    scenario.enable_payouts()
    first, *_ = commissions

    messages = confirm_action(staff_client(), "approve_selected", [first])

    assert len(messages) == 1
    assert messages[0].startswith(f"Failed: {first}: ")
    assert account.commissions.get(pk=first.pk).status == "pending"


def test_pays_a_balance_once(staff_client, commissions, account):
    client = staff_client()
    balances = list(account.ledger_accounts.filter(kind="payable"))

    page = post_action(client, "pay_selected", balances)
    assert "<strong>12.50 EUR</strong>" in page.content.decode()
    messages = confirm_action(client, "pay_selected", balances)
    again = confirm_action(client, "pay_selected", balances)

    assert messages == ["Pay affiliates: 1 done. Total: 12.50 EUR."]
    assert again == ["Skipped: minakessler, EUR: no balance due"]
    (payment,) = account.payments.all()
    assert format_decimal(payment.amount) == "12.5"
    assert get_payable_balances_by_slug(account) == {}


def test_a_confirmation_page_pays_once(staff_client, commissions, account):
    client = staff_client()
    balances = list(account.ledger_accounts.filter(kind="payable"))
    shown = post_action(client, "pay_selected", balances)
    form = {
        "confirmed": "yes",
        "confirmed_amounts": f"{balances[0].pk}:12.5",
        "token": shown.context["token"],
    }
    post_action(client, "pay_selected", balances, **form)
    for payment in account.payments.all():  # the same amount is due again
        cancel_payment(account, payment_id=payment.public_id, at=CONVERSION_CREATED_AT)

    response = post_action(client, "pay_selected", balances, **form)

    assert "second time" in list_messages(response)[-1]
    assert account.payments.count() == 1


def test_pays_only_the_confirmed_amount(staff_client, scenario, commissions, account):
    """Another user approves a commission while the confirmation page is open."""
    client = staff_client()
    (balance,) = account.ledger_accounts.filter(kind="payable")
    form = {"confirmed_amounts": f"{balance.pk}:12.5 ", "confirmed": "yes"}
    scenario.approve(commissions[0])

    response = post_action(client, "pay_selected", [balance], **form)

    skipped = "Skipped: minakessler, EUR: the amount is now 32.50 EUR"
    assert list_messages(response) == [skipped]
    assert not account.payments.exists()


def test_cancels_a_payment_once(staff_client, commissions, account):
    client = staff_client()
    balances = list(account.ledger_accounts.filter(kind="payable"))
    confirm_action(client, "pay_selected", balances)
    payments = list(account.payments.all())

    def cancel(reason):
        return confirm_action(client, "cancel_selected", payments, reason=reason)

    assert cancel("") == []
    assert not account.payments.get().canceled_at
    assert cancel("returned") == ["Cancel payments: 1 done. Total: 12.50 EUR."]
    assert cancel("again") == [f"Skipped: {payments[0]}: already canceled"]
    assert account.payments.get().cancel_reason == "returned"
    assert get_payable_balances_by_slug(account) == {"minakessler": {"EUR": pytest.approx(12.5)}}


def test_approves_and_disapproves_an_application(staff_client, scenario, account):
    client = staff_client()
    odette = scenario.create_enrolled_affiliate("Odette", "Varga", approved=None)

    for action, approved in (
        ("approve_selected", True),
        ("disapprove_selected", False),
    ):
        confirm_action(client, action, [odette.enrollment])
        assert account.enrollments.get(pk=odette.enrollment.pk).approved is approved


def test_resends_a_delivery_and_disables_a_webhook(staff_client, scenario, account):
    webhook = create_webhook(account, url="https://hooks.example.net/", at=NOW)
    account.refresh_from_db()
    scenario.create_enrolled_affiliate("Odette", "Varga")
    deliveries = list(account.deliveries.all())
    account.deliveries.update(due_at=None)
    client = staff_client()

    confirm_action(client, "resend_selected", deliveries)
    assert not account.deliveries.filter(due_at=None).exists()
    for action, disabled in (("disable_selected", True), ("enable_selected", False)):
        confirm_action(client, action, [webhook])
        assert bool(account.webhook_endpoints.get().disabled_at) is disabled


# Roles have the same permissions as those of API keys

PERMITTED_ACTIONS = [
    ("payouts_commission", "approve_selected", {Role.MANAGER, Role.OWNER}),
    ("payouts_commission", "disapprove_selected", {Role.MANAGER, Role.OWNER}),
    ("payouts_commission", "reopen_selected", {Role.MANAGER, Role.OWNER}),
    ("payouts_ledgeraccount", "pay_selected", {Role.FINANCE, Role.OWNER}),
    ("payouts_payment", "cancel_selected", {Role.FINANCE, Role.OWNER}),
    ("tracking_enrollment", "approve_selected", {Role.MANAGER, Role.OWNER}),
    ("tracking_enrollment", "disapprove_selected", {Role.MANAGER, Role.OWNER}),
    ("accounts_apikey", "revoke_selected", {Role.OWNER}),
    ("accounts_webhookendpoint", "disable_selected", {Role.OWNER}),
    ("accounts_webhookendpoint", "rotate_selected", {Role.OWNER}),
    ("accounts_webhookendpoint", "enable_selected", {Role.OWNER}),
    ("accounts_delivery", "resend_selected", {Role.MANAGER, Role.OWNER}),
]


@pytest.mark.parametrize("role", Role.values)
def test_offers_an_action_only_to_permitted_roles(
    staff_client, commissions, account, role, subtests
):
    create_api_key(account, name="shop", role=Role.OWNER, at=NOW)
    create_webhook(account, url="https://hooks.example.net/", at=NOW)
    client = staff_client(role=role)

    for page in {page for page, _, _ in PERMITTED_ACTIONS}:
        response = client.get(reverse(f"admin:{page}_changelist"))
        form = response.context.get("action_form")
        offered = dict(form.fields["action"].choices) if form else {}
        for action, roles in [item[1:] for item in PERMITTED_ACTIONS if item[0] == page]:
            with subtests.test(page=page, action=action):
                assert (action in offered) is (role in roles)


# Secrets that are shown once


def post_key(client, form):
    return client.post(reverse("admin:accounts_apikey_add"), form)


def post_webhook(client, **form):
    form = {"url": "https://hooks.example.net/"} | form
    return client.post(reverse("admin:accounts_webhookendpoint_add"), form)


def test_creates_an_api_key_and_shows_it_once(staff_client, account):
    client = staff_client()

    response = post_key(client, {"name": "shop", "role": "manager"})

    key = account.api_keys.get()
    text = response.context["secret"]
    assert find_api_key(text) == key
    assert (key.name, key.role) == ("shop", "manager")
    explanation = response.context["explanation"]
    assert "the API key “shop” with the role manager" in explanation
    assert "header X-Api-Key" in explanation
    assert explanation in response.content.decode()
    assert "no-store" in response["Cache-Control"]
    page = client.get(reverse("admin:accounts_apikey_changelist")).content.decode()
    assert key.prefix in page
    assert text not in page
    assert not response.context["snippets"]


def test_the_key_of_a_proxy_comes_with_the_lines_for_it(staff_client, settings):
    settings.PUBLIC_URL = "https://track.example.org"
    response = post_key(staff_client(), {"name": "", "role": "proxy"})

    text = response.context["secret"]
    assert find_api_key(text).role == "proxy"
    assert "header X-Affiliate-Proxy" in response.context["explanation"]
    snippets = dict(response.context["snippets"])
    assert list(snippets) == ["nginx", "Caddy", "Cloudflare", "Vercel"]
    for title, code in snippets.items():
        assert "https://track.example.org" in code
        assert not re.search(r"aff\.example\.net|\bPROXY_KEY", code)
        assert (f'"{text}"' in code) is (title in ("nginx", "Caddy"))
        assert code in unescape(response.content.decode())


def test_a_new_key_reads_unless_another_role_is_chosen(staff_client):
    form = staff_client().get(reverse("admin:accounts_apikey_add")).context["form"]

    assert form.get_initial_for_field(form.fields["role"], "role") == "viewer"


@pytest.mark.parametrize("model", ["apikey", "signingsecret", "user", "webhookendpoint"])
def test_forms_that_show_a_secret_have_one_button(staff_client, model):
    page = staff_client().get(reverse(f"admin:accounts_{model}_add")).content.decode()

    assert 'name="_save"' in page
    assert "_addanother" not in page
    assert "_continue" not in page


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"name": "n" * 256, "role": "viewer"}, "name"),
        ({"name": "shop", "role": "admin"}, "role"),
        ({"name": "shop"}, "role"),
        ({"name": "a\x00b", "role": "viewer"}, "name"),
    ],
    ids=str,
)
def test_refuses_an_api_key_beside_the_field(staff_client, account, form, field):
    response = post_key(staff_client(), form)

    assert list(response.context["form"].errors) == [field]
    assert not account.api_keys.exists()


def test_revokes_an_api_key(staff_client, account):
    key, text = create_api_key(account, name="shop", role=Role.OWNER, at=NOW)

    confirm_action(staff_client(), "revoke_selected", [key])

    assert find_api_key(text) is None


def test_creates_a_webhook_and_shows_its_secret_once(staff_client, account):
    client = staff_client()

    response = post_webhook(client, events=["conversion.created"])

    webhook = account.webhook_endpoints.get()
    assert response.context["secret"] == webhook.secret
    assert response.context["title"] == f"Webhook secret for {webhook}"
    assert webhook.events == ["conversion.created"]
    for path in (
        reverse("admin:accounts_webhookendpoint_changelist"),
        reverse("admin:accounts_webhookendpoint_change", args=[webhook.pk]),
    ):
        assert webhook.secret not in client.get(path).content.decode()


def test_shows_the_error_of_an_invalid_url(staff_client, account):
    response = post_webhook(staff_client(), url="http://127.0.0.1/")

    assert "only https on port 443" in response.content.decode()
    assert not account.webhook_endpoints.exists()


def test_rotates_a_secret_and_shows_it_once(staff_client, account):
    webhook = create_webhook(account, url="https://hooks.example.net/", at=NOW)
    postback = create_postback_endpoint(
        account, url="https://mina.example.net/", affiliate="mina", at=NOW
    )
    client = staff_client()

    action = "rotate_selected"
    response = post_action(client, action, [webhook], confirmed="yes")

    rotated = webhook.reload()
    assert response.context["secret"] == rotated.secret != webhook.secret
    assert rotated.old_secret == webhook.secret
    explanation = response.context["explanation"]
    assert "the webhook to https://hooks.example.net/" in explanation
    assert "header webhook-signature" in explanation
    assert "no-store" in response["Cache-Control"]
    (message,) = confirm_action(client, action, [postback])
    assert message == f"Skipped: {postback}: postbacks are not signed"
    assert not postback.reload().secret


def test_shows_the_error_of_a_duplicate_webhook(staff_client, account):
    client = staff_client()
    post_webhook(client)

    response = post_webhook(client)

    webhook = account.webhook_endpoints.get()
    assert response.context["form"].errors["url"] == [
        f"Webhook '{webhook}' already has this URL and these events"
    ]


def test_limits_the_number_of_selected_rows(staff_client, scenario, account, monkeypatch):
    """Django accepts a limited number of form fields, one for each selected row."""
    assert settings.DATA_UPLOAD_MAX_NUMBER_FIELDS > MAX_ROWS + 10
    monkeypatch.setattr(actions, "MAX_ROWS", 2)
    commissions = [scenario.get_commission(scenario.create_conversion("10")) for _ in range(3)]

    messages = confirm_action(staff_client(), "approve_selected", commissions)

    assert messages == ["Select at most 2 rows."]
    assert not account.commissions.filter(status="approved").exists()


def test_skips_rows_on_a_database_timeout(staff_client, commissions, account, monkeypatch):
    def fail(*_, **__):
        raise OperationalError("canceling statement due to lock timeout")

    monkeypatch.setattr(ApproveCommissionPage, "service", fail)

    messages = confirm_action(staff_client(), "approve_selected", commissions[:1])

    assert messages == [
        f"Failed: {commissions[0]}: the database did not respond in time; try again"
    ]


def test_hides_no_database_error_that_needs_a_repair(staff_client, commissions, monkeypatch):
    def fail(*_, **__):
        raise OperationalError("FATAL: out of memory")

    monkeypatch.setattr(ApproveCommissionPage, "service", fail)

    with pytest.raises(OperationalError, match="out of memory"):
        confirm_action(staff_client(), "approve_selected", commissions[:1])


def test_says_whose_balance_becomes_negative(staff_client, scenario, account):
    """Disapproving what was paid takes it back from later commissions."""
    commission = scenario.get_commission(scenario.create_conversion("100"))
    scenario.approve(commission, at=NOW)
    scenario.pay(10, at=NOW)
    client = staff_client()

    page = post_action(client, "disapprove_selected", [commission])

    warning = "Balance due of minakessler becomes negative: -10.00 EUR"
    assert warning in page.content.decode()
    submit_confirmation(client, "disapprove_selected", [commission], reason="returned")
    assert "Overpaid: 10.00\u00a0EUR" in client.get("/admin/").content.decode()
