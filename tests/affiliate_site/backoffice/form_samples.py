"""All form pages of the back office, an account with a row for each, and values.

The pages are found, not listed: a new one is part of the tests at once.
"""

import io
import json
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.sessions.backends.signed_cookies import SessionStore
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import RequestFactory
from django.urls import reverse
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.services.api_keys import create_signing_secret
from accounts.services.invitations import create_invitation
from accounts.services.staff import create_staff_user
from accounts.services.webhooks import create_webhook
from affiliate_site.backoffice.account.account_pages import AccountSettingsPage
from affiliate_site.backoffice.affiliates.portal_pages import PortalSettingsPage
from affiliate_site.backoffice.connections.mapping_form import format_mapping
from affiliate_site.backoffice.fields import DecimalField, RowChoiceField
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.payouts.document_pages import SelfBillingPage
from affiliate_site.backoffice.payouts.payer_settings_page import PayerSettingsPage
from affiliate_site.backoffice.payouts.payment_mails_page import PaymentMailsPage
from affiliate_site.backoffice.watches.settings_page import WatchesPage
from affiliate_site.moving.tables.files import read_table
from affiliate_site.moving.tables.kinds import KINDS
from affiliate_site.moving.tables.limited import dump_table
from affiliate_site.moving.tables.uploads import guess_settings, load_importer
from payouts.models.documents import SupplierKind
from payouts.models.ledger import LedgerAccount, LedgerAccountType
from payouts.services.documents import issue_documents, list_unbilled
from payouts.services.exchange_rates import set_rate
from payouts.services.opening_balances import post_opening_balance
from payouts.services.payout_limits import set_minimum
from payouts.services.payout_runs import create_draft
from payouts.services.payout_settings import update_payout_settings
from payouts.services.risk_cases import create_rule, hold_commissions, switch_on
from payouts.services.scenarios import calculate_now, create_scenario
from payouts.services.tax_data import set_tax_data, set_tax_rule
from payouts.statistics import get_last_days, get_last_months
from tests.affiliate_site.backoffice.rates import create_rates
from tests.closed_months import close
from tests.payout_scenario import PAYER, Paid, create_run
from tests.sample_account import SampleAccount
from tests.tracking.services.test_shop_mappings import MAPPING
from tracking.models.shops import Connection, ConnectionMode, ShopEventState
from tracking.services.account_settings import update_account_settings
from tracking.services.connections import (
    create_connection,
    set_connection_secret,
    set_source_key,
)
from tracking.services.creatives import archive_creative, create_creative
from tracking.services.customers import cancel_customer
from tracking.services.failed_page_calls import record_failed_page_call
from tracking.services.inbox import Envelope, record_event_result, store_event
from tracking.services.portal_settings import update_portal_settings
from tracking.services.questions import QuestionData, ask_question
from tracking.services.table_uploads import create_table_upload, finish_table_upload

# Pages without a list, and the names of their URLs.
SETTINGS_PAGES = {
    AccountSettingsPage: "account_settings",
    PayerSettingsPage: "payer_settings",
    SelfBillingPage: "self_billing",
    PaymentMailsPage: "payment_mails",
    PortalSettingsPage: "portal_settings",
    WatchesPage: "watches",
}
LAST_ROW = object()  # the last one that a field offers
# Values that the type of a field does not tell, by name, or by page and name.
SAMPLES: dict[str | tuple[str, str], Any] = {
    "address__address": "Quay 1",
    "address__city": "Ljubljana",
    "address__country": "SI",
    "address__postal_code": "1000",
    "email": "sample@harbor.example.org",
    "url": "https://sample.example/hook",
    ("AddAffiliatePage", "program"): LAST_ROW,
    ("AddAffiliatePage", "kind"): "paypal",
    "payout_email": "sample@harbor.example.org",
    ("AddConversionPage", "coupon"): "harbor-10",
    ("AddCreativePage", "text"): "Lamps",
    ("AddFurtherRatePage", "percentage"): "5",
    ("AddProgramPage", "currency"): "EUR",
    ("AddTaxRulePage", "country"): "SI",
    ("AddTaxRulePage", "rate"): "22",
    ("SetTaxDataPage", "country"): "SI",
    ("ChangeAffiliatePage", "affiliate"): lambda conversion: find_other(conversion),
    ("AddCustomFieldPage", "options"): "small\nlarge",
    ("AddCustomFieldPage", "type"): "select",
    ("ImportResultsPage", "file"): lambda run: AnswersFile(run),
    ("AddScenarioPage", "value"): "78",
    ("PayBalancePage", "amount"): "2",
    ("SetSecretPage", "secret"): "whsec_sample",
    **{("MappingPage", name): it for name, it in format_mapping(MAPPING).items()},
    ("UploadTablePage", "kind"): "affiliates",
    ("UploadTablePage", "file"): lambda _: TableFile(),
    ("SourceKeyPage", "key"): "ck_1234:cs_5678",
    ("SourceKeyPage", "shop_url"): "https://sample.example",
    ("CheckLinkPage", "text"): "mina",
    ("TryEventPage", "body"): '{"id": "1", "received_at": "2026-03-04T09:15:27Z"}',
    ("TryEventPage", "kind"): "order.deleted",
}
# The samples that a value of another field replaces.
ALTERNATIVES = {
    ("AddConversionPage", "affiliate"): "coupon",
    ("AddConversionPage", "click_id"): "coupon",
}
SAMPLES_BY_TYPE = {DecimalField: "5", forms.IntegerField: "5"}


