"""No page of the back office shows another account's rows.

See docs/reliability.md, section 9.
"""

from datetime import timedelta
from itertools import cycle

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin import SimpleListFilter
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user
from django.urls import NoReverseMatch, reverse

from accounts import days
from accounts.models.accounts import TenantModel
from accounts.models.api_keys import Role
from accounts.models.audit_log import AuditLogEntry
from accounts.models.users import User
from accounts.tenant_admin import TenantAdmin
from tests.affiliate_site.backoffice.form_samples import (
    create_rows,
    create_rows_for_all_pages,
    list_rows,
)
from tests.ledger_checks import snapshot_account
from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.models.conversions import Conversion

MARKER = "zz-marker"
ADMINS = admin.site._registry
OBJECT_VIEWS = ("change", "history", "delete")

# Models without a page, with the reason.
MODELS_WITHOUT_ADMIN = {
    "accounts.Account": "owners change the settings of theirs",
    "accounts.AccountDeletion": "nobody signs in to such an account",
    "accounts.CommandRun": "printed by doctor",
    "accounts.StaleDay": "internal marks of stale statistics",
    "accounts.DailyRowCount": "internal counts behind the pages of the API",
    "accounts.IdempotencyKey": "stored responses are private",
    "accounts.Logo": "part of the settings of its account",
    "accounts.Plan": "a price list",
    "accounts.RateWindow": "internal counters",
    "accounts.SavedView": "shown above its list",
    "payouts.Correction": "shown on the page of its conversion",
    "payouts.Refund": "shown on the page of its conversion",
    "payouts.DailyLandingPageClicks": "summed on the dashboard",
    "payouts.DailyStats": "summed on the dashboard",
    "payouts.MonthlyStats": "summed in reports",
    "payouts.LedgerDigest": "printed by check_ledger",
    "payouts.DocumentSequence": "the last number of documents",
    "payouts.PaymentAllocation": "shown in the timeline of its customer",
    "payouts.PayoutFile": "compared with answers of banks",
    "payouts.PayoutSettings": "one per account: the payer settings",
    "payouts.RiskFinding": "shown with its case",
    "payouts.TaxData": "shown with its affiliate",
    "payouts.WithheldBalance": "a filter of balances, and shown with its affiliate",
    "tracking.Asset": "part of a link, shown with its enrollment",
    "tracking.ConversionAttempt": "explained to affiliates, and in the request log",
    "tracking.Coupon": "shown with its enrollment",
    "tracking.AttributionRecord": "shown in the explanation of its conversion",
    "tracking.FormerExternalId": "recognizes repeated calls of pages",
    "tracking.FormerIdDigest": "recognizes repeated calls of pages",
    "tracking.ImportedObject": "the map of import_account",
    "tracking.LateChange": "internal marks for grant_bonuses",
    "tracking.Mail": "shown on the page of its payment",
    "tracking.PortalAddress": "digests that risk rules compare",
    "tracking.PortalApplication": "deleted within a day",
    "tracking.PortalLink": "shown once to who invites",
    "tracking.PortalSession": "who is signed in",
    "tracking.PortalSecondFactor": "a secret of the affiliate",
    "tracking.PortalSettings": "one per account: the portal settings",
    "tracking.PortalTerms": "in the portal settings",
    "tracking.PrunedClickCount": "summed on the dashboard",
    "tracking.RefusedRequest": "shown with its connection",
    "tracking.ReferralCode": "shown with its enrollment",
    "tracking.ReferralCodeAlias": "shown with its enrollment",
    "tracking.SearchSuffix": "what affiliates are found by",
    "tracking.ShopCustomer": "shown with the events of its shop",
    "tracking.ShopOrder": "shown on the page of its conversion",
    "tracking.ShopReference": "finds the order of an event",
    "tracking.Source": "part of a link, shown with its enrollment",
    "tracking.TermsAcceptance": "shown with its affiliate",
    "tracking.Visitor": "a cookie of the browser script, one per click",
}


def label(model):
    return model._meta.label


def build_url(model, name, *args):
    names = f"admin:{model._meta.app_label}_{model._meta.model_name}_{name}"
    return reverse(names, args=args)


@pytest.fixture
def foreign_data(other_account, other_api):
    """An account with a row of each model, with the marker in each text."""
    create_rows(other_account, other_api, MARKER)
    return other_account


def test_every_model_has_a_page_or_a_reason():
    models = [
        label(model)
        for app in ("accounts", "tracking", "payouts")
        for model in apps.get_app_config(app).get_models()
    ]

    assert set(models) - set(map(label, ADMINS)) == set(MODELS_WITHOUT_ADMIN)


@pytest.mark.parametrize("model", ADMINS, ids=label)
def test_every_page_filters_by_account(model):
    page = ADMINS[model]

    assert isinstance(page, TenantAdmin)
    assert issubclass(model, TenantModel | User)
    assert not page.inlines


