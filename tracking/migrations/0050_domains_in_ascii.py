"""Fold the domains of e-mail addresses to ASCII, as they are compared from now on.

A row whose address another row of the account has in the other spelling keeps its own:
there are few, and staff merge them. So does one that old code stores meanwhile. Old code
finds such an address only as ASCII. Staff keep the ASCII form on the way back.
"""

import unicodedata
from contextlib import suppress

from django.db import IntegrityError, migrations, transaction

BATCH_SIZE = 1000
PEOPLE = ("Affiliate", "Prospect", "Customer", "PortalApplication")


def fold(text):
    local, at, domain = text.casefold().rpartition("@")
    folded = unicodedata.normalize("NFKC", local).casefold() + at + domain
    if at and not domain.isascii():
        with suppress(UnicodeError):
            domain = domain.encode("idna").decode("ascii").casefold()
            folded = folded.rpartition("@")[0] + at + domain
    return folded[:762]


def unfold(text):
    local, at, domain = text.rpartition("@")
    with suppress(UnicodeError):
        return local + at + domain.encode("ascii").decode("idna").casefold()
    return text


def fold_rows(apps, schema_editor):
    for name in PEOPLE:
        change_rows(apps.get_model("tracking", name), "email_folded", fold)
    change_rows(apps.get_model("tracking", "Affiliate"), "bounced_email", fold)
    for name in ("User", "Invitation"):
        change_rows(apps.get_model("accounts", name), "email", fold)


def unfold_rows(apps, schema_editor):
    for name in PEOPLE:
        change_rows(apps.get_model("tracking", name), "email_folded", unfold)
    change_rows(apps.get_model("tracking", "Affiliate"), "bounced_email", unfold)


def change_rows(model, column, convert):
    """Convert the texts of a column that are not ASCII, or have an encoded domain."""
    last, rows = 0, model.objects.exclude(**{column: None}).order_by("pk")
    while batch := list(rows.filter(pk__gt=last).values_list("pk", column)[:BATCH_SIZE]):
        last = batch[-1][0]
        for pk, text in batch:
            if text.isascii() and "xn--" not in text:
                continue
            own = model.objects.filter(**{"pk": pk, column: text})
            with suppress(IntegrityError), transaction.atomic():
                own.update(**{column: convert(text)})


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("accounts", "0018_role_finance"),
        ("tracking", "0049_table_uploads"),
    ]

    operations = [migrations.RunPython(fold_rows, unfold_rows)]
