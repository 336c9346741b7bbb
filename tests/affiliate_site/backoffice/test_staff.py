"""Staff users: only owners manage them (docs/reliability.md, section 9)."""

import pytest
from django.test import Client, override_settings
from django.urls import reverse

from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.services.staff import create_staff_user
from tests.affiliate_site.backoffice.credentials import PASSWORD
from tests.conftest import NOW

pytestmark = pytest.mark.engine_independent  # its queries are tested with services

LIST = "admin:accounts_user_changelist"
ADD = "admin:accounts_user_add"
EMAIL = "zoe@harbor.example.org"
ACTIONS = {
    *("make_owner", "make_manager", "make_finance", "make_viewer"),
    *("reset_password",),
    *("deactivate_selected", "activate_selected"),
}


def make_staff_user(account, email=EMAIL, role=Role.MANAGER):
    return create_staff_user(account, email=email, role=role, password=PASSWORD, at=NOW)[0]


@pytest.fixture
def zoe(account):
    return make_staff_user(account)


@pytest.fixture
def operator(db):
    return User.objects.create_superuser(email="ops@example.org", password=PASSWORD)


def post_action(client, action, *users, **extra_fields):
    """The response to an action on these users."""
    form = {"action": action, "_selected_action": [user.pk for user in users]}
    return client.post(reverse(LIST), form | extra_fields, follow=True)


def confirm_action(client, action, *users):
    """Confirm an action; the messages and the secret of the response."""
    response = post_action(client, action, *users, confirmed="yes")
    assert response.status_code == 200
    messages = [str(message) for message in response.context["messages"]]
    return messages, response.context.get("secret")


def create_signed_in_client(user):
    client = Client()
    client.force_login(user)
    return client


def is_signed_in(client):
    return client.get(reverse("admin:index")).status_code == 200


def can_sign_in(email, password, account="harbor"):
    form = {"account": account, "username": email, "password": password}
    return Client().post(reverse("admin:login"), form).status_code == 302


def test_creates_a_user_and_shows_the_password_once(staff_client, account):
    client = staff_client()
    form = {"email": "Zoe@Harbor.example.org", "role": "manager"}

    response = client.post(reverse(ADD), form)

    user = account.staff.get(email=EMAIL)
    password = response.context["secret"]
    assert "no-store" in response["Cache-Control"]
    assert (user.role, user.is_superuser) == ("manager", False)
    assert can_sign_in(EMAIL, password)
    page = client.get(reverse(LIST)).content.decode()
    assert EMAIL in page
    assert password not in page


def test_shows_the_page_to_sign_in_at_with_a_new_password(staff_client, zoe):
    client = staff_client()
    url = "http://testserver.example/admin/login/?account=harbor"
    form = {"email": "may@harbor.example.org", "role": "viewer"}

    with override_settings(PUBLIC_URL="http://testserver.example"):
        pages = [
            client.post(reverse(ADD), form),
            post_action(client, "reset_password", zoe, confirmed="yes"),
        ]

    assert [f'href="{url}"' in page.content.decode() for page in pages] == [True] * 2
    assert [page.context["explanation"].split(",")[0] for page in pages] == [
        f"This is the password of {email}" for email in (form["email"], EMAIL)
    ]


@pytest.mark.parametrize("email", ["new@example.org", "may@example.net", "ops@example.org"])
def test_creation_does_not_tell_who_has_a_user_elsewhere(
    staff_client, account, other_account, operator, email
):
    """The answer is the same for an address of another account and of an operator."""
    foreign = make_staff_user(other_account, email="may@example.net")
    users = User.objects.filter(pk__in=[foreign.pk, operator.pk]).order_by("pk")
    before = list(users.values())

    response = staff_client().post(reverse(ADD), {"email": email, "role": "viewer"})

    password = response.context["secret"]
    assert response.context["title"] == f"Password for {email}"
    assert account.staff.filter(email=email).count() == 1
    assert can_sign_in(email, password)
    assert not can_sign_in(email, password, account="zz-marker")
    assert not can_sign_in(email, password, account="")
    assert list(users.values()) == before


def test_preselects_the_role_with_the_fewest_permissions(staff_client):
    form = staff_client().get(reverse(ADD)).context["adminform"].form

    assert form.get_initial_for_field(form.fields["role"], "role") == "viewer"


def test_ignores_account_and_rights_in_the_form(staff_client, account, other_account):
    form = {"email": EMAIL, "role": "viewer", "account": other_account.pk}
    form |= {"is_superuser": "on", "password": "chosen-by-somebody"}

    staff_client().post(reverse(ADD), form)

    user = User.objects.get(email=EMAIL)
    assert (user.account, user.is_superuser) == (account, False)
    assert not user.check_password("chosen-by-somebody")