@pytest.mark.engine_independent  # filters are the same
@pytest.mark.parametrize("model", ADMINS, ids=label)
def test_lists_join_the_relations_they_show(model, staff_client, account):
    """Without joins, each row costs a query. Joins in `get_queryset` disable
    `list_select_related`."""
    response = staff_client().get(build_url(model, "changelist"))

    joined = response.context["cl"].queryset.query.select_related
    shown = {
        field.name
        for field in model._meta.get_fields()
        if field.many_to_one and field.name in response.context["cl"].list_display
    }
    assert shown <= set(joined or ())


@pytest.mark.parametrize("model", ADMINS, ids=label)
def test_filters_list_no_values_of_other_accounts(model):
    """A filter on a relation or on a text field would list values of all accounts."""
    for name in ADMINS[model].list_filter:
        if not isinstance(name, str):
            assert issubclass(name, SimpleListFilter)  # its choices are fixed
            continue
        field = model._meta.get_field(name)
        assert field.choices or field.get_internal_type() == "BooleanField"


@pytest.mark.engine_independent  # filters are the same
def test_shows_nothing_of_another_account(staff_client, foreign_data, subtests):
    client = staff_client()

    for model in ADMINS:
        with subtests.test(model=label(model)):
            foreign = list(list_rows(model, foreign_data))
            assert foreign, "the other account has no rows: this would prove nothing"
            assert_shows_nothing(client, foreign_data, model, foreign)


@pytest.mark.engine_independent  # filters are the same
def test_changes_nothing_of_another_account(staff_client, foreign_data, subtests):
    client = staff_client()
    before = snapshot_account(foreign_data)

    for model in ADMINS:
        foreign = list(list_rows(model, foreign_data))
        for action in ADMINS[model].actions:
            if isinstance(action, str):
                with subtests.test(model=label(model), action=action):
                    assert_acts_on_nothing(client, model, action, foreign)
                    assert snapshot_account(foreign_data) == before

    assert not LogEntry.objects.exists()


def assert_shows_nothing(client, foreign_data, model, foreign):
    """Check lists, searches, pages and history for the marker."""
    responses = [client.get(build_url(model, "changelist"))]
    assert responses[0].status_code == 200
    for term in (MARKER, str(foreign[0]), f"{MARKER}@example.org"):
        found = client.get(build_url(model, "changelist"), {"q": term})
        rows = found.context["cl"].result_list
        assert foreign_data.pk not in {row.account_id for row in rows}
    for name in OBJECT_VIEWS:
        unknown = client.get(build_url(model, name, 10**9))
        for row in foreign[:3]:
            response = client.get(build_url(model, name, row.pk))
            assert response.status_code == unknown.status_code
            assert response.headers.get("Location") == unknown.headers.get("Location")
            responses.append(response)
    responses += [client.post(build_url(model, "change", row.pk), {}) for row in foreign[:3]]
    responses.append(client.get(reverse("admin:index")))  # with all their messages

    for response in responses:
        assert MARKER not in response.content.decode()


@pytest.mark.engine_independent  # nothing is stored
def test_stores_nothing_by_the_form_of_the_admin(staff_client, account, api, subtests):
    """Who may add a row could send the page of another one as a new one."""
    create_rows(account, api, "harbor")
    client = staff_client()

    for model in ADMINS:
        with subtests.test(model=label(model)):
            rows = list_rows(model, account)
            texts = {
                field.name: f"copy-{field.name}"
                for field in model._meta.fields
                if field.get_internal_type() == "CharField"
            }
            url = build_url(model, "change", rows[0].pk)
            response = client.post(url, texts | {"_saveasnew": "1"})
            assert response.status_code == 403
            assert len(list_rows(model, account)) == len(rows)


def assert_acts_on_nothing(client, model, action, foreign):
    for confirmation in ({}, {"confirmed": "yes"}):
        form = {
            "action": action,
            "_selected_action": [row.pk for row in foreign],
            **confirmation,
        }
        response = client.post(build_url(model, "changelist"), form, follow=True)
        assert response.status_code == 200
        assert MARKER not in response.content.decode()


def test_shows_nothing_of_another_account_on_the_dashboard(staff_client, foreign_data):
    client = staff_client()

    for path in (reverse("admin:index"), reverse("admin:search") + f"?s={MARKER}"):
        response = client.get(path)
        assert response.status_code == 200
        assert MARKER not in response.content.decode().replace(f"s={MARKER}", "")
    found = client.get(reverse("admin:search"), {"s": MARKER, "extended": "1"})
    assert MARKER not in found.content.decode()


