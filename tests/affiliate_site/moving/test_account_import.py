"""An account moves into an installation that has other accounts, maybe as another."""

import json
import re

import pytest
from django.db import connection
from django.db.models import BinaryField

from accounts.errors import DuplicateAccount, InvalidSlug, PlanNotFound
from accounts.models.accounts import Account
from accounts.services.webhooks import create_webhook
from affiliate_site.moving import account_import
from affiliate_site.moving.account_import import TakenByAnotherAccount
from affiliate_site.moving.account_references import IMPORTED_KINDS, SHIFTS
from affiliate_site.moving.account_tables import list_tables
from affiliate_site.moving.importing import PARTS_OF_PROGRAMS
from payouts.services.ledger_digests import check_e15_e16_digests, save_digest
from tests.affiliate_site.moving.conftest import explain_all, read, write
from tests.architecture.syntax_trees import ROOT
from tests.conftest import NOW, create_account
from tests.ledger_checks import assert_ledger_consistent, snapshot_account
from tests.moving_account import DAY, fill_account, read_balances, rolled_back
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.row_count_checks import assert_row_counts_exact

pytestmark = pytest.mark.usefixtures("db")

SUBJECT = re.compile(r"(affiliate|commission|conversion|creative|enrollment):(.+)")


@pytest.fixture
def lagoon(moved, other_account):
    """The account under another slug, after another one has taken its IDs."""
    fill_account(other_account, marker="zz-marker")
    return read(moved.file, "lagoon")


def test_balances_and_explanations_stay(moved, lagoon):
    assert read_balances(lagoon) == moved.balances
    assert len(explain_all(lagoon)) == len(moved.explanations)
    assert_ledger_consistent(lagoon)
    assert_row_counts_exact(lagoon, at=CONVERSION_CREATED_AT)


def test_other_accounts_do_not_change(moved, other_account):
    fill_account(other_account, marker="zz-marker")
    before = snapshot_account(other_account)

    read(moved.file, "lagoon")

    assert snapshot_account(other_account) == before
    assert_ledger_consistent(other_account)


def test_subjects_of_the_audit_log_exist(lagoon):
    names = {
        "affiliate": {it.log_id for it in lagoon.affiliates.all()},
        "commission": {str(it) for it in lagoon.commissions.all()},
        "conversion": {str(it) for it in lagoon.conversions.all()},
        "creative": {str(it) for it in lagoon.creatives.all()},
        "enrollment": {it.log_id for it in lagoon.enrollments.all()},
    }
    named = {
        match.groups()
        for subject in lagoon.audit_log.values_list("subject", flat=True)
        if (match := SUBJECT.fullmatch(subject))
    }
    assert {kind for kind, _ in named} >= set(names) - {"enrollment"}
    assert [(kind, name) for kind, name in named if name not in names[kind]] == []


def test_actors_and_details_name_the_new_rows(lagoon):
    owner = lagoon.staff.get(email="qq-owner@example.org")
    parent = lagoon.affiliates.get(slug="odettevarga")

    assert lagoon.audit_log.filter(actor=owner.actor_name).exists()
    assert lagoon.refunds.filter(actor=owner.actor_name).exists()
    assert lagoon.audit_log.filter(details__parent=parent.log_id).exists()
    assert not lagoon.audit_log.filter(subject="account:harbor").exists()


def test_all_else_stays_as_it_was_written(moved, lagoon, tmp_path):
    """Also the names of people in the audit log, whose rows have other IDs here."""
    write(lagoon, tmp_path / "again")
    there, here = (
        [json.loads(line) for line in path.read_text().splitlines()[1:-1]]
        for path in (moved.file, tmp_path / "again")
    )
    differing = {
        f"{before['table']}.{name}"
        for before, after in zip(there, here, strict=True)
        for name, value in before["row"].items()
        if value != after["row"][name]
    }
    references = {
        f"{label}.{name}"
        for label, table in list_tables().items()
        for name, column in table.columns.items()
        if name in SHIFTS.get(label, ()) or column.target
    }
    others = {it for it in differing - references if not it.endswith(".id")}
    assert others == {"accounts.Account.slug"}


def test_lines_of_refunds_and_orders_name_the_new_commissions(lagoon):
    order = lagoon.shop_orders.get()
    lines = [line for row in lagoon.refunds.all() for line in row.lines]
    ids = {line["commission"] for line in [*lines, *order.lines]} | set(order.suspended)

    assert order.suspended
    assert lagoon.commissions.filter(pk__in=ids).count() == len(ids)


def test_objects_of_an_earlier_import_are_the_new_rows(lagoon):
    imported = lagoon.imported_objects.get()
    assert lagoon.conversions.filter(pk=imported.local_id).exists()


