"""An account goes out into a file and comes back from it, exact to the byte."""

import gzip
import json
import re
import stat

import pytest
from django.contrib.auth.hashers import make_password

from accounts.days import A_DAY
from accounts.models.accounts import Account
from accounts.models.users import User
from affiliate_site.moving import account_files
from affiliate_site.moving.account_files import (
    AccountFileReader,
    Digests,
    InvalidAccountFile,
    serialize,
)
from affiliate_site.moving.account_tables import list_tables
from affiliate_site.moving.id_ranges import _get_last_value
from payouts.services.statistics import load_statistics
from tests.affiliate_site.moving.conftest import explain_all, read, write
from tests.conftest import create_account
from tests.ledger_checks import assert_ledger_consistent
from tests.moving_account import (
    SECRETS,
    fill_account,
    read_balances,
    read_lists,
    rolled_back,
)
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario
from tests.row_count_checks import assert_row_counts_exact
from tests.tracking.services.test_click_retention import (
    OLD,
    list_counts,
    prune,
    visit,
)

pytestmark = pytest.mark.usefixtures("db")


def change(moved, tmp_path, edit):
    """Write the lines of the file as `edit` changes them, with digests that fit."""
    lines = [json.loads(line) for line in moved.file.read_bytes().splitlines()]
    edit(lines)
    digests, path = Digests(), tmp_path / "changed.jsonl"
    with path.open("wb") as file:
        for line in lines[:-1]:
            data = line if isinstance(line, bytes) else serialize(line)
            table = line.get("table", "") if isinstance(line, dict) else ""
            digests.add(data, table)
            file.write(data)
        file.write(serialize(digests.serialize()))
    return path


def find(lines, table, number=0):
    return [line["row"] for line in lines if line.get("table") == table][number]


def get_size(lines, table):
    return next(it["ids"] for it in lines[0]["tables"] if it["table"] == table)


def assert_refused(path, reason):
    with pytest.raises(InvalidAccountFile) as error:
        read(path)
    assert reason in error.value.text
    assert "\n" not in error.value.text
    assert not Account.objects.filter(slug="harbor").exists()


def test_the_same_account_is_the_same_file(moved, tmp_path, creatives):
    account = read(moved.file)

    write(account, tmp_path / "again.jsonl")

    assert (tmp_path / "again.jsonl").read_bytes() == moved.file.read_bytes()
    assert [path.name for path in (creatives / "harbor").iterdir()] == moved.names


def test_the_api_answers_the_same(moved):
    account = read(moved.file)

    assert read_lists(moved.key) == moved.lists
    assert read_balances(account) == moved.balances
    assert explain_all(account) == moved.explanations


def test_the_ledger_and_the_counts_of_rows_are_right(moved):
    account = read(moved.file)

    assert_ledger_consistent(account)
    assert_row_counts_exact(account, at=CONVERSION_CREATED_AT)


def test_new_rows_follow_the_imported_ones(moved, make_key):
    account = read(moved.file)
    last = account.audit_log.latest("pk").pk

    make_key(account)

    assert account.audit_log.latest("pk").pk == last + 1


def test_counts_of_removed_clicks_move(tmp_path):
    with rolled_back():
        account = create_account()
        scenario = ProgramScenario(account)
        for number in range(3):
            visit(scenario, ip=f"192.0.2.{number}", page=f"https://x.example/{number}")
        assert prune(account) == 3
        counts = list_counts(account)
        write(account, tmp_path / "account.jsonl")

    account = read(tmp_path / "account.jsonl")

    assert list_counts(account) == counts
    assert account.clicks_pruned_until == OLD
    assert prune(account) == 0


