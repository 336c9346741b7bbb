"""Erasing a person: docs/privacy.md.

The texts of the person contain `MARK`; afterwards no table may have it. What else the
database holds stays the same to the byte.
"""

import json
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.apps import apps
from django.utils import timezone

from accounts.services.notifications import NO_MAIL_BACKEND
from accounts.services.saved_views import create_saved_view
from accounts.services.staff import create_staff_user
from accounts.services.webhooks import create_webhook
from payouts.errors import PaymentsUnanswered, PersonNotFound
from payouts.services.corrections import correct_conversion
from payouts.services.erasure import erase_again, erase_person
from payouts.services.explanation import explain_conversion
from payouts.services.payments import cancel_payment
from payouts.services.payout_methods import set_payout_method
from payouts.services.refunds import refund_conversion
from payouts.services.statistics import load_statistics
from tests.conftest import NOW
from tests.ledger_checks import (
    assert_ledger_consistent,
    assert_unchanged,
    snapshot_account,
)
from tests.payout_scenario import Paid, create_run
from tests.program_scenario import ProgramScenario
from tests.record_of_processing import list_recorded_columns
from tests.stored_texts import find_marked_columns
from tracking.models.affiliates import ADDRESS_COLUMNS
from tracking.services.affiliates import get_affiliate
from tracking.services.custom_fields import create_custom_field
from tracking.services.failed_page_calls import record_failed_page_call
from tracking.services.mails import MailResult, claim_mail, record_mail_result
from tracking.services.meta_data import set_meta_data_key
from tracking.services.notes import create_note
from tracking.services.portal_access import delete_expired_portal_rows
from tracking.services.postbacks import create_postback

MARK = "zzperson"
EMAIL = f"{MARK}@notes.example.org"
IP = "203.0.113.77"
ADDRESS: dict[str, Any] = dict.fromkeys(ADDRESS_COLUMNS, MARK) | {"country": {"code": "SI"}}
PERSON = {
    "firstname": MARK,
    "lastname": MARK,
    "email": EMAIL,
    "address": ADDRESS,
    "company": {"name": MARK, "description": MARK},
    "meta_data": {f"{MARK}-key": MARK},
    "custom_fields": {"hobby": MARK},
}
# What the test cannot mark: codes, hashes, what is gone within a day, and documents,
# which are encrypted and kept.
NOT_MARKED = {
    ("tracking.Affiliate", "password"),
    ("tracking.Affiliate", "country"),
    ("tracking.Prospect", "country"),
    ("tracking.Click", "dedup_key"),
    ("tracking.FormerIdDigest", "digest"),
    ("payouts.PayoutMethod", "blind_index"),
    ("payouts.Document", "supplier"),
    ("accounts.RateWindow", "subject"),
    ("tracking.TableUpload", "content"),
    ("tracking.TableUpload", "settings"),
}


def send(api, method, path, body=None, **headers):
    response = api.request(method, path, body, **headers)
    assert response.status_code in (200, 204), response.content
    return response.json() if response.content else None


def read_statistics(account):
    at = timezone.now()
    days = [at.date() - timedelta(days=1), at.date()]
    return load_statistics(account, days, at=at).totals_by_day(days)


def fill_payout_line(account, slug):
    run = account.payout_runs.create(public_id="pr_1", due_before=NOW, created_by="x")
    account.payout_lines.create(
        run=run,
        affiliate=account.affiliates.get(slug=slug),
        currency="EUR",
        amount=1,
        receiver={"name": MARK},
        note=MARK,
        bank_reason=MARK,
        bank_reference=f"NOTPROVIDED {MARK}",
    )
    account.withheld_balances.create(
        affiliate=account.affiliates.get(slug=slug),
        currency="EUR",
        reason=MARK,
        created_by="staff 1",
    )