def test_knows_the_kinds_of_imported_objects():
    paths = ("importing.py", "tables/storing.py")
    source = "".join((ROOT / "affiliate_site/moving" / it).read_text() for it in paths)
    kinds = re.findall(r"(?:store_list|store_rows|remember)\(\s*\"(\w+)\"", source)
    kinds += [kind for kind, _, _ in PARTS_OF_PROGRAMS]
    assert len(kinds) >= 10
    assert set(kinds) - set(IMPORTED_KINDS) == set()


def test_the_digests_of_the_installation_hold(moved, other_account):
    at = NOW + 365 * DAY
    fill_account(other_account, marker="zz-marker")
    report = check_e15_e16_digests([other_account], at=at)
    save_digest(report)

    account = read(moved.file, "lagoon")

    report = check_e15_e16_digests([other_account, account], at=at)
    assert report.discrepancies == []
    assert report.unsaved.segments["payouts_transfer"]["rows"] > 0


def test_a_dry_run_stores_nothing(moved):
    result = read(moved.file, is_dry_run=True)

    assert result.rows["tracking.Conversion"] == len(moved.explanations)
    assert result.offsets == {}
    assert not Account.objects.filter(slug="harbor").exists()


def test_a_dry_run_says_which_ids_will_change(moved, other_account):
    fill_account(other_account, marker="zz-marker")
    result = read(moved.file, "lagoon", is_dry_run=True)
    assert "tracking.Conversion" in result.offsets


def test_a_taken_slug_is_refused(moved, account):
    with pytest.raises(DuplicateAccount):
        read(moved.file)


def test_an_invalid_slug_is_refused(moved):
    with pytest.raises(InvalidSlug):
        read(moved.file, "../x")


def test_a_missing_plan_is_named(moved):
    reader = account_import.AccountFileReader(moved.file)
    reader.plan = "gold"
    with pytest.raises(PlanNotFound) as error:
        account_import.import_account_file(
            "harbor", reader, is_dry_run=True, on_rows=lambda _: None
        )
    assert "gold" in error.value.text


def test_a_key_that_another_account_has_is_refused(moved):
    read(moved.file)
    with pytest.raises(TakenByAnotherAccount) as error:
        read(moved.file, "lagoon")
    assert error.value.text == (
        f"the API key {moved.key[:12]}… belongs to account harbor of this installation:"
        " remove it there, or import into another installation"
    )
    assert Account.objects.count() == 1


def test_a_portal_takes_no_host_from_a_file(moved):
    assert '"host":' not in moved.file.read_text()
    assert read(moved.file).portal_settings.get().host is None


def test_a_failure_leaves_neither_rows_nor_images(moved, monkeypatch, creatives):
    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr(account_import.AccountFileImport, "_check_constraints", fail)
    with pytest.raises(OSError, match="disk full"):
        read(moved.file)
    assert not Account.objects.filter(slug="harbor").exists()
    assert not list(creatives.rglob("*.png"))


def test_an_account_without_rows_moves(account, tmp_path, other_account):
    create_webhook(other_account, url="https://zz-marker.example/", at=NOW)
    write(account, tmp_path / "file")
    copy = read(tmp_path / "file", "copy")
    assert (copy.name, copy.plan) == (account.name, account.plan)


# Columns with texts that were given with an ID in them: by the scenario, and links by
# the IDs of the time, which are history.
GIVEN = {
    "tracking.AttributionRecord.inputs",
    "tracking.Coupon.code",
    "tracking.SearchSuffix.suffix",
}


@pytest.mark.engine_independent
def test_texts_and_json_name_no_ids_but_those_that_are_declared(db, tmp_path):
    """The IDs of each table are in a range of their own, so that texts show them."""
    tables = list(list_tables().values())
    with rolled_back():
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM sqlite_sequence")
            cursor.executemany(
                "INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)",
                [
                    (table.model._meta.db_table, number * 10**9)
                    for number, table in enumerate(tables, 1)
                ],
            )
        account = create_account()
        fill_account(account)
        write(account, tmp_path / "file")
    found = set()
    for line in (tmp_path / "file").read_text().splitlines()[1:-1]:
        row = json.loads(line)
        table = list_tables()[row["table"]]
        for name, column in table.columns.items():
            if column.target or isinstance(column.field, BinaryField):
                continue
            for digits in re.findall(r"\d{10,12}", json.dumps(row["row"][name])):
                number, rest = divmod(int(digits), 10**9)
                if 0 < number <= len(tables) and rest < 10_000:
                    found.add(f"{table.label}.{name}")

    declared = {f"{label}.{name}" for label, columns in SHIFTS.items() for name in columns}
    assert found - GIVEN - declared == set()
    assert len(found) >= 5
