"""Rows for the lists of the back office that sales do not fill, made by SQL.

The rows break the ledger and are found by no search: they are made last.
"""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.contrib import admin
from django.db import connection, models, transaction
from django.test import RequestFactory
from django.urls import reverse
from django.utils import timezone

from accounts.models.accounts import Account
from accounts.models.users import User
from accounts.models.webhooks import Delivery, WebhookEndpoint
from accounts.services.webhooks import create_webhook
from benchmarks.growth_data import (
    DAYS,
    Columns,
    build_created_at,
    copy,
    get_last_id,
    without_triggers,
)
from payouts.models.alerts import Alert
from payouts.models.documents import Document
from payouts.models.ledger import LedgerAccount, LedgerAccountType
from payouts.models.payments import Payment, PayoutMethod
from payouts.models.risk import RiskCase
from payouts.models.runs import PayoutLine
from payouts.services.payments import PaymentOrder, create_payments
from payouts.services.payout_methods import set_payout_method
from tracking.models.affiliates import Affiliate, Note
from tracking.models.clicks import FailedPageCall
from tracking.models.conversions import ConversionClaim
from tracking.models.enrollments import Enrollment
from tracking.models.prospects import Prospect
from tracking.models.questions import Question
from tracking.models.shops import ShopEvent
from tracking.services.affiliates import PersonData
from tracking.services.connections import create_connection
from tracking.services.failed_page_calls import record_failed_page_call
from tracking.services.inbox import Envelope, store_event
from tracking.services.notes import create_note
from tracking.services.prospects import ProspectData, create_prospect
from tracking.services.questions import QuestionData, ask_question

SALE_LISTS = {
    "tracking.Click",
    "tracking.Customer",
    "tracking.Conversion",
    "payouts.Commission",
    "payouts.Transfer",
    "accounts.AuditLogEntry",
}
# Lists that stay short, with the reason; they are measured as they are.
SHORT_LISTS = {
    "accounts.ApiKey": "a key per program of the company",
    "accounts.Invitation": "one per staff user",
    "accounts.SigningSecret": "one at a time, and those before",
    "accounts.User": "the staff",
    "payouts.Bonus": "a few per program",
    "payouts.ClosedMonth": "one per month",
    "payouts.CommissionType": "a few per program",
    "payouts.ExchangeRate": "one per currency",
    "payouts.GroupRate": "one per group and commission type",
    "payouts.Level": "a few per program",
    "payouts.PayoutMinimum": "set by staff",
    "payouts.PayoutRun": "a few per month",
    "payouts.Rate": "set by staff",
    "payouts.RiskRule": "one of each kind",
    "payouts.Scenario": "made by staff, deleted after 90 days",
    "payouts.TaxRule": "one per country and kind",
    "tracking.AffiliateGroup": "named by staff",
    "tracking.Connection": "the shops of the company",
    "tracking.Creative": "made by staff",
    "tracking.CustomField": "named by staff",
    "tracking.Program": "made by staff",
    "tracking.ProgramInvitation": "made by staff",
    "tracking.TableImport": "files that owners moved in with",
    "tracking.TableUpload": "files of one day",
}


