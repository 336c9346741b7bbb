"""Every form page: who may open it, rows of other accounts, hostile input, and two
people who edit at once.

The pages are found by `form_samples.py`. A new page without an accepted sample fails
`test_accepts_the_sample_values`.
"""

import re
from contextlib import contextmanager
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.http import Http404
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from accounts.models.api_keys import RateWindow, Role
from accounts.models.users import User
from accounts.services.api_keys import create_api_key
from accounts.services.staff import create_staff_user
from affiliate_site.backoffice.fields import RowChoiceField
from affiliate_site.backoffice.form_pages import (
    FormPage,
    calculate_version,
    digest_entry,
    read_version,
)
from affiliate_site.backoffice.site import BackOfficeAdminSite
from affiliate_site.safe_http import FetchedResponse
from affiliate_site.shops import catching_up
from tests.affiliate_site.backoffice.form_samples import (
    create_rows_for_all_pages,
    list_cases,
    list_pages,
    list_rows,
)
from tests.conftest import ApiClient
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import snapshot_account

MARKER = "zz-marker"
OWNER_PAGES = {
    "AccountSettingsPage",
    "DownloadFilesPage",
    "ImportResultsPage",
    "PayerSettingsPage",
    "AddApiKeyPage",
    "AddConnectionPage",
    "AddPayoutRunPage",
    "AddSigningSecretPage",
    "AddStaffUserPage",
    "AddTaxRulePage",
    "AddWebhookPage",
    "CancelPaymentPage",
    "CatchUpPage",
    "CheckLinkPage",
    *("CloseMonthPage", "ReopenMonthPage"),
    "CheckPage",
    "ColumnsPage",
    "ConfirmRunPage",
    "DeleteUploadPage",
    "DiscardRunPage",
    "EditWebhookPage",
    "ErasePersonPage",
    "ForgetSecretPage",
    "GoLivePage",
    "LiftPage",
    "ListenPage",
    "MappingPage",
    "PromotionCodesPage",
    "SetSecretPage",
    "ShopSettingsPage",
    "SourceKeyPage",
    "SwitchOffPage",
    "TryEventPage",
    "UndoImportPage",
    "UploadTablePage",
    "ExportPersonPage",
    "IssueDocumentsPage",
    "PayBalancePage",
    "PaymentMailsPage",
    "PutBackPage",
    "RemakeRunPage",
    "RemoveTaxRulePage",
    "RunNotePage",
    "SelfBillingPage",
    "SendTestEventPage",
    "TakeBackOpeningBalancePage",
    "TakeOutPage",
}
FINANCE_PAGES = {
    *("WatchesPage", "DismissAlertPage"),
    *("AddExchangeRatePage", "EditExchangeRatePage", "RemoveExchangeRatePage"),
    *("CancelPaymentPage", "PayBalancePage", "PayerSettingsPage"),
    "TakeBackOpeningBalancePage",
    *("ReleasePayoutMethodPage", "SetPayoutMethodPage"),
    *("AddMinimumPage", "EditMinimumPage", "RemoveMinimumPage", "SetOwnMinimumPage"),
    *("AddPayoutRunPage", "ConfirmRunPage", "DiscardRunPage", "RemakeRunPage"),
    *("DownloadFilesPage", "ImportResultsPage", "PaymentMailsPage", "RunNotePage"),
    *("LiftPage", "PutBackPage", "TakeOutPage"),
    *("AddTaxRulePage", "IssueDocumentsPage", "RemoveTaxRulePage", "SelfBillingPage"),
    *("SetTaxDataPage", "CloseMonthPage"),
}
ONLY_HIDDEN_FIELDS = ("CloseMonthPage",)  # errors stand above the form
UNKNOWN_ID = "00000000-1111-4222-8333-444444444444"
WRITES = ("INSERT", "UPDATE", "DELETE")

NUL, LONG = "a\x00b", "x" * 1_000_000
TEXTS = {
    "NUL": NUL,
    "1,000,000 characters": LONG,
    "control characters": "a\x01\x1b[31m\x7fb",
    "direction override": "\u202eabc\u2066",
    "two values": ["a", "b"],
    "markup": "<b>'\"&amp;{{ 1 }}",
    "empty": "",
}
NUMBERS = {
    "NUL": NUL,
    "1,000,000 digits": "9" * 1_000_000,
    "negative": "-1",
    "not a number": "NaN",
    "infinite": "Infinity",
    "huge": "1e400",
    "tiny": "1e-400",
    "40 digits": "9" * 40,
    "two values": ["1", "b"],
    "empty": "",
}
CHOICES = {
    "NUL": NUL,
    "1,000,000 characters": LONG,
    "unknown": "unknown",
    "negative": "-1",
    "40 digits": "9" * 40,
    "two values": ["a", "b"],
    "empty": "",
}
ALWAYS_REFUSED = {"NUL", "1,000,000 characters"}


