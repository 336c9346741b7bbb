"""Staff users: create, change, deactivate and activate them."""

from functools import partial

import pytest
from django.core.exceptions import ValidationError

from accounts.errors import (
    DuplicateStaffUser,
    InvalidSetting,
    LastOwnerRequired,
    NotAccountOwner,
    OwnUserNotModifiable,
    PasswordNotChanged,
    StaffUserAlreadyActive,
    StaffUserNotFound,
)
from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.services.staff import (
    activate_staff_user,
    create_staff_user,
    deactivate_staff_user,
    reset_password,
    set_password,
    update_role,
)
from tests.conftest import NOW

EMAIL = "Zoe@Harbor.example.org"
PASSWORD = "lamps-at-sea-7"


def make_user(account, *, email=EMAIL, role=Role.MANAGER, password=PASSWORD):
    return create_staff_user(account, email=email, role=role, password=password, at=NOW)


def test_creates_a_user_of_one_account(account):
    user, generated = make_user(account)

    assert (user.email, user.account, user.role) == (EMAIL.lower(), account, "manager")
    assert generated is None
    assert user.check_password(PASSWORD)
    assert not user.is_superuser
    entry = account.audit_log.get(kind="staff.created")
    assert entry.subject == "account:harbor"
    assert entry.details == {"user_id": user.log_id, "role": "manager"}


def test_generates_a_password_if_none_is_given(account):
    user, generated = make_user(account, password=None)

    assert len(generated) == 20
    assert user.check_password(generated)


@pytest.mark.parametrize("email", [EMAIL, EMAIL.upper(), f" {EMAIL} "])
def test_rejects_a_duplicate_address_in_any_case(account, email):
    make_user(account)

    with pytest.raises(DuplicateStaffUser) as error:
        make_user(account, email=email)

    assert str(error.value) == f"A user with e-mail '{EMAIL.lower()}' already exists"
    assert User.objects.count() == 1


def test_an_address_may_belong_to_a_user_of_each_account(account, other_account, operator):
    """Neither does an account learn of users elsewhere, nor can it block them."""
    for email in (EMAIL, operator.email):
        user, _ = make_user(account, email=email)
        other, _ = make_user(other_account, email=email, password="other-lamps-at-sea")

        assert (user.email, user.account) == (other.email, account)
        assert not user.check_password("other-lamps-at-sea")
    assert User.objects.count() == 5


@pytest.mark.parametrize(
    "email",
    [
        "",
        "zoe",
        "zoe@",
        f"{'z' * 250}@example.org",
        "=?utf-8?q?b=6Fmb?=@x.test",
        '"a b"@x.test',
    ],
)
def test_rejects_an_invalid_address(account, email):
    with pytest.raises(InvalidSetting, match="The e-mail address must be like name@"):
        make_user(account, email=email)


@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("short-one", "too short"),
        ("password123", "too common"),
        ("20260304091527", "entirely numeric"),
        ("zoe@harbor.example", "too similar to the e-mail address."),
        ("", "too short"),
    ],
)
def test_rejects_a_weak_password(account, password, reason):
    with pytest.raises(InvalidSetting, match=reason):
        make_user(account, password=password)

    assert not User.objects.exists()


@pytest.fixture
def owner(account):
    return make_user(account, email="owner@harbor.example.org", role=Role.OWNER)[0]


@pytest.fixture
def operator(db):
    return User.objects.create_superuser(email="ops@example.org", password="x")


def get_role_and_active(user):
    """Return the stored role and active flag."""
    user.refresh_from_db()
    return user.role, user.is_active


def test_changing_a_role_is_idempotent(account, owner):
    zoe, _ = make_user(account)

    for _ in range(2):
        update_role(account, email=EMAIL, role=Role.VIEWER, by=owner, at=NOW)

    assert get_role_and_active(zoe) == ("viewer", True)
    entry = account.audit_log.get(kind="staff.role_changed")
    assert entry.details == {"user_id": zoe.log_id, "role": ["manager", "viewer"]}