def fill_risk_case(account, slug):
    affiliate = account.affiliates.get(slug=slug)
    account.risk_cases.create(rule="fast_sale", affiliate=affiliate, note=MARK)
    account.alerts.create(watch="large_share", affiliate=affiliate, note=MARK)
    account.scenarios.create(
        first_day=NOW,
        last_day=NOW,
        title=f"Group of {slug}",
        changes=json.dumps({"groups": {slug: None}}),
        result=json.dumps({"affiliates": [{"affiliate": slug}]}),
    )


def fill_mail(account, slug):
    affiliate = account.affiliates.get(slug=slug)
    affiliate.update_row(bounced_email=MARK)
    account.mails.create(
        affiliate=affiliate,
        kind="payment",
        about="pa_1",
        recipient=EMAIL,
        subject=MARK,
        text=MARK,
        error=MARK,
    )


def fill_portal(account, slug):
    own = {"affiliate": account.affiliates.get(slug=slug), "token_hash": MARK}
    account.portal_sessions.create(**own, expires_at=NOW)
    account.pruned_click_counts.create(
        affiliate=own["affiliate"],
        program=account.programs.first(),
        quarter=NOW,
        landing_page="https://shop.example.net/",
        referrer_host=f"{MARK}.example",
        sub_id=MARK,
        clicks=1,
    )
    account.portal_second_factors.create(
        affiliate=own["affiliate"], secret=MARK, recovery_codes=[MARK]
    )
    account.table_imports.create(
        public_id="ti_1",
        kind="affiliates",
        file_name=f"{MARK}.csv",
        actor="staff 1",
        settings={"answers": {f"value:status:{MARK}": "leave_out"}},
    )
    account.table_uploads.create(
        kind="affiliates", system="", file_name=f"{MARK}.csv", content="", settings={}
    )
    for kind, key in (("affiliate", MARK), ("note", f"{MARK}/1")):
        account.imported_objects.create(
            source="table ti_1",
            kind=kind,
            source_id=key,
            local_id=own["affiliate"].pk,
            fingerprint="",
        )
    used = dict.fromkeys(("first_used_at", "last_used_at"), NOW)
    account.portal_addresses.create(affiliate=own["affiliate"], digest=MARK, **used)
    links = {"purpose": "enter_email", "new_email": EMAIL}
    account.portal_links.create(**own, **links, expires_at=NOW)
    account.portal_applications.create(
        program=account.programs.first(),
        email=EMAIL,
        email_folded=EMAIL,
        data={"firstname": MARK},
        token_hash=MARK,
        address_digest=MARK,
        expires_at=NOW,
    )


def ask(account, slug):
    account.questions.create(
        public_id="qu_1",
        affiliate=account.affiliates.get(slug=slug),
        order_id=MARK,
        day=NOW.date(),
        text=MARK,
        answer=MARK,
    )


def fill_shop(account, conversion_id):
    """An order of the person in a shop, and what its events say."""
    shop = account.connections.create(public_id="cn_1", kind="stripe", name="Shop")
    account.shop_customers.create(
        connection=shop, key=EMAIL, facts={"email": {"at": "", "email": EMAIL}}
    )
    referral = {"at": "", "values": [MARK], "coupons": [MARK]}
    sale = {"customer": EMAIL, "attributes": {"name": MARK}, "referral": referral}
    order = account.shop_orders.create(
        connection=shop,
        customer_key=EMAIL,
        facts={"sale": sale},
        conversion_id=conversion_id,
        label=f"order {EMAIL}",
        name=EMAIL,
    )
    account.shop_references.create(connection=shop, order=order, reference=EMAIL)
    event = {"connection": shop, "occurred_at": NOW, "kind": "invoice.paid"}
    account.shop_events.create(
        **event, key=f"evt_{EMAIL}", order=order, customer_key=EMAIL, body=MARK
    )
    account.shop_events.create(**event, key="evt_2", body=f'{{"mail": "{EMAIL}"}}')


