"""Values that the database refuses: 400 for a filter, 500 for a defect."""

from contextlib import contextmanager

import pytest
from django.db import DataError, connection
from django.urls import reverse

from tests.affiliate_site.backoffice.money_forms import page_url

MESSAGE = "out of range: canary"
LIST = "admin:payouts_commission_changelist"


@pytest.fixture
def client(staff_client):
    client = staff_client()
    client.raise_request_exception = False
    return client


@contextmanager
def refuse(text):
    """Let the database refuse the values of statements that contain a text."""

    def execute_or_refuse(execute, sql, *arguments):
        if text in sql:
            raise DataError(MESSAGE)
        return execute(sql, *arguments)

    with connection.execute_wrapper(execute_or_refuse):
        yield


def get_line(captured_log_records):
    """The line of the last request."""
    return [it for it in captured_log_records() if it["event"] == "request"][-1]


def test_a_refused_filter_is_logged_without_its_value(client, captured_log_records):
    with refuse('"payouts_commission".'):  # of the list, not of the signed-in user
        query = {"status__exact": "pending"}
        response = client.get(reverse(LIST), query, headers={"accept": "text/html"})

    assert response.status_code == 400
    assert "Invalid filter or page" in response.content.decode()
    (line,) = (it for it in captured_log_records() if it["event"] == "filter_refused")
    assert (line["level"], line["error"]) == ("warning", "DataError")
    assert line["traceId"] == get_line(captured_log_records)["traceId"]
    assert "in execute_or_refuse" in line["traceback"]
    assert "canary" not in str(captured_log_records())


@pytest.mark.parametrize("query", ["", "?status__exact=pending"])
def test_a_post_is_no_filter(client, scenario, captured_log_records, query):
    commission = scenario.get_commission(scenario.create_conversion("100"))
    form = {
        "action": "approve_selected",
        "_selected_action": commission.pk,
        "confirmed": "yes",
        "confirmed_amounts": f"{commission.pk}:10/pending",
    }

    for url in (page_url(commission, "approve"), reverse(LIST)):
        with refuse('UPDATE "payouts_commission"'):
            response = client.post(url + query, form)

        assert response.status_code == 500
        line = get_line(captured_log_records)
        assert line["level"] == "error"
        assert "DataError: out of range" in line["exception"]


def test_a_page_without_a_query_has_no_filter(client, captured_log_records):
    with refuse('"payouts_commission"'):
        assert client.get(reverse(LIST)).status_code == 500

    assert "DataError" in get_line(captured_log_records)["exception"]
