"""Fixtures of the API tests: Odette in Harbor's program, and a frozen clock."""

from datetime import timedelta

import pytest

from tests.conftest import NOW
from tests.factories.tracking import (
    AffiliateFactory,
    ClickFactory,
    CouponFactory,
    EnrollmentFactory,
)


@pytest.fixture
def frozen_time(time_machine):
    """Freeze the clock at NOW; `frozen_time.move_to(…)` sets another time."""
    time_machine.move_to(NOW, tick=False)
    return time_machine


@pytest.fixture
def odette(account, program):
    """An approved enrollment with the code `qv7kd2p` and the coupon `ODETTE10`."""
    affiliate = AffiliateFactory(
        account=account,
        slug="odettevarga",
        firstname="Odette",
        lastname="Varga",
        email="odette@notes.example.org",
        created_at=NOW - timedelta(days=100),
    )
    enrollment = EnrollmentFactory(
        account=account,
        program=program,
        affiliate=affiliate,
        code="qv7kd2p",
        applied_at=NOW - timedelta(days=99),
    )
    CouponFactory(account=account, enrollment=enrollment, code="ODETTE10")
    return enrollment


@pytest.fixture
def second_affiliate(account):
    """Mina, approved in another program, with the code `mina777`."""
    affiliate = AffiliateFactory(
        account=account,
        slug="minakessler",
        firstname="Mina",
        lastname="Kessler",
        created_at=NOW - timedelta(days=50),
    )
    return EnrollmentFactory(
        account=account,
        affiliate=affiliate,
        code="mina777",
        applied_at=NOW - timedelta(days=49),
    )


@pytest.fixture
def foreign_enrollment(other_account):
    """An enrollment in another account; each of its texts contains `zz-marker`."""
    affiliate = AffiliateFactory(
        account=other_account,
        slug="zz-marker-affiliate",
        firstname="zz-marker",
        lastname="zz-marker",
        email="zz-marker@notes.example.org",
    )
    enrollment = EnrollmentFactory(
        account=other_account,
        program__slug="zz-marker-program",
        program__title="zz-marker",
        affiliate=affiliate,
        code="zz-marker-code",
    )
    CouponFactory(account=other_account, enrollment=enrollment, code="zz-marker-coupon")
    return enrollment


@pytest.fixture
def click(account, odette):
    """A click of Odette's link, three days old."""
    return ClickFactory(
        account=account,
        enrollment=odette,
        created_at=NOW - timedelta(days=3),
        referrer="https://notes.example.org/lamps",
        landing_page="https://shop.example.net/?ref=qv7kd2p",
        meta_data={"subid1": "newsletter-12"},
    )


@pytest.fixture
def asset_pair(account, odette):
    """The asset of Harbor's program and Odette's source."""
    return {
        "asset_id": str(account.assets.get(program=odette.program)),
        "source_id": str(account.sources.get(affiliate=odette.affiliate)),
    }


@pytest.fixture
def locked_account(account):
    """A locked account rejects tracking requests."""
    account.locked_at = NOW
    account.save()
    return account
