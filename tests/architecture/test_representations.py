"""Every declaration of an answer fits its model, and says what it is."""

import pytest
from django.db import connection
from rest_framework import serializers

from affiliate_site.api.representations.pages import get_page_query, load_page
from tests.architecture.representations import list_representations

REPRESENTATIONS = {
    representation.__name__: representation for representation in list_representations()
}
LOOKUPS = (("account__exact", None), ("id__gte", None))
OF_MODELS = [name for name, cls in REPRESENTATIONS.items() if cls.model]


def test_finds_the_declarations():
    assert {"ProgramRepresentation", "MetaDataValueRepresentation"} <= set(REPRESENTATIONS)


@pytest.mark.parametrize("name", OF_MODELS)
def test_columns_exist(name, account):
    """The statement is executed, so the joins and columns are right in its SQL."""
    representation = REPRESENTATIONS[name]
    rows = representation.model.objects.of(account)

    selected = representation.select(rows)

    assert list(selected) == []
    assert len(selected.query.get_compiler("default").get_select()[0]) == len(
        representation.columns
    )


@pytest.mark.parametrize("name", OF_MODELS)
def test_compiled_page_is_the_ordinary_one(name, account):
    representation = REPRESENTATIONS[name]
    rows = representation.model.objects.of(account).filter(pk__gte=3).order_by("-pk")
    values = {"account__exact": account, "id__gte": 3, "offset": 50}
    query = get_page_query(representation, LOOKUPS, ("-pk",), 25)

    compiled = query.compile((None, None, None)).statement

    page = representation.select(rows.paginate(account, offset=50, limit=25))
    sql, parameters = page.query.sql_with_params()
    table = f'"{representation.model._meta.db_table}"'
    sql = sql.replace(f"{table} U0", table).replace("U0.", f"{table}.")
    assert compiled.sql == sql.replace("OFFSET 50", "OFFSET %s")
    assert compiled.bind(values, connection) == [*parameters, 50]
    assert load_page(representation, rows, account, offset=0, limit=25) == []


@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_describes_itself(name):
    representation = REPRESENTATIONS[name]

    assert name.endswith("Representation")
    assert representation.__doc__


@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_example_has_the_keys_of_the_schema_in_order(name):
    representation = REPRESENTATIONS[name]
    serializer = representation.get_serializer_class()()

    assert isinstance(serializer, serializers.Serializer)
    assert list(representation.get_example()) == list(serializer.fields)


@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_keys_without_null_have_an_example(name):
    representation = REPRESENTATIONS[name]
    examples = representation.get_example()

    missing = {
        key
        for key, declared in representation.keys.items()
        if not declared.null and examples[key] is None
    }

    assert missing == set() or "always null" in representation.__doc__