def test_no_file_says_what_rows_add_up_to(tmp_path):
    """Statistics of days that are over are counted from the rows that moved."""
    at, days = CONVERSION_CREATED_AT + 5 * A_DAY, [CONVERSION_CREATED_AT.date()]
    with rolled_back():
        account = create_account()
        ProgramScenario(account).create_conversion("200")
        totals = load_statistics(account, days, at=at).totals_by_day(days)
        account.daily_stats.update(conversions=77)
        write(account, tmp_path / "account.jsonl")

    account = read(tmp_path / "account.jsonl")

    assert not account.daily_stats.exists()
    assert load_statistics(account, days, at=at).totals_by_day(days) == totals
    assert totals[days[0]].conversions == 1


def test_only_the_owner_reads_the_file_and_it_is_not_replaced(moved, account, tmp_path):
    assert stat.S_IMODE(moved.file.stat().st_mode) == 0o600
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(FileExistsError):
        write(account, tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_failed_export_leaves_no_file(account, tmp_path, monkeypatch):
    monkeypatch.setattr(account_files.Digests, "serialize", lambda it: {"x": {1, 2}})
    with pytest.raises(TypeError):
        write(account, tmp_path / "half")
    assert list(tmp_path.iterdir()) == []


def test_a_compressed_file_has_the_same_lines_and_no_time(moved, tmp_path):
    account = read(moved.file)
    write(account, tmp_path / "one.gz")
    write(account, tmp_path / "two.gz")

    packed = (tmp_path / "one.gz").read_bytes()

    assert packed == (tmp_path / "two.gz").read_bytes()
    assert gzip.decompress(packed) == moved.file.read_bytes()
    assert AccountFileReader(tmp_path / "one.gz").slug == "harbor"


def test_has_no_secrets(moved):
    text = moved.file.read_text()

    assert moved.key not in text
    assert [secret for secret in SECRETS if secret in text] == []


def test_has_bank_data_in_clear_for_the_keys_of_another_installation(moved, settings):
    assert "DE89370400440532013000" in moved.file.read_text()
    settings.ENCRYPTION_KEYS = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]

    account = read(moved.file)

    method = account.payout_methods.filter(kind="bank").first()
    assert method.details["iban"] == "DE89370400440532013000"
    assert account.payout_methods.filter(blind_index=method.blind_index).count() == 2


def test_webhooks_get_a_new_secret_and_shops_none(moved):
    account = read(moved.file)

    assert account.webhook_endpoints.get().secret.startswith("whsec_")
    assert account.connections.get().secrets == []
    assert account.connections.get().source_key == ""


def test_operators_stay_where_they_are(moved):
    account = read(moved.file)

    assert account.audit_log.get(kind="note.created", actor="operator us_1")
    assert not User.objects.filter(account=None).exists()


def test_has_nothing_of_another_account(account, other_account, tmp_path):
    fill_account(other_account, marker="zz-marker")
    fill_account(account)

    write(account, tmp_path / "file")

    assert "zz-marker" not in (tmp_path / "file").read_text()


def test_a_missing_image_is_counted(moved, creatives, tmp_path):
    account = read(moved.file)
    (creatives / "harbor" / moved.names[0]).unlink()
    assert write(account, tmp_path / "file").missing_images == 1


