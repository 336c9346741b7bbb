"""reliability.md, section 9: no door of the back office shows another company's row."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin import SimpleListFilter
from django.contrib.admin.models import LogEntry
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from accounts.models.accounts import Owned
from accounts.models.keys import Role
from accounts.models.users import User
from accounts.services.staff import invite_staff
from accounts.services.webhooks import add_webhook
from accounts.tenant_admin import OwnRows, TenantAdmin
from payouts.models.ledger import LedgerAccount, Place
from tests.proof import everything
from tests.shop import SOLD
from tests.world import World
from tracking.models.conversions import Conversion

MARK = "zz-marker"
PAGES = admin.site._registry
ONE = ("change", "history", "delete")

# What has no page, each with its reason.
WITHOUT_A_PAGE = {
    "accounts.Account": "operators set accounts up by command",
    "accounts.ChangedDay": "marks what is to be counted again",
    "accounts.CountedDay": "told by the dashboard",
    "accounts.IdempotencyKey": "kept answers are nobody's to read",
    "accounts.Plan": "a price list",
    "accounts.RateWindow": "counters that may be lost",
    "payouts.Bonus": "shown with its program, when it can be set there",
    "payouts.CommissionType": "shown with its program",
    "payouts.GroupRate": "shown with its program, when it can be set there",
    "payouts.Level": "shown with its program, when it can be set there",
    "tracking.Asset": "half of a link, shown with its enrolment",
    "tracking.ConversionAttempt": "forgotten within the hour",
    "tracking.Coupon": "shown with its enrolment",
    "tracking.Decision": "told in the explanation of its sale",
    "tracking.ReferralCode": "shown with its enrolment",
    "tracking.Source": "half of a link, shown with its enrolment",
    "tracking.Visitor": "a page's cookie, one per click",
}


def label(model):
    return model._meta.label


def address(model, name, *arguments):
    names = f"admin:{model._meta.app_label}_{model._meta.model_name}_{name}"
    return reverse(names, args=arguments)


@pytest.fixture
def others(other_account, other_api):
    """Everything that an account can have, each text with its mark."""
    world = World(other_api, other_account.slug, MARK)
    add_webhook(other_account, url=f"https://{MARK}.example/", at=timezone.now())
    for thing in ("balance", "payment", "note", "prospect", "payout_details", "group"):
        assert getattr(world, thing)
    invite_staff(
        other_account,
        email=f"{MARK}@example.org",
        role=Role.OWNER,
        password=None,
        at=timezone.now(),
    )
    other_account.field_definitions.create(slug=MARK, title=MARK, type="text")
    return other_account


def rows_of(model, account):
    rows = model._base_manager.filter(account=account)
    return rows.filter(kind=Place.PAYABLE) if model is LedgerAccount else rows


def test_has_a_page_for_every_model_or_a_reason_why_not():
    models = [
        label(model)
        for app in ("accounts", "tracking", "payouts")
        for model in apps.get_app_config(app).get_models()
    ]

    assert set(models) - set(map(label, PAGES)) == set(WITHOUT_A_PAGE)


@pytest.mark.parametrize("model", PAGES, ids=label)
def test_is_a_page_that_knows_whose_rows_it_shows(model):
    page = PAGES[model]

    assert isinstance(page, TenantAdmin)
    assert issubclass(model, Owned | User)
    assert all(issubclass(inline, OwnRows) for inline in page.inlines)


@pytest.mark.parametrize("model", PAGES, ids=label)
def test_joins_what_its_list_shows(model, staff, account):
    """Else each row costs a statement; an own `get_queryset` that joins switches off
    what `list_select_related` says."""
    answer = staff().get(address(model, "changelist"))

    joined = answer.context["cl"].queryset.query.select_related
    shown = {
        field.name
        for field in model._meta.get_fields()
        if field.many_to_one and field.name in PAGES[model].list_display
    }
    assert shown <= set(joined or ())


@pytest.mark.parametrize("model", PAGES, ids=label)
def test_filters_by_nothing_that_lists_the_rows_of_all(model):
    """A filter on a relation or on any text lists every tenant's values."""
    for name in PAGES[model].list_filter:
        if not isinstance(name, str):
            assert issubclass(name, SimpleListFilter)  # its choices are written down
            continue
        field = model._meta.get_field(name)
        assert field.choices or field.get_internal_type() == "BooleanField"


