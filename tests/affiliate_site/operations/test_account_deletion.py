"""delete_account: nothing of the account stays, nothing of others changes."""

import io
import sys
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.sessions.models import Session
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models.accounts import Account
from accounts.models.api_keys import Role
from accounts.services.staff import create_staff_user
from affiliate_site.operations import account_deletion
from affiliate_site.operations.account_deletion import (
    StillInUse,
    _order_tables,
    count_rows,
    delete_account,
)
from payouts.models.ledger import LedgerDigest
from payouts.services.reconciliation import reconcile_all, record_result
from tests.affiliate_site.backoffice.form_samples import create_rows_for_all_pages
from tests.command_line import run_command, run_failing_command, run_json_command
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import assert_unchanged, rows_of
from tests.payout_scenario import Paid, create_run

TOMORROW = timedelta(days=1)


@pytest.fixture
def samples(account, other_account, api, other_api, settings, tmp_path):
    settings.CREATIVES_DIR = tmp_path
    for each in (account, other_account):
        (tmp_path / each.slug).mkdir()
        (tmp_path / each.slug / "banner.png").write_bytes(b"pixels")
    create_rows_for_all_pages(account, api, "mine")
    create_rows_for_all_pages(other_account, other_api, "theirs")


def seal():
    at = timezone.now() + TOMORROW
    report = reconcile_all(at=at)
    assert not report.discrepancies
    record_result(report, at=at)
    return report.digest_report.head.digest


def check(expected=None):
    report = reconcile_all(at=timezone.now() + TOMORROW, expected_digest=expected)
    return [each.row for each in report.discrepancies], report


def execute(statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)


def delete(account, *options):
    return run_json_command("delete_account", account.slug, "--yes", *options)


def test_deletes_all_of_one_account_and_nothing_of_another(
    samples, account, other_account, tmp_path
):
    dry = run_json_command("delete_account", account.slug, "--dry-run", "--accept-unpaid")
    with assert_unchanged(other_account):
        result = delete(account, "--accept-unpaid")

    assert result == dry | {"dry_run": False, "rows": result["rows"]}
    assert sum(result["rows"].values()) > 200
    ended = {"accounts.ApiKey", "accounts.SigningSecret", "accounts.Invitation"}
    assert {key for key in dry["rows"] if key not in result["rows"]} <= ended | set(
        account_deletion.ENDED_AT_ONCE
    )
    assert not Account.objects.filter(pk=account.pk).exists()
    for model in _order_tables():
        if hasattr(model, "account"):
            table = model._meta.db_table
            count = f"SELECT count(*) FROM {table} WHERE account_id = %s"  # noqa: S608
            assert rows_of(count, account.pk) == [(0,)], table
    assert [each.name for each in tmp_path.iterdir()] == [other_account.slug]
    assert check()[0] == []
    message = run_failing_command("delete_account", account.slug, "--yes")
    assert message.startswith(f"Account '{account.slug}' not found")


def test_the_chain_counts_again_and_names_the_account(samples, account, other_account):
    earlier = seal()
    seal()
    printed = delete(account, "--accept-unpaid")["digest"]

    rows, report = check()
    assert rows == []
    assert LedgerDigest.objects.last().segments["deleted"] == account.slug
    assert report.digest_report.head.digest == printed
    assert check(expected=printed)[0] == []
    # Who has pinned an earlier digest learns why it is not in the chain any more.
    expected = f"expected digest, from before the deletion of {account.slug}"
    assert check(expected=earlier)[0] == [expected]
    assert check(expected="0" * 64)[0] == ["expected digest"]
    # The rows that are left are covered, and so are the links before.
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        execute("DELETE FROM payouts_transfer")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        LedgerDigest.objects.all().delete()
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        execute("UPDATE accounts_auditlogentry SET kind = 'changed'")


def test_a_second_deletion_goes_on_after_a_kill(samples, account, other_account, monkeypatch):
    seal()
    number = 0

    def die(batch):
        nonlocal number
        number += 1
        if number == 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        delete_account(account, at=timezone.now(), accepts_unpaid=True, on_rows=die)

    # What is left of it is in no check, and its triggers let it go only.
    assert account.deletions.exists()
    assert check()[0] == []
    assert "1 account(s) half deleted: harbor" in run_doctor_text()
    with assert_unchanged(other_account):
        delete(account)
    assert not Account.objects.filter(pk=account.pk).exists()
    assert check()[0] == []


def run_doctor_text():
    finding = account_deletion.check_deletions(timezone.now())
    assert "delete_account" in finding.advice
    return finding.detail


def test_ends_what_is_open(samples, account, api, monkeypatch):
    user, _ = create_staff_user(
        account,
        email="owner@example.org",
        role=Role.OWNER,
        password="a long password 4711",
        at=timezone.now(),
    )
    client = Client()
    client.force_login(user)
    assert client.get(reverse("admin:index")).status_code == 200
    monkeypatch.setattr(account_deletion, "_delete_rows", lambda *_: {})

    with pytest.raises(StillInUse):
        delete_account(account, at=timezone.now(), accepts_unpaid=True)

    assert client.get(reverse("admin:index")).status_code == 302
    assert not Session.objects.exists()
    assert api.get("/affiliates/").status_code == 401


def test_refuses_what_an_operator_would_regret(scenario, account, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    refused = run_failing_command("delete_account", account.slug)
    assert refused.startswith("Deletion cannot be undone: add --yes")
    commission = scenario.get_commission(scenario.create_conversion("200"))
    scenario.approve(commission)
    create_run(account, Paid(slug=scenario.mina.slug))
    unpaid = run_failing_command("delete_account", account.slug, "--yes")
    assert "have no answer yet" in unpaid
    assert run_failing_command("delete_account", account.slug, "--dry-run") == unpaid


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("answer", "is_gone"), [("yes", False), ("harbor", True)])
def test_asks_for_the_name(account, monkeypatch, capsys, answer, is_gone):
    monkeypatch.setattr(sys, "stdin", Terminal(f"{answer}\n"))
    if is_gone:
        run_command("delete_account", account.slug)
    else:
        message = run_failing_command("delete_account", account.slug)
        assert message == "Nothing was deleted."

    assert Account.objects.filter(slug=account.slug).exists() is not is_gone
    assert "Type harbor to delete" in capsys.readouterr().out


def test_refuses_while_the_ledger_does_not_agree(samples, account):
    account.ledger_accounts.filter(kind="payable").update(balance=1)

    message = run_failing_command("delete_account", account.slug, "--yes", "--accept-unpaid")

    assert "check_ledger finds" in message
    assert count_rows(account)


def test_indexes_what_refers_to_large_tables(committed_db, monkeypatch):
    account = AccountFactory(slug=f"large-{uuid4().hex[:12]}")
    monkeypatch.setattr(account_deletion, "MAX_ROWS_WITHOUT_INDEX", 0)
    made = []
    execute = account_deletion._execute
    monkeypatch.setattr(
        account_deletion,
        "_execute",
        lambda statement: (made.append(statement), execute(statement)),
    )
    create_staff_user(
        account,
        email="owner@example.org",
        role=Role.OWNER,
        password="a long password 4711",
        at=timezone.now(),
    )

    delete_account(account, at=timezone.now())

    created = [each for each in made if each.startswith("CREATE")]
    assert any("accounts_delivery (event_id)" in each for each in created)
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(cursor, "accounts_delivery")
    assert not any(name.startswith("of_deletion_") for name in constraints)