def fill_lists(account: Account, rows: int) -> None:
    """Fill the other lists of an account that `create_filled_account` has made."""
    create_first_rows(account)
    start = timezone.now() - timedelta(days=DAYS)
    created_at = build_created_at(start, timedelta(days=DAYS) / (rows + 1))
    affiliate = f"{get_last_id(Affiliate)} + n.i"
    payment = f"{get_last_id(Payment)} + n.i"
    endpoint = f"{get_last_id(WebhookEndpoint)} + n.i"
    of_affiliate = {"affiliate_id": affiliate}
    new = {"public_id": "'x' || n.i", "created_at": created_at}
    email = dict.fromkeys(("email", "email_folded"), "'x' || n.i || '@e.example'")
    copies: dict[type[models.Model], Columns] = {
        Affiliate: {
            "id": affiliate,
            "slug": "'x' || n.i",
            "log_id": "'x' || n.i",
            "created_at": created_at,
        }
        | email,
        Enrollment: of_affiliate | {"applied_at": created_at},
        LedgerAccount: of_affiliate | {"balance": "n.i % 1000 * 10000"},
        PayoutMethod: of_affiliate,
        Payment: {"id": payment} | new | of_affiliate,
        PayoutLine: of_affiliate,
        Document: of_affiliate
        | {"number": "n.i + 1", "label": "'x' || n.i", "payment_id": payment},
        Note: new | of_affiliate,
        Question: new | of_affiliate,
        Prospect: new | email,
        ConversionClaim: {"created_at": created_at},
        Alert: {"created_at": created_at, "subject": "'x' || n.i"},
        RiskCase: of_affiliate | {"created_at": created_at},
        ShopEvent: {"created_at": created_at, "key": "'x' || n.i"},
        FailedPageCall: {"day": build_day("n.i % 365"), "page": "'p' || n.i"},
        WebhookEndpoint: new | {"id": endpoint, "affiliate": "'x' || n.i"},
        Delivery: {
            "created_at": created_at,
            "message_id": "'x' || n.i",
            "endpoint_id": endpoint,
        },
    }
    with transaction.atomic(), without_triggers():
        for model, columns in copies.items():
            kind = LedgerAccountType.PAYABLE if model is LedgerAccount else ""
            copy(account, model, rows, columns, kind=kind)


def create_first_rows(account: Account) -> None:
    """Create a row of each of these lists, except of those that have some."""
    at = timezone.now()
    affiliate, conversion = account.affiliates.all()[0], account.conversions.all()[0]
    create_note(account, affiliate=affiliate, text="Call in May", at=at)
    account.alerts.create(watch="no_clicks", text="No click")
    account.risk_cases.create(rule="fast_sale", affiliate=affiliate)
    ask_question(affiliate, data=QuestionData("order-1", at.date()), at=at)
    set_payout_method(
        account,
        affiliate_id=affiliate.slug,
        kind="paypal",
        details={"paypal_address": "ada@e.example"},
        is_primary=True,
        at=at,
    )
    create_payments(account, orders=[PaymentOrder(affiliate.slug, Decimal(1), "EUR")], at=at)
    account.documents.create(
        kind="self_billing",
        year=2020,
        number=1,
        label="SB-2020-00001",
        affiliate=affiliate,
        payment=account.payments.all()[0],
        issued_on=at.date(),
        currency="EUR",
        net=Decimal(1),
        vat=Decimal(0),
        total=Decimal(1),
        vat_rate=Decimal(0),
    )
    run = account.payout_runs.create(public_id="pr_x", due_before=at)
    account.payout_lines.create(
        run=run, affiliate=affiliate, currency="EUR", amount=Decimal(1), state="settled"
    )
    account.conversion_claims.create(
        conversion=conversion,
        program=conversion.program,
        affiliate=affiliate,
        amount=Decimal(100),
        currency="EUR",
    )
    page = "https://shop.example/thanks"
    record_failed_page_call(account, reason="unknown_coupon", page=page, at=at)
    create_webhook(account, url="https://shop.example/events", at=at)
    shop = create_connection(account, kind="stripe", at=at)
    store_event(shop, Envelope("evt_1", "invoice.paid", at, "{}"), at=at)
    person = PersonData("Pia", "Reed", email="pia@e.example")
    create_prospect(account, data=ProspectData(person), at=at)  # with a delivery


def build_day(number: str) -> str:
    """Return the expression of a day that lies so many days back."""
    if connection.vendor == "postgresql":
        return f"current_date - ({number})::int"
    return f"date('now', -({number}) || ' days')"


def list_orders(user: User) -> Iterator[tuple[str, str]]:
    """Yield name and path of every list; of long ones by each column, too."""
    request = RequestFactory().get("/")
    request.user = user
    for model, page in admin.site._registry.items():  # noqa: SLF001 - no other way
        meta = model._meta
        url = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
        name = url.removeprefix("/admin/").strip("/")
        yield name, url
        if meta.label in SHORT_LISTS:
            continue
        changelist: Any = page.get_changelist_instance(request)
        for number, column in enumerate(changelist.list_display):
            if changelist.get_ordering_field(column):
                title = getattr(column, "name", column)
                yield f"{name} by {title}", f"{url}?o={number}"