def create_rows(account, api, marker: str) -> SampleAccount:
    """Create a row of each model, with the marker in each text."""
    sample = SampleAccount(api, account.slug, marker)
    now = timezone.now()
    create_webhook(account, url=f"https://{marker}.example/", at=now)
    create_signing_secret(account, at=now)
    for name in (
        "approved_amount",
        "payment_id",
        "note_id",
        "prospect_id",
        "payout_method",
        "group_id",
        "contested_claim",
    ):
        assert getattr(sample, name)
    affiliate = account.affiliates.get(slug=sample.affiliate)
    asked = QuestionData(marker, account.get_day(now), text=marker)
    ask_question(affiliate, data=asked, at=now)
    for each in account.affiliates.all():
        account.portal_second_factors.create(affiliate=each, secret="A" * 32, confirmed_at=now)
    create_imports(account, marker)
    owner, _ = create_staff_user(
        account,
        email=f"{marker}@example.org",
        role=Role.OWNER,
        password=None,
        at=now,
    )
    create_invitation(account, email=f"{marker}-2@example.org", role=Role.VIEWER, by=owner, at=now)
    account.field_definitions.create(slug=marker, title=marker, type="text")
    create_rates(account, marker)
    texts = {"title": marker, "text": marker}
    for _ in range(2):
        creative = create_creative(account, program_id=sample.program, **texts, at=now)
    archive_creative(account, creative_id=creative.pk, at=now)
    set_minimum(account, currency="EUR", amount=Decimal(50), at=now)
    update_account_settings(account, changes={"default_currency": "EUR"}, at=now)
    set_rate(account, currency="USD", rate=Decimal("0.9"), at=now)
    slug = sample.enrolled_affiliate
    set_minimum(account, currency="EUR", amount=Decimal(5), affiliate_id=slug, at=now)
    create_run(account, Paid(slug=sample.affiliate)).update_row(note=marker)
    payer = {f"payer_{name}": text for name, text in PAYER.items()}
    update_payout_settings(account, changes=payer | {"payer_name": marker}, at=now)
    record_failed_page_call(account, reason=marker, page=f"https://{marker}.example/", at=now)
    create_document(account, marker)
    post_opening_balance(account, affiliate_id=slug, currency="USD", amount=Decimal(5), at=now)
    account.withheld_balances.create(
        affiliate=account.affiliates.get(slug=slug),
        currency="USD",
        reason=marker,
        created_by="staff 1",
    )
    create_payout_run(account, marker)
    create_risk_case(account, marker)
    create_alert(account, marker)
    create_disputed_sale(create_shop(account, marker), sample)
    create_calculated_scenario(account, marker)
    create_closed_month(account, marker)
    return sample


def create_closed_month(account, marker: str) -> None:
    """Close a month, so that the one after it has ended for long."""
    now = timezone.now()
    month = get_last_months(4, account.get_day(now)).first
    close(account, month.month, year=month.year, at=now).update_row(reason=marker)