class MarkedPerson:
    """An affiliate who was a prospect, and a customer with the same address."""

    def __init__(self, account, api, scenario):
        self.account, self.api, self.scenario = account, api, scenario
        account.customer_email_keys = ["mail"]
        account.save()
        create_custom_field(account, slug="hobby", title="Hobby", type="text", at=NOW)
        scenario.create_level(2, "1")
        create_webhook(account, url="https://hooks.example.org/", events=[], at=NOW)
        account.refresh_from_db()

    def fill(self):
        """Store the person in every personal column."""
        api, account, scenario = self.api, self.account, self.scenario
        prospect = send(api, "POST", "/affiliate-prospects/", PERSON)
        self.prospect = prospect["id"]
        code = account.referral_codes.get(prospect__public_id=self.prospect)
        customer = send(
            api,
            "POST",
            "/customers/",
            {"customer_id": "somebody-else", "referral_code": code.code},
        )
        self.slug = customer["affiliate"]["id"]
        affiliate = f"/affiliates/{self.slug}/"
        send(api, "PUT", f"{affiliate}payout-methods/paypal/", {"account": EMAIL})
        send(
            api,
            "POST",
            f"{affiliate}notes/",
            {"note": MARK},
            **{"Idempotency-Key": "note"},
        )
        send(
            api,
            "PATCH",
            f"/programs/{scenario.program.slug}/affiliates/{self.slug}/",
            {"coupon": f"{MARK}10", "referral_code": f"{MARK}-ref"},
        )
        enrollment = account.enrollments.get(affiliate__slug=self.slug)
        account.referral_code_aliases.create(enrollment=enrollment, code=f"{MARK}-2019")
        create_postback(
            account,
            affiliate_id=self.slug,
            url=f"https://{MARK}.example/?c=${{conversion.id}}",
            method="GET",
            events=[],
            at=NOW,
        )
        send(api, "PUT", "/affiliates/minakessler/parent/", {"affiliate_id": self.slug})
        self.add_sales()
        self.add_texts()

    def add_sales(self):
        """Let the person buy through Mina, and earn from another customer."""
        api, account, scenario = self.api, self.account, self.scenario
        click = scenario.create_click(at=NOW)
        click.update_row(
            ip=IP,
            user_agent=MARK,
            referrer=f"https://{MARK}.example/",
            landing_page=f"https://shop.example.net/?mail={EMAIL}#top",
            sub_id=MARK,
            meta_data={"subid1": MARK},
            dedup_key=f"{MARK}-dedup",
        )
        account.visitors.create(tracking_id=f"{MARK}-visitor", click=click)
        body = {
            "customer_id": EMAIL,
            "coupon": scenario.mina.coupon,
            "tracking_id": f"{MARK}-visitor",
            "meta_data": {"mail": EMAIL},
            "ip": IP,
            "user_agent": MARK,
        }
        self.customer = send(api, "POST", "/customers/", body, **{"Idempotency-Key": "customer"})[
            "id"
        ]
        sale = {
            "external_id": f"{EMAIL}-0",
            "amount": 100,
            "customer_id": EMAIL,
            "referral_code": f"{MARK}-unknown",
            "click_id": str(click),
            "meta_data": {"name": MARK},
            "ip": IP,
            "user_agent": MARK,
        }
        self.sale = send(api, "POST", "/conversions/", sale, **{"Idempotency-Key": "sale"})
        renamed = {"external_id": f"{EMAIL}-1"}
        send(api, "PATCH", f"/conversions/{self.sale['id']}/", renamed)
        commission = self.sale["commissions"][0]["id"]
        send(api, "PATCH", f"/commissions/{commission}/", {"comment": MARK})
        own = {"external_id": "order-2", "amount": 100, "coupon": f"{MARK}10"}
        self.own_sale = send(api, "POST", "/conversions/", own)
        own_commission = self.own_sale["commissions"][0]["id"]
        send(api, "PUT", f"/commissions/{own_commission}/approved/")
        payment = {"affiliate_id": self.slug, "amount": 4, "currency": "EUR"}
        send(api, "POST", "/payments/", payment)
        send(api, "POST", "/payments/", payment | {"amount": 1})
        correct_conversion(
            account,
            conversion_id=self.own_sale["id"],
            changes={},
            should_recalculate=False,
            reason=MARK,
            at=NOW,
        )
        refund_conversion(
            account,
            conversion_id=self.sale["id"],
            amount=Decimal(1),
            external_id=f"{EMAIL}-refund",
            reason=MARK,
            at=NOW,
        )
        method = account.payout_methods.filter(affiliate__slug=self.slug)
        method.update(on_hold_reason=MARK)
        fill_payout_line(account, self.slug)
        fill_risk_case(account, self.slug)
        affiliate = account.affiliates.get(slug=self.slug)
        numbers = dict.fromkeys(("vat_id", "tax_number", "legal_name"), MARK)
        tax_data = {"is_business": True, "country": "US"} | numbers
        account.tax_data.create(affiliate=affiliate, **tax_data)
        fill_mail(account, self.slug)
        fill_portal(account, self.slug)
        ask(account, self.slug)
        fill_shop(account, self.sale["id"])
        canceled = account.payments.get(amount=1).public_id
        cancel_payment(account, payment_id=canceled, reason=MARK, at=NOW)
        # As a parent that is not approved, it is skipped by Mina's commissions.
        enrollment = f"/programs/{scenario.program.slug}/affiliates/{self.slug}/"
        send(api, "DELETE", f"{enrollment}approved/")
        loser = {"external_id": "order-3", "amount": 5}
        loser |= {"coupon": scenario.mina.coupon, "referral_code": f"{MARK}-ref"}
        self.other_sale = send(api, "POST", "/conversions/", loser)
        conversion = account.conversions.get(pk=self.sale["id"])
        record = account.attribution_records.filter(conversion=conversion).latest("id")
        account.conversion_claims.create(
            conversion=conversion,
            tracking_id=f"{MARK}-visitor",
            program=conversion.program,
            affiliate=conversion.affiliate,
            click=click,
            amount=Decimal(100),
            currency="EUR",
            line_items=[{"sub_amount": "100", "comment": MARK}],
            attribution={
                "engine": record.engine,
                "inputs": record.inputs,
                "outcome": record.outcome,
            },
        )

    def add_texts(self):
        """Repeat the person in what other tables quote."""
        account = self.account
        response = self.api.post(
            "/conversions/",
            {"external_id": f"{EMAIL}-9", "amount": 1, "customer_id": f"{EMAIL}x"},
        )
        assert response.status_code == 400
        record_failed_page_call(
            account,
            reason="invalid_amount",
            page="",
            order_id=f"{EMAIL}-9",
            amount=MARK,
            at=NOW,
        )
        staff, _ = create_staff_user(
            account, email="zoe@example.org", role="owner", password=None, at=NOW
        )
        for name, query in ((MARK, f"q={EMAIL}"), ("Kept", "q=kept&status=new")):
            create_saved_view(
                account,
                user=staff,
                list_label="tracking.affiliate",
                name=name,
                query=query,
                at=NOW,
            )
        first = account.deliveries.order_by("pk").first()
        first.update_row(due_at=None, response_body=EMAIL, error=EMAIL, url=EMAIL)


