"""Store codes instead of sentences in attribution records and in contested claims."""

import json
import re

from django.db import migrations

BATCH_SIZE = 1000
STATUS_CODES = {"waiting": "pending", "stranger": "not_enrolled", "removed": "deleted"}
REASON_CODES = {
    "no clue was sent": "no_parameter",
    "nothing but an unknown customer was sent": "unknown_customer",
    "sent without a value": "blank",
    "points at nobody": "unknown",
    "the affiliate is deleted": "affiliate_deleted",
    "not approved in the program": "not_approved",
    "the program is archived": "program_archived",
    "the cookie expired": "cookie_expired",
}
STATUS_WORDS = {code: word for word, code in STATUS_CODES.items()}
REASON_TEXTS = {code: text for text, code in REASON_CODES.items()}
EXPIRED_PATTERN = re.compile(r"expired by (\d+) d (\d+) h")


def replace_by_codes(apps, schema_editor):
    convert_rows(apps, STATUS_CODES, REASON_CODES, convert_reason)


def restore_texts(apps, schema_editor):
    convert_rows(apps, STATUS_WORDS, REASON_TEXTS, restore_reason)


def convert_rows(apps, statuses, reasons, convert_rejected):
    def convert(inputs, outcome):
        inputs, outcome = json.loads(inputs), json.loads(outcome)
        for candidate in inputs["candidates"]:
            status = candidate["enrollment_status"]
            candidate["enrollment_status"] = statuses.get(status, status)
        reason = outcome["rejection_reason"]
        outcome["rejection_reason"] = reasons.get(reason, reason)
        for rejected in outcome["rejected_candidates"]:
            convert_rejected(rejected, outcome["parameter"])
        return {"inputs": dump(inputs), "outcome": dump(outcome)}

    for rows in read_batches(apps.get_model("tracking", "AttributionRecord")):
        for row in rows:
            vars(row).update(convert(row.inputs, row.outcome))
        type(rows[0]).objects.bulk_update(rows, ["inputs", "outcome"])
    for rows in read_batches(apps.get_model("tracking", "ConversionClaim")):
        for row in rows:
            stored = row.attribution
            row.attribution |= convert(stored["inputs"], stored["outcome"])
        type(rows[0]).objects.bulk_update(rows, ["attribution"])


def convert_reason(rejected, winning_parameter):
    reason = rejected["reason"]
    expired = EXPIRED_PATTERN.fullmatch(reason)
    hours = int(expired[1]) * 24 + int(expired[2]) if expired else None
    code = "cookie_expired" if expired else "lower_precedence"
    rejected["reason"] = REASON_CODES.get(reason, code)
    rejected["expired_by_hours"] = hours


def restore_reason(rejected, winning_parameter):
    hours, reason = rejected.pop("expired_by_hours"), rejected["reason"]
    if reason == "lower_precedence":
        rejected["reason"] = f"{winning_parameter} comes first"
    elif hours is not None:
        rejected["reason"] = f"expired by {hours // 24} d {hours % 24} h"
    else:
        rejected["reason"] = REASON_TEXTS[reason]


def read_batches(model):
    last = 0
    while rows := list(model.objects.filter(pk__gt=last).order_by("pk")[:BATCH_SIZE]):
        last = rows[-1].pk
        yield rows


def dump(data):
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class Migration(migrations.Migration):
    dependencies = [("tracking", "0015_late_changes")]

    operations = [migrations.RunPython(replace_by_codes, restore_texts)]
