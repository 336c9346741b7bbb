"""Invitations by e-mail: sent by owners, accepted behind a link without a sign-in."""

import re
from smtplib import SMTPRecipientsRefused

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models.api_keys import Role
from accounts.services import notifications
from tests.affiliate_site.backoffice.credentials import PASSWORD
from tests.conftest import NOW

pytestmark = pytest.mark.engine_independent  # its queries are tested with services

ADD = "/admin/accounts/user/add/"
LIST = "/admin/accounts/invitation/"
LINK = "/admin/invitation/"
EMAIL = "zoe@harbor.example.org"
FORM = {"email": EMAIL, "role": "manager", "send_invitation": "on"}
NEW_PASSWORD = {"password": PASSWORD, "repeated": PASSWORD}


@pytest.fixture(autouse=True)
def clock(time_machine):
    time_machine.move_to(NOW, tick=False)
    return time_machine


@pytest.fixture
def token(staff_client, mailoutbox):
    """The token of the link that an owner has sent."""
    staff_client().post(ADD, FORM)
    return find_token(mailoutbox)


def find_token(mailoutbox):
    pattern = r"http://127\.0\.0\.1:8000/admin/invitation/\?token=(\w+)\n"
    return re.findall(pattern, mailoutbox[-1].body)[0]


def accept(token, client=None, **changed):
    form = {"token": token} | NEW_PASSWORD | changed
    return (client or Client()).post(LINK, form)


def test_sends_a_link_and_shows_no_password(staff_client, account, mailoutbox):
    response = staff_client().post(ADD, FORM, follow=True)

    (mail,) = mailoutbox
    page = response.content.decode()
    assert f"{EMAIL} was invited." in page
    assert find_token(mailoutbox) not in page
    assert mail.to == [EMAIL]
    assert mail.subject == f"[Affiliate Site] Invitation to {account.name}"
    assert "owner@harbor.example.org invites you" in mail.body
    assert not account.staff.filter(email=EMAIL).exists()
    assert account.invitations.get().role == Role.MANAGER


def test_the_invited_person_sets_a_password_and_signs_in(account, token):
    client = Client()
    page = client.get(LINK, {"token": token})
    assert (page.status_code, EMAIL in page.content.decode()) == (200, True)
    assert "no-store" in page["Cache-Control"]

    response = accept(token, client)

    assert response["Location"] == "/admin/login/?account=harbor"
    user = account.staff.get(email=EMAIL)
    assert (user.role, user.last_login) == (Role.MANAGER, None)
    assert client.get("/admin/").status_code == 302
    form = {"account": "harbor", "username": EMAIL, "password": PASSWORD}
    assert client.post("/admin/login/", form).status_code == 302
    assert client.get("/admin/").status_code == 200


def test_opening_the_link_does_not_use_it_up(account, token):
    """Programs that check mails open every link."""
    for _ in range(3):
        assert Client().get(LINK, {"token": token}).status_code == 200
        assert Client().head(LINK, {"token": token}).status_code == 200

    assert accept(token).status_code == 302


def test_links_that_do_not_work_look_the_same(account, token, clock):
    accept(token)
    used = Client().get(LINK, {"token": token})
    unknown = Client().get(LINK, {"token": "x" * 43})

    assert (used.status_code, unknown.status_code) == (404, 404)
    texts = [each.content.decode() for each in (used, unknown)]
    assert texts[0] == texts[1]
    assert "harbor" not in texts[0].lower()
    assert "This link does not work." in accept(token).content.decode()
    for hostile in ("", "\x00", "é" * 500, "<script>"):
        response = accept(hostile)
        assert response.status_code == 404
        assert "<script>" not in response.content.decode().partition("<body")[2]
        clock.shift(61)


def test_a_link_ends_after_48_hours(account, token, clock):
    clock.shift(48 * 3600)

    assert accept(token).status_code == 404
    assert not account.staff.filter(email=EMAIL).exists()


