"""Odette in Harbor's program, and a clock that stands still."""

from datetime import timedelta

import pytest

from tests.conftest import NOW
from tests.factories.tracking import (
    AffiliateFactory,
    ClickFactory,
    CouponFactory,
    EnrolmentFactory,
)


@pytest.fixture
def now(time_machine):
    """The clock stands at NOW; `now.move_to(…)` sets it to another moment."""
    time_machine.move_to(NOW, tick=False)
    return time_machine


@pytest.fixture
def odette(account, program):
    """Approved, with the code `qv7kd2p` and the coupon `ODETTE10`."""
    affiliate = AffiliateFactory(
        account=account,
        slug="odettevarga",
        firstname="Odette",
        lastname="Varga",
        email="odette@notes.example.org",
        created_at=NOW - timedelta(days=100),
    )
    enrolment = EnrolmentFactory(
        account=account,
        program=program,
        affiliate=affiliate,
        code="qv7kd2p",
        applied_at=NOW - timedelta(days=99),
    )
    CouponFactory(account=account, enrolment=enrolment, code="ODETTE10")
    return enrolment


@pytest.fixture
def rival(account):
    """Mina, approved in a program of her own, with the code `mina777`."""
    affiliate = AffiliateFactory(
        account=account,
        slug="minakessler",
        firstname="Mina",
        lastname="Kessler",
        created_at=NOW - timedelta(days=50),
    )
    return EnrolmentFactory(
        account=account,
        affiliate=affiliate,
        code="mina777",
        applied_at=NOW - timedelta(days=49),
    )


@pytest.fixture
def foreign(other_account):
    """An enrolment in another account; every text of it carries the mark."""
    affiliate = AffiliateFactory(
        account=other_account,
        slug="zz-marker-affiliate",
        firstname="zz-marker",
        lastname="zz-marker",
        email="zz-marker@notes.example.org",
    )
    enrolment = EnrolmentFactory(
        account=other_account,
        program__slug="zz-marker-program",
        program__title="zz-marker",
        affiliate=affiliate,
        code="zz-marker-code",
    )
    CouponFactory(account=other_account, enrolment=enrolment, code="zz-marker-coupon")
    return enrolment


@pytest.fixture
def click(account, odette):
    """Odette's, three days old."""
    return ClickFactory(
        account=account,
        enrolment=odette,
        created_at=NOW - timedelta(days=3),
        referrer="https://notes.example.org/lamps",
        landing_page="https://shop.example.net/?ref=qv7kd2p",
        meta_data={"subid1": "newsletter-12"},
    )


@pytest.fixture
def pair(account, odette):
    """The asset of Harbor's program with Odette's source."""
    return {
        "asset_id": str(account.assets.get(program=odette.program)),
        "source_id": str(account.sources.get(affiliate=odette.affiliate)),
    }


@pytest.fixture
def locked(account):
    """The account takes no tracking."""
    account.locked_at = NOW
    account.save()
    return account