@pytest.fixture(scope="module")
def shared(shared_rows):
    """Two accounts with rows for all pages, the users of one, and the cases."""
    account, other = (
        AccountFactory(slug=slug, plan__name="enterprise") for slug in ("harbor", MARKER)
    )
    for each in (account, other):
        _, key = create_api_key(each, name="test", role=Role.OWNER, at=timezone.now())
        create_rows_for_all_pages(each, ApiClient(key), each.slug)
    users = {
        role: create_staff_user(
            account,
            email=f"{role}@example.net",
            role=role,
            password=None,
            at=timezone.now(),
        )[0]
        for role in Role.values
    }
    users["operator"] = User.objects.create_superuser("ops@example.org", "x" * 12)
    return SimpleNamespace(
        account=account,
        other=other,
        users=users,
        owner=users[Role.OWNER],
        cases=list_cases(account),
    )


class Answer:
    """What a page answered to a form, and what that stored."""

    def __init__(self, response, statements) -> None:
        context = getattr(response, "context_data", None) or {}
        self.response, self.statements = response, list(statements)
        self.was_stored = bool(list_writes(statements))
        self.effects = context.get("effects")
        self.errors = {}
        if form := context.get("form"):
            for name, errors in form.errors.get_json_data().items():
                self.errors[name] = [error["message"] for error in errors]

    def looks_up(self, text) -> bool:
        """Whether a query has the text, or the UUID that it is, as a parameter."""
        return any(
            text in str(parameters) or text.replace("-", "") in str(parameters)
            for sql, parameters in self.statements
            if sql.startswith("SELECT")
        )


@pytest.fixture
def submit(shared, db):
    """Send a form, take back what it stored, and return its `Answer`.

    `was_stored` compares all rows of both accounts if a refused form wrote any.
    """
    before = take_snapshot(shared)

    def submit_and_roll_back(case, user, data, **arguments):
        with transaction.atomic(), capture_statements() as statements:
            answer = Answer(case.call(user, data, **arguments), statements)
            if answer.errors and answer.was_stored:
                answer.was_stored = take_snapshot(shared) != before
            transaction.set_rollback(True)
        return answer

    def answer_for_shop(url, **_arguments):
        nothing = b'{"data": [], "has_more": false}' if "api.stripe.com" in url else b"[]"
        return FetchedResponse(200, {}, nothing)

    with (
        patch.object(BackOfficeAdminSite, "each_context", return_value={}),
        patch.object(catching_up, "fetch", side_effect=answer_for_shop),
    ):
        yield submit_and_roll_back


def list_lines(problems) -> str:
    return "\n".join(str(problem)[:300] for problem in problems)


def take_snapshot(shared):
    return [snapshot_account(account) for account in (shared.account, shared.other)]


@contextmanager
def capture_statements():
    """The SQL statements that are executed, with their parameters."""
    statements = []

    def record(execute, sql, parameters, *arguments):
        statements.append((sql, parameters))
        return execute(sql, parameters, *arguments)

    with connection.execute_wrapper(record):
        yield statements


def list_writes(statements) -> list[str]:
    """Those of the statements that change rows."""
    return [sql for sql, _ in statements if sql.startswith(WRITES)]


def test_finds_every_form_page():
    """A page that neither `add_page` nor `row_pages` names could be forgotten."""
    classes = list(FormPage.__subclasses__())
    for each in classes:
        classes += each.__subclasses__()
    abstract = {base for each in classes for base in each.__mro__[1:]}

    assert set(classes) - abstract <= {page for page, _ in list_pages()}


def test_every_page_is_a_form_page(shared, rf):
    """No form of Django itself adds, changes or deletes rows."""
    request = rf.get("/")
    request.user = shared.owner
    found = [
        label
        for label, page in ((m._meta.label, p) for m, p in admin.site._registry.items())
        if page.has_change_permission(request)
        or page.has_delete_permission(request)
        or (page.has_add_permission(request) and not getattr(page, "add_page", None))
    ]

    assert found == []


