"""The palette: Ctrl + K finds one's own rows by a whole id, and nobody else's."""

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models.keys import Role
from accounts.models.users import User
from accounts.tenant_admin import TenantAdmin
from affiliate_site.backoffice.palette import ASKED, MOST, is_id
from tests.shop import Shop
from tests.world import World

COLUMNS = [f"{ask.model.__name__}.{ask.column}" for ask in ASKED]


def ask(client, word):
    return client.get(reverse("admin:search"), {"s": word, "extended": "1"})


def page_of(row):
    options = row._meta
    name = f"admin:{options.app_label}_{options.model_name}_change"
    return reverse(name, args=[row.pk])


def links(answer):
    """The rows that were found; without the lists, whose names are found too."""
    assert answer.status_code == 200
    found = answer.context["results"] if answer.content else []
    return [line.link for line in found if line.link.endswith("/change/")]


def rows_of(account, api, mark):
    """One row for each column that is asked: its text, and the row."""
    world = World(api, account.slug, mark)
    assert world.balance
    payment = account.payments.get(public_id=world.payment)
    conversion = account.conversions.get(external_id=world.external_id)
    customer, member = conversion.customer, conversion.affiliate
    return {
        "Affiliate.slug": (member.slug, member),
        "Affiliate.email_folded": (member.email.upper(), member),
        "Customer.customer_id": (customer.customer_id, customer),
        "Customer.public_id": (customer.public_id, customer),
        "Conversion.external_id": (conversion.external_id, conversion),
        "Payment.public_id": (payment.public_id, payment),
        "Program.slug": (conversion.program.slug, conversion.program),
    }


@pytest.fixture
def rows(account, api):
    return rows_of(account, api, "harbor")


@pytest.fixture
def theirs(other_account, other_api):
    return rows_of(other_account, other_api, "zz-marker")


@pytest.mark.parametrize("column", COLUMNS)
def test_finds_a_row_by_its_whole_id(staff, rows, column):
    word, row = rows[column]
    client = staff()

    assert links(ask(client, word)) == [page_of(row)]
    assert links(ask(client, f" {word} ")) == [page_of(row)]
    assert links(ask(client, word[:-1])) == []


@pytest.mark.parametrize("column", COLUMNS)
def test_finds_nothing_of_another_account(staff, rows, theirs, column):
    word, _ = theirs[column]

    answer = ask(staff(), word)

    assert links(answer) == []
    assert "zz-marker" not in answer.content.decode()


def test_finds_the_row_of_ones_own_account_alone(staff, account, other_account):
    """Two accounts may call a sale the same."""
    own, _ = (
        Shop(it, mark=mark).sell("20", external_id="order-1")
        for it, mark in ((account, ""), (other_account, "zz-marker-"))
    )

    assert links(ask(staff(), "order-1")) == [page_of(own)]


@pytest.mark.parametrize("role", Role.values)
def test_finds_for_whoever_may_look(staff, shop, role):
    sale = shop.sell("20", external_id="Order-1")  # capitals are part of an id
    client = staff(role=role)

    assert links(ask(client, "Order-1")) == [page_of(sale)]
    assert links(ask(client, "order-1")) == []


def test_finds_nothing_where_the_page_is_not_shown(staff, rows, monkeypatch):
    monkeypatch.setattr(TenantAdmin, "has_view_permission", lambda *asked: False)
    word, _ = rows["Customer.customer_id"]

    assert links(ask(staff(), word)) == []


def test_finds_pages_but_no_rows_for_operators(rows, theirs):
    operator = User.objects.create_superuser(email="ops@example.org", password="x")
    client = Client()
    client.force_login(operator)

    assert reverse("admin:tracking_program_changelist") in [
        line.link for line in ask(client, "program").context["results"]
    ]
    for word, _ in (*rows.values(), *theirs.values()):
        assert links(ask(client, word)) == []


def test_forgets_removed_rows_where_their_index_does(staff, shop):
    sale = shop.sell("20", external_id="order-1")
    sale.account.conversions.filter(pk=sale.pk).update(removed_at=timezone.now())

    assert links(ask(staff(), "order-1")) == []


@pytest.mark.parametrize("asked", ASKED, ids=COLUMNS)
def test_asks_only_what_belongs_to_one_row_of_an_account(asked):
    """So the answer is short, and an index knows it."""
    unique = [it for it in asked.model._meta.constraints if hasattr(it, "fields")]
    (key,) = (it for it in unique if it.fields == ("account", asked.column))

    assert asked.present is (key.condition is not None)
    assert len(ASKED) <= MOST


HOSTILE = {
    "nothing": "",
    "blanks": "   ",
    "long": "x" * 10_000,
    "percent": "%",
    "underlines": "_______",
    "quotes": "' or 1=1 --",
    "lines": "order\n1",
    "turned": "\u202eorder",
    "capitals": "\u0130" * 255,
}


@pytest.mark.parametrize("word", HOSTILE.values(), ids=HOSTILE)
def test_finds_nothing_by_odd_words(staff, rows, word):
    answer = ask(staff(), word)

    assert links(answer) == []


def test_takes_no_character_that_no_id_has():
    assert is_id("order-1")
    assert not is_id("order\x00-1")  # the door refuses it before


def test_takes_few_statements(staff, rows, statements):
    client = staff()

    for word, _ in rows.values():
        with statements() as asked:
            ask(client, word)
        assert len(asked) <= 15


def test_keeps_no_answer_for_anybody(staff, rows):
    """The theme would, by the user alone; the default cache forgets everything."""
    ask(staff(), rows["Program.slug"][0])

    assert settings.CACHES["default"]["BACKEND"].endswith("DummyCache")
    cache.set("kept", "yes")
    assert cache.get("kept") is None
