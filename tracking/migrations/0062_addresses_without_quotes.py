"""Fold quoted names of e-mail addresses as they are compared: without their quotes.

A row whose address another row has without quotes keeps its own: `doctor` names it.
"""

import re
from contextlib import suppress

from django.db import IntegrityError, migrations, transaction

QUOTED = re.compile(r'"(.*)"(@[^@]*)', re.DOTALL)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
COLUMNS = (
    ("tracking", "Affiliate", "email_folded"),
    ("tracking", "Affiliate", "bounced_email"),
    ("tracking", "Prospect", "email_folded"),
    ("tracking", "Customer", "email_folded"),
    ("tracking", "PortalApplication", "email_folded"),
    ("accounts", "User", "email"),
    ("accounts", "Invitation", "email"),
)


def unquote(text):
    match = QUOTED.fullmatch(text)
    return ESCAPED.sub(r"\1", match[1]) + match[2] if match else text


def unquote_rows(apps, schema_editor):
    for app, name, column in COLUMNS:
        model = apps.get_model(app, name)
        quoted = model.objects.filter(**{f"{column}__startswith": '"'})
        for pk, text in list(quoted.order_by("pk").values_list("pk", column)):
            own = model.objects.filter(**{"pk": pk, column: text})
            with suppress(IntegrityError), transaction.atomic():
                own.update(**{column: unquote(text)})


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("accounts", "0019_click_days"),
        ("tracking", "0061_labels_of_choices"),
    ]

    operations = [migrations.RunPython(unquote_rows, migrations.RunPython.noop)]