def test_deactivating_is_idempotent(account, owner):
    zoe, _ = make_user(account)

    for _ in range(2):
        deactivate_staff_user(account, email=EMAIL, by=owner, at=NOW)

    assert get_role_and_active(zoe) == ("manager", False)
    assert not zoe.has_usable_password()
    entry = account.audit_log.get(kind="staff.deactivated")
    assert (entry.subject, entry.details) == ("account:harbor", {"user_id": zoe.log_id})


def test_activates_a_user_with_a_new_password(account, owner):
    zoe, _ = make_user(account)
    deactivate_staff_user(account, email=EMAIL, by=owner, at=NOW)

    generated = activate_staff_user(account, email=EMAIL, by=owner, at=NOW)

    assert get_role_and_active(zoe) == ("manager", True)
    assert zoe.check_password(generated)
    assert not zoe.check_password(PASSWORD)
    entry = account.audit_log.get(kind="staff.activated")
    assert entry.details == {"user_id": zoe.log_id}
    with pytest.raises(StaffUserAlreadyActive):
        activate_staff_user(account, email=EMAIL, by=owner, at=NOW)


parametrize_owner_removals = pytest.mark.parametrize(
    "remove_owner",
    [
        partial(update_role, role=Role.MANAGER),
        partial(update_role, role=Role.VIEWER),
        deactivate_staff_user,
    ],
    ids=["manager", "viewer", "deactivate"],
)


@parametrize_owner_removals
def test_keeps_the_last_active_owner(account, owner, operator, remove_owner):
    """A deactivated owner does not count."""
    make_user(account, role=Role.OWNER)
    deactivate_staff_user(account, email=EMAIL, by=owner, at=NOW)
    make_user(account, email="may@harbor.example.org", role=Role.MANAGER)
    entry_count = account.audit_log.count()

    with pytest.raises(LastOwnerRequired, match="'owner@harbor"):
        remove_owner(account, email=owner.email, by=operator, at=NOW)

    assert get_role_and_active(owner) == ("owner", True)
    assert account.audit_log.count() == entry_count


@parametrize_owner_removals
def test_removes_an_owner_if_another_one_remains(account, owner, remove_owner):
    zoe, _ = make_user(account, role=Role.OWNER)

    remove_owner(account, email=EMAIL, by=owner, at=NOW)

    assert get_role_and_active(zoe) != ("owner", True)


@parametrize_owner_removals
def test_owners_cannot_remove_themselves(account, owner, remove_owner):
    make_user(account, role=Role.OWNER)

    with pytest.raises(OwnUserNotModifiable):
        remove_owner(account, email=owner.email, by=owner, at=NOW)

    assert get_role_and_active(owner) == ("owner", True)


@parametrize_owner_removals
def test_rejects_a_former_owner(account, owner, remove_owner):
    """An owner whose role was changed after they loaded the page."""
    former_owner, _ = make_user(account, role=Role.OWNER)
    third, _ = make_user(account, email="third@harbor.example.org", role=Role.OWNER)
    update_role(account, email=EMAIL, role=Role.MANAGER, by=owner, at=NOW)

    with pytest.raises(NotAccountOwner):
        remove_owner(account, email=third.email, by=former_owner, at=NOW)

    assert get_role_and_active(third) == ("owner", True)


@pytest.mark.parametrize(
    "action",
    [partial(update_role, role=Role.OWNER), deactivate_staff_user, activate_staff_user],
    ids=["role", "deactivate", "activate"],
)
def test_rejects_users_of_other_accounts_and_operators(
    account, other_account, owner, operator, action
):
    zoe, _ = make_user(other_account)

    for email in (EMAIL, operator.email, "nobody@example.org"):
        with pytest.raises(StaffUserNotFound):
            action(account, email=email, by=owner, at=NOW)
    with pytest.raises(NotAccountOwner):
        action(other_account, email=EMAIL, by=owner, at=NOW)

    assert get_role_and_active(zoe) == ("manager", True)
    assert get_role_and_active(operator) == ("owner", True)


def test_resets_a_password(account):
    user, _ = make_user(account)

    generated = reset_password(account, email=EMAIL, at=NOW)

    user.refresh_from_db()
    assert user.check_password(generated)