@pytest.mark.parametrize("role", Role.values)
def test_changes_roles(staff_client, account, zoe, role):
    messages, _ = confirm_action(staff_client(), f"make_{role}", zoe)

    zoe.refresh_from_db()
    assert zoe.role == role
    skipped = f"Skipped: {EMAIL}: already {role}"
    assert messages == ([skipped] if role == "manager" else [f"Make {role}: 1 done."])


def test_changes_nothing_before_the_confirmation(staff_client, account, zoe):
    client = staff_client()
    before = list(account.staff.order_by("pk").values())

    for action in ACTIONS:
        response = post_action(client, action, zoe)
        assert response.status_code == 200
        assert response.context.get("secret") is None

    assert list(account.staff.order_by("pk").values()) == before


def test_resets_a_password_and_shows_it_once(staff_client, zoe):
    client, foreign = staff_client(), create_signed_in_client(zoe)

    messages, password = confirm_action(client, "reset_password", zoe)

    assert messages == ["Reset password: 1 done."]
    assert can_sign_in(EMAIL, password)
    assert not can_sign_in(EMAIL, PASSWORD)
    assert not is_signed_in(foreign)
    assert password not in client.get(reverse(LIST)).content.decode()


@pytest.mark.parametrize("action", ["reset_password", "activate_selected"])
def test_shows_one_password_at_a_time(staff_client, account, zoe, action):
    other = make_staff_user(account, email="odette@harbor.example.org")

    messages, password = confirm_action(staff_client(), action, zoe, other)

    assert messages == ["Select exactly one row: the secret is shown only once."]
    assert password is None
    assert can_sign_in(EMAIL, PASSWORD)


def test_deactivation_ends_sessions_for_good(staff_client, zoe):
    """A session cookie is valid for eight hours; reactivation must not revive it."""
    client, foreign = staff_client(), create_signed_in_client(zoe)
    assert is_signed_in(foreign)
    confirm_action(client, "deactivate_selected", zoe)
    assert not is_signed_in(foreign)
    assert not can_sign_in(EMAIL, PASSWORD)

    messages, password = confirm_action(client, "activate_selected", zoe)

    assert messages == ["Reactivate: 1 done."]
    assert not is_signed_in(foreign)
    assert can_sign_in(EMAIL, password)
    assert not can_sign_in(EMAIL, PASSWORD)


def test_resets_no_password_of_an_inactive_user(staff_client, zoe):
    client = staff_client()
    confirm_action(client, "deactivate_selected", zoe)

    messages, password = confirm_action(client, "reset_password", zoe)

    assert messages == [f"Skipped: {EMAIL}: inactive: activate it instead"]
    assert password is None


@pytest.mark.parametrize("action", sorted(ACTIONS))
def test_skips_the_own_user(staff_client, account, action):
    client = staff_client()
    myself = account.staff.get()

    messages, password = confirm_action(client, action, myself)

    assert messages == [f"Skipped: {myself}: you cannot change your own sign-in; ask another owner"]
    assert (password, is_signed_in(client)) == (None, True)


@pytest.mark.parametrize("action", sorted(ACTIONS))
@pytest.mark.parametrize("role", [Role.VIEWER, Role.MANAGER])
def test_actions_require_the_owner_role(staff_client, account, zoe, role, action):
    client = staff_client(role=role)
    before = list(account.staff.order_by("pk").values())

    for extra_fields in ({}, {"confirmed": "yes"}):
        assert post_action(client, action, zoe, **extra_fields).status_code == 403

    assert list(account.staff.order_by("pk").values()) == before


@pytest.mark.parametrize("action", sorted(ACTIONS))
def test_changes_neither_other_accounts_nor_operators(
    staff_client, other_account, operator, action
):
    client = staff_client()
    foreign = make_staff_user(other_account, email="may@example.net")
    users = User.objects.filter(pk__in=[foreign.pk, operator.pk]).order_by("pk")
    before = list(users.values())

    for user in (foreign, operator):
        _, password = confirm_action(client, action, user)
        assert password is None

    assert list(users.values()) == before
    page = client.get(reverse(LIST)).content.decode()
    assert foreign.email not in page
    assert operator.email not in page


def test_operators_manage_staff_but_not_operators(operator, zoe, account):
    client = create_signed_in_client(operator)
    other = User.objects.create_superuser(email="more@example.org", password=PASSWORD)
    owner = make_staff_user(account, email="owner@harbor.example.org", role=Role.OWNER)

    messages, _ = confirm_action(client, "deactivate_selected", zoe, other, owner)

    last_owner = f"'{owner}' is the last active owner; give another user the owner role first"
    assert messages == [
        "Deactivate staff: 1 done.",
        f"Skipped: {other}: operators are managed with manage.py",
        f"Failed: {owner}: {last_owner}",
    ]
    assert client.get(reverse(ADD)).status_code == 403