@pytest.fixture
def scenario(account):
    return ProgramScenario(account)


@pytest.fixture
def person(account, api, scenario):
    marked = MarkedPerson(account, api, scenario)
    marked.fill()
    return marked


def list_personal_columns():
    return {
        (column.table, column.name)
        for column in list_recorded_columns()
        if column.people != ("staff",)
    }


def read_money(account):
    """All transfers, and payments without what is erased."""
    payments = account.payments.order_by("id").defer("cancel_reason", "payout_details")
    columns = [name for name in vars(payments[0]) if not name.startswith("_")]
    return snapshot_account(account)["Transfer"], list(payments.values_list(*columns))


def get_table(label):
    return apps.get_model(label)._meta.db_table


def test_erases_every_personal_column(account, other_account, api, person):
    """By e-mail address: the affiliate, its prospect and the customer."""
    ProgramScenario(other_account, prefix="zz-marker-").create_conversion("10")
    marked = find_marked_columns(MARK, IP)
    expected = {(get_table(table), name) for table, name in list_personal_columns() - NOT_MARKED}
    assert expected - marked == set(), "the test does not fill these columns"
    foreign = snapshot_account(other_account)
    statistics = read_statistics(account)
    money = read_money(account)

    erasure = erase_person(account, identifier=EMAIL.upper(), at=NOW)

    mail = {("tracking_mail", "recipient"), ("tracking_mail", "text")}
    assert find_marked_columns(MARK, IP) == mail
    record_mail_result(claim_mail(account, due_before=NOW), MailResult(), at=NOW)
    assert find_marked_columns(MARK, IP) == set()
    erased_id = f"erased-{account.affiliates.get(deleted_at__isnull=False).pk}"
    assert erasure.ids == [erased_id, person.prospect, person.customer]
    assert erasure.balances == {erased_id: {"EUR": Decimal(6)}}
    assert erasure.row_count > 0
    assert snapshot_account(other_account) == foreign
    assert read_money(account) == money
    today = max(statistics)  # a removed customer is not counted
    statistics[today] = replace(statistics[today], customers=1)
    assert read_statistics(account) == statistics
    assert account.saved_views.get().name == "Kept"
    assert_ledger_consistent(account, other_account)
    for conversion in account.conversions.all():
        explanation = explain_conversion(account, conversion_id=conversion.pk)
        assert explanation.differences == []