def test_remembers_who_reset_a_password_until_the_user_changes_it(account, owner):
    zoe, _ = make_user(account)
    reset_password(account, email=EMAIL, by=owner, at=NOW)
    assert get_password_reset(zoe) == (owner, NOW)

    zoe.refresh_from_db()
    set_password(zoe, "lamps-by-the-sea", at=NOW)

    assert get_password_reset(zoe) == (None, None)
    entry = account.audit_log.get(kind="staff.password_changed")
    assert entry.details == {"user_id": zoe.log_id}


def test_who_is_deactivated_or_reset_meanwhile_sets_no_password(account, owner):
    zoe, _ = make_user(account)
    for change in (deactivate_staff_user, activate_staff_user, reset_password):
        zoe.refresh_from_db()
        change(account, email=EMAIL, by=owner, at=NOW)
        present = User.objects.filter(pk=zoe.pk).values().get()

        with pytest.raises(PasswordNotChanged):
            set_password(zoe, "lamps-by-the-sea", at=NOW)

        assert User.objects.filter(pk=zoe.pk).values().get() == present


def test_a_renewed_hash_does_not_undo_a_reset(account, owner, settings):
    zoe, _ = make_user(account)
    password = reset_password(account, email=EMAIL, by=owner, at=NOW)
    hasher = "django.contrib.auth.hashers.PBKDF2PasswordHasher"
    settings.PASSWORD_HASHERS = [hasher, *settings.PASSWORD_HASHERS]

    assert zoe.check_password(PASSWORD)  # as it was read before

    zoe.refresh_from_db()
    assert zoe.password.startswith("md5")
    assert zoe.check_password(password)
    zoe.refresh_from_db()
    assert zoe.password.startswith("pbkdf2")


def test_remembers_who_activated_a_user(account, owner):
    zoe, _ = make_user(account)
    deactivate_staff_user(account, email=EMAIL, by=owner, at=NOW)
    assert get_password_reset(zoe) == (None, None)

    activate_staff_user(account, email=EMAIL, by=owner, at=NOW)

    assert get_password_reset(zoe) == (owner, NOW)


def test_a_command_that_resets_a_password_ends_the_notice(account, owner):
    zoe, _ = make_user(account)
    reset_password(account, email=EMAIL, by=owner, at=NOW)

    reset_password(account, email=EMAIL, at=NOW)

    assert get_password_reset(zoe) == (None, None)


def get_password_reset(user):
    user.refresh_from_db()
    return user.password_reset_by, user.password_reset_at


def test_rejects_a_second_operator_with_the_same_address(operator):
    with pytest.raises(ValidationError, match="An operator with this e-mail already"):
        User.objects.create_superuser(email=operator.email.upper(), password="y")


def test_operators_belong_to_no_account(db):
    operator = User.objects.create_superuser(email="Ops@Example.org", password="x")

    assert (operator.email, operator.account) == ("ops@example.org", None)
    assert operator.is_superuser


def test_a_former_owner_cannot_reset_passwords_or_create_users(account):
    make_user(account, email="first@harbor.example.org", role=Role.OWNER)
    second, _ = make_user(account, email="second@harbor.example.org", role=Role.OWNER)
    account.staff.filter(pk=second.pk).update(role=Role.VIEWER)
    password = account.staff.get(email="first@harbor.example.org").password

    with pytest.raises(NotAccountOwner):
        reset_password(account, email="first@harbor.example.org", by=second, at=NOW)
    with pytest.raises(NotAccountOwner):
        create_staff_user(account, email=EMAIL, role=Role.OWNER, password=None, by=second, at=NOW)

    assert account.staff.get(email="first@harbor.example.org").password == password
    assert account.staff.count() == 2


def test_two_spellings_of_a_domain_are_one_user(account, other_account):
    user, _ = make_user(account, email="zoe@münchen.example")
    other, _ = make_user(other_account, email="zoe@xn--mnchen-3ya.example")
    with pytest.raises(DuplicateStaffUser):
        make_user(account, email="ZOE@xn--mnchen-3ya.example")
    for email in ("zoe@MÜNCHEN.example", "zoe@xn--mnchen-3ya.example"):
        for each, known in ((account, user), (other_account, other)):
            found = User.objects.find_for_sign_in(account=each.slug, email=email)
            assert found == known
