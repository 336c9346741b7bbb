"""The exports of our own lists can be read back."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.services.staff import create_staff_user
from affiliate_site.moving.tables.files import read_table
from payouts.services.ledger import get_payable_balances_by_slug
from tests.affiliate_site.moving.tables.building import NOW, build, store
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import assert_ledger_consistent, snapshot_account
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario
from tracking.services.hierarchy import create_group, set_group

pytestmark = pytest.mark.django_db

# In the order in which they are read: the kind, the list, and what has no column.
LISTS = (
    ("affiliates", "tracking_affiliate", {}),
    ("affiliates", "tracking_enrollment", {}),
    ("customers", "tracking_customer", {}),
    ("conversions", "tracking_conversion", {}),
)


@pytest.fixture
def source(scenario):
    """An account with a group, sales of every status, and texts like formulas."""
    account = scenario.account
    odette = scenario.create_enrolled_affiliate(
        "=Odette", "Varga", email="odette@notes.example.org"
    )
    scenario.create_enrolled_affiliate("Nils", "Berg", approved=None)
    group = create_group(account, title="+Gold;=1", at=CONVERSION_CREATED_AT)
    set_group(
        account,
        affiliate_id=odette.slug,
        group_id=group.public_id,
        at=CONVERSION_CREATED_AT,
    )
    for number, status in enumerate(("pending", "approved", "disapproved") * 2):
        conversion = scenario.create_conversion(
            f"{100 + number}.17",
            affiliate=odette if number % 2 else scenario.mina,
            external_id=f"=order-{number}" if number else None,
            customer_id=f"member-{number % 3}" if number != 4 else None,
            at=CONVERSION_CREATED_AT + timedelta(hours=number),
        )
        if status != "pending":
            for row in account.commissions.filter(conversion=conversion):
                scenario.set_status(row, status, at=CONVERSION_CREATED_AT)
    return account


def export(account, page, kind="export"):
    """The bytes of an export of a list."""
    user, _ = create_staff_user(
        account,
        email=f"{timezone.now().timestamp()}@staff.example.org",
        role=Role.OWNER,
        password="correct horse battery",
        at=timezone.now(),
    )
    client = Client()
    client.force_login(user)
    response = client.get(reverse(f"admin:{page}_{kind}"))
    assert response.status_code == 200
    return response.getvalue()


@pytest.mark.parametrize("file", ["export", "export_xlsx"])
def test_find_everything_known_in_its_own_account(source, file):
    tables = [(kind, export(source, page, file)) for kind, page, _ in LISTS]
    payments = export(source, "payouts_payment", file)
    before = snapshot_account(source)
    at = timezone.now()
    for kind, data in tables:
        report = build(source, kind, data, at=at).store()
        assert [each.serialize() for each in report.problems] == []
        assert report.counts["created"] == 0
        assert report.counts["known"] > 0
    assert snapshot_account(source) == before
    assert payments


@pytest.mark.parametrize("file", ["export", "export_xlsx"])
def test_store_the_same_in_another_account(source, scenario, file):
    account = AccountFactory(slug="copy")
    other = ProgramScenario(account, email="other@notes.example.org")
    account.affiliates.filter(pk=other.mina.affiliate.pk).update(slug="someone")
    at = timezone.now()
    for kind, page, defaults in LISTS:
        store(account, kind, export(source, page, file), at=at, defaults=defaults)
    odette = account.affiliates.get(email="odette@notes.example.org")
    assert odette.firstname == "=Odette"
    assert odette.group.title == "+Gold;=1"
    sales = [
        list(
            each.conversions.order_by("created_at").values_list(
                "external_id",
                "amount",
                "affiliate__slug",
                "customer__customer_id",
                "created_at",
            )
        )
        for each in (source, account)
    ]
    if file == "export":  # which has whole seconds, like these sales
        assert sales[0] == sales[1]
    assert len(sales[1]) == 6
    assert get_payable_balances_by_slug(account) == get_payable_balances_by_slug(source)
    assert_ledger_consistent(account)


@pytest.mark.parametrize("file", ["export", "export_xlsx"])
def test_read_payments(source, scenario, file):
    scenario.pay("5.25", at=NOW)
    data = export(source, "payouts_payment", file)
    at = timezone.now()
    assert build(source, "payments", data, at=at).store().counts["known"] == 1

    account = AccountFactory(slug="copy")
    other = ProgramScenario(account)
    assert other.mina.slug == scenario.mina.slug
    report = build(account, "payments", data, at=at).store()
    assert report.counts["created"] == 1, report.problems
    payment = account.payments.get()
    assert (payment.amount, payment.currency) == (source.payments.get().amount, "EUR")
    assert payment.public_id == source.payments.get().public_id
    assert_ledger_consistent(account)


def test_name_columns_that_are_not_read(source):
    data = export(source, "tracking_affiliate")
    report = build(source, "affiliates", data).preview()
    assert "Clicks, 30 days" in report.notes[-1]
    assert read_table(data, "x.csv").encoding == "utf-8-sig"
