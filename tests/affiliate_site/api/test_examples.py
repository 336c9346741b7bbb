"""Every example of the OpenAPI document fits its schema, and would be taken."""

import json
from decimal import Decimal

import pytest
from django.utils.module_loading import import_string
from jsonschema import Draft202012Validator
from rest_framework import serializers

from affiliate_site.api.examples import EXAMPLES
from affiliate_site.api.inputs import Input
from affiliate_site.env import ROOT
from tests.factories.tracking import AffiliateFactory, ProgramFactory

DOCUMENT = json.loads((ROOT / "openapi.json").read_text())
BODIES = {
    f"{method} {path}: {place}": body["content"]["application/json"]
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    for place, body in {
        "request": operation.get("requestBody", {}),
        "answer": operation["responses"].get("200", {}),
    }.items()
    if "content" in body
}


def declarations(base):
    """Every class below, by its name."""
    below = {cls.__name__: cls for cls in base.__subclasses__()}
    return below | {
        k: v for cls in below.values() for k, v in declarations(cls).items()
    }


def declared(name):
    import_string("affiliate_site.urls.urlpatterns")  # the classes are all there
    return declarations(serializers.Serializer).get(name)


INPUTS = [name for name in EXAMPLES if issubclass(declared(name), Input)]


@pytest.mark.parametrize("name", BODIES)
def test_gives_an_example_that_fits(name):
    body = BODIES[name]
    schema = body["schema"] | {"components": DOCUMENT["components"]}

    flaws = Draft202012Validator(schema).iter_errors(body["example"])

    assert [flaw.message for flaw in flaws] == []


@pytest.fixture
def context(account):
    """What the examples name is there."""
    AffiliateFactory(account=account, slug="noraweld")
    ProgramFactory(account=account, slug="tea-circle")
    return {"account": account, "currency": "EUR", "known": ["noraweld"]}


@pytest.mark.parametrize("name", INPUTS)
def test_gives_an_input_that_is_taken(context, name):
    sent = json.loads(json.dumps(EXAMPLES[name]), parse_float=Decimal)
    reader = declared(name)(data=sent, context=context)

    assert reader.is_valid(), reader.errors
    assert set(reader.validated_data) == set(EXAMPLES[name])


def test_gives_no_example_of_what_there_is_not():
    assert set(EXAMPLES) <= set(DOCUMENT["components"]["schemas"])
