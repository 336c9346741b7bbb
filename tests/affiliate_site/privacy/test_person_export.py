"""`export_person` and `erase_person`: docs/privacy.md."""

import json
import sys
from datetime import date
from decimal import Decimal
from types import SimpleNamespace

import pytest

from payouts.services.corrections import correct_conversion
from payouts.services.payments import cancel_payment
from payouts.services.refunds import refund_conversion
from tests.command_line import run_command, run_failing_command, run_json_command
from tests.conftest import NOW
from tests.ledger_checks import assert_unchanged
from tests.portal_links import create_portal_link
from tests.program_scenario import ProgramScenario
from tracking.services.mails import queue_mail
from tracking.services.notes import create_note
from tracking.services.portal_addresses import record_address
from tracking.services.portal_applications import ApplicationData, send_application
from tracking.services.portal_settings import update_portal_settings
from tracking.services.portal_terms import accept_terms
from tracking.services.questions import QuestionData, ask_question

EMAIL = "mina@notes.example.org"


@pytest.fixture
def scenario(account):
    scenario = ProgramScenario(account)
    create_note(account, affiliate=scenario.mina.affiliate, text="Met in Oulu", at=NOW)
    account.payout_methods.create(
        affiliate=scenario.mina.affiliate, kind="paypal", details={"account": EMAIL}
    )
    return scenario


def test_exports_an_affiliate(account, scenario, api):
    sale = scenario.create_conversion("10")
    commission = scenario.get_commission(sale)
    scenario.approve(commission, at=NOW)
    payment = scenario.pay(1, at=NOW)
    reason = f"Sent to {EMAIL} instead"
    cancel_payment(account, payment_id=payment.public_id, reason=reason, at=NOW)
    for kind, text in (("payment", "Hello Mina"), ("portal_link", "a secret link")):
        queue_mail(
            scenario.mina.affiliate,
            kind=kind,
            about=payment.public_id,
            subject="You were paid",
            text=text,
            at=NOW,
        )

    record_address(scenario.mina.affiliate, "192.88.99.7", at=NOW)
    create_portal_link(scenario.mina.affiliate, purpose="sign_in", at=NOW)
    data = QuestionData("order-1", date(2026, 3, 4), "nothing", "Where is it?")
    ask_question(scenario.mina.affiliate, data=data, at=NOW)
    settings = {"is_on": True, "is_open": True, "terms": "Be fair."}
    update_portal_settings(account, changes=settings, at=NOW)
    accept_terms(scenario.mina.affiliate, version=1, at=NOW)
    send_application(
        account,
        program_slug=scenario.program.slug,
        data=ApplicationData(email=EMAIL.upper(), firstname="Mina", lastname="K"),
        language="en",
        terms_version=1,
        at=NOW,
    )

    (affiliate,) = run_json_command("export_person", "harbor", EMAIL)["affiliates"]

    assert affiliate["portal_sessions"] == []
    (address,) = affiliate["portal_addresses"]
    used_at = address["first_used_at"]
    assert address == {"opened_account": False, "first_used_at": used_at, "last_used_at": used_at}
    (question,) = affiliate["questions"]
    assert question == {
        "order_id": "order-1",
        "day": "2026-03-04",
        "answer_given": "nothing",
        "text": "Where is it?",
        "state": "open",
        "created_at": question["created_at"],
        "answered_at": None,
        "answer": "",
    }
    assert [link["purpose"] for link in affiliate["portal_links"]] == ["sign_in"]
    (terms,) = affiliate["accepted_terms"]
    assert (terms["version"], terms["text"]) == (1, "Be fair.")
    (application,) = affiliate["portal_applications"]
    assert application["email"] == EMAIL.upper()
    by_api = api.get("/affiliates/minakessler/").json()
    assert affiliate | by_api == affiliate
    assert affiliate["payout_methods"][0]["details"] == {"account": EMAIL}
    assert [note["note"] for note in affiliate["notes"]] == ["Met in Oulu"]
    (program,) = affiliate["programs"]
    assert program["program"] == scenario.reference
    assert program["coupon"] == scenario.mina.coupon
    assert set(program) == {
        "program",
        "coupon",
        "approved",
        "applied_at",
        "referral_link",
    }
    assert affiliate["commissions"] == [api.get(f"/commissions/{commission.pk}/").json()]
    (shown,) = affiliate["payments"]
    assert (shown["id"], shown["cancel_reason"]) == (payment.public_id, reason)
    (mail,) = affiliate["mails"]
    assert (mail["recipient"], mail["text"]) == (EMAIL, "Hello Mina")
    assert affiliate["events"][0]["kind"] == "affiliate.created"