def test_accepts_the_sample_values(shared, submit):
    """Else no other test of this module would prove anything."""
    refused = {}
    for case in shared.cases:
        values = case.get_values(shared.owner)
        answer = submit(case, shared.owner, values)
        if answer.effects:
            confirmed = values | {"effects": answer.effects.digest}
            answer = submit(case, shared.owner, confirmed)
        if answer.errors:
            refused[case.name] = (answer.errors, values)

    assert refused == {}, "name values that these pages accept in SAMPLES"


@pytest.mark.engine_independent
def test_opens_for_the_roles_that_may(shared, submit):
    found, expected = {}, {}
    for case in shared.cases:
        is_for_owners = case.name in OWNER_PAGES
        values = case.get_values(shared.owner)
        for role, user in shared.users.items():
            expected[case.name, role] = {
                Role.VIEWER: False,
                Role.MANAGER: not is_for_owners,
                Role.FINANCE: case.name in FINANCE_PAGES,
                Role.OWNER: True,
                "operator": case.row is not None,
            }[role]
            found[case.name, role] = is_open(submit, case, user, values)

    assert found == expected


def is_open(submit, case, user, values):
    """Whether a user may open and send a form; both have the same answer."""
    opened = set()
    for data in (None, values):
        with capture_statements() as statements:
            try:
                submit(case, user, data)
            except PermissionDenied:
                assert list_writes(statements) == []
                opened.add(False)
            else:
                opened.add(True)
    return opened.pop() if len(opened) == 1 else "differs"


@pytest.mark.engine_independent
def test_shows_buttons_to_those_who_may_press_them(shared, db):
    """Viewers get 403 through all layers; owners see a button for each page."""
    clients = {role: Client() for role in Role.values}
    for role, client in clients.items():
        client.force_login(shared.users[role])
    problems = []
    for case in shared.cases:
        viewer = clients[Role.VIEWER]
        statuses = [viewer.get(case.url).status_code, viewer.post(case.url).status_code]
        if statuses != [403, 403]:
            problems.append((case.name, statuses))
    for page_url, names in group_by_page(shared.cases).items():
        expected = {
            Role.VIEWER: set(),
            Role.MANAGER: {url for url in names if names[url] not in OWNER_PAGES},
            Role.FINANCE: {url for url in names if names[url] in FINANCE_PAGES},
            Role.OWNER: set(names),
        }
        for role, client in clients.items():
            html = client.get(page_url).content.decode()
            shown = {url for url in names if re.search(f'(href|action)="{url}', html)}
            if shown != expected[role]:
                problems.append((page_url, role, expected[role] ^ shown))

    assert not problems, list_lines(problems)


def group_by_page(cases):
    """URLs and names of form pages by the page of the object, or list, with links."""
    groups = {}
    for case in cases:
        if case.url.endswith("/settings/"):
            continue  # in the sidebar, which test_account_settings.py tests
        page = case.url.removesuffix(f"{case.page.name}/") + "change/"
        if case.row is None:
            page = case.url.removesuffix("add/")
        groups.setdefault(page, {})[case.url] = case.name
    return groups


@pytest.mark.engine_independent  # filters are the same
def test_rows_of_other_accounts_do_not_exist(shared, submit):
    problems = []
    for case in shared.cases:
        if case.row is None:
            continue
        values = case.get_values(shared.owner)
        rows = list_rows(case.model_admin.model, shared.other)
        assert rows, case.name
        for row in rows:
            for data in (None, values):
                try:
                    submit(case, shared.owner, data, row=row)
                except Http404:
                    continue
                problems.append((case.name, row.pk, data))

    assert not problems, list_lines(problems)


@pytest.mark.engine_independent  # filters are the same
def test_refuses_ids_of_other_accounts(shared, submit):
    """As choices, and as texts: those get the same answer as ids that name nothing."""
    texts, problems = list_foreign_ids(shared.other), []
    for case in shared.cases:
        values = case.get_values(shared.owner)

        def answer(name, value, case=case, values=values):
            return submit(case, shared.owner, case.set_value(values, name, value))

        for name, field in case.get_form(shared.owner).fields.items():
            if isinstance(field, RowChoiceField):
                row = getattr(shared.other, field.manager).first()
                found = answer(name, row.pk)
                is_right = name in found.errors and not found.was_stored
            elif isinstance(field, forms.ChoiceField):
                is_right = MARKER not in str(field.choices)
            elif type(field) is forms.CharField:
                is_right = not answer(name, UNKNOWN_ID).looks_up(UNKNOWN_ID) or all(
                    str(answer(name, foreign).errors).replace(foreign, "")
                    == str(answer(name, unknown).errors).replace(unknown, "")
                    for foreign, unknown in texts
                )
            else:
                is_right = True  # a number or a switch
            if not is_right:
                problems.append((case.name, name))

    assert not problems, list_lines(problems)