def create_alert(account, marker: str) -> None:
    """Add an alert about an affiliate."""
    affiliate = account.affiliates.order_by("pk")[0]
    account.alerts.create(
        watch="large_share",
        subject=marker,
        object_id=affiliate.pk,
        affiliate=affiliate,
        text=marker,
        note=marker,
    )


def create_calculated_scenario(account, marker: str) -> None:
    """Calculate what another rate would have cost."""
    now = timezone.now()
    program = account.programs.first().slug
    rate = {"kind": "percentage", "value": 77}
    scenario = create_scenario(
        account,
        period=get_last_days(30, account.get_day(now)),
        changes={"programs": {program: {"rates": {"standard": rate}}}},
        describe=lambda _: marker,
        at=now,
    )
    calculate_now(scenario, at=now)
    assert scenario.reload().result


def create_risk_case(account, marker: str) -> None:
    """Add rules, one of them on, with an open case about a sale."""
    now = timezone.now()
    create_rule(account, rule="fast_sale", at=now)
    rule = create_rule(account, rule="refund_rate", patterns=marker, at=now)
    switch_on(account, pk=rule.pk, at=now)
    # Of an approved one, the draft would pay nothing of its commission any more.
    sale = account.conversions.filter(deleted_at=None, commissions__status="pending").latest("pk")
    case = account.risk_cases.create(rule="fast_sale", affiliate=sale.affiliate, note=marker)
    account.risk_findings.create(
        case=case,
        rule=case.rule,
        affiliate=sale.affiliate,
        conversion=sale,
        key=marker,
        facts=[["Sent by", marker]],
    )
    hold_commissions(account, at=now)


def create_shop(account, marker: str) -> Connection:
    """Connect a shop with an event that failed and one that earned nobody anything."""
    now = timezone.now()
    shop = create_connection(account, kind="stripe", name=marker, secret=f"whsec_{marker}", at=now)
    set_connection_secret(account, connection_id=shop.public_id, secret=f"whsec_{marker}-2", at=now)
    for state in (ShopEventState.NO_REFERRAL, ShopEventState.FAILED):
        body = json.dumps({"id": marker, "customer_email": f"{marker}@example.org"})
        envelope = Envelope(f"{marker}-{state}", "invoice.paid", now, body)
        event = store_event(shop, envelope, at=now)
        record_event_result(event, state=state, effects=[marker], at=now)
    return shop


def create_disputed_sale(shop: Connection, sample: SampleAccount) -> None:
    """Record a sale whose shop has an open dispute about it."""
    now = timezone.now()
    body = {"external_id": f"{sample.marker}-disputed", "amount": 10}
    sent = sample.api.post("/conversions/", body | {"coupon": sample.coupon}).json()
    conversion = shop.account.conversions.get(pk=sent["id"])
    conversion.update_row(disputed_at=now)
    dispute = {"at": now.isoformat(), "amount": "10", "state": "open"}
    shop.account.shop_orders.create(
        connection=shop, conversion=conversion, facts={"disputes": {"du": dispute}}
    )


def create_document(account, marker: str) -> None:
    """Bill a payment that no payout run made."""
    now = timezone.now()
    today = account.get_day(now)
    settings = {"documents_from": today, "document_prefix": f"{marker}-"[:16]}
    payer = {f"payer_{name}": text for name, text in PAYER.items()}
    update_payout_settings(account, changes=payer | settings, at=now)
    set_tax_rule(account, kind=SupplierKind.PRIVATE, rate=Decimal(0), sentence=marker, at=now)
    affiliate = list_unbilled(account, limit=1)[0].payment.affiliate
    affiliate.update_row(firstname=marker, address=marker, city=marker, country="SI")
    tax_data = {"kind": SupplierKind.PRIVATE, "country": "SI", "consented_on": today}
    set_tax_data(account, affiliate_id=affiliate.slug, **tax_data, at=now)
    assert issue_documents(account, at=now)


def create_payout_run(account, marker: str) -> None:
    """Create a draft with lines to pay, and those of what is withheld."""
    today = timezone.now()
    payable = account.ledger_accounts.filter(kind=LedgerAccountType.PAYABLE, balance__gt=0)
    for balance in payable:
        account.payout_methods.get_or_create(
            affiliate=balance.affiliate,
            is_primary=True,
            defaults={"kind": "paypal", "details": {"email": f"{marker}@example.org"}},
        )
    run = create_draft(account, due_until=today.date(), note=marker, at=today)
    lines = account.payout_lines.filter(run=run)
    assert lines.filter(state="included").exists()