@pytest.mark.parametrize("model", PAGES, ids=label)
def test_shows_nothing_of_another_account(staff, others, model):
    """Lists, searches, pages, history, forged ids: the mark appears nowhere."""
    client = staff()
    theirs = list(rows_of(model, others))
    assert theirs, "the other account has none of these: the walk would prove nothing"
    before = everything(others)

    seen = [client.get(address(model, "changelist"))]
    for word in (MARK, str(theirs[0]), f"{MARK}@example.org"):
        found = client.get(address(model, "changelist"), {"q": word})
        rows = found.context["cl"].result_list
        assert others.pk not in {row.account_id for row in rows}
    for row in theirs[:3]:
        for name in ONE:
            answer = client.get(address(model, name, row.pk), follow=True)
            unknown = client.get(address(model, name, 10**9), follow=True)
            assert (answer.status_code, answer.redirect_chain) == (
                unknown.status_code,
                unknown.redirect_chain,
            )
            seen.append(answer)
        seen.append(client.post(address(model, "change", row.pk), {}, follow=True))

    for answer in seen:
        assert MARK not in answer.content.decode()
    assert seen[0].status_code == 200
    assert everything(others) == before
    assert not LogEntry.objects.exists()


def actions_of(model):
    page = PAGES[model]
    return [name for name in page.actions if isinstance(name, str)]


@pytest.mark.parametrize(
    ("model", "action"),
    [(model, action) for model in PAGES for action in actions_of(model)],
    ids=lambda it: it if isinstance(it, str) else label(it),
)
def test_acts_on_nothing_of_another_account(staff, others, model, action):
    client = staff()
    theirs = [row.pk for row in rows_of(model, others)]
    before = everything(others)

    for told in ({}, {"confirmed": "yes"}):
        form = {"action": action, "_selected_action": theirs, **told}
        answer = client.post(address(model, "changelist"), form, follow=True)
        assert answer.status_code == 200
        assert MARK not in answer.content.decode()

    assert everything(others) == before


