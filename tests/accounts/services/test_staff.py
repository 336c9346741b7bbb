"""Staff: invited once, with a password that is worth one, in one role."""

import pytest

from accounts.errors import OddSetting, StaffExists, UnknownStaff
from accounts.models.keys import Role
from accounts.models.users import User
from accounts.services.staff import change_role, invite_staff, new_password
from tests.conftest import NOW

EMAIL = "Zoe@Harbor.example.org"


PASSWORD = "lamps-at-sea-7"


def invite(account, *, email=EMAIL, role=Role.MANAGER, password=PASSWORD):
    return invite_staff(account, email=email, role=role, password=password, at=NOW)


def test_makes_a_sign_in_of_one_account(account):
    user, made = invite(account)

    assert (user.email, user.account, user.role) == (EMAIL.lower(), account, "manager")
    assert made is None
    assert user.check_password(PASSWORD)
    assert not user.is_superuser
    line = account.events.get(kind="staff.invited")
    assert (line.subject, line.facts) == ("account:harbor", {"role": "manager"})


def test_makes_a_password_where_none_is_given(account):
    user, made = invite(account, password=None)

    assert len(made) == 20
    assert user.check_password(made)


@pytest.mark.parametrize("email", [EMAIL, EMAIL.upper(), f" {EMAIL} "])
def test_knows_an_address_in_any_case(account, other_account, email):
    invite(account)

    with pytest.raises(StaffExists) as refused:
        invite(other_account, email=email)

    assert str(refused.value) == f"There is a sign-in '{EMAIL.lower()}' already"
    assert User.objects.count() == 1


@pytest.mark.parametrize("email", ["", "zoe", "zoe@", f"{'z' * 250}@example.org"])
def test_refuses_what_is_no_address(account, email):
    with pytest.raises(OddSetting, match="The e-mail address must be like name@"):
        invite(account, email=email)


@pytest.mark.parametrize(
    ("password", "why"),
    [
        ("short-one", "too short"),
        ("password123", "too common"),
        ("20260304091527", "entirely numeric"),
        ("zoe@harbor.example", "too similar to the email"),
        ("", "too short"),
    ],
)
def test_refuses_a_weak_password(account, password, why):
    with pytest.raises(OddSetting, match=why):
        invite(account, password=password)

    assert not User.objects.exists()


def test_changes_a_role_once(account, other_account):
    invite(account)

    for _ in range(2):
        change_role(account, email=EMAIL, role=Role.VIEWER, at=NOW)

    assert account.staff.get().role == "viewer"
    line = account.events.get(kind="staff.role_changed")
    assert line.facts == {"role": ["manager", "viewer"]}
    with pytest.raises(UnknownStaff):
        change_role(other_account, email=EMAIL, role=Role.OWNER, at=NOW)


def test_gives_another_password(account):
    user, _ = invite(account)

    made = new_password(account, email=EMAIL, at=NOW)

    user.refresh_from_db()
    assert user.check_password(made)


def test_lets_operators_belong_to_no_account(db):
    operator = User.objects.create_superuser(email="Ops@Example.org", password="x")

    assert (operator.email, operator.account) == ("ops@example.org", None)
    assert operator.is_superuser