def create_rows_for_all_pages(account, api, marker: str) -> SampleAccount:
    """Create the same, and rows in the states that `is_offered` of the pages asks."""
    sample = create_rows(account, api, marker)
    update_portal_settings(account, changes={"is_on": True, "terms": "Be fair."}, at=timezone.now())
    slug = f"{marker}-archived"
    call_command(
        "create_program",
        *(account.slug, slug, "--title", slug, "--currency", "EUR"),
        stdout=io.StringIO(),
    )
    account.programs.filter(slug=slug).update(archived_at=timezone.now())
    account.payout_methods.create(
        affiliate=account.affiliates.get(slug=sample.affiliate),
        kind="wise",
        details={"email": f"{marker}@example.org"},
        on_hold_reason=marker,
    )
    program = account.programs.get(slug=sample.program)
    applicant = {"affiliate": {"id": sample.second_affiliate}}
    sample.post(f"/programs/{program.slug}/affiliates/", applicant)
    account.commission_types.create(
        program=program,
        identifier=f"{marker}-extra",
        title=f"{marker}-extra",
        kind="percentage",
        value=5,
    )
    sale = {"coupon": sample.coupon, "amount": 30, "customer_id": f"{marker}-gone"}
    program.update_row(hold_days=30)
    sample.post("/conversions/", sale)
    program.update_row(hold_days=0)
    customer = account.customers.get(customer_id=sale["customer_id"])
    cancel_customer(account, public_id=customer.public_id, at=timezone.now())
    earner = {"affiliate": {"id": sample.create_affiliate("fourth")}, "approved": True}
    sample.post(f"/programs/{program.slug}/affiliates/", earner)
    sample.create_affiliate("third")  # in no program
    account.portal_second_factors.create(
        affiliate=account.affiliates.latest("pk"),
        secret="A" * 32,
        confirmed_at=timezone.now(),
    )
    shop = create_connection(account, kind="stripe", mode=ConnectionMode.LIVE, at=timezone.now())
    name = shop.public_id
    set_source_key(account, connection_id=name, key="rk_live_12", at=timezone.now())
    create_connection(account, kind="other", name=marker, at=timezone.now())
    shop = create_connection(
        account, kind="woocommerce", mode=ConnectionMode.LIVE, at=timezone.now()
    )
    set_source_key(
        account,
        connection_id=shop.public_id,
        key="ck_1234:cs_5678",
        shop_url=f"{marker}.example",
        at=timezone.now(),
    )
    return sample


def create_imports(account, marker: str) -> None:
    """Import tables of customers and affiliates, and upload another one."""
    owner = account.enrollments.filter(approved=True).first()
    customers = "Customer ID,Program,Affiliate\n{marker}-{name},{program},{affiliate}\n"
    people = "E-mail\n{marker}-moved@example.org\n"
    at = timezone.now()
    for name, kind, text in (
        ("imported", KINDS["customers"], customers),
        ("moved", KINDS["affiliates"], people),
        ("uploaded", KINDS["customers"], customers),
    ):
        program, affiliate = owner.program.slug, owner.affiliate.slug
        values = {"program": program, "affiliate": affiliate}
        data = text.format(marker=marker, name=name, **values).encode()
        table = read_table(data, "")
        upload = create_table_upload(
            account,
            kind=kind.name,
            system="",
            file_name=f"{marker}.csv",
            data=dump_table(table),
            settings=asdict(guess_settings(kind, table, "")),
            at=at,
        )
        if name != "uploaded":
            table_import = load_importer(upload, at=at).store().table_import
            finish_table_upload(upload, table_import, left_out=marker.encode())


class TableFile(SimpleUploadedFile):
    """A table that can be sent repeatedly."""

    def __init__(self) -> None:
        super().__init__("table.csv", b"ID,E-mail\nsample,sample@example.org\n")

    def read(self, *size):
        self.seek(0)
        return super().read(*size)


class AnswersFile(SimpleUploadedFile):
    """A list without news about a payment of a run, which can be sent repeatedly."""

    def __init__(self, run) -> None:
        payment = run.account.payout_lines.filter(run=run).first().payment
        super().__init__("answers.csv", f"payment,state\n{payment},".encode())

    def read(self, *size):
        self.seek(0)
        return super().read(*size)