def test_autocomplete_finds_nothing_of_another_account(staff_client, foreign_data):
    client = staff_client()
    fields = [
        (model, field)
        for model in ADMINS
        for field in model._meta.fields
        if field.remote_field and field.remote_field.model in ADMINS
    ]

    for model, field in fields:
        query = {
            "app_label": model._meta.app_label,
            "model_name": model._meta.model_name,
            "field_name": field.name,
            "term": MARKER,
        }
        for name in ("autocomplete", "row_choices"):
            response = client.get(reverse(f"admin:{name}"), query)
            assert MARKER not in response.content.decode()


def test_tests_cover_all_urls():
    """Further pages must be added to these tests."""
    found = {pattern.name for pattern in admin.site.get_urls() if getattr(pattern, "name", None)}

    assert found <= {
        "index",
        "search",
        "invitation",  # Tested in test_invitations.py
        "dismiss_onboarding",  # Tested in test_onboarding.py
        "account_settings",  # Tested in test_account_settings.py
        "payer_settings",  # Tested in test_payout_file_pages.py
        *("self_billing", "document_pdf"),  # Tested in test_document_pages.py
        "portal_settings",  # Tested in test_portal_pages.py
        "watches",  # Tested in test_alert_pages.py
        "payment_mails",  # Tested in test_payment_mails_page.py
        "table_template",  # Tested in test_table_import_pages.py
        # Tested in test_second_factor.py
        *("second_factor", "second_factor_begin", "second_factor_codes"),
        *("second_factor_confirm", "second_factor_remove", "login", "logout"),
        *("password_change", "password_change_done", "autocomplete", "jsi18n"),
        *("view_on_site", "app_list"),
    }


def test_opens_all_pages_of_the_own_account(
    staff_client, account, api, capture_queries, subtests, monkeypatch
):
    """All roles can open the pages, with a limited number of queries."""
    monkeypatch.setattr(days, "CLOSING_DELAY", timedelta())  # else yesterday is counted, too
    create_rows_for_all_pages(account, api, "harbor")
    clients = [staff_client(role=role) for role in Role.values]
    clients[0].get("/admin/")  # stores the statistics of past days

    for role, client in zip(Role.values, clients, strict=True):
        for model in ADMINS:
            with subtests.test(role=role, model=label(model)):
                with capture_queries() as executed:
                    response = client.get(build_url(model, "changelist"))
                assert response.status_code == 200
                limit = 18 if model is AuditLogEntry else 16  # names of many kinds
                assert len(executed) <= limit, [q["sql"][:300] for q in executed]
                rows = list_rows(model, account)
                for row in rows[: 3 if role == Role.OWNER else 1]:
                    response = client.get(build_url(model, "change", row.pk))
                    assert response.status_code == 200, row


def test_requires_a_sign_in(client, scenario):
    urls = [
        reverse(f"admin:payouts_commission_{page}")
        for page in ("changelist", "export", "export_xlsx")
    ]
    enrollment = scenario.mina.enrollment.pk
    urls.append(reverse("admin:tracking_enrollment_qr", args=[enrollment, "asset"]))

    for url in urls:
        response = client.get(url)
        assert response.status_code == 302
        assert response["Location"].startswith(reverse("admin:login"))


def test_rows_cannot_be_added_by_hand(staff_client):
    """Except through an `add_page`, which calls a service."""
    client = staff_client()
    addable = []
    for model in ADMINS:
        try:
            response = client.get(build_url(model, "add"))
        except NoReverseMatch:
            continue
        if response.status_code != 403:
            addable.append(label(model))

    creatable = [label(model) for model, page in ADMINS.items() if has_add_page(page)]
    assert sorted(addable) == sorted(creatable)


def has_add_page(page):
    return getattr(page, "add_page", None) is not None


def test_shows_dates_in_utc(staff_client, scenario):
    scenario.create_conversion("10", at=CONVERSION_CREATED_AT)

    page = staff_client().get(build_url(Conversion, "changelist")).content.decode()

    assert "2026-03-04 09:15 UTC" in page


HIDDEN_COLUMNS = (
    *("secret", "old_secret", "digest", "password", "recovery_codes"),
    *("email_folded", "calculation"),
)
LOOKUPS = ("startswith", "regex", "contains", "gt", "lt", "in", "exact", "range")


FOREIGN_COLUMNS = ("account__name", "affiliate__password")


@pytest.mark.parametrize("model", ADMINS, ids=label)
def test_hidden_columns_cannot_be_filtered(model):
    """Lists and exports ask `lookup_allowed`, as the next test shows."""
    columns = [*(field.name for field in model._meta.fields), *FOREIGN_COLUMNS]
    lookups = [
        f"{column}__{lookup}"
        for column in columns
        for lookup in LOOKUPS[: 8 if column in HIDDEN_COLUMNS else 3]
    ]

    allowed = [name for name in lookups if ADMINS[model].lookup_allowed(name, "a")]

    assert allowed == []


