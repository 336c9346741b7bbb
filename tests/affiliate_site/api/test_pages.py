"""The SQL of a page is compiled once for the same conditions."""

from datetime import timedelta

import pytest

from affiliate_site.api.representations import pages
from affiliate_site.api.representations.programs import ProgramRepresentation
from tests.conftest import NOW
from tests.factories.tracking import ProgramFactory


@pytest.fixture(autouse=True)
def page_queries():
    """The cache of compiled pages, empty at first."""
    pages.get_page_query.cache_clear()
    return pages.get_page_query


@pytest.fixture
def programs(account):
    """Programs p-0, the newest, to p-4; every second is recurring."""
    return [
        ProgramFactory(
            account=account,
            slug=f"p-{n}",
            recurring=n % 2 == 0,
            created_at=NOW - timedelta(days=n),
        )
        for n in range(5)
    ]


def list_slugs(account, rows, offset=0, limit=25):
    page = pages.load_page(ProgramRepresentation, rows, account, offset=offset, limit=limit)
    return [answer["id"] for answer in ProgramRepresentation.represent_all(page, account)]


def test_counts_the_rows_of_the_list(account, other_account, programs):
    ProgramFactory(account=other_account)
    rows = account.programs

    assert pages.count_list(rows.all()) == 5
    assert pages.count_list(rows.filter(recurring=True)) == 3
    assert pages.count_list(rows.filter(created_at__lt=NOW - timedelta(days=9))) == 0
    assert pages.count_list(rows.filter(assets__hex="0")) == 0  # a join


def test_an_empty_list_needs_no_query(account, programs, capture_queries):
    with capture_queries() as captured:
        assert list_slugs(account, account.programs.none()) == []

    assert len(captured) == 0


def test_loads_the_rows_of_the_page_in_order(account, other_account, programs):
    ProgramFactory(account=other_account)
    rows = account.programs.newest_first()

    assert list_slugs(account, rows, limit=2) == ["p-0", "p-1"]
    assert list_slugs(account, rows, offset=3, limit=2) == ["p-3", "p-4"]


def test_values_are_those_of_each_call(account, other_account, programs, page_queries):
    ProgramFactory(account=other_account, slug="other", created_at=NOW)
    days = [account.programs.filter(created_at__lt=day.created_at) for day in programs]

    found = [list_slugs(account, rows.newest_first()) for rows in days]

    assert [len(slugs) for slugs in found] == [4, 3, 2, 1, 0]
    rows = other_account.programs.filter(created_at__lt=NOW + timedelta(days=1))
    assert list_slugs(other_account, rows.newest_first()) == ["other"]
    assert page_queries.cache_info().currsize == 1


def test_conditions_without_a_value_are_part_of_the_sql(account, programs, page_queries):
    rows = account.programs.newest_first()

    assert list_slugs(account, rows.filter(recurring=True)) == ["p-0", "p-2", "p-4"]
    assert list_slugs(account, rows.filter(recurring=False)) == ["p-1", "p-3"]
    assert list_slugs(account, rows.filter(archived_at=None))[:1] == ["p-0"]
    assert list_slugs(account, rows.filter(archived_at__isnull=False)) == []
    assert page_queries.cache_info().currsize == 4


@pytest.mark.parametrize(
    "conditions",
    [
        {"pk__in": [1, 2]},
        {"assets__hex": "0"},
        {"account__slug": "x"},
    ],
)
def test_compiles_other_conditions_each_time(account, programs, page_queries, conditions):
    rows = account.programs.newest_first().filter(**conditions)

    assert list_slugs(account, rows) == [program.slug for program in rows.distinct()]
    assert page_queries.cache_info().currsize == 0


def test_compiles_alternatives_each_time(account, programs, page_queries):
    rows = account.programs.filter(slug="p-1") | account.programs.filter(slug="p-3")

    assert list_slugs(account, rows.newest_first()) == ["p-1", "p-3"]
    assert page_queries.cache_info().currsize == 0


def test_a_page_of_none_is_empty(account, programs):
    assert list_slugs(account, account.programs.newest_first().none()) == []