@pytest.mark.parametrize("kind", ["slug", "prospect", "customer"])
def test_a_second_time_changes_nothing(account, person, kind):
    erasure = erase_person(account, identifier=getattr(person, kind), at=NOW)
    account.deliveries.filter(due_at=None).delete()

    with assert_unchanged(account):
        for identifier in erasure.ids:
            again = erase_person(account, identifier=identifier, at=NOW)
            assert (again.row_count, set(again.ids)) == (0, set(erasure.ids))


def pay_by_run(account, state, slug="minakessler"):
    run = create_run(account, Paid("1", slug=slug))
    account.payout_lines.filter(run=run).update(state=state)
    return run


@pytest.mark.parametrize("kind", ["slug", "email", "prospect"])
def test_waits_for_the_answers_of_banks(account, other_account, person, kind):
    run = pay_by_run(account, "unknown", slug=person.slug)
    foreign = ProgramScenario(other_account, prefix="zz-marker-", email=EMAIL)
    pay_by_run(other_account, "unknown", slug=foreign.mina.slug)
    identifier = EMAIL if kind == "email" else getattr(person, kind)

    with (
        assert_unchanged(account),
        pytest.raises(PaymentsUnanswered, match=f"about payments of {run}. Import"),
    ):
        erase_person(account, identifier=identifier, at=NOW)

    account.payout_lines.update(state="settled")
    assert erase_person(account, identifier=identifier, at=NOW).row_count > 0
    assert account.payout_lines.get(run=run).receiver == {}


@pytest.mark.parametrize("state", ["settled", "returned", "canceled", "included"])
def test_waits_for_no_other_payment(account, scenario, state):
    pay_by_run(account, state)
    scenario.create_customer("anna@example.org")
    assert erase_person(account, identifier="minakessler", at=NOW).row_count > 0


def test_who_is_erased_already_is_erased_again(account, scenario):
    """Of an earlier release; the nightly repetition must not fail."""
    pk = scenario.mina.affiliate.pk
    erase_person(account, identifier="minakessler", at=NOW)
    pay_by_run(account, "unknown", slug=f"erased-{pk}")
    assert erase_again(account, at=NOW, dry_run=False) == 1  # its line