@pytest.mark.engine_independent  # refused before a query
def test_lists_and_exports_refuse_filters_by_hidden_columns(staff_client, subtests):
    client = staff_client(role=Role.VIEWER)

    for model in ADMINS:
        names = {field.name for field in model._meta.fields}
        columns = [*FOREIGN_COLUMNS, "id", *names.intersection(HIDDEN_COLUMNS)]
        for path in ("changelist", "export", "export_xlsx"):
            for column, lookup in zip(columns, cycle(LOOKUPS), strict=False):
                with subtests.test(model=label(model), path=path, column=column):
                    query = {f"{column}__{lookup}": "a"}
                    response = client.get(build_url(model, path), query)
                    assert response.status_code == 400


INVALID_QUERIES = [
    {"q": "\x00"},
    {"p": "9" * 30},
    {"p": "-1"},
    {"o": "99.-7"},
    {"created_at__gte": "0001-01-01"},
    {"created_at__gte": "yesterday"},
    {"created_at__lt": "9999-12-31T23:59:59Z"},
    {"affiliate__exact": "9" * 30},
    {"_popup": "1", "_to_field": "secret"},
    {"_to_field": "+"},
    {"e": "1"},
]


@pytest.mark.parametrize("model", ADMINS, ids=label)
def test_invalid_queries_cause_no_server_error(staff_client, model, subtests):
    client = staff_client()

    exports = cycle(["export", "export_xlsx"])  # in turns: they share their queries
    for query, export in zip(INVALID_QUERIES, exports, strict=False):
        for path in ("changelist", export):
            with subtests.test(path=path, query=query):
                response = client.get(build_url(model, path), query)
                assert response.status_code in (200, 302, 400)
                response.getvalue()  # read to the end, as a browser does


@pytest.mark.parametrize("model", ADMINS, ids=label)
def test_rejects_selections_that_are_no_ids(staff_client, rf, model, subtests):
    client = staff_client()
    request = rf.get("/")
    request.user = get_user(client)

    texts = ["abc", "", "1.5", "\x00", "9" * 30]
    for number, action in enumerate(["", *ADMINS[model].get_actions(request)]):
        # Further actions only with what a database could refuse: they share the rest.
        for selected in texts if number < 2 else texts[-2:]:
            with subtests.test(action=action, selected=selected):
                form = {"action": action, "_selected_action": ["1", selected]}
                response = client.post(build_url(model, "changelist"), form)
                assert response.status_code in (200, 302, 400)


@pytest.mark.parametrize(
    "query",
    ["_to_field=canary@example.org&_popup=1", "canary@example.org=1", "o=canary"],
)
def test_refused_query_is_not_logged(staff_client, captured_log, query):
    client = staff_client()

    for path in ("", "add/", "autocomplete/"):
        client.get(f"/admin/tracking/affiliate/{path}?{query}")

    assert captured_log() != ""
    assert "canary" not in captured_log()


@pytest.mark.parametrize(
    "path",
    [
        "/admin/search/?s=a&extended=1&page=99999999999999999999999",
        "/admin/search/?s=%00",
        "/admin/autocomplete/?app_label=payouts&model_name=commission"
        "&field_name=affiliate&term=%00",
        f"/admin/payouts/commission/{'9' * 30}/change/",
        "/admin/payouts/commission/x/change/",
    ],
)
def test_rejects_invalid_urls(staff_client, path):
    assert staff_client().get(path).status_code in (302, 400, 404)


# Columns searched without an index: an account has only dozens of rows.
SEARCHED_WITHOUT_INDEX = {
    ("tracking.Program", "title"),
    ("tracking.AffiliateGroup", "title"),
    ("accounts.ApiKey", "prefix"),
    ("accounts.SigningSecret", "prefix"),
    ("accounts.User", "email"),
    ("accounts.WebhookEndpoint", "affiliate"),
}


@pytest.mark.parametrize("model", ADMINS, ids=label)
def test_searches_only_indexed_columns(model):
    for name in ADMINS[model].search_fields:
        path, _, lookup = name.rpartition("__")
        relation, _, column = path.rpartition("__")
        target = model._meta.get_field(relation).related_model if relation else model
        indexed = [
            list(rule.fields)[:2]
            for rule in [*target._meta.constraints, *target._meta.indexes]
            if hasattr(rule, "fields")
        ]
        assert lookup == "exact"
        assert (
            column == "pk"
            or ["account", column] in indexed
            or (label(target), column) in SEARCHED_WITHOUT_INDEX
        )
        if relation:
            rules = [*model._meta.constraints, *model._meta.indexes]
            indexed_relations = [list(getattr(rule, "fields", ()))[:2] for rule in rules]
            assert ["account", relation] in indexed_relations or (
                label(model),
                relation,
            ) in SEARCHED_WITHOUT_INDEX
