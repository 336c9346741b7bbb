"""Every example of the OpenAPI document matches its schema and passes validation."""

import json
from decimal import Decimal

import pytest
from django.utils.module_loading import import_string
from jsonschema import Draft202012Validator
from rest_framework import serializers

from affiliate_site.api.examples import EXAMPLES
from affiliate_site.api.input_serializers import InputSerializer
from affiliate_site.env import BASE_DIR
from tests.factories.tracking import AffiliateFactory, ProgramFactory

DOCUMENT = json.loads((BASE_DIR / "openapi.json").read_text())
BODIES = {
    f"{method} {path}: {kind}": body["content"]["application/json"]
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    for kind, body in {
        "request": operation.get("requestBody", {}),
        "response": operation["responses"].get("200", {}),
    }.items()
    if "content" in body
}


def list_subclasses(base):
    """Return all direct and indirect subclasses by name."""
    subclasses = {cls.__name__: cls for cls in base.__subclasses__()}
    return subclasses | {
        name: cls
        for subclass in subclasses.values()
        for name, cls in list_subclasses(subclass).items()
    }


def get_serializer_class(component_name):
    import_string("affiliate_site.urls.urlpatterns")  # imports every serializer
    return list_subclasses(serializers.Serializer)[f"{component_name}Serializer"]


INPUTS = [name for name in EXAMPLES if issubclass(get_serializer_class(name), InputSerializer)]


@pytest.mark.parametrize("name", BODIES)
def test_example_matches_its_schema(name):
    body = BODIES[name]
    schema = body["schema"] | {"components": DOCUMENT["components"]}

    errors = Draft202012Validator(schema).iter_errors(body["example"])

    assert [error.message for error in errors] == []


@pytest.fixture
def context(account):
    """Serializer context in which the objects of the examples exist."""
    AffiliateFactory(account=account, slug="noraweld")
    ProgramFactory(account=account, slug="tea-circle")
    return {"account": account, "currency": "EUR", "known_affiliate_ids": ["noraweld"]}


@pytest.mark.parametrize("name", INPUTS)
def test_request_example_passes_validation(context, name):
    data = json.loads(json.dumps(EXAMPLES[name]), parse_float=Decimal)
    serializer = get_serializer_class(name)(data=data, context=context)

    assert serializer.is_valid(), serializer.errors
    assert set(serializer.validated_data) == set(EXAMPLES[name])


def test_every_example_has_a_component():
    assert set(EXAMPLES) <= set(DOCUMENT["components"]["schemas"])
