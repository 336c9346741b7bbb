"""Staff: invited once, with a password that is worth one, in one role."""

import pytest

from accounts.errors import (
    LastOwner,
    OddSetting,
    OwnerNoMore,
    OwnSignIn,
    StaffActive,
    StaffExists,
    UnknownStaff,
)
from accounts.models.keys import Role
from accounts.models.users import User
from accounts.services.staff import (
    activate,
    change_role,
    deactivate,
    invite_staff,
    new_password,
)
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


@pytest.fixture
def owner(account):
    return invite(account, email="owner@harbor.example.org", role=Role.OWNER)[0]


@pytest.fixture
def operator(db):
    return User.objects.create_superuser(email="ops@example.org", password="x")


def stands(user):
    """Their role, and whether they sign in, as it is kept."""
    user.refresh_from_db()
    return user.role, user.is_active


def test_changes_a_role_once(account, owner):
    zoe, _ = invite(account)

    for _ in range(2):
        change_role(account, email=EMAIL, role=Role.VIEWER, by=owner, at=NOW)

    assert stands(zoe) == ("viewer", True)
    line = account.events.get(kind="staff.role_changed")
    assert line.facts == {"number": zoe.pk, "role": ["manager", "viewer"]}


def test_ends_a_sign_in_once(account, owner):
    zoe, _ = invite(account)

    for _ in range(2):
        deactivate(account, email=EMAIL, by=owner, at=NOW)

    assert stands(zoe) == ("manager", False)
    assert not zoe.has_usable_password()
    line = account.events.get(kind="staff.deactivated")
    assert (line.subject, line.facts) == ("account:harbor", {"number": zoe.pk})


def test_lets_somebody_in_again_with_another_password(account, owner):
    zoe, _ = invite(account)
    deactivate(account, email=EMAIL, by=owner, at=NOW)

    made = activate(account, email=EMAIL, by=owner, at=NOW)

    assert stands(zoe) == ("manager", True)
    assert zoe.check_password(made)
    assert not zoe.check_password(PASSWORD)
    assert account.events.get(kind="staff.activated").facts == {"number": zoe.pk}
    with pytest.raises(StaffActive):
        activate(account, email=EMAIL, by=owner, at=NOW)


def dismissals():
    """Everything that takes an owner's rights away."""
    return pytest.mark.parametrize(
        "dismiss",
        [
            lambda *who, **told: change_role(*who, role=Role.MANAGER, **told),
            lambda *who, **told: change_role(*who, role=Role.VIEWER, **told),
            deactivate,
        ],
        ids=["manager", "viewer", "deactivate"],
    )


@dismissals()
def test_keeps_the_last_owner_who_can_sign_in(account, owner, operator, dismiss):
    """One who is not active is no owner who could help."""
    invite(account, role=Role.OWNER)
    deactivate(account, email=EMAIL, by=owner, at=NOW)
    invite(account, email="may@harbor.example.org", role=Role.MANAGER)
    lines = account.events.count()

    with pytest.raises(LastOwner, match="'owner@harbor"):
        dismiss(account, email=owner.email, by=operator, at=NOW)

    assert stands(owner) == ("owner", True)
    assert account.events.count() == lines


@dismissals()
def test_lets_an_owner_go_where_another_one_stays(account, owner, dismiss):
    zoe, _ = invite(account, role=Role.OWNER)

    dismiss(account, email=EMAIL, by=owner, at=NOW)

    assert stands(zoe) != ("owner", True)


@dismissals()
def test_lets_nobody_dismiss_themselves(account, owner, dismiss):
    invite(account, role=Role.OWNER)

    with pytest.raises(OwnSignIn):
        dismiss(account, email=owner.email, by=owner, at=NOW)

    assert stands(owner) == ("owner", True)


@dismissals()
def test_obeys_nobody_who_is_no_owner_any_more(account, owner, dismiss):
    """They asked while they were one, and somebody was quicker."""
    asking, _ = invite(account, role=Role.OWNER)
    third, _ = invite(account, email="third@harbor.example.org", role=Role.OWNER)
    change_role(account, email=EMAIL, role=Role.MANAGER, by=owner, at=NOW)

    with pytest.raises(OwnerNoMore):
        dismiss(account, email=third.email, by=asking, at=NOW)

    assert stands(third) == ("owner", True)


@pytest.mark.parametrize(
    "act",
    [
        lambda *who, **told: change_role(*who, role=Role.OWNER, **told),
        deactivate,
        activate,
    ],
    ids=["role", "deactivate", "activate"],
)
def test_touches_neither_strangers_nor_operators(
    account, other_account, owner, operator, act
):
    zoe, _ = invite(other_account)

    for email in (EMAIL, operator.email, "nobody@example.org"):
        with pytest.raises(UnknownStaff):
            act(account, email=email, by=owner, at=NOW)
    with pytest.raises(OwnerNoMore):
        act(other_account, email=EMAIL, by=owner, at=NOW)

    assert stands(zoe) == ("manager", True)
    assert stands(operator) == ("owner", True)


def test_gives_another_password(account):
    user, _ = invite(account)

    made = new_password(account, email=EMAIL, at=NOW)

    user.refresh_from_db()
    assert user.check_password(made)


def test_lets_operators_belong_to_no_account(db):
    operator = User.objects.create_superuser(email="Ops@Example.org", password="x")

    assert (operator.email, operator.account) == ("ops@example.org", None)
    assert operator.is_superuser


def test_hands_out_nothing_to_an_owner_who_was_made_less_meanwhile(account):
    invite(account, email="first@harbor.example.org", role=Role.OWNER)
    second, _ = invite(account, email="second@harbor.example.org", role=Role.OWNER)
    account.staff.filter(pk=second.pk).update(role=Role.VIEWER)
    was = account.staff.get(email="first@harbor.example.org").password

    with pytest.raises(OwnerNoMore):
        new_password(account, email="first@harbor.example.org", by=second, at=NOW)
    with pytest.raises(OwnerNoMore):
        invite_staff(
            account, email=EMAIL, role=Role.OWNER, password=None, by=second, at=NOW
        )

    assert account.staff.get(email="first@harbor.example.org").password == was
    assert account.staff.count() == 2
