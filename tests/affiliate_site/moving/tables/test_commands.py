"""The commands import_table and undo_table_import."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from tests.command_line import run_command, run_failing_command, run_json_command

pytestmark = pytest.mark.django_db

FILE = """Order;Affiliate;Amount;Currency;Date
order-1;mina@notes.example.org;1.234;EUR;01/02/2026
order-2;nobody;2,50;EUR;01/02/2026
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sales.csv"
    path.write_text(FILE)
    return str(path)


def run_with_faults(*arguments):
    """Run a command that ends with exit code 1 after its output."""
    out = io.StringIO()
    with pytest.raises(SystemExit) as error:
        call_command(*arguments, stdout=out)
    assert error.value.code == 1
    return out.getvalue()


def test_ask_how_numbers_and_dates_are_written(scenario, file):
    program = scenario.program.slug
    arguments = (scenario.account.slug, "conversions", file, "--program", program)
    out = run_with_faults("import_table", *arguments, "--dry-run")
    assert "--decimal is needed: '1.234' in Amount can be comma = 1234" in out
    assert "--dates is needed: '01/02/2026' in Date can be day/month/year = 2026-02-01" in out
    message = run_failing_command("import_table", *arguments)
    assert message == "Say first how the file writes decimal, dates"


def test_say_row_and_column_of_what_is_wrong(scenario, file):
    account, program = scenario.account, scenario.program.slug
    arguments = (
        *(account.slug, "conversions", file, "--program", program),
        *("--decimal", "comma", "--dates", "day/month/year"),
    )
    out = run_with_faults("import_table", *arguments)
    assert "Nothing was stored." in out
    assert "3    Affiliate  No affiliate has the ID, e-mail address or code nobody" in out
    assert not account.conversions.exists()

    out = run_with_faults("import_table", *arguments, "--only-good", "--json")
    result = json.loads(out)
    assert result["counts"] == {"created": 1, "known": 0, "not_stored": 1}
    (problem,) = result["problems"]
    assert (problem["row"], problem["column"]) == (3, "Affiliate")
    assert account.conversions.get().amount == 1234


def test_print_a_template_that_can_be_read(account, tmp_path):
    text = run_command("import_table", account.slug, "affiliates", "--template")
    path = tmp_path / "affiliates.csv"
    path.write_text(text)
    arguments = ("import_table", account.slug, "affiliates", str(path))
    assert "This is the example of the template" in run_with_faults(*arguments)
    path.write_text(text.replace("odettevarga", "odette2"))
    names = ("program", "code", "coupon", "further_codes")
    without = [it for name in names for it in ("--column", f"{name}=")]
    result = run_json_command(*arguments, *without)
    assert result["counts"] == {"created": 1, "known": 0, "not_stored": 0}


def test_store_an_export_of_another_system_and_undo_it(scenario, tmp_path):
    account = scenario.account
    path = tmp_path / "promoters.csv"
    path.write_text(
        "cust_id,first_name,email,ref_id,paypal_email,campaign\n"
        "c_1,Kim,kim@notes.example.org,kim-1,kim@pay.example.org,x\n"
    )
    arguments = (account.slug, "affiliates", str(path), "--system", "firstpromoter")
    result = run_json_command(
        *("import_table", *arguments, "--program", scenario.program.slug),
        *("--default", "status=approved"),
    )
    assert result["columns"]["code"] == "ref_id"
    assert result["notes"] == ["Columns that are not read: campaign."]
    kim = account.affiliates.get(email="kim@notes.example.org")
    assert kim.enrollments.get().approved

    table_import = account.table_imports.get()
    assert table_import.actor == "command import_table"
    assert result["id"] == table_import.public_id
    out = run_command("undo_table_import", account.slug, table_import.public_id)
    assert out == "affiliate: 1 removed\nenrollment: 1 removed\n"
    message = run_failing_command("undo_table_import", account.slug, table_import.public_id)
    assert message == f"Import {table_import.public_id} was undone already"


def test_need_a_file_that_can_be_read(account):
    message = run_failing_command("import_table", account.slug, "payments", "/nowhere")
    assert message == "/nowhere cannot be read: No such file or directory"
    with pytest.raises(CommandError, match="Name a FILE, or --template") as error:
        call_command("import_table", account.slug, "payments")
    assert error.value.returncode == 2