def test_erases_the_affiliate_that_a_prospect_became(account, person):
    erasure = erase_person(account, identifier=person.prospect, at=NOW)

    affiliate = account.affiliates.get(deleted_at__isnull=False)
    assert erasure.ids == [f"erased-{affiliate.pk}", person.prospect]
    assert (affiliate.firstname, affiliate.email) == ("Erased", None)
    assert affiliate.deleted_at == NOW
    customer = account.customers.get(public_id=person.customer)
    assert customer.customer_id == EMAIL
    kinds = list(account.audit_log.order_by("pk").values_list("kind", flat=True))
    assert {"affiliate.deleted", "affiliate_prospect.deleted"} <= set(kinds)
    assert kinds[-2:] == ["affiliate.erased", "affiliate_prospect.erased"]


def test_finds_an_erased_affiliate_in_a_backup_by_its_new_id(account, person):
    """The list of erasures names nobody, and works after a restore."""
    pk = get_affiliate(account, person.slug).pk

    assert erase_person(account, identifier=f"erased-{pk}", at=NOW).row_count > 0
    assert not account.affiliates.filter(slug=person.slug).exists()
    assert not account.mails.exists()  # the person had one


@pytest.mark.parametrize("error", ["", "no such mailbox"])
def test_confirms_it_by_a_mail_that_leaves_no_address(account, scenario, error):
    affiliate = scenario.mina.affiliate
    own = {"email": EMAIL, "email_folded": EMAIL, "language": "de"}
    affiliate.update_row(**own)

    erase_person(account, identifier=affiliate.slug, at=NOW)

    mail = claim_mail(account, due_before=NOW)
    assert mail is not None
    assert (mail.kind, mail.affiliate, mail.recipient) == ("erasure", None, EMAIL)
    assert mail.subject == f"Ihre Daten bei {account.name} sind entfernt"
    assert mail.text.startswith(f"Guten Tag Mina,\n\n{account.name} hat die Daten")
    record_mail_result(mail, MailResult(error), at=NOW)
    mail = mail.reload()
    assert (mail.recipient, mail.text, mail.due_at) == ("", "", None)


def test_an_address_waits_for_a_mail_for_a_day_at_most(account, scenario):
    scenario.mina.affiliate.update_row(email=EMAIL, email_folded=EMAIL)
    erase_person(account, identifier=scenario.mina.slug, at=NOW)
    for hours, count in ((23, 0), (24, 1)):
        at = NOW + timedelta(hours=hours)
        found = delete_expired_portal_rows(account, at=at, dry_run=False)
        assert found == count


@pytest.mark.parametrize("reason", ["no mail server", "bounced", "no address"])
def test_mails_nobody_who_cannot_be_reached(account, scenario, settings, reason):
    email = None if reason == "no address" else EMAIL
    bounced = EMAIL if reason == "bounced" else None
    scenario.mina.affiliate.update_row(email=email, email_folded=email, bounced_email=bounced)
    if reason == "no mail server":
        settings.EMAIL_BACKEND = NO_MAIL_BACKEND
    erase_person(account, identifier=scenario.mina.slug, at=NOW)
    assert not account.mails.exists()


@pytest.mark.parametrize(
    "identifier", ["nobody", "cu_0", "ap_0", "a@b.example", "erased-0", "erased-999999"]
)
def test_refuses_unknown_people(account, other_account, identifier):
    ProgramScenario(other_account, email="a@b.example")

    with pytest.raises(PersonNotFound, match=identifier):
        erase_person(account, identifier=identifier, at=NOW)


