"""Store codes instead of sentences in the calculations of commissions."""

import json

from django.db import migrations

BATCH_SIZE = 1000
REVIEW_PREFIX = "waits for a look: "  # followed by warnings
CODES = {
    "as the commission that it follows": "base_commission",
    "past the program's cap for this customer": "cap_reached",
    "told by a page, which anybody can open": "unverified_browser_sale",
    "the program lets somebody decide": "program_requires_approval",
    "the payout balance does not cover it": "insufficient_funds",
    "the program approves by itself": "program_approves",
    "the affiliate is deleted": "affiliate_deleted",
    "not approved in the program": "not_approved",
}
TEXTS = {code: text for text, code in CODES.items()}


def replace_by_codes(apps, schema_editor):
    def convert(calculation):
        reason = calculation["reason"]
        if reason.startswith(REVIEW_PREFIX):
            calculation["reason"] = "needs_review"
        else:
            calculation["reason"] = CODES.get(reason, reason)
        for skipped in calculation.get("skipped", ()):
            skipped["reason"] = CODES.get(skipped["reason"], skipped["reason"])

    convert_rows(apps, convert)


def restore_texts(apps, schema_editor):
    def convert(calculation):
        reason = calculation["reason"]
        if reason == "needs_review":
            warnings = calculation["approval_context"]["warnings"]
            calculation["reason"] = f"{REVIEW_PREFIX}{', '.join(warnings)}"
        else:
            calculation["reason"] = TEXTS.get(reason, reason)
        for skipped in calculation.get("skipped", ()):
            skipped["reason"] = TEXTS.get(skipped["reason"], skipped["reason"])

    convert_rows(apps, convert)


def convert_rows(apps, convert):
    commissions, last = apps.get_model("payouts", "Commission").objects, 0
    while rows := list(
        commissions.filter(pk__gt=last).only("calculation").order_by("pk")[:BATCH_SIZE]
    ):
        for row in rows:
            calculation = json.loads(row.calculation)
            convert(calculation)
            row.calculation = json.dumps(calculation, sort_keys=True)
        commissions.bulk_update(rows, ["calculation"])
        last = rows[-1].pk


class Migration(migrations.Migration):
    dependencies = [("payouts", "0013_missed_goals")]

    operations = [migrations.RunPython(replace_by_codes, restore_texts)]