def list_foreign_ids(account) -> list[tuple[str, str]]:
    """Texts that name rows of an account, each with one that names none."""
    ids = [
        account.coupons.first().code,
        account.clicks.first().public_id,
        account.customers.exclude(customer_id=None).first().customer_id,
        account.conversions.exclude(external_id=None).first().external_id,
        account.affiliates.first().slug,
        account.programs.first().slug,
    ]
    swapped = str.maketrans("0123456789abcdef", "1032547698badcfe")
    return [(text, text.translate(swapped)) for text in map(str, ids)]


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in (1, 2))]
)
def test_answers_hostile_input_beside_its_field(shared, submit, part):
    """Each part has every third value of all fields of all forms."""
    problems = []
    entries = [
        (case, values, name, field, kind, value)
        for case in shared.cases
        for values in [case.get_values(shared.owner)]
        for name, field in case.get_form(shared.owner).fields.items()
        for kind, value in list_hostile_values(field).items()
    ]
    for case, values, name, field, kind, value in entries[part::3]:
        with report_exceptions(problems, case.name, name, kind):
            sent = case.set_value(values, name, value)
            answer = submit(case, shared.owner, sent)
            if problem := find_problem(field, name, kind, answer):
                problems.append((case.name, name, kind, problem))
            elif answer.errors and isinstance(field, RowChoiceField):
                str(answer.response.context_data["form"][name])  # renders

    assert not problems, list_lines(problems)


def test_answers_hostile_input_in_hidden_fields(shared, submit):
    problems = []
    for case in shared.cases:
        values = case.get_values(shared.owner)
        for name in ("version", "effects"):
            with report_exceptions(problems, case.name, name):
                submit(case, shared.owner, values | {name: NUL})

    assert not problems, list_lines(problems)


@contextmanager
def report_exceptions(problems, *where):
    """Record an exception, which would be a 500, as a problem."""
    try:
        yield
    except Exception as error:
        problems.append((*where, repr(error)[:200]))


def create_svg():
    """An upload that may contain scripts."""
    return SimpleUploadedFile("logo.svg", b"<svg onload='x'/>")


def list_hostile_values(field) -> dict:
    if field.disabled:
        return {}
    if isinstance(field, forms.BooleanField):
        return {"NUL": NUL}
    if isinstance(field, forms.FileField):
        return {"no picture": create_svg()}
    if isinstance(field, forms.DecimalField | forms.IntegerField):
        return NUMBERS
    if isinstance(field, forms.ChoiceField | forms.ModelChoiceField):
        return CHOICES
    return TEXTS


def find_problem(field, name, kind, answer) -> str:
    """What is wrong with the answer to a hostile value; empty if nothing is."""
    if isinstance(field, forms.BooleanField):
        # Anything checks the box, which may not go with another field.
        return f"elsewhere: {answer.errors}" if {*answer.errors} - {name} else ""
    if answer.errors:
        if answer.was_stored:
            return "refused, and stored"
        if answer.response.status_code != 200:
            return f"status {answer.response.status_code}"
        if kind == "empty" and "__all__" not in answer.errors:
            return ""  # another field may be needed instead
        return "" if name in answer.errors else f"elsewhere: {answer.errors}"
    if kind == "empty":
        return "accepted" if field.required else ""
    is_text = list_hostile_values(field) is TEXTS
    return "accepted" if kind in ALWAYS_REFUSED or not is_text else ""