@pytest.mark.parametrize(
    ("changed", "field", "text"),
    [
        ({"repeated": "another-password"}, "repeated", "The two passwords differ."),
        ({"password": "", "repeated": ""}, "password", "required"),
        ({"password": "short", "repeated": "short"}, "password", "too short"),
        ({"password": EMAIL, "repeated": EMAIL}, "password", "too similar"),
    ],
    ids=str,
)
def test_shows_a_refused_password_beside_the_field(account, token, changed, field, text):
    response = accept(token, **changed)

    assert response.status_code == 200
    assert text in str(response.context["form"].errors[field])
    assert PASSWORD not in response.content.decode()
    assert not account.staff.filter(email=EMAIL).exists()
    assert accept(token).status_code == 302


def test_ignores_other_fields(account, other_account, token):
    accept(
        token,
        email="mine@example.org",
        username="mine@example.org",
        role="owner",
        account=other_account.pk,
        is_superuser="on",
    )

    user = account.staff.get(email=EMAIL)
    assert (user.role, user.is_superuser) == (Role.MANAGER, False)
    assert not other_account.staff.exists()


def test_limits_attempts(token):
    for _ in range(5):
        assert accept(token, repeated="x").status_code == 200

    response = accept(token)

    assert response.status_code == 429
    assert "Too many attempts" in response.content.decode()


def test_ends_the_session_of_another_user(staff_client, token):
    client = staff_client("viewer")

    accept(token, client)

    assert client.get("/admin/").status_code == 302


def test_requires_a_csrf_token(token):
    client = Client(enforce_csrf_checks=True)

    assert accept(token, client).status_code == 403


def test_says_when_the_mail_was_not_sent(staff_client, account, monkeypatch, captured_log):
    def refuse(*args):
        raise SMTPRecipientsRefused({EMAIL: (550, b"unknown")})

    monkeypatch.setattr(notifications, "send_mail", refuse)

    response = staff_client().post(ADD, FORM, follow=True)

    assert "did not accept the invitation" in response.content.decode()
    assert "could not be sent: SMTPRecipientsRefused" in captured_log()
    assert EMAIL not in captured_log()


def test_logs_no_token(token, captured_log, caplog):
    Client().get(LINK, {"token": token})
    accept(token)

    assert captured_log() != ""
    assert token not in captured_log() + caplog.text


def test_without_mail_a_password_is_shown(staff_client, account, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    client = staff_client()
    assert "send_invitation" not in client.get(ADD).context["form"].fields

    response = client.post(ADD, FORM)

    assert account.staff.get(email=EMAIL).check_password(response.context["secret"])
    assert not account.invitations.exists()


def test_refuses_an_invitation_beside_the_field(staff_client, account, mailoutbox):
    client = staff_client()

    for email in ("owner@harbor.example.org", "nobody"):
        response = client.post(ADD, FORM | {"email": email})
        assert list(response.context["form"].errors) == ["email"]
    assert (mailoutbox, account.invitations.count()) == ([], 0)


def test_lists_and_revokes_invitations(staff_client, account, token):
    client = staff_client("manager")
    invitation = account.invitations.get()
    form = {
        "action": "revoke_selected",
        "_selected_action": [invitation.pk],
        "confirmed": "yes",
    }
    assert EMAIL in client.get(LIST).content.decode()
    assert client.post(LIST, form).status_code == 403
    client.force_login(account.staff.get(role=Role.OWNER))

    response = client.post(LIST, form, follow=True)

    assert "Revoke invitations: 1 done." in response.content.decode()
    assert accept(token).status_code == 404
    again = client.post(LIST, form, follow=True).content.decode()
    assert "already revoked" in again


def test_staff_and_invitations_are_tabs(staff_client):
    page = staff_client().get(reverse("admin:accounts_user_changelist"))

    assert f'href="{LIST}"' in page.content.decode()
