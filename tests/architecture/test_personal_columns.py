"""Each text column of each model is declared as personal or not: docs/privacy.md."""

from collections import Counter

from django.apps import apps
from django.db import models

from affiliate_site.privacy.personal_data import (
    list_declared_columns,
    render_record_of_processing,
)
from tests.architecture.syntax_trees import ROOT

TEXT_TYPES = (
    models.BinaryField,
    models.CharField,
    models.GenericIPAddressField,
    models.JSONField,
    models.TextField,
    models.UUIDField,
)
OPTIONAL_APPS = ("otp_totp",)


def list_text_columns():
    return {
        (model._meta.label, field.name)
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed
        for field in model._meta.local_fields
        if isinstance(field, TEXT_TYPES)
    }


def test_each_column_is_declared_once():
    declared = Counter(list_declared_columns())
    found = list_text_columns()

    optional = {each for each in declared if each[0].split(".")[0] in OPTIONAL_APPS}
    assert {each for each, number in declared.items() if number > 1} == set()
    assert found - set(declared) == set(), (
        "declare these columns in affiliate_site/privacy/personal_data.py: as personal"
        " (then payouts/services/erasure.py erases them) or among OTHER_COLUMNS"
    )
    assert set(declared) - found - optional == set(), "these columns do not exist"


def test_the_record_of_processing_shows_the_declared_columns():
    text = (ROOT / "docs" / "privacy.md").read_text()

    assert render_record_of_processing() in text, (
        "replace the table in docs/privacy.md by what"
        " affiliate_site.privacy.personal_data.render_record_of_processing() returns"
    )