def find_other(conversion):
    """Another affiliate who may earn the conversion."""
    rows = conversion.account.enrollments.filter(program=conversion.program, approved=True)
    return rows.exclude(affiliate=conversion.affiliate).first().affiliate


@dataclass(frozen=True)
class PageCase:
    """A form page with the row that it is about; None if it creates one."""

    page: type[FormPage]
    model_admin: Any
    row: Any = None

    @property
    def name(self) -> str:
        return self.page.__name__

    @property
    def url(self) -> str:
        if self.page in SETTINGS_PAGES:
            return reverse(f"admin:{SETTINGS_PAGES[self.page]}")
        opts = self.model_admin.opts
        prefix = f"admin:{opts.app_label}_{opts.model_name}"
        if self.row is None:
            return reverse(f"{prefix}_add")
        return reverse(f"{prefix}_{self.page.name}", args=[self.row.pk])

    def call(self, user, data=None, *, row=None):
        """Call the page without the middleware; the response is not rendered."""
        factory, row = RequestFactory(), row or self.row
        request = factory.get(self.url) if data is None else factory.post(self.url, data)
        request.user = User.objects.select_related("account").get(pk=user.pk)
        request.session = SessionStore()
        request._messages = CookieStorage(request)
        view = self.page.as_view(model_admin=self.model_admin)
        return view(request, **({"object_id": row.pk} if row else {}))

    def get_form(self, user):
        """The form as it is before anything is entered."""
        return self.call(user).context_data["form"]

    def get_values(self, user) -> dict[str, Any]:
        """Values that the page should accept, as a browser would send them."""
        context = self.call(user).context_data
        form = context["form"]
        values = {
            name: self.get_value(name, field, form[name].value())
            for name, field in form.fields.items()
        }
        sent = {
            name: "on" if value is True else getattr(value, "pk", value)
            for name, value in values.items()
            if value not in (None, False, "")
        }
        return sent | ({"version": context["version"]} if context["version"] else {})

    def set_value(self, values, name, value) -> dict[str, Any]:
        """The values with another one, without what cannot be sent with it."""
        replaced = ALTERNATIVES.get((self.name, name))
        kept = {key: value for key, value in values.items() if key != replaced}
        return kept | {name: value}

    def get_value(self, name, field, initial):
        """The value that the form starts with, else a sample or the first choice."""
        if (sample := SAMPLES.get((self.name, name))) is not None:
            if sample is LAST_ROW:
                return field.queryset.last()
            return sample(self.row) if callable(sample) else sample
        if initial not in (None, "", [], {}):
            return initial
        if name in SAMPLES:
            return SAMPLES[name]
        if not field.required:
            return None
        if isinstance(field, RowChoiceField):
            return field.queryset.last()
        if isinstance(field, forms.ChoiceField):
            return field.choices[0][0]
        return SAMPLES_BY_TYPE.get(type(field), "sample")


def list_pages() -> list[tuple[type[FormPage], Any]]:
    """All form pages, each with the page of its model."""
    return [
        *(
            (page, model_admin)
            for model_admin in admin.site._registry.values()
            for page in (
                getattr(model_admin, "add_page", None),
                *getattr(model_admin, "row_pages", ()),
            )
            if page is not None
        ),
        *((page, admin.site.get_model_admin(User)) for page in SETTINGS_PAGES),
    ]


def list_rows(model, account):
    """The rows of an account that the page of the model shows."""
    rows = model._base_manager.filter(account=account).order_by("pk")
    return rows.filter(kind=LedgerAccountType.PAYABLE) if model is LedgerAccount else rows


def list_cases(account) -> list[PageCase]:
    """A case for each page; fails if the account has no row for one of them."""
    cases, missing = [], []
    for page, model_admin in list_pages():
        if page not in getattr(model_admin, "row_pages", ()):
            cases.append(PageCase(page, model_admin))
            continue
        rows = list_rows(model_admin.model, account).reverse()
        row = next((row for row in rows if page.is_offered(row)), None)
        if row is None:
            missing.append(page.__name__)
        cases.append(PageCase(page, model_admin, row))
    assert missing == [], "create_rows_for_all_pages has no row that offers these pages"
    return cases