@pytest.mark.engine_independent
def test_shows_errors_on_the_rendered_page(shared, db):
    """Through all layers, with a hostile value in each field at once."""
    client = Client()
    client.force_login(shared.owner)
    problems = []
    for case in shared.cases:
        form = case.get_form(shared.owner)
        names = {
            name: create_svg() if isinstance(field, forms.FileField) else NUL
            for name, field in form.fields.items()
            if not isinstance(field, forms.BooleanField) and not field.disabled
        }
        if not names:
            continue
        response = client.post(case.url, names)
        errors = response.context["form"].errors
        html = response.content.decode()
        unseen = [
            name for name in names if name not in errors or escape(errors[name][0]) not in html
        ]
        if response.status_code != 200 or unseen:
            problems.append((case.name, response.status_code, unseen))

    assert not problems, list_lines(problems)


def test_names_the_field_of_a_value_that_is_taken(shared, submit):
    """A second object with the same values is refused beside a field, or accepted."""
    problems = []
    for case in shared.cases:
        values = case.get_values(shared.owner)
        if case.row is not None or not values:
            continue
        with transaction.atomic():
            case.call(shared.owner, values)
            answer = submit(case, shared.owner, values)
            transaction.set_rollback(True)
        if "__all__" in answer.errors and case.name not in ONLY_HIDDEN_FIELDS:
            problems.append((case.name, answer.errors))

    assert not problems, list_lines(problems)


def test_two_people_do_not_overwrite_each_other(shared, submit):
    """For each value that a form starts with, as if it was another one meanwhile."""
    problems = []
    for case in shared.cases:
        values = case.get_values(shared.owner)
        if "version" not in values:
            continue
        form = case.get_form(shared.owner)
        for name in form.initial:
            seen = calculate_version(form, form.initial | {name: object()})
            answer = submit(case, shared.owner, values | {"version": seen})
            text = str(answer.errors.get("__all__"))
            if "Somebody changed this" not in text or answer.was_stored:
                problems.append((case.name, name, answer.errors))

    assert not problems, list_lines(problems)


@pytest.mark.parametrize("version", [None, "a b", "%00=1"])
def test_saves_nothing_if_it_is_unknown_which_values_were_shown(shared, submit, version):
    """Of each page that starts with values, but those that make a new object."""
    problems, compared = [], 0
    for case in shared.cases:
        values = case.get_values(shared.owner)
        if values.pop("version", None) is None:
            continue
        compared += 1
        sent = values if version is None else values | {"version": version}
        answer = submit(case, shared.owner, sent)
        text = str(answer.errors.get("__all__"))
        if "had not shown the present values" not in text or answer.was_stored:
            problems.append((case.name, answer.errors))

    assert not problems, list_lines(problems)
    assert compared > 20


@pytest.mark.engine_independent
def test_recognizes_fields_that_were_not_touched(shared):
    """Whatever the types of their values are: sent back as they were shown."""
    problems = []
    for case in shared.cases:
        context = case.call(shared.owner).context_data
        form, version = context["form"], context["version"]
        values = case.get_values(shared.owner)
        sent = type(form)(values, account=form.account, row=form.row, initial=form.initial)
        problems += [
            (case.name, name, form.initial[name], sent[name].value())
            for name, digest in read_version(version).items()
            if name in form.fields
            and values.get(name) == form[name].value()
            and digest != digest_entry(sent, name)
        ]

    assert not problems, list_lines(problems)


# Forms that are no form pages, with their fields; those of test_second_factor.py need
# a device.
OTHER_FORMS = {
    "login": ("account", "username", "password"),
    "password_change": ("old_password", "new_password1", "new_password2"),
    "invitation": ("token", "password", "repeated"),
    "payouts_commission_save_view": ("name", "query"),
    "payouts_commission_changelist": ("action", "_selected_action", "reason", "_undo"),
}
HOSTILE_DATES = ("0001-01-01", "9999-12-31", "2026-02-30", "yesterday", NUL)


def test_other_forms_answer_hostile_input(shared, db):
    client = Client()
    client.force_login(shared.owner)
    commission = shared.account.commissions.filter(status="pending").first()
    action = {
        "action": "disapprove_selected",
        "_selected_action": commission.pk,
        "confirmed": "yes",
    }
    problems = []
    for name, fields in OTHER_FORMS.items():
        for field in fields:
            for kind in ("NUL", "1,000,000 characters", "two values"):
                value = TEXTS[kind]
                data = (action if "changelist" in name else {}) | {field: value}
                url = reverse(f"admin:{name}")
                RateWindow.objects.all().delete()  # of attempts to sign in
                with report_exceptions(problems, name, field, kind):
                    status = client.post(url, data).status_code
                    assert status in (200, 302, 400, 403, 404, 429), status

    assert not problems, list_lines(problems)