def test_webhooks_that_wait_are_sent_with_the_erased_data(account, person):
    """No event gets lost; what was sent before is deleted."""
    waiting = set(account.deliveries.exclude(due_at=None).values_list("pk", flat=True))
    postbacks = account.webhook_endpoints.postbacks()
    own = set(account.deliveries.filter(endpoint__in=postbacks).values_list("pk", flat=True))

    erase_person(account, identifier=EMAIL, at=NOW)

    rows = {row.pk: row for row in account.deliveries.select_related("event")}
    assert waiting - own <= set(rows)
    (removal,) = [row for row in rows.values() if row.event.kind == "customer.deleted"]
    body = json.loads(bytes(removal.body))
    assert (body["id"], body["customer_id"]) == (person.customer, "")
    assert not account.webhook_endpoints.postbacks().exists()


def test_an_order_number_stays_so_that_no_order_counts_twice(account, scenario, api):
    scenario.create_customer("anna")
    for external_id in ("order-1", "anna@example.org-2"):
        sale = scenario.create_conversion(
            "10", customer_id="anna", external_id=f"{external_id}-old"
        )
        api.patch(f"/conversions/{sale.pk}/", {"external_id": external_id})

    customer = account.customers.get().public_id
    erase_person(account, identifier=customer, at=NOW)

    conversions = account.conversions.order_by("pk")
    assert [row.external_id for row in conversions] == ["order-1", None]
    assert account.former_external_ids.get().external_id == "order-1-old"
    body = {"external_id": "order-1", "amount": 10, "coupon": scenario.mina.coupon}
    assert api.post("/conversions/", body).status_code == 400


def test_nothing_is_written_about_an_erased_affiliate(account, scenario):
    """By requests that read it before: they wait for the lock, and then refuse."""
    affiliate = get_affiliate(account, "minakessler")
    erase_person(account, identifier="minakessler", at=NOW)

    rows = account.affiliates.not_deleted().filter(pk=affiliate.pk)
    for write in (
        lambda: create_note(account, affiliate=affiliate, text=MARK, at=NOW),
        lambda: set_payout_method(
            account,
            affiliate_id=affiliate.slug,
            kind="paypal",
            details={"account": MARK},
            is_primary=True,
            at=NOW,
        ),
        lambda: set_meta_data_key(
            account,
            rows,
            PersonNotFound(account="", person=""),
            key="k",
            value=MARK,
            at=NOW,
        ),
    ):
        with pytest.raises(Exception, match=r"(?i)affiliate"):
            write()
    assert find_marked_columns(MARK) == set()


@pytest.mark.parametrize("dry_run", [True, False])
def test_erases_again_what_a_concurrent_sale_has_stored(account, scenario, dry_run):
    """It read the affiliate before the erasure, and wrote its record afterwards."""
    sale = scenario.create_conversion("10", customer_id="anna")
    records = account.attribution_records.all()
    before = {row.pk: (row.inputs, row.outcome) for row in records}
    erase_person(account, identifier="minakessler", at=NOW)
    for pk, (inputs, outcome) in before.items():
        records.filter(pk=pk).update(inputs=inputs, outcome=outcome)
    assert explain_conversion(account, conversion_id=sale.pk).differences != []
    stored = snapshot_account(account)

    assert erase_again(account, at=NOW + timedelta(days=1), dry_run=dry_run) > 0

    assert (snapshot_account(account) == stored) is dry_run
    if not dry_run:
        assert explain_conversion(account, conversion_id=sale.pk).differences == []
        assert find_marked_columns("minakessler") == set()
        assert erase_again(account, at=NOW, dry_run=False) == 0
    assert erase_again(account, at=NOW + timedelta(days=3), dry_run=False) == 0


def test_an_error_erases_nothing(account, person, monkeypatch):
    before = snapshot_account(account)

    def fail(*args, **kwargs):
        raise RuntimeError

    monkeypatch.setattr("payouts.services.erasure.delete_saved_views", fail)
    with pytest.raises(RuntimeError):
        erase_person(account, identifier=EMAIL, at=NOW + timedelta(days=1))

    assert snapshot_account(account) == before
