"""The browser script reads amounts as the server does."""

import json

import pytest

from tests.printed_amounts import PRINTED_AMOUNTS, REFUSED_BY_THE_SERVER

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]


def test_script_and_server_read_the_same_amounts(visitor):
    visitor.open(
        "/thanks",
        """window.fetch = () => Promise.resolve({ ok: true, status: 204 });
        window.report = function ([text, currency]) {
          return new Promise(function (done) {
            tap("conversion", "order-1", text, { customer_id: "c", currency }, done);
          }).then((error) => error && error.message);
        };""",
    )
    visitor.page.wait_for_function("() => tap.loaded")
    cases = [case[:2] for case in PRINTED_AMOUNTS] + REFUSED_BY_THE_SERVER

    errors = visitor.page.evaluate(f"Promise.all({json.dumps(cases)}.map(window.report))")

    read = dict.fromkeys(REFUSED_BY_THE_SERVER, "sent") | {
        (text, currency): value for text, currency, value in PRINTED_AMOUNTS
    }
    refused = {tuple(case) for case, error in zip(cases, errors, strict=True) if error}
    assert refused == {case for case, value in read.items() if value is None}
    assert errors[cases.index(("1.249", None))] == (
        'tap: the amount "1.249" cannot be read, print it like 1249.90'
    )


@pytest.mark.parametrize(
    ("amount", "value"),
    [
        ('"49,90"', "49.9000"),
        ('" 49.90 "', "49.9000"),
        ('"\u20ac49.90"', "49.9000"),
        ('[{sub_amount: "1.200,00"}, {sub_amount: "49,90"}]', "1249.9000"),
    ],
)
def test_stores_what_the_shop_prints(visitor, scenario, amount, value):
    visitor.visit()
    visitor.open(
        "/thanks",
        f'tap("conversion", "order-1", {amount}, '
        "function (error, result) { window.sale = [error, result]; });",
    )
    sale = visitor.page.wait_for_function("() => window.sale").json_value()

    assert sale == [None, {"external_id": "order-1"}]
    assert str(scenario.account.conversions.get().amount) == value


@pytest.mark.parametrize("amount", ['"1.249"', "NaN", "-5", '[{sub_amount: "a"}]'])
def test_tells_the_page_of_a_refused_amount(visitor, scenario, amount):
    visitor.visit()
    visitor.open(
        "/thanks",
        f'tap("conversion", "order-1", {amount}, '
        "function (error, result) { window.sale = [error.message, result]; });",
    )
    error, result = visitor.page.wait_for_function("() => window.sale").json_value()

    assert error.startswith("tap: the amount ")
    assert result is None
    assert not scenario.account.conversions.exists()
    assert scenario.account.failed_page_calls.get().last_order_id == "order-1"
