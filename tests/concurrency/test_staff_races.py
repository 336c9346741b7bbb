"""Owners who dismiss each other at once: one stays, by real processes."""

from collections import Counter
from uuid import uuid4

import pytest

from accounts.models.keys import Role
from accounts.models.users import User
from tests.concurrency.worker import PROCESSES
from tests.conftest import NOW


def owners(account, number):
    """So many new ones; a password that nobody has costs no time."""
    made = [
        User(account=account, email=f"{uuid4().hex}@example.org", role=Role.OWNER)
        for _ in range(number)
    ]
    for user in made:
        user.created_at = NOW
        user.set_unusable_password()
    return User.objects.bulk_create(made)


@pytest.mark.parametrize("act", ["demote", "dismiss"])
@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(10, id="quick"),
        pytest.param(250, id="whole", marks=pytest.mark.slow),
    ],
)
def test_keeps_one_of_the_owners_who_dismiss_each_other(workers, shop, act, rounds):
    """In a ring: each of them would be gone, if each were obeyed."""
    account = shop.account

    for _ in range(rounds):
        account.staff.update(role=Role.VIEWER)
        ring = [user.email for user in owners(account, PROCESSES)]
        tasks = [
            {"act": act, "account": account.slug, "by": by, "email": email}
            for by, email in zip(ring, ring[1:] + ring[:1], strict=True)
        ]

        told = Counter(workers.do(*tasks))

        left = account.staff.filter(role=Role.OWNER, is_active=True).count()
        assert set(told) == {"done", "OwnerNoMore"}
        assert left == PROCESSES - told["done"]
        assert left >= 1


@pytest.mark.parametrize("act", ["demote", "dismiss"])
def test_obeys_one_of_two_owners(workers, shop, act):
    account = shop.account

    for _ in range(10):
        account.staff.update(role=Role.VIEWER)
        one, other = [user.email for user in owners(account, 2)]
        there = {"act": act, "account": account.slug, "by": one, "email": other}
        back = there | {"by": other, "email": one}

        told = workers.do(there, back, there, back)

        assert told.count("OwnerNoMore") >= 2
        assert account.staff.filter(role=Role.OWNER, is_active=True).count() == 1
