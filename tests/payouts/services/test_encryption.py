"""`rotate_encryption`, and reading with the wrong keys."""

import pytest
from cryptography.fernet import Fernet
from django.db import connection

from accounts.compiled_writes import get_insert_fields
from accounts.encryption import WrongEncryptionKey
from payouts.services.encryption import has_values_to_rotate, list_encrypted_columns
from payouts.services.payout_methods import list_equal_methods, set_payout_method
from tests.command_line import run_command, run_json_command
from tests.conftest import NOW
from tests.program_scenario import ProgramScenario

DETAILS = {"iban": "SI56 1910 0000 0123 438", "note": "ž"}
METHODS, PAYMENTS = "payouts.PayoutMethod.details", "payouts.Payment.payout_details"


def make_key() -> str:
    return Fernet.generate_key().decode()


@pytest.fixture
def scenario(account):
    return ProgramScenario(account)


@pytest.fixture
def payment(account, scenario):
    """A payment by a bank account, and another affiliate with the same account."""
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    for slug in ("minakessler", odette.affiliate.slug):
        set_payout_method(
            account,
            affiliate_id=slug,
            kind="bank",
            details=DETAILS,
            is_primary=True,
            at=NOW,
        )
    return scenario.pay(5, at=NOW)


def read_stored(table: str, column: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT {column} FROM "{table}" ORDER BY id')  # noqa: S608
        return [str(row[0]) for row in cursor.fetchall()]


def store_unencrypted(account) -> None:
    """As a release before the encryption did."""
    with connection.cursor() as cursor:
        cursor.execute('UPDATE payouts_payoutmethod SET details = \'{"iban": "SI56"}\'')
        cursor.execute('UPDATE payouts_payment SET payout_details = \'{"iban": "SI56"}\'')


def test_stores_no_account_in_the_clear(account, payment):
    stored = read_stored("payouts_payoutmethod", "details")
    stored += read_stored("payouts_payment", "payout_details")

    assert len(stored) == 3
    assert {text.strip('"')[:5] for text in stored} == {"gAAAA"}
    assert payment.reload().payout_details == DETAILS
    assert account.payout_methods.first().details == DETAILS


def test_compiled_writes_encrypt_details(account, payment):
    field = payment._meta.get_field("payout_details")
    assert get_insert_fields(type(payment), has_key=False)[field] is None

    payment.update_row(payout_details={"iban": "SI56"})

    assert read_stored("payouts_payment", "payout_details")[0].startswith(('"gAAAA', "gAAAA"))
    assert payment.reload().payout_details == {"iban": "SI56"}


def test_reads_and_encrypts_rows_from_before(account, payment):
    store_unencrypted(account)
    method = account.payout_methods.first()
    assert (method.details, payment.reload().payout_details) == (
        {"iban": "SI56"},
        {"iban": "SI56"},
    )
    assert has_values_to_rotate(1)

    columns = run_json_command("rotate_encryption")["columns"]

    assert (columns[METHODS], columns[PAYMENTS]) == (2, 1)
    assert read_stored("payouts_payment", "payout_details")[0].startswith(('"gAAAA', "gAAAA"))
    assert account.payout_methods.first().details == {"iban": "SI56"}
    assert payment.reload().payout_details == {"iban": "SI56"}


def test_rotates_to_a_new_key_and_drops_the_old_one(account, settings, payment, monkeypatch):
    monkeypatch.setattr("payouts.services.encryption.BATCH_SIZE", 1)
    old, new = settings.ENCRYPTION_KEYS[0], make_key()
    settings.ENCRYPTION_KEYS = [new, old]
    before = read_stored("payouts_payoutmethod", "details")

    planned = run_json_command("rotate_encryption", "--dry-run")
    assert read_stored("payouts_payoutmethod", "details") == before
    done = run_json_command("rotate_encryption")
    again = run_json_command("rotate_encryption")

    assert (planned["dry_run"], done["dry_run"]) == (True, False)
    assert planned["columns"] == done["columns"]
    assert (done["columns"][METHODS], done["columns"][PAYMENTS]) == (2, 1)
    assert set(again["columns"].values()) == {0}
    settings.ENCRYPTION_KEYS = [new]
    first, second = account.payout_methods.order_by("id")
    assert first.details == DETAILS
    assert list_equal_methods(account, [first]) == [second]


def test_nothing_is_left_to_encrypt_of_an_empty_list(account, payment):
    """No key encrypts what is empty, in whatever kind of column."""
    account.payout_methods.update(details=[])
    account.payments.update(payout_details={})

    assert not has_values_to_rotate(10)
    assert set(run_json_command("rotate_encryption")["columns"].values()) == {0}


def test_says_how_many_of_each_column(account, payment):
    lines = run_command("rotate_encryption").splitlines()

    names = {f"{model._meta.label}.{name}" for model, name in list_encrypted_columns()}
    assert {line.partition(":")[0] for line in lines} == names
    assert f"{METHODS}: 0" in lines


def test_refuses_a_wrong_key(account, settings, payment):
    settings.ENCRYPTION_KEYS = [make_key()]

    with pytest.raises(WrongEncryptionKey, match="add the key"):
        account.payout_methods.first()
    with pytest.raises(WrongEncryptionKey):
        payment.reload()
    for arguments in ((), ("--dry-run",)):
        with pytest.raises(WrongEncryptionKey):
            run_command("rotate_encryption", *arguments)


def test_the_ledger_is_checked_without_the_key(settings, payment):
    settings.ENCRYPTION_KEYS = [make_key()]

    assert run_json_command("check_ledger")["ok"] is True


@pytest.mark.parametrize(
    ("get_keys", "status", "expected"),
    [
        (lambda old: [old], "ok", "decrypt"),
        (lambda old: [make_key(), old], "warning", "rotate_encryption"),
        (lambda old: [make_key()], "failure", "ENCRYPTION_KEYS"),
    ],
)
def test_doctor_checks_the_keys(payment, settings, get_keys, status, expected):
    from affiliate_site.operations.doctor import check_encryption_keys

    settings.ENCRYPTION_KEYS = get_keys(settings.ENCRYPTION_KEYS[0])

    finding = check_encryption_keys(NOW)

    assert finding.status == status
    assert expected in f"{finding.detail} {finding.advice}"
