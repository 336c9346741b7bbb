"""Indexes by which codes of mangled links are found in any case."""

from django.db import migrations, models
from django.db.models.functions import Lower

from accounts.migration_operations import AddIndexConcurrently


def build_index(name):
    """By the code in lower case; with `code`, so that SQLite reads this index alone."""
    return models.Index(models.F("account"), Lower("code"), models.F("code"), name=name)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("tracking", "0057_hosts_and_chosen_codes")]

    operations = [
        AddIndexConcurrently(
            model_name="referralcode",
            index=build_index("referral_codes_by_lowered_code"),
        ),
        AddIndexConcurrently(
            model_name="referralcodealias",
            index=build_index("aliases_by_lowered_code"),
        ),
    ]
