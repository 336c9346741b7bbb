"""Recovery codes: ten, stored as digests, each valid once."""

import re

import pytest

from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.services.recovery_codes import (
    create_recovery_codes,
    delete_recovery_codes,
    use_recovery_code,
)
from accounts.services.staff import create_staff_user
from tests.conftest import NOW


@pytest.fixture
def user(account):
    return create_staff_user(
        account, email="zoe@example.org", role=Role.VIEWER, password=None, at=NOW
    )[0]


def test_creates_ten_different_codes_and_stores_their_digests(account, user):
    codes = create_recovery_codes(user, at=NOW)

    assert len(set(codes)) == 10
    pattern = r"([2-9a-hj-km-np-z]{4}-){3}[2-9a-hj-km-np-z]{4}"
    assert all(re.fullmatch(pattern, code) for code in codes)
    (stored,) = User.objects.values_list("recovery_codes", flat=True)
    assert [len(digest) for digest in stored] == [64] * 10
    entry = account.audit_log.get(kind="staff.second_factor_codes_created")
    assert entry.details == {"user_id": user.log_id}


@pytest.mark.parametrize("spelling", [str.upper, lambda code: code.replace("-", " ")])
def test_a_code_works_once_in_any_spelling(account, user, spelling):
    code, *others = create_recovery_codes(user, at=NOW)

    assert use_recovery_code(user, spelling(code), at=NOW)
    assert not use_recovery_code(user, code, at=NOW)

    assert len(user.recovery_codes) == 9
    assert use_recovery_code(user, others[0], at=NOW)
    assert account.audit_log.filter(kind="staff.second_factor_code_used").count() == 2


def test_a_code_belongs_to_its_user(account, user):
    code, *_ = create_recovery_codes(user, at=NOW)
    other, _ = create_staff_user(
        account, email="may@example.org", role=Role.OWNER, password=None, at=NOW
    )

    assert not use_recovery_code(other, code, at=NOW)
    assert use_recovery_code(user, code, at=NOW)


@pytest.mark.parametrize("code", ["", "2" * 16, "x" * 100_000, "é\x00", "----"])
def test_wrong_codes_change_nothing(user, code):
    create_recovery_codes(user, at=NOW)

    assert not use_recovery_code(user, code, at=NOW)
    assert len(User.objects.get(pk=user.pk).recovery_codes) == 10


def test_new_codes_and_a_removed_device_end_the_earlier_codes(user):
    (first, *_), (second, *_) = (create_recovery_codes(user, at=NOW) for _ in range(2))
    assert not use_recovery_code(user, first, at=NOW)

    delete_recovery_codes(user)

    assert not use_recovery_code(user, second, at=NOW)
