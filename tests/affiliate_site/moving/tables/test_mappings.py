"""The columns of a file are found; other systems name them in their own way."""

import pytest

from affiliate_site.moving.tables.kinds import KINDS
from affiliate_site.moving.tables.mappings import SYSTEMS, guess_mapping
from tests.affiliate_site.moving.tables.building import store
from tests.ledger_checks import assert_ledger_consistent

TABLES = [(name, kind) for name, system in SYSTEMS.items() for kind in system.headers]
VALUES = {
    "id": "Ab_1",
    "email": "kim@notes.example.org",
    "firstname": "Kim",
    "lastname": "Okafor",
    "code": "kim-1",
    "coupon": "KIM10",
    "company": "Okafor Ltd",
    "group": "Gold",
    "payout_email": "kim@pay.example.org",
    "program": "harbor-lamp-partners",
    "customer_id": "member-1",
    "external_id": "sale-1",
    "amount": "100.50",
    "currency": "EUR",
    "commission": "10.05",
    "commission_type": "standard",
    "created_at": "2026-03-04 09:15:00",
}
DEFAULTS = {
    "affiliates": {"program": "harbor-lamp-partners"},
    "customers": {"program": "harbor-lamp-partners"},
    "conversions": {"program": "harbor-lamp-partners", "currency": "EUR"},
    "payments": {},
}


def write(system, kind, **values):
    """A file with all headers that the mapping knows, and a row."""
    headers = system.headers[kind]
    cells = [(VALUES | values).get(name, "") for name in headers]
    return f"{','.join(headers.values())}\n{','.join(cells)}\n"


@pytest.mark.parametrize(("name", "kind"), TABLES)
def test_name_only_columns_of_ours(name, kind):
    columns = KINDS[kind].by_name
    assert set(SYSTEMS[name].headers[kind]) <= columns.keys()
    assert set(SYSTEMS[name].defaults.get(kind, {})) <= columns.keys()


@pytest.mark.django_db
@pytest.mark.parametrize("name", SYSTEMS)
def test_read_the_tables_of_another_system(name, scenario):
    system, account = SYSTEMS[name], scenario.account
    store(
        account,
        "affiliates",
        write(system, "affiliates", affiliate=""),
        system=system,
        defaults=DEFAULTS["affiliates"] | system.defaults.get("affiliates", {}),
    )
    kim = account.affiliates.get(email="kim@notes.example.org")
    assert (kim.firstname, kim.lastname) == ("Kim", "Okafor")
    for kind in [each for each in system.headers if each != "affiliates"]:
        is_by_id = "id" in system.headers[kind].get("affiliate", "").casefold()
        is_by_key = "key" in system.headers[kind].get("affiliate", "")
        person = "Ab_1" if is_by_id or is_by_key else "kim@notes.example.org"
        status = {"customers": "paying", "conversions": "approved"}.get(kind, "")
        text = write(system, kind, affiliate=person, status=status)
        store(account, kind, text, system=system, defaults=DEFAULTS[kind])
    if "conversions" in system.headers:
        commission = account.commissions.get()
        assert (commission.affiliate, commission.status) == (kim, "approved")
    assert_ledger_consistent(account)


def test_leave_out_what_is_not_proven():
    """Nobody has shown us a real export yet; docs/moving-in.md says so."""
    assert [name for name, system in SYSTEMS.items() if system.is_proven] == []


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_find_our_own_columns_by_name_and_label(kind):
    for header in ("name", "label"):
        headers = [getattr(column, header).upper() for column in kind.columns]
        found = guess_mapping(kind, headers)
        expected = {column.name: getattr(column, header).upper() for column in kind.columns}
        assert found == expected


def test_use_each_header_once():
    kind = KINDS["conversions"]
    header = ["Customer", "Customer ID", "Amount", "Amount: currency", "Currency"]
    assert guess_mapping(kind, header) == {
        "customer_id": "Customer ID",
        "amount": "Amount",
        "currency": "Currency",
    }
    prefixed = guess_mapping(KINDS["affiliates"], ["Meta: Source", "custom:Size"])
    assert prefixed == {"meta:Source": "Meta: Source", "custom:Size": "custom:Size"}


@pytest.mark.parametrize(
    ("kind", "header", "names"),
    [
        (
            "affiliates",
            "Vorname;Nachname;E-Mail;Straße;PLZ;Ort;Gutschein;IBAN",
            "firstname lastname email address postal_code city coupon payout_iban",
        ),
        (
            "affiliates",
            "Prénom;Nom;Courriel;Société",
            "firstname lastname email company",
        ),
        (
            "conversions",
            "Bestellnummer;Partner;Betrag;Währung;Provision;Datum",
            "external_id affiliate amount currency commission created_at",
        ),
        (
            "conversions",
            "Pedido;Afiliado;Importe;Moneda;Comisión;Fecha",
            "external_id affiliate amount currency commission created_at",
        ),
        ("conversions", "E-Mail;Code;Betrag", "amount"),  # of the customer
        ("payments", "E-Mail;Betrag;Bezahlt am", "affiliate amount created_at"),
        ("opening_balances", "Code;Saldo;Währung", "affiliate amount currency"),
    ],
)
def test_know_headers_in_other_languages(kind, header, names):
    headers = header.split(";")
    mapping = guess_mapping(KINDS[kind], headers)
    found = sorted(mapping, key=lambda name: headers.index(mapping[name]))
    assert found == names.split()