def test_exports_a_customer_with_visitor_data(account, scenario, api):
    click = scenario.create_click()
    click.update_row(ip="203.0.113.7", user_agent="Harbor/1")
    account.visitors.create(tracking_id="t" * 32, click=click)
    customer = scenario.create_customer(EMAIL, click_id=str(click))
    sale = scenario.create_conversion("10", customer_id=EMAIL, external_id="order-1")
    sale.update_row(ip="203.0.113.8")
    api.patch(f"/conversions/{sale.pk}/", {"external_id": "INV-1"})

    result = run_json_command("export_person", "harbor", EMAIL)

    assert len(result["affiliates"]) == 1
    (found,) = result["customers"]
    by_api = api.get(f"/customers/{customer}/").json()
    assert found | by_api == found
    assert found["tracking_ids"] == ["t" * 32]
    assert found["former_external_ids"] == ["order-1"]
    (conversion,) = found["conversions"]
    assert conversion == api.get(f"/conversions/{sale.pk}/").json() | {
        "ip": "203.0.113.8",
        "user_agent": None,
    }
    (visit,) = found["clicks"]
    assert (visit["ip"], visit["user_agent"]) == ("203.0.113.7", "Harbor/1")


def test_exports_why_a_sale_was_refunded_and_corrected(account, scenario):
    """To the customer and to the affiliate, whom the reasons may name."""
    scenario.create_customer(EMAIL)
    sale = scenario.create_conversion("10", customer_id=EMAIL)
    refund_conversion(
        account,
        conversion_id=sale.pk,
        amount=Decimal(4),
        external_id="refund-1",
        reason="Broken.",
        at=NOW,
    )
    correct_conversion(
        account,
        conversion_id=sale.pk,
        changes={},
        should_recalculate=False,
        reason="Checked.",
        at=NOW,
    )

    result = run_json_command("export_person", "harbor", EMAIL)

    for (person,) in (result["affiliates"], result["customers"]):
        (refund,), (correction,) = person["refunds"], person["corrections"]
        assert (refund["external_id"], refund["reason"]) == ("refund-1", "Broken.")
        assert correction["reason"] == "Checked."


def test_exports_removed_prospects(account, scenario, api):
    body = {"firstname": "Pia", "lastname": "Lang", "email": "pia@notes.example.org"}
    prospect = api.post("/affiliate-prospects/", body).json()
    api.delete(f"/affiliate-prospects/{prospect['id']}/")

    result = json.loads(run_command("export_person", "harbor", prospect["id"]))

    assert result["affiliates"] == result["customers"] == []
    (found,) = result["prospects"]
    assert (found["email"], found["meta_data"]) == (body["email"], {})
    assert found["removed_at"] is not None


def test_erases_by_command(account, scenario):
    scenario.create_conversion("10")
    account.commissions.update(comment="late")

    result = run_json_command("erase_person", "harbor", EMAIL, "--yes")

    erased = account.affiliates.get()
    assert result["ids"] == [erased.slug] == [f"erased-{erased.pk}"]
    assert result["account"] == "harbor"
    assert result["rows"] > 0
    text = run_command("erase_person", "harbor", erased.slug, "--yes")
    assert f"Erased: {erased.slug}\nRows: 0\n" in text
    (found,) = run_json_command("export_person", "harbor", erased.slug)["affiliates"]
    assert "Kessler" not in str(found)
    assert EMAIL not in str(found)


def test_erases_nothing_unasked(account, scenario, monkeypatch):
    with assert_unchanged(account):
        assert "--yes" in run_failing_command("erase_person", "harbor", EMAIL)
        planned = run_json_command("erase_person", "harbor", EMAIL, "--dry-run")
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
        monkeypatch.setattr("builtins.input", lambda text: "no")
        text = run_failing_command("erase_person", "harbor", EMAIL)
    assert (planned["dry_run"], text) == (True, "Nothing was erased.")

    monkeypatch.setattr("builtins.input", lambda text: "yes")
    done = run_json_command("erase_person", "harbor", EMAIL)
    assert (done["dry_run"], done["rows"]) == (False, planned["rows"])


def test_says_what_is_still_due(account, scenario):
    commission = scenario.get_commission(scenario.create_conversion("100"))
    scenario.approve(commission, at=NOW)

    text = run_command("erase_person", "harbor", EMAIL, "--yes")

    slug = account.affiliates.get().slug
    assert f"Balance due to {slug}: 10 EUR" in text


@pytest.mark.parametrize("command", ["export_person", "erase_person"])
def test_names_who_is_not_found(account, scenario, command):
    options = ["--yes"] if command == "erase_person" else []
    assert "'nobody'" in run_failing_command(command, "harbor", "nobody", *options)
