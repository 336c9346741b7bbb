"""An account comes over from another server of the API 1.6, to the cent."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import httpx
import pytest
from django.test import Client

from accounts.models.api_keys import Role
from accounts.services.api_keys import create_api_key
from accounts.services.webhooks import create_webhook
from affiliate_site.closing_files import render_closing_csv
from affiliate_site.management.commands.import_account import format_report
from affiliate_site.moving.balances import compare_balances
from affiliate_site.moving.importing import AccountImport
from affiliate_site.moving.source import SourceServer
from payouts.services.bonuses import grant_bonuses
from payouts.services.bookkeeping import get_period_closings
from payouts.services.conversion_updates import restore_conversion
from payouts.services.explanation import explain_conversion
from payouts.services.imported_sales import import_payment
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payments import cancel_payment
from payouts.services.payout_methods import set_payout_method
from payouts.statistics import get_month
from tests.closed_months import CLOSED_AT, close
from tests.conftest import NOW, ApiClient
from tests.document_scenario import bill
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import assert_ledger_consistent, snapshot_account
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario
from tracking.services.customers import cancel_customer
from tracking.services.hierarchy import create_group, set_group
from tracking.services.notes import create_note

pytestmark = pytest.mark.django_db

LATER = datetime(2026, 9, 1, 12, tzinfo=UTC)
LISTS = (
    "programs/",
    "affiliate-groups/",
    "affiliates/",
    "affiliate-prospects/",
    "customers/",
    "conversions/",
    "commissions/",
    "payments/",
    "balances/",
)


def answer(request):
    """The answer of this service, on the connection of the test."""
    response = Client().get(
        request.url.raw_path.decode(),
        headers={"X-Api-Key": request.headers["X-Api-Key"]},
    )
    return httpx.Response(response.status_code, headers=response.headers, content=response.content)


def read_pages(api, path):
    """All rows of a list, newest first."""
    if path == "balances/":
        return api.get(f"/{path}").json()
    rows, page = [], 1
    while found := api.get(f"/{path}?page={page}").json():
        rows += found
        page += 1
    return rows


def forget_numbers(value):
    """Without what must differ: numbers of rows, of links, and clicks."""
    if isinstance(value, list):
        return [forget_numbers(each) for each in value]
    if not isinstance(value, dict):
        return value
    dropped = {"asset_id", "source_id", "click", "affiliate_meta_data"}
    return {
        name: forget_numbers(each)
        for name, each in value.items()
        if name not in dropped and not (name == "id" and isinstance(each, int))
    }


@pytest.fixture
def source_account(scenario):
    """Levels, a bonus, coupons, every status, refunds and payments."""
    account = scenario.account
    group = create_group(account, title="Gold", at=CONVERSION_CREATED_AT)
    scenario.create_group_rate(group, "12.5")
    scenario.create_commission_type("flat", "2.5", kind="fixed")
    odette = scenario.create_enrolled_affiliate("Odette", "Varga", email="odette@notes.example.org")
    nils = scenario.create_enrolled_affiliate("Nils", "Berg", approved=None)
    scenario.add_child(scenario.mina, odette)
    scenario.create_level(2, "3")
    set_group(
        account,
        affiliate_id=odette.slug,
        group_id=group.public_id,
        at=CONVERSION_CREATED_AT,
    )
    create_note(
        account,
        affiliate=odette.affiliate,
        text="Met at the fair",
        at=CONVERSION_CREATED_AT,
    )
    set_payout_method(
        account,
        affiliate_id=scenario.mina.slug,
        kind="paypal",
        details={"account": "mina@notes.example.org"},
        is_primary=True,
        at=CONVERSION_CREATED_AT,
    )
    scenario.create_bonus(goal=2, value=5)
    for number in range(30):
        at = CONVERSION_CREATED_AT + timedelta(hours=7 * number)
        earner = scenario.mina if number % 3 else odette
        conversion = scenario.create_conversion(
            f"{100 + number}.17",
            ("30", "flat") if number % 4 == 0 else "20",
            affiliate=earner,
            customer_id=f"member-{number % 7}",
            external_id=f"order-{number}",
            meta_data={"number": str(number)},
            at=at,
        )
        for row in account.commissions.filter(conversion=conversion):
            if number % 5 != 4:
                scenario.set_status(row, "disapproved" if number % 5 == 3 else "approved", at=at)
        if number % 6 == 5:
            scenario.change_amount(conversion, "77.7", at=at)
    scenario.pay("25.5", at=CONVERSION_CREATED_AT + timedelta(days=20))
    scenario.pay("7", to=odette.slug, at=CONVERSION_CREATED_AT + timedelta(days=21))
    grant_bonuses(account, at=datetime(2026, 4, 2, tzinfo=UTC))
    assert nils.slug
    return account


@pytest.fixture
def make_import(source_account):
    key = create_api_key(source_account, name="", role=Role.VIEWER, at=LATER)[1]

    def make(account, **options):
        waits = []
        source = SourceServer(
            "http://testserver/1.6",
            key,
            wait=waits.append,
            transport=httpx.MockTransport(answer),
        )
        return AccountImport(account, source, LATER, **options)

    return make


@pytest.fixture
def target(db):
    return AccountFactory(slug="moved", plan__name="enterprise")


def test_every_list_answers_the_same(source_account, target, make_import, make_key):
    moving = make_import(target)
    report = moving.run()
    assert report.problems == []
    there, here = (ApiClient(make_key(each)) for each in (source_account, target))
    for path in LISTS:
        assert forget_numbers(read_pages(here, path)) == forget_numbers(read_pages(there, path)), (
            path
        )
    assert compare_balances(target, moving.source) == []
    assert get_payable_balances_by_slug(target) == get_payable_balances_by_slug(source_account)
    assert_ledger_consistent(target)


def test_a_second_run_writes_nothing(target, make_import):
    make_import(target).run()
    before = snapshot_account(target)
    report = make_import(target).run()
    assert report.created == {}
    assert snapshot_account(target) == before


def test_a_dry_run_reports_the_same_and_writes_nothing(target, make_import):
    before = snapshot_account(target)
    dry = make_import(target, is_dry_run=True).run()
    assert snapshot_account(target) == before
    assert dry.created == make_import(target).run().created


@pytest.mark.parametrize("is_dry_run", [True, False])
def test_says_what_is_added_to_a_month_with_a_document(
    source_account, scenario, target, make_import, is_dry_run
):
    """Documents are never imported: this one was made here, before the next sale."""
    make_import(target).run()
    payment = target.payments.filter(affiliate__slug="minakessler").earliest("pk")
    bill(payment, date(2026, 3, 1), date(2026, 3, 31))
    sale = scenario.create_conversion("100", at=CONVERSION_CREATED_AT)
    scenario.set_status(sale.commissions.get(kind="regular"), "approved")

    report = make_import(target, is_mirror=True, is_dry_run=is_dry_run).run()

    (note,) = [it for it in report.notes if it["code"] == "already_billed"]
    assert note == {
        "kind": "affiliate",
        "id": "minakessler",
        "code": "already_billed",
        "path": "2026-03",
        "value": "Documents were issued for these months already: minakessler 2026-03"
        " (1). What is added there is not in them.",
    }
    assert note["value"] in format_report(
        vars(report) | {"differences": [], "switched_at": None}, is_dry_run=is_dry_run
    )


def test_says_that_the_source_decided(target, make_import):
    make_import(target).run()
    conversion = target.conversions.first()
    explanation = explain_conversion(target, conversion_id=conversion.pk)
    assert explanation.attribution["winner"]["parameter"] == "import"
    assert explanation.differences == []


def test_publishes_no_webhook_and_no_mail(target, make_import):
    create_webhook(target, url="https://hooks.example.org/", at=NOW)
    make_import(type(target).objects.get(pk=target.pk)).run()
    assert not target.deliveries.exists()
    assert not target.mails.exists()


def test_goes_on_where_a_run_was_stopped(target, source_account, make_import):
    class Stopped(Exception):
        pass

    for stop_at in (1, 3, 5, 7, 9):
        moving = make_import(target)
        count = 0

        def stop(kind, number, total, stop_at=stop_at):
            nonlocal count
            count += 1
            if count == stop_at:
                raise Stopped

        moving.on_progress = stop
        with pytest.raises(Stopped):
            moving.run()
    make_import(target).run()
    assert target.conversions.count() == source_account.conversions.count()
    assert target.commissions.count() == source_account.commissions.count()
    assert get_payable_balances_by_slug(target) == get_payable_balances_by_slug(source_account)
    assert_ledger_consistent(target)


def test_lists_what_cannot_be_stored(target, scenario, make_import):
    other = ProgramScenario(target, slug="other")
    other.create_conversion("1", external_id="order-3")
    report = make_import(target).run()
    (problem,) = [each for each in report.problems if each["kind"] == "conversion"]
    assert problem["code"] == "duplicate_external_id"
    assert problem["value"] == "order-3"
    assert report.left_out["conversion"] == 1


def test_amounts_are_not_calculated_again(target, make_import):
    target_total = Decimal(0)
    make_import(target).run()
    for row in target.commissions.filter(conversion__isnull=False):
        target_total += row.amount
    assert target_total > 0


def change_much(scenario):
    """Decisions, refunds, payments, new sales, meta data, a removed sale."""
    account, at = scenario.account, LATER - timedelta(hours=1)
    rows = list(account.commissions.filter(conversion__isnull=False).order_by("id"))
    for number, row in enumerate(rows):
        if row.payment_id is None and number % 3 == 0:
            status = "approved" if row.status == "pending" else "disapproved"
            scenario.set_status(row, status, at=at)
    conversions = list(account.conversions.order_by("id"))
    scenario.change_amount(conversions[1], "12.34", at=at)
    scenario.delete(conversions[2], at=at)
    account.conversions.filter(pk=conversions[4].pk).update(meta_data={"new": "yes"})
    scenario.create_conversion("50", external_id="order-new", at=at)
    payment = account.payments.order_by("id").first()
    cancel_payment(account, payment_id=payment.public_id, at=at)
    scenario.pay("3", at=at)
    customer = account.customers.order_by("id").first()
    cancel_customer(account, public_id=customer.public_id, at=at)


def test_a_mirror_takes_over_what_changed(source_account, scenario, target, make_import, make_key):
    make_import(target).run()
    change_much(scenario)
    moving = make_import(target, is_mirror=True)
    report = moving.run()
    assert report.problems == []
    there, here = (ApiClient(make_key(each)) for each in (source_account, target))
    for path in LISTS:
        assert forget_numbers(read_pages(here, path)) == forget_numbers(read_pages(there, path)), (
            path
        )
    assert compare_balances(target, moving.source) == []
    assert_ledger_consistent(target)
    again = make_import(target, is_mirror=True).run()
    assert (again.created, again.updated, again.removed) == ({}, {}, {})


def test_a_source_that_lost_its_sales_ends_none_here(source_account, target, make_import):
    make_import(target).run()
    count = target.conversions.not_deleted().count()
    source_account.conversions.update(deleted_at=LATER)
    report = make_import(target, is_mirror=True).run()
    problems = [each for each in report.problems if each["code"] == "too_many_gone"]
    assert [(it["kind"], it["value"]) for it in problems] == [("conversion", f"{count} of {count}")]
    assert target.conversions.not_deleted().count() == count


def test_a_sale_that_comes_back_has_its_commissions(source_account, scenario, target, make_import):
    make_import(target).run()
    sale = source_account.conversions.order_by("id")[3]
    scenario.delete(sale, at=LATER)
    assert make_import(target, is_mirror=True).run().removed == {"conversion": 1}
    restore_conversion(source_account, conversion_id=sale.pk, at=LATER)
    moving = make_import(target, is_mirror=True)
    assert moving.run().problems == []
    assert compare_balances(target, moving.source) == []


def test_a_page_that_is_missing_ends_no_sales(target, make_import):
    make_import(target).run()
    count = target.conversions.not_deleted().count()
    moving = make_import(target, is_mirror=True)
    request = moving.source._request

    def lose_a_page(path, query):
        if (path, query.get("page")) == ("conversions/", 2):
            return None, httpx.Headers()
        return request(path, query)

    moving.source._request = lose_a_page
    report = moving.run()
    assert report.removed == {}
    assert target.conversions.not_deleted().count() == count


def test_two_runs_at_once_store_nothing_twice(source_account, target, make_import):
    make_import(target).run()
    late = make_import(target)
    late.imports.load = lambda: None  # it began before the other one stored anything
    report = late.run()
    assert {each["code"] for each in report.problems} <= {
        "stored_by_another_run",
        "duplicate_external_id",
        "unknown_affiliate",
        "unknown_conversion",
        "unknown_program",
        "not_storable",
    }
    assert target.payments.count() == source_account.payments.count()
    assert get_payable_balances_by_slug(target) == get_payable_balances_by_slug(source_account)


def test_a_payment_that_was_made_meanwhile_is_linked_later(
    source_account, scenario, target, make_import
):
    moving = make_import(target)
    read = moving.source.list_rows

    def pay_before_commissions(path):
        if path == "commissions/":
            scenario.pay("9", at=LATER)
        return read(path)

    moving.source.list_rows = pay_before_commissions
    moving.run()
    make_import(target, is_mirror=True).run()
    paid = source_account.commissions.filter(payment__isnull=False)
    assert target.commissions.filter(payment__isnull=False).count() == paid.count()


def test_a_payment_that_the_ledger_refuses_is_nobody_elses(scenario, target, make_import):
    """The ledger writes after the page: what it refuses is not remembered."""
    moving = make_import(target)
    moving.import_rules()
    moving.import_people()
    mina, odette = ({"id": slug} for slug in (scenario.mina.slug, "odettevarga"))
    huge = {
        "id": "pa_1",
        "affiliate": mina,
        "amount": 9_999_999_999_999,
        "currency": "EUR",
    }
    rows = [huge | {"id": f"pa_{number}"} for number in range(91)]
    moving.store_rows("payment", rows, import_payment)
    assert [it["code"] for it in moving.report.problems] == ["refused"]
    (refused,) = [it["id"] for it in moving.report.problems]
    assert moving.imports.find("payment", refused) is None
    small = {"id": "pa_small", "affiliate": odette, "amount": "1", "currency": "EUR"}
    moving.store_rows("payment", [small], import_payment)
    pks = {pk for (kind, _), pk in moving.imports.known.items() if kind == "payment"}
    assert pks == set(target.payments.values_list("pk", flat=True))
    assert_ledger_consistent(target)


def test_refuses_dates_in_closed_months(source_account, target, make_import):
    close(target, 3)
    report = make_import(target).run()
    codes = {(it["kind"], it["code"]) for it in report.problems}
    assert codes == {
        ("conversion", "closed_month"),
        ("commission", "unknown_conversion"),
        ("payment", "closed_month"),
    }
    (first, *_) = [it for it in report.problems if it["code"] == "closed_month"]
    assert (first["path"], first["value"]) == ("created_at", "March 2026")
    assert not target.transfers.filter(created_at__lt=CLOSED_AT).exists()


def test_a_mirror_changes_sales_of_closed_months_now(source_account, scenario, target, make_import):
    make_import(target).run()
    change_much(scenario)
    kept = [close(target, month, at=LATER + timedelta(days=60)) for month in (8, 9)]
    moving = make_import(target, is_mirror=True)  # it began before both were closed
    report = moving.run()
    assert report.left_out == {"conversion": 1, "commission": 2, "payment": 1}  # the new ones
    assert report.updated["commission"]
    assert report.removed == {"conversion": 1, "payment": 1}
    for row in kept:
        month = get_month(row.month)
        days = {"start": month.first, "end": month.last}
        assert render_closing_csv(get_period_closings(target, **days)) == row.csv
    assert_ledger_consistent(target)
