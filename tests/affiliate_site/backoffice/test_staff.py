"""reliability.md, section 9: owners manage who signs in, and nobody else does."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models.keys import Role
from accounts.models.users import User
from accounts.services.staff import invite_staff
from tests.affiliate_site.backoffice.people import PASSWORD
from tests.conftest import NOW

LIST = "admin:accounts_user_changelist"
ADD = "admin:accounts_user_add"
EMAIL = "zoe@harbor.example.org"
ACTIONS = {
    "make_owner",
    "make_manager",
    "make_viewer",
    "renew_password",
    "deactivate_chosen",
    "activate_chosen",
}


def invite(account, email=EMAIL, role=Role.MANAGER):
    return invite_staff(account, email=email, role=role, password=PASSWORD, at=NOW)[0]


@pytest.fixture
def zoe(account):
    return invite(account)


@pytest.fixture
def operator(db):
    return User.objects.create_superuser(email="ops@example.org", password=PASSWORD)


def ask(client, action, *users, **told):
    """The answer to an action on these sign-ins."""
    form = {"action": action, "_selected_action": [it.pk for it in users]} | told
    return client.post(reverse(LIST), form, follow=True)


def confirm(client, action, *users):
    """It was confirmed; the messages that came of it, and what was shown once."""
    answer = ask(client, action, *users, confirmed="yes")
    assert answer.status_code == 200
    told = [str(message) for message in answer.context["messages"]]
    return told, answer.context.get("secret")


def signed_in(user):
    client = Client()
    client.force_login(user)
    return client


def is_let_in(client):
    return client.get(reverse("admin:index")).status_code == 200


def signs_in(email, password):
    form = {"username": email, "password": password}
    return Client().post(reverse("admin:login"), form).status_code == 302


def test_invites_somebody_and_shows_the_password_once(staff, account):
    client = staff()
    form = {"email": "Zoe@Harbor.example.org", "role": "manager"}

    answer = client.post(reverse(ADD), form)

    user = account.staff.get(email=EMAIL)
    made = answer.context["secret"]
    assert "no-store" in answer["Cache-Control"]
    assert (user.role, user.is_superuser) == ("manager", False)
    assert signs_in(EMAIL, made)
    page = client.get(reverse(LIST)).content.decode()
    assert EMAIL in page
    assert made not in page


def test_offers_the_role_that_may_least(staff):
    form = staff().get(reverse(ADD)).context["adminform"].form

    assert form.get_initial_for_field(form.fields["role"], "role") == "viewer"


def test_takes_no_account_and_no_right_from_the_form(staff, account, other_account):
    form = {
        "email": EMAIL,
        "role": "viewer",
        "account": other_account.pk,
        "is_superuser": "on",
        "password": "chosen-by-somebody",
    }

    staff().post(reverse(ADD), form)

    user = User.objects.get(email=EMAIL)
    assert (user.account, user.is_superuser) == (account, False)
    assert not user.check_password("chosen-by-somebody")


@pytest.mark.parametrize("email", ["owner@harbor.example.org", "nobody", ""])
def test_says_why_somebody_is_not_invited(staff, account, email):
    answer = staff().post(reverse(ADD), {"email": email, "role": "viewer"}, follow=True)

    assert answer.status_code == 200
    assert account.staff.count() == 1


def test_tells_of_a_sign_in_in_other_letters(staff, account, zoe):
    form = {"email": EMAIL.upper(), "role": "viewer"}

    answer = staff().post(reverse(ADD), form, follow=True)

    told = [str(message) for message in answer.context["messages"]]
    assert told == [f"There is a sign-in '{EMAIL}' already"]


@pytest.mark.parametrize("role", Role.values)
def test_changes_roles(staff, account, zoe, role):
    told, _ = confirm(staff(), f"make_{role}", zoe)

    zoe.refresh_from_db()
    assert zoe.role == role
    left = f"Left out: {EMAIL}: it is so already"
    assert told == ([left] if role == "manager" else [f"Make {role}: 1 done."])


def test_changes_nothing_before_it_is_confirmed(staff, account, zoe):
    client = staff()
    before = list(account.staff.order_by("pk").values())

    for action in ACTIONS:
        answer = ask(client, action, zoe)
        assert answer.status_code == 200
        assert answer.context.get("secret") is None

    assert list(account.staff.order_by("pk").values()) == before


def test_gives_a_new_password_and_shows_it_once(staff, zoe):
    client, theirs = staff(), signed_in(zoe)

    told, made = confirm(client, "renew_password", zoe)

    assert told == ["Give a new password: 1 done."]
    assert signs_in(EMAIL, made)
    assert not signs_in(EMAIL, PASSWORD)
    assert not is_let_in(theirs)
    assert made not in client.get(reverse(LIST)).content.decode()


@pytest.mark.parametrize("action", ["renew_password", "activate_chosen"])
def test_shows_one_password_at_a_time(staff, account, zoe, action):
    other = invite(account, email="odette@harbor.example.org")

    told, made = confirm(staff(), action, zoe, other)

    assert told == ["Choose one row: what comes of it is shown once."]
    assert made is None
    assert signs_in(EMAIL, PASSWORD)


def test_ends_at_once_what_somebody_is_signed_in_to(staff, zoe):
    client, theirs = staff(), signed_in(zoe)
    assert is_let_in(theirs)

    confirm(client, "deactivate_chosen", zoe)

    assert not is_let_in(theirs)
    assert not signs_in(EMAIL, PASSWORD)


def test_lets_nobody_back_in_by_an_old_browser(staff, zoe):
    """The cookie lives for eight hours, whatever happens to its owner meanwhile."""
    client, theirs = staff(), signed_in(zoe)
    confirm(client, "deactivate_chosen", zoe)

    told, made = confirm(client, "activate_chosen", zoe)

    assert told == ["Activate again: 1 done."]
    assert not is_let_in(theirs)
    assert signs_in(EMAIL, made)
    assert not signs_in(EMAIL, PASSWORD)


def test_gives_no_password_to_who_is_not_active(staff, zoe):
    client = staff()
    confirm(client, "deactivate_chosen", zoe)

    told, made = confirm(client, "renew_password", zoe)

    assert told == [f"Left out: {EMAIL}: it is not active: activate it instead"]
    assert made is None


@pytest.mark.parametrize("action", sorted(ACTIONS))
def test_leaves_ones_own_sign_in_alone(staff, account, action):
    client = staff()
    myself = account.staff.get()

    told, made = confirm(client, action, myself)

    assert told == [f"Left out: {myself}: it is your own: ask another owner"]
    assert (made, is_let_in(client)) == (None, True)


@pytest.mark.parametrize("action", sorted(ACTIONS))
@pytest.mark.parametrize("role", [Role.VIEWER, Role.MANAGER])
def test_is_done_by_owners_alone(staff, account, zoe, role, action):
    client = staff(role=role)
    before = list(account.staff.order_by("pk").values())

    for told in ({}, {"confirmed": "yes"}):
        assert ask(client, action, zoe, **told).status_code == 403

    assert list(account.staff.order_by("pk").values()) == before


@pytest.mark.parametrize("role", [Role.VIEWER, Role.MANAGER])
def test_lets_owners_alone_invite(staff, account, role):
    client = staff(role=role)

    for answer in (
        client.get(reverse(ADD)),
        client.post(reverse(ADD), {"email": EMAIL, "role": "owner"}),
    ):
        assert answer.status_code == 403
    assert account.staff.count() == 1


@pytest.mark.parametrize("action", sorted(ACTIONS))
def test_touches_neither_strangers_nor_operators(
    staff, other_account, operator, action
):
    client = staff()
    theirs = invite(other_account, email="may@example.net")
    both = User.objects.filter(pk__in=[theirs.pk, operator.pk]).order_by("pk")
    before = list(both.values())

    for user in (theirs, operator):
        _, made = confirm(client, action, user)
        assert made is None

    assert list(both.values()) == before
    page = client.get(reverse(LIST)).content.decode()
    assert theirs.email not in page
    assert operator.email not in page


def test_lets_operators_manage_staff_and_not_each_other(operator, zoe, account):
    client = signed_in(operator)
    other = User.objects.create_superuser(email="more@example.org", password=PASSWORD)
    owner = invite(account, email="owner@harbor.example.org", role=Role.OWNER)

    told, _ = confirm(client, "deactivate_chosen", zoe, other, owner)

    last = f"'{owner}' is the last owner who can sign in: make somebody else one first"
    assert told == [
        "Deactivate staff: 1 done.",
        f"Left out: {other}: operators are managed by command",
        f"Left out: {owner}: {last}",
    ]
    assert client.get(reverse(ADD)).status_code == 403
