"""Regression tests: each test sends a request that once revealed a bug."""

import pytest

from tests.affiliate_site.responses import list_field_errors

pytestmark = pytest.mark.usefixtures("shared_scenario")


AN_OBJECT = "This value should be of type object."


def test_reports_errors_of_body_and_query_at_once(api, scenario):
    response = api.post(
        "/customers/?override_max_cookie_time=perhaps",
        {"customer_id": "a", "coupon": scenario.mina.coupon, "meta_data": ["a"]},
    )

    assert list_field_errors(response) == [
        ("meta_data", AN_OBJECT),
        ("override_max_cookie_time", "This value should be true or false."),
    ]


def test_joins_the_tables_of_an_enrollment_by_account(api, scenario, capture_queries):
    with capture_queries() as captured:
        api.get("/programs/harbor-lamp-partners/affiliates/minakessler/")

    read = captured[-1]["sql"]
    for table in ("referralcode", "coupon", "asset", "source"):
        assert f'"tracking_{table}"' in read
    # The main table in WHERE, and each of the four joined tables in ON.
    assert read.partition("FROM")[2].count('"account_id"') >= 5


def test_approval_returns_its_own_result_despite_later_changes(api, account, scenario, monkeypatch):
    from affiliate_site.api.resources import enrollments

    def set_and_overwrite(account, **arguments):
        enrollment = set_approval(account, **arguments)
        account.enrollments.update(approved=False)
        return enrollment

    set_approval = enrollments.set_approval
    monkeypatch.setattr(enrollments, "set_approval", set_and_overwrite)

    response = api.put("/programs/harbor-lamp-partners/affiliates/minakessler/approved/")

    assert response.json()["approved"] is True
