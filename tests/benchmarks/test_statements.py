"""The bare statements of the benchmark store and find what the API does."""

import pytest
from django.db import connection

from benchmarks.answers import REPRESENTATIONS, represent_conversions
from benchmarks.api import get_expected_rows
from benchmarks.growth_data import create_filled_account, settle_account
from benchmarks.load import bind_names
from benchmarks.operations import OPERATIONS, STATEMENTS, build_values
from benchmarks.scenario import create_scenario
from tests.conftest import ApiClient
from tests.ledger_checks import assert_ledger_consistent

pytestmark = pytest.mark.django_db
WRITES = [name for name, operation in OPERATIONS.items() if operation.is_write]
BARE_WRITES = [name for name in WRITES if name in STATEMENTS["postgresql"]]


@pytest.fixture
def filled_account():
    return create_filled_account("filled", conversion_count=30, affiliate_count=2)


@pytest.fixture
def scenario(filled_account, monkeypatch):
    monkeypatch.setattr("benchmarks.scenario.KEY_COUNT", 1)
    monkeypatch.setattr("benchmarks.scenario.PROSPECT_COUNT", 2)
    return create_scenario(filled_account)


def execute(scenario, name, number=0):
    """Run the first statement of a read, all of a write; return the last rows."""
    operation = OPERATIONS[name]
    values = build_values(connection.vendor, operation, scenario, number, "z-")
    statements = bind_names(STATEMENTS[connection.vendor][name], "%({})s")
    with connection.cursor() as cursor:
        for statement in statements if operation.is_write else statements[:1]:
            cursor.execute(statement, values)
            rows = cursor.fetchall()
    return rows


def find_stored(name):
    sql = OPERATIONS[name].stored_sql.format(pattern="%(pattern)s")
    with connection.cursor() as cursor:
        cursor.execute(sql, {"pattern": "z-%"})
        return tuple(map(int, cursor.fetchone()))


@pytest.mark.parametrize("name", BARE_WRITES)
def test_bare_statements_store_the_rows_that_are_counted(scenario, name):
    for number in range(3):
        execute(scenario, name, number)

    assert find_stored(name) == get_expected_rows(OPERATIONS[name], 3)


@pytest.mark.parametrize("name", WRITES)
def test_requests_store_the_rows_that_are_counted(scenario, name):
    operation, api = OPERATIONS[name], ApiClient(scenario.keys[0])

    for number in range(3):
        body = operation.build_body(scenario, number, f"z-{number}")
        assert api.post(operation.path, body).status_code == 200

    assert find_stored(name) == get_expected_rows(operation, 3)


def test_bare_page_has_the_rows_of_the_api(scenario):
    rows = execute(scenario, "GET conversions")
    found = [row["id"] for row in represent_conversions(rows, [])]

    answer = ApiClient(scenario.keys[0]).get("/conversions/").json()
    assert found == [row["id"] for row in answer]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("GET customer", OPERATIONS["GET customer"].path),
        ("GET prospects", OPERATIONS["GET prospects"].path),
    ],
)
def test_bare_read_has_the_rows_of_the_api(scenario, name, path):
    found = REPRESENTATIONS[name](execute(scenario, name))

    path = path.format(customer=scenario.customer_ids[0])
    answer = ApiClient(scenario.keys[0]).get(path).json()
    answers = answer if isinstance(answer, list) else [answer]
    assert [row["id"] for row in found] == [row["id"] for row in answers]


def test_copied_rows_are_consistent_with_the_ledger(filled_account):
    assert filled_account.conversions.count() == 30
    assert filled_account.commissions.filter(status="approved").exists()
    assert_ledger_consistent(filled_account)


def test_settled_account_is_consistent_with_the_ledger(filled_account):
    settle_account(filled_account)

    assert not filled_account.commissions.filter(status="pending").exists()
    assert_ledger_consistent(filled_account)


def test_request_has_one_key_and_the_length_of_its_body(scenario):
    request = OPERATIONS["POST clicks"].build_request(scenario, 0, "z-")

    head, _, body = request.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /1.6/clicks/ HTTP/1.1\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert head.count(scenario.keys[0].encode()) == 1
