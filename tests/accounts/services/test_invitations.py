"""Invitations to the staff: a link works once, for 48 hours, for one address."""

from datetime import timedelta

import pytest

from accounts.errors import (
    DuplicateStaffUser,
    InvalidSetting,
    InvitationNotFound,
    InvitationNotValid,
    NotAccountOwner,
    TooManyInvitations,
)
from accounts.models.api_keys import Role
from accounts.models.users import Invitation
from accounts.services.invitations import (
    MAX_INVITATIONS_PER_HOUR,
    VALIDITY,
    accept_invitation,
    create_invitation,
    find_open_invitation,
    revoke_invitation,
)
from accounts.services.retention import delete_expired_invitations
from accounts.services.staff import (
    create_staff_user,
    deactivate_staff_user,
    update_role,
)
from tests.conftest import NOW

EMAIL = "zoe@harbor.example.org"
PASSWORD = "lamps-at-the-harbor"
HOUR = timedelta(hours=1)


def make_owner(account, email="owner@harbor.example.org", role=Role.OWNER):
    return create_staff_user(account, email=email, role=role, password=PASSWORD, at=NOW)[0]


@pytest.fixture
def owner(account):
    return make_owner(account)


@pytest.fixture
def invite(account, owner):
    """Invite an address; return the token."""

    def create(email=EMAIL, role=Role.MANAGER, at=NOW):
        return create_invitation(account, email=email, role=role, by=owner, at=at)[1]

    return create


def accept(token, *, password=PASSWORD, at=NOW):
    return accept_invitation(token, password=password, at=at)


def test_creates_the_user_with_the_chosen_role_and_password(account, invite):
    user = accept(invite(" Zoe@Harbor.example.org "), at=NOW + 47 * HOUR)

    stored = account.staff.get(email=EMAIL)
    assert stored == user
    assert (stored.role, stored.is_superuser) == (Role.MANAGER, False)
    assert stored.check_password(PASSWORD)
    assert account.invitations.get().get_state(at=NOW) == "accepted"


def test_stores_and_logs_neither_token_nor_address(account, invite):
    token = invite()
    accept(token)

    stored = str(list(Invitation.objects.values()))
    logged = str(list(account.audit_log.values()))
    assert token not in stored + logged
    assert EMAIL not in logged
    kinds = account.audit_log.order_by("pk").values_list("kind", flat=True)
    assert list(kinds)[1:] == [
        "invitation.created",
        "invitation.accepted",
        "staff.created",
    ]


def test_a_link_works_once(account, invite):
    token = invite()
    accept(token)

    with pytest.raises(InvitationNotValid):
        accept(token, password="another-password-of-lamps")

    assert account.staff.get(email=EMAIL).check_password(PASSWORD)


def test_rejects_links_that_are_late_revoked_replaced_or_unknown(account, invite):
    late, replaced = invite("late@example.org"), invite()
    newest, revoked = invite(), invite("revoked@example.org")
    pk = account.invitations.get(email="revoked@example.org").pk
    revoke_invitation(account, invitation_id=pk, at=NOW)

    for token, at in (
        (late, NOW + VALIDITY),
        (replaced, NOW),
        (revoked, NOW),
        (newest[:-1], NOW),
        ("", NOW),
        ("x" * 100_000, NOW),
        ("\x00é", NOW),
    ):
        assert find_open_invitation(token, at=at) is None
        with pytest.raises(InvitationNotValid):
            accept(token, at=at)
    assert account.staff.count() == 1
    accept(newest)


@pytest.mark.parametrize("change", ["role", "active"])
def test_a_link_ends_when_its_owner_loses_the_rights(account, owner, invite, change):
    token, other = invite(), make_owner(account, "other@harbor.example.org")
    values = {"email": owner.email, "by": other, "at": NOW}
    if change == "role":
        update_role(account, role=Role.MANAGER, **values)
    else:
        deactivate_staff_user(account, **values)

    with pytest.raises(InvitationNotValid):
        accept(token)

    assert not account.staff.filter(email=EMAIL).exists()


def test_a_weak_password_does_not_use_up_the_link(invite):
    token = invite()

    for password in ("short", "1234567890", "password123", EMAIL):
        with pytest.raises(InvalidSetting, match="The password must be stronger"):
            accept(token, password=password)

    accept(token)


def test_an_address_that_got_a_user_meanwhile_is_refused(account, invite):
    token = invite()
    make_owner(account, EMAIL, Role.VIEWER)

    with pytest.raises(DuplicateStaffUser):
        accept(token)

    assert account.staff.get(email=EMAIL).role == Role.VIEWER
    assert account.invitations.get().accepted_at is None


def test_does_not_tell_who_has_a_user_elsewhere(account, other_account, invite):
    make_owner(other_account, EMAIL)

    user = accept(invite())

    assert user.account == account
    assert other_account.staff.get(email=EMAIL).role == Role.OWNER


@pytest.mark.parametrize("email", ["owner@harbor.example.org", "nobody", "", "a@b\n.c"])
def test_invites_nobody_who_is_staff_or_has_no_address(account, invite, email):
    with pytest.raises((DuplicateStaffUser, InvalidSetting)) as error:
        invite(email)

    assert error.value.path == "email"
    assert not account.invitations.exists()


def test_only_owners_of_the_account_invite(account, other_account):
    for user in (
        make_owner(account, "manager@harbor.example.org", Role.MANAGER),
        make_owner(other_account),
    ):
        with pytest.raises(NotAccountOwner):
            create_invitation(account, email=EMAIL, role=Role.OWNER, by=user, at=NOW)

    assert not account.invitations.exists()


def test_limits_the_invitations_of_an_hour(account, invite):
    for number in range(MAX_INVITATIONS_PER_HOUR):
        invite(f"zoe-{number}@example.org")

    with pytest.raises(TooManyInvitations):
        invite()
    invite(at=NOW + HOUR)


def test_revokes_only_own_and_open_invitations(account, other_account, invite):
    accept(invite())
    invitation = account.invitations.get()

    with pytest.raises(InvitationNotFound):
        revoke_invitation(other_account, invitation_id=invitation.pk, at=NOW)
    revoke_invitation(account, invitation_id=invitation.pk, at=NOW)

    assert account.invitations.get().revoked_at is None


def test_deletes_invitations_30_days_after_their_end(account, invite):
    invite()
    end = NOW + VALIDITY + timedelta(days=30)

    for at, count in ((end - HOUR, 0), (end, 1)):
        options = {"at": at, "dry_run": False}
        assert delete_expired_invitations(account, **options) == count
    assert not account.invitations.exists()
