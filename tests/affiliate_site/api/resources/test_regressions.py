"""Regression tests: each test sends a request that once revealed a bug."""

import pytest

from payouts.services.commissions import approve_commission, disapprove_commission
from tests.affiliate_site.responses import list_field_errors
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario

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


@pytest.mark.parametrize(
    "path", ["/affiliates/", "/programs/harbor-lamp-partners/affiliates/"]
)
def test_trims_the_email_filter(api, scenario, path):
    response = api.get(f"{path}?email=%20MINA@notes.example.org%09")

    assert [row["id"] for row in response.json()] == ["minakessler"]


def test_uses_the_alias_when_the_field_is_empty(api, account, scenario):
    late = ProgramScenario(account, slug="late", email=None)
    response = api.post(
        f"/programs/{late.program.slug}/affiliates/",
        {"affiliate": {"id": None}, "affiliate_id": "minakessler"},
    )

    assert response.status_code == 200
    assert response.json()["id"] == "minakessler"


def test_joins_the_tables_of_an_enrollment_by_account(api, scenario, capture_queries):
    with capture_queries() as captured:
        api.get("/programs/harbor-lamp-partners/affiliates/minakessler/")

    read = captured[-1]["sql"]
    for table in ("referralcode", "coupon", "asset", "source"):
        assert f'"tracking_{table}"' in read
    # The main table in WHERE, and each of the four joined tables in ON.
    assert read.partition("FROM")[2].count('"account_id"') >= 5


def test_approval_returns_its_own_result_despite_later_changes(
    api, account, scenario, monkeypatch
):
    from affiliate_site.api.resources import enrollments

    def set_and_overwrite(account, **arguments):
        enrollment = set_approval(account, **arguments)
        account.enrollments.update(approved=False)
        return enrollment

    set_approval = enrollments.set_approval
    monkeypatch.setattr(enrollments, "set_approval", set_and_overwrite)

    response = api.put(
        "/programs/harbor-lamp-partners/affiliates/minakessler/approved/"
    )

    assert response.json()["approved"] is True


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("status=%20approved%20", "approved"),
        ("status=approved&approved=perhaps", "approved"),
        ("status=approved&approved=false", "approved"),
        ("approved=false", "disapproved"),
    ],
    ids=["trimmed", "with an invalid one", "with another", "alone"],
)
def test_ignores_approved_when_status_is_sent(api, account, scenario, query, found):
    for decide in (approve_commission, disapprove_commission):
        conversion = scenario.create_conversion()
        commission = account.commissions.get(conversion=conversion)
        decide(account, commission_id=commission.pk, at=CONVERSION_CREATED_AT)

    response = api.get(f"/commissions/?{query}")

    assert [row["status"] for row in response.json()] == [found]


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("true", "minakessler"),
        ("TRUE", "minakessler"),
        ("1", "minakessler"),
        ("0", "odettevarga"),
        ("False", "odettevarga"),
        ("pending", "ingaberg"),
        ("NULL", "ingaberg"),
    ],
)
def test_accepts_every_spelling_of_an_approval_filter(api, scenario, word, found):
    scenario.create_enrolled_affiliate("Odette", "Varga", approved=False)
    scenario.create_enrolled_affiliate("Inga", "Berg", approved=None)

    response = api.get(f"/programs/harbor-lamp-partners/affiliates/?approved={word}")

    assert [row["id"] for row in response.json()] == [found]


def test_escapes_the_query_in_the_link_header(api, scenario):
    response = api.get('/programs/?x="<a>,;next&y=%20z')

    assert response["Link"].startswith(
        "<http://testserver/1.6/programs/?x=%22%3Ca%3E,;next&y=%20z&page=1>;"
    )