@pytest.mark.parametrize("share", [0, 1, 40, 99])
def test_refuses_a_truncated_file(moved, tmp_path, share):
    data = moved.file.read_bytes()
    for path, content in (
        (tmp_path / "file", data),
        (tmp_path / "file.gz", gzip.compress(data)),
    ):
        path.write_bytes(content[: len(content) * share // 100])
        with pytest.raises(InvalidAccountFile):
            read(path)
    assert not Account.objects.filter(slug="harbor").exists()


def test_refuses_a_file_that_was_changed(moved, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(moved.file.read_bytes().replace(b"Varga", b"Vargo"))
    assert_refused(path, "the digests differ: the file was changed")


def test_refuses_a_file_that_goes_on(moved, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(moved.file.read_bytes() + b"{}\n")
    assert_refused(path, "the file goes on after its last line")


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("format", "backup", "line 1: this is not the file of an account"),
        ("version", 1, "line 1: its format is 1 and not 2: another release wrote it;"),
        ("version", None, "its format is None and not 2: another release wrote it;"),
        ("tables", None, "line 1: it is incomplete"),
        ("tables", [], "table accounts.Account is missing"),
        ("account", [], "line 1: it is incomplete"),
    ],
)
def test_refuses_another_first_line(moved, tmp_path, key, value, reason):
    path = change(moved, tmp_path, lambda lines: lines[0].update({key: value}))
    assert_refused(path, reason)


def test_refuses_an_unknown_table(moved, tmp_path):
    table = {"table": "auth.Group", "columns": ["name"], "ids": [0, 0, 0]}
    path = change(moved, tmp_path, lambda lines: lines[0]["tables"].append(table))
    assert_refused(path, "table auth.Group is unknown")


def test_refuses_an_unknown_column(moved, tmp_path):
    def edit(lines):
        lines[0]["tables"][0]["columns"].append("is_free")

    path = change(moved, tmp_path, edit)
    assert_refused(path, "columns of accounts.Account differ (is_free): another release")


def test_a_host_of_a_portal_never_comes_by_a_file(moved, tmp_path):
    def edit(lines):
        find(lines, "tracking.PortalSettings")["host"] = "partners.harbor.example"

    path = change(moved, tmp_path, edit)
    assert_refused(path, "tracking.PortalSettings: columns differ: host")


@pytest.mark.parametrize("ids", [[1, 2], [1, 2, "3"], [-1, 0, 0], [1, 2**63, 2**63]])
def test_refuses_sizes_that_are_none(moved, tmp_path, ids):
    path = change(moved, tmp_path, lambda lines: lines[0]["tables"][5].update(ids=ids))
    assert_refused(path, "line 1: ")


@pytest.mark.parametrize(
    ("table", "values", "reason"),
    [
        ("accounts.User", {"is_operator": True}, "columns differ: is_operator"),
        ("accounts.User", {"is_superuser": True}, "accounts.User: "),
        ("accounts.User", {"email": None}, "accounts.User.email: a value expected"),
        ("accounts.User", {"role": "x" * 17}, "more than 16 characters"),
        ("accounts.User", {"is_active": 1}, "bool expected"),
        ("accounts.User", {"created_at": "2026-03-04"}, "its offset to UTC"),
        ("accounts.User", {"email": "\ud800"}, "accounts.User: "),
        ("payouts.Transfer", {"amount": 5}, "payouts.Transfer.amount: "),
        ("payouts.Transfer", {"amount": "5e3"}, "a decimal number as text"),
        ("payouts.Transfer", {"amount": "0.00001"}, "payouts.Transfer: "),
        ("payouts.Transfer", {"amount": "-5"}, "payouts.Transfer: "),
        ("payouts.Transfer", {"id": 1.5}, "the ID does not follow"),
        ("payouts.Transfer", {"debit": 10**9}, "the file has no such"),
        ("accounts.Delivery", {"body": "=x="}, "accounts.Delivery.body: "),
        ("tracking.Click", {"public_id": "x"}, "tracking.Click.public_id: "),
        ("tracking.AttributionRecord", {"engine": []}, "str expected"),
        ("tracking.Coupon", {"id": 0}, "the ID does not follow"),
        ("images", {"name": "../../x.png"}, "no creative has this image"),
        ("images", {"content": "PHN2Zz4="}, "images: The image must be"),
    ],
)
def test_refuses_values_that_no_export_writes(moved, tmp_path, table, values, reason, creatives):
    path = change(moved, tmp_path, lambda lines: find(lines, table).update(values))
    assert_refused(path, reason)
    assert not list(creatives.rglob("*.*"))


@pytest.mark.parametrize("is_range_wide", [False, True])
def test_refuses_rows_of_another_account(moved, tmp_path, other_account, is_range_wide):
    """A reference is to a row of the file, also where the file lies about its IDs."""
    foreign = other_account.affiliates.create(pk=10**6, slug="zz", firstname="zz", lastname="zz")

    def edit(lines):
        find(lines, "tracking.Note")["affiliate"] = foreign.pk
        if is_range_wide:
            get_size(lines, "tracking.Affiliate")[2] = foreign.pk

    path = change(moved, tmp_path, edit)
    with pytest.raises(InvalidAccountFile) as error:
        read(path)
    reason = "first line names other IDs" if is_range_wide else "tracking.Note"
    assert reason in error.value.text
    assert Account.objects.count() == 1


def test_refuses_a_reference_to_a_missing_row(moved, tmp_path):
    def edit(lines):
        rows = [line for line in lines if line.get("table") == "tracking.Affiliate"]
        gone = rows[1]["row"]["id"]
        lines.remove(rows[1])
        size = get_size(lines, "tracking.Affiliate")
        size[0] -= 1
        size[2] = max(size[2], gone)

    assert_refused(change(moved, tmp_path, edit), "tracking.")


def test_refuses_nested_brackets(moved, tmp_path):
    def edit(lines):
        lines[3] = b'{"table":"accounts.User","row":' + b"[" * 10_000 + b"\n"

    assert_refused(change(moved, tmp_path, edit), "line 4: it is not JSON")


def test_refuses_nested_brackets_in_a_text(moved, tmp_path):
    """The import replaces IDs in it when other accounts have rows."""
    text = '["claim",' + "[" * 10_000
    path = change(
        moved,
        tmp_path,
        lambda lines: find(lines, "payouts.Commission").update(calculation=text),
    )
    with pytest.raises(InvalidAccountFile) as error:
        read(path, "lagoon")
    assert "payouts.Commission: " in error.value.text


def test_refuses_a_huge_line(moved, tmp_path, monkeypatch):
    monkeypatch.setattr(account_files, "MAX_LINE_BYTES", 100_000)
    path = change(
        moved,
        tmp_path,
        lambda lines: find(lines, "tracking.Note").update(note="x" * 200_000),
    )
    assert_refused(path, "longer than 100000 bytes")


@pytest.mark.parametrize("text", [b"[]", b"null", b'{"row":NaN}', b"\xff", b"{}"])
def test_refuses_lines_that_are_no_rows(moved, tmp_path, text):
    def edit(lines):
        lines[2] = text + b"\n"

    assert_refused(change(moved, tmp_path, edit), "line 3: ")


@pytest.mark.parametrize(
    ("table", "values", "reason"),
    [
        ("accounts.Account", {"time_zone": "Mars/Base"}, "time_zone: 'Mars/Base' is"),
        ("accounts.Account", {"link_color": "}*{x:y"}, "written as #rrggbb"),
        ("accounts.Account", {"visitor_data_days": 0}, "The days of visitor data"),
        ("accounts.Account", {"click_days": 30}, "The days of clicks must be"),
        ("accounts.Account", {"created_at": "9999-12-31T00:00:00+00:00"}, "the year"),
        ("accounts.Account", {"customer_email_keys": {}}, "a JSON array expected"),
        ("accounts.Account", {"default_currency": "eu!"}, "Unknown currency"),
        ("accounts.ApiKey", {"role": "operator"}, "role: 'operator' is not one of"),
        ("accounts.User", {"role": "operator"}, "role: 'operator' is not one of"),
        ("accounts.User", {"email": "no address"}, "email: Enter a valid email"),
        ("accounts.Logo", {"media_type": "text/html"}, "not the type of the image"),
        ("accounts.Logo", {"image": "PHNjcmlwdD4="}, "The logo must be a PNG"),
        ("accounts.WebhookEndpoint", {"url": "https://127.0.0.1/"}, "is not public"),
        ("accounts.WebhookEndpoint", {"events": "all"}, "a JSON array expected"),
        ("tracking.Affiliate", {"meta_data": []}, "a JSON object expected"),
        ("tracking.Affiliate", {"firstname": "a\0"}, "a text without zero bytes"),
        ("tracking.Affiliate", {"country": "<b"}, "country: '<b'"),
        ("tracking.Asset", {"hex": "<script"[:6]}, "hex: '<scrip'"),
        ("tracking.Click", {"ip": "localhost"}, "ip: Enter a valid IPv4"),
        ("tracking.Connection", {"settings": {"shop_url": "file:///etc"}}, "https"),
        ("tracking.Creative", {"media_type": "text/html"}, "not the name of an image"),
        ("tracking.Creative", {"file_name": "../x.png"}, "not the name of an image"),
        ("tracking.ImportedObject", {"local_id": 2**60}, "is not one of the values"),
        ("tracking.PortalSettings", {"payout_day": 31}, "The day must be"),
        ("tracking.Program", {"landing_page": "javascript:x"}, "The landing page"),
        ("tracking.Program", {"cookie_time": 30_000}, "The cookie time"),
        (
            "payouts.LedgerAccount",
            {"balance": "1000000"},
            "the ledger does not balance",
        ),
        ("payouts.Transfer", {"amount": "1000000"}, "the ledger does not balance"),
        ("payouts.Payment", {"amount": "1000000"}, "the ledger does not balance"),
        ("payouts.PayoutSettings", {"payer_iban": "DE00"}, "This is not an IBAN"),
    ],
)
def test_refuses_values_that_no_form_and_no_service_stores(
    moved, tmp_path, table, values, reason, creatives
):
    sequences = read_sequences()
    path = change(moved, tmp_path, lambda lines: find(lines, table).update(values))
    assert_refused(path, reason)
    assert read_sequences() == sequences
    assert not list(creatives.rglob("*.*"))


def read_sequences():
    """The last ID of each table."""
    return {label: _get_last_value(table.model) for label, table in list_tables().items()}


def raise_ids(lines, number):
    """Raise the IDs of notes, to which no other row refers."""
    for line in lines:
        if line.get("table") == "tracking.Note":
            line["row"]["id"] += number
    size = get_size(lines, "tracking.Note")
    size[1:] = [size[1] + number, size[2] + number]


def test_refuses_ids_that_javascript_does_not_read(moved, tmp_path):
    path = change(moved, tmp_path, lambda lines: raise_ids(lines, 2**61))
    assert_refused(path, "line 1: numbers of rows and IDs")


def test_the_ids_of_a_file_do_not_use_up_those_of_all_accounts(moved, tmp_path):
    path = change(moved, tmp_path, lambda lines: raise_ids(lines, 2**39))
    note = read(path).notes.order_by("pk").first()
    assert note.pk < 10**6
    assert read_sequences()["tracking.Note"] < 10**6


@pytest.mark.parametrize(("place", "number"), [(1, -1), (2, 1), (2, 2**35)])
def test_refuses_a_range_of_ids_that_is_not_that_of_the_rows(moved, tmp_path, place, number):
    def edit(lines):
        raise_ids(lines, 10)
        get_size(lines, "tracking.Note")[place] += number

    assert_refused(change(moved, tmp_path, edit), "ID")


def test_refuses_a_file_that_unpacks_to_far_more(moved, tmp_path, monkeypatch):
    monkeypatch.setattr(account_files, "MAX_ROW_BYTES", 1024)
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(b" " * 30_000_000))
    assert_refused(path, "line 1: it unpacks to far more than its size")


@pytest.mark.parametrize("table", ["accounts.User", "tracking.Affiliate"])
def test_refuses_a_password_that_takes_all_memory(moved, tmp_path, settings, table):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    fit = make_password("right", hasher="argon2")
    huge = re.sub(r"m=\d+", "m=99999999", fit)
    path = change(moved, tmp_path, lambda it: find(it, table).update(password=huge))
    assert_refused(path, "password: the hash of a password costs more than ours")
    path = change(moved, tmp_path, lambda it: find(it, table).update(password=fit))
    assert read(path).slug == "harbor"