def test_shows_nothing_of_another_account_on_the_dashboard(staff, others):
    client = staff()

    for path in (reverse("admin:index"), reverse("admin:search") + f"?s={MARK}"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert MARK not in answer.content.decode().replace(f"s={MARK}", "")
    found = client.get(reverse("admin:search"), {"s": MARK, "extended": "1"})
    assert MARK not in found.content.decode()


def test_offers_no_autocomplete_of_another_account(staff, others):
    client = staff()
    fields = [
        (model, field)
        for model in PAGES
        for field in model._meta.fields
        if field.remote_field and field.remote_field.model in PAGES
    ]

    for model, field in fields:
        asked = {
            "app_label": model._meta.app_label,
            "model_name": model._meta.model_name,
            "field_name": field.name,
            "term": MARK,
        }
        answer = client.get(reverse("admin:autocomplete"), asked)
        assert MARK not in answer.content.decode()


def test_walks_every_address_that_there_is():
    """A page with an address of its own does not slip by."""
    found = {
        pattern.name
        for pattern in admin.site.get_urls()
        if getattr(pattern, "name", None)
    }

    assert found <= {
        "index",
        "search",
        # Of whoever is signed in: test_second_factor.py
        "second_factor",
        "second_factor_begin",
        "second_factor_confirm",
        "second_factor_remove",
        "login",
        "logout",
        "password_change",
        "password_change_done",
        "autocomplete",
        "jsi18n",
        "view_on_site",
        "app_list",
    }


@pytest.mark.parametrize("model", PAGES, ids=label)
def test_opens_every_page_of_ones_own(staff, account, api, model, statements):
    """Also for who may only look; and never by many statements."""
    world = World(api, account.slug, "harbor")
    add_webhook(account, url="https://harbor.example/", at=timezone.now())
    for thing in ("payment", "note", "prospect", "payout_details", "group"):
        assert getattr(world, thing)
    account.field_definitions.create(slug="size", title="Size", type="text")
    assert world.signed_up("third")
    clients = [staff(role=role) for role in Role.values]
    clients[0].get("/admin/")  # the days that are over are counted once

    for client in clients:
        with statements() as asked:
            answer = client.get(address(model, "changelist"))
        assert answer.status_code == 200
        assert len(asked) <= 15
        for row in rows_of(model, account)[:3]:
            answer = client.get(address(model, "change", row.pk))
            assert answer.status_code == 200, row


def test_knows_no_stranger(client):
    answer = client.get(reverse("admin:payouts_commission_changelist"))

    assert answer.status_code == 302
    assert answer["Location"].startswith(reverse("admin:login"))


def test_lets_nobody_add_change_or_delete_by_hand(staff):
    """But keys, staff and webhooks, which their services make."""
    client = staff()
    addable = []
    for model in PAGES:
        try:
            answer = client.get(address(model, "add"))
        except NoReverseMatch:
            continue
        if answer.status_code != 403:
            addable.append(label(model))

    made = ["accounts.ApiKey", "accounts.User", "accounts.WebhookEndpoint"]
    assert sorted(addable) == made


def test_writes_times_that_sort_as_they_read(staff, shop):
    shop.sell("10", at=SOLD)

    page = staff().get(address(Conversion, "changelist")).content.decode()

    assert "2026-03-04 09:15" in page


HIDDEN = ("secret", "old_secret", "digest", "password", "email_folded", "working")
SPLITS = ("startswith", "regex", "contains", "gt", "lt", "in", "exact", "range")


@pytest.mark.parametrize("model", PAGES, ids=label)
def test_tells_no_hidden_column_letter_by_letter(staff, model):
    client = staff(role=Role.VIEWER)
    columns = [field.name for field in model._meta.fields]

    for column in (*columns, "account__name", "affiliate__password"):
        for how in SPLITS[: 8 if column in HIDDEN else 3]:
            for path in ("changelist", "export", "export_xlsx"):
                asked = {f"{column}__{how}": "a"}
                answer = client.get(address(model, path), asked)
                assert answer.status_code == 400, (column, how)


ODD = [
    {"q": "\x00"},
    {"p": "9" * 30},
    {"p": "-1"},
    {"o": "99.-7"},
    {"created_at__gte": "0001-01-01"},
    {"created_at__gte": "yesterday"},
    {"created_at__lt": "9999-12-31T23:59:59Z"},
    {"affiliate__exact": "9" * 30},
    {"_popup": "1", "_to_field": "secret"},
    {"e": "1"},
]


@pytest.mark.parametrize("asked", ODD, ids=str)
@pytest.mark.parametrize("model", PAGES, ids=label)
def test_never_fails_over_what_it_is_asked(staff, model, asked):
    client = staff()

    for path in ("changelist", "export", "export_xlsx"):
        answer = client.get(address(model, path), asked)
        assert answer.status_code in (200, 302, 400)
        answer.getvalue()  # to its end, as a browser reads it


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
def test_refuses_odd_addresses(staff, path):
    assert staff().get(path).status_code in (302, 400, 404)


# Searched without an index of its own: some dozens of rows an account.
FEW = {
    ("tracking.Program", "title"),
    ("tracking.AffiliateGroup", "title"),
    ("accounts.ApiKey", "prefix"),
    ("accounts.User", "email"),
    ("accounts.WebhookEndpoint", "affiliate"),
    ("payouts.LedgerAccount", "affiliate"),  # two rows an affiliate and currency
}


@pytest.mark.parametrize("model", PAGES, ids=label)
def test_searches_whole_words_that_an_index_finds(model):
    for name in PAGES[model].search_fields:
        path, _, how = name.rpartition("__")
        relation, _, column = path.rpartition("__")
        target = model._meta.get_field(relation).related_model if relation else model
        begins = [
            list(rule.fields)[:2]
            for rule in [*target._meta.constraints, *target._meta.indexes]
            if hasattr(rule, "fields")
        ]
        assert how == "exact"
        assert ["account", column] in begins or (label(target), column) in FEW
        if relation:
            rules = [*model._meta.constraints, *model._meta.indexes]
            firsts = [list(getattr(rule, "fields", ()))[:2] for rule in rules]
            assert ["account", relation] in firsts or (label(model), relation) in FEW
