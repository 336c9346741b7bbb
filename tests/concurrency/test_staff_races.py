"""Owners who demote or deactivate each other at once: one always stays. The link of an
invitation and a recovery code work once. Who is deactivated stays so."""

from collections import Counter
from uuid import uuid4

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher, make_password

from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.services.invitations import create_invitation
from accounts.services.recovery_codes import create_recovery_codes
from tests.concurrency.worker import PROCESSES
from tests.conftest import NOW

pytestmark = pytest.mark.integration


def make_owners(account, number):
    """Create owners, without the slow hashing of a password."""
    users = [
        User(account=account, email=f"{uuid4().hex}@example.org", role=Role.OWNER)
        for _ in range(number)
    ]
    for user in users:
        user.created_at = NOW
        user.set_unusable_password()
    return User.objects.bulk_create(users)


@pytest.mark.parametrize("task_name", ["demote", "deactivate"])
@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(10, id="quick"),
        pytest.param(250, id="whole", marks=pytest.mark.slow),
    ],
)
def test_keeps_one_owner_in_a_ring(workers, scenario, task_name, rounds):
    """Each owner is the target of another one: not all operations may succeed."""
    account = scenario.account

    for _ in range(rounds):
        account.staff.update(role=Role.VIEWER)
        ring = [user.email for user in make_owners(account, PROCESSES)]
        tasks = [
            {"task": task_name, "account": account.slug, "by": by, "email": email}
            for by, email in zip(ring, ring[1:] + ring[:1], strict=True)
        ]

        results = Counter(workers.run(*tasks))

        remaining = account.staff.filter(role=Role.OWNER, is_active=True).count()
        assert set(results) == {"done", "NotAccountOwner"}
        assert remaining == PROCESSES - results["done"]
        assert remaining >= 1


@pytest.mark.parametrize("task_name", ["demote", "deactivate"])
def test_keeps_one_of_two_owners(workers, scenario, task_name):
    account = scenario.account

    for _ in range(10):
        account.staff.update(role=Role.VIEWER)
        first, second = [user.email for user in make_owners(account, 2)]
        forward = {
            "task": task_name,
            "account": account.slug,
            "by": first,
            "email": second,
        }
        backward = forward | {"by": second, "email": first}

        results = workers.run(forward, backward, forward, backward)

        assert results.count("NotAccountOwner") >= 2
        assert account.staff.filter(role=Role.OWNER, is_active=True).count() == 1


def test_a_link_that_is_used_at_once_creates_one_user(workers, scenario):
    account = scenario.account
    (owner,) = make_owners(account, 1)

    for number in range(5):
        email = f"zoe-{number}@example.org"
        _, token = create_invitation(account, email=email, role=Role.VIEWER, by=owner, at=NOW)
        task = {"task": "accept", "account": account.slug, "token": token}

        results = Counter(workers.run(*[task] * PROCESSES))

        assert results == {"done": 1, "InvitationNotValid": PROCESSES - 1}
        assert account.staff.filter(email=email).count() == 1


def test_a_recovery_code_that_is_used_at_once_works_once(workers, scenario):
    account = scenario.account
    (owner,) = make_owners(account, 1)

    for code in create_recovery_codes(owner, at=NOW)[:5]:
        task = {
            "task": "recover",
            "account": account.slug,
            "email": owner.email,
            "code": code,
        }
        results = Counter(workers.run(*[task] * PROCESSES))

        assert results == {"used": 1, "refused": PROCESSES - 1}
    owner.refresh_from_db()
    assert len(owner.recovery_codes) == 5


def test_who_is_deactivated_stays_so_whatever_they_do(workers, scenario):
    account = scenario.account
    owner, _other = make_owners(account, 2)

    for number in range(6):
        (zoe,) = make_owners(account, 1)
        password = f"lamps-at-the-harbor-{number}"
        account.staff.filter(pk=zoe.pk).update(
            password=make_password(password, hasher=Argon2PasswordHasher())
        )
        (code, *_) = create_recovery_codes(zoe, at=NOW)
        names = {"account": account.slug, "email": zoe.email}
        dismissed, *_ = workers.run(
            {"task": "deactivate", "by": owner.email} | names,
            {"task": "change_password", "password": password} | names,
            *[{"task": "recover", "code": code} | names] * (PROCESSES - 2),
        )

        zoe.refresh_from_db()
        assert (dismissed, zoe.is_active) == ("done", False)
        assert not zoe.has_usable_password()
