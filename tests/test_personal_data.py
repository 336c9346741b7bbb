"""Rows that cannot be deleted hold no personal data: docs/reliability.md, section 8."""

import pytest

from tests.program_scenario import ProgramScenario

MARK = "zzperson"
EMAIL = f"{MARK}@notes.example.org"
MAP = {f"{MARK}-key": MARK}


@pytest.fixture
def scenario(account):
    """A program whose affiliate Mina gets a parent of which all texts are marked."""
    return ProgramScenario(account)


def send(api, method, path, body=None):
    response = api.request(method, path, body)
    assert response.status_code in (200, 204), response.content
    return response.json() if response.content else None


def make_changes(api, program):
    """Change everything that has personal data, and delete what can be deleted."""
    person = {
        "firstname": MARK,
        "lastname": MARK,
        "email": EMAIL,
        "address": {
            "address": MARK,
            "postal_code": MARK,
            "city": MARK,
            "country": {"code": "SI"},
        },
        "company": {"name": MARK},
        "meta_data": MAP,
    }
    slug = send(api, "POST", "/affiliates/", person)["id"]
    affiliate = f"/affiliates/{slug}/"
    send(
        api,
        "POST",
        f"/programs/{program}/affiliates/",
        {"affiliate": {"id": slug}, "approved": True, "coupon": MARK},
    )
    send(api, "PATCH", affiliate, {"firstname": f"{MARK}2", "email": f"2{EMAIL}"})
    send(api, "PUT", "/affiliates/minakessler/parent/", {"affiliate_id": slug})
    send(api, "PUT", f"{affiliate}payout-methods/paypal/", {"account": EMAIL})
    send(api, "PUT", f"{affiliate}meta-data/{MARK}/", {"value": MARK})
    note = send(api, "POST", f"{affiliate}notes/", {"note": MARK})["id"]
    send(api, "DELETE", f"{affiliate}notes/{note}/")
    prospect = {**person, "email": f"3{EMAIL}", "program": {"id": program}}
    send(api, "POST", "/affiliate-prospects/", prospect)
    body = {"customer_id": EMAIL, "coupon": MARK, "meta_data": MAP}
    customer = send(api, "POST", "/customers/", body)["id"]
    send(api, "PATCH", f"/customers/{customer}/", {"customer_id": f"4{EMAIL}"})
    sale = {"customer_id": f"4{EMAIL}", "amount": 10, "meta_data": MAP}
    sale |= {"external_id": MARK, "user_agent": MARK, "ip": "203.0.113.7"}
    conversion = send(api, "POST", "/conversions/", sale)
    commission = conversion["commissions"][0]["id"]
    send(api, "PATCH", f"/commissions/{commission}/", {"comment": MARK})
    send(api, "PUT", f"/commissions/{commission}/approved/")
    payment = {"affiliate_id": slug, "amount": 1, "currency": "EUR"}
    send(api, "POST", "/payments/", payment)
    send(api, "DELETE", f"/customers/{customer}/")
    send(api, "DELETE", f"/conversions/{conversion['id']}/")
    send(api, "DELETE", affiliate)


def list_texts(account, *names):
    """The rows of these tables as texts."""
    return [str(row) for name in names for row in getattr(account, name).values()]


def test_appended_rows_hold_no_personal_data(api, account, scenario):
    make_changes(api, scenario.program.slug)

    texts = list_texts(account, "audit_log", "transfers")
    assert len(texts) > 20
    assert [text for text in texts if MARK in text.lower()] == []


def test_records_and_calculations_hold_no_address(api, account, scenario):
    """They hold IDs and codes, can be changed, and need no other personal data."""
    make_changes(api, scenario.program.slug)

    texts = list_texts(account, "attribution_records")
    texts += account.commissions.values_list("calculation", flat=True)
    assert len(texts) >= 3
    assert [text for text in texts if EMAIL in text.lower()] == []
