from pathlib import Path

from django.core.management.base import CommandError

from accounts.commands import AccountCommand, add_days, read_file
from affiliate_site.api.parsing import parse_strict_json
from payouts.services.what_if import calculate_what_if
from payouts.statistics import Period
from payouts.what_if import UNKNOWN_TEXTS

MAX_FILE_BYTES = 1 << 20
MAX_SHOWN = 20  # affiliates as text
NOT_JSON = (
    "{name} is no JSON object with each key once: UTF-8, at most 32 levels, e.g."
    ' {{"programs": {{"harbor": {{"cookie_time": 30}}}}}}'
)


class Command(AccountCommand):
    help = (
        "Calculate the sales of a period by other rules, beside what is stored. Nothing is written."
    )
    json_help = (
        "from, to, sales, sales_changed, conversions_moved, conversions_refused,"
        " affiliates_changed, totals, affiliates, programs, months, due_months (each before and"
        " after), explained (the first changed sales, twice), unknown"
    )

    def add_arguments(self, parser):
        super().add_arguments(parser)
        add_days(parser)
        parser.add_argument(
            "--changes",
            metavar="FILE",
            type=Path,
            required=True,
            help="JSON: programs, groups and order; - is standard input",
        )

    def run_for_account(self, account, *, at, **options):
        name, content = read_file(options["changes"], max_bytes=MAX_FILE_BYTES)
        try:
            changes = parse_strict_json(content)
        except (ValueError, RecursionError):
            raise CommandError(NOT_JSON.format(name=name)) from None
        period = Period(options["first"], options["last"])
        with self.show_progress("Sales") as bar:
            result = calculate_what_if(
                account,
                period=period,
                changes=changes,
                begin=lambda number: bar.update(total=number),
                advance=bar.advance,
            )
        self.write_result("\n".join(render_what_if(result)), **serialize_what_if(result))


def render_what_if(result):
    """Return the lines of the result as text."""
    period = result.period
    lines = [
        f"{period.first} to {period.last}: {result.sales} sales, {result.changed} would change",
        *(
            f"{it.after - it.before:+,.2f} {currency} ({it.before:,.2f} → {it.after:,.2f})"
            for (_, currency), it in sorted(result.totals.items())
        ),
        f"{result.changed_affiliates} affiliates would earn more or less",
        f"{result.moved} sales would go to another affiliate, {result.refused} would be refused",
    ]
    changed = [each for each in result.affiliates.items() if each[1].before != each[1].after]
    changed.sort(key=lambda each: -abs(each[1].after - each[1].before))
    lines += [
        f"  {affiliate}: {it.after - it.before:+,.2f} {currency}"
        for (affiliate, currency), it in changed[:MAX_SHOWN]
    ]
    if len(changed) > MAX_SHOWN:
        lines.append(f"  … and {len(changed) - MAX_SHOWN} more: --json has all")
    return lines + [
        f"Unknown for {number}: {UNKNOWN_TEXTS[kind]}" for kind, number in result.unknown.items()
    ]


def serialize_what_if(result):
    """Return the result as JSON data; `json_help` names its keys."""
    return {
        "from": result.period.first,
        "to": result.period.last,
        "sales": result.sales,
        "sales_changed": result.changed,
        "conversions_moved": result.moved,
        "conversions_refused": result.refused,
        "affiliates_changed": result.changed_affiliates,
        "totals": list_sums(result.totals),
        "affiliates": list_sums(result.affiliates, "affiliate"),
        "programs": list_sums(result.programs, "program"),
        "months": list_sums(result.months, "month"),
        "due_months": list_sums(result.due_months, "month"),
        "explained": [
            {
                "conversion": pk,
                "currency": currency,
                "before": explain(outcome.before, outcome.earned_before),
                "after": explain(outcome.after, outcome.earned_after),
            }
            for pk, currency, outcome in result.explained
        ],
        "unknown": [
            {"reason": kind, "text": UNKNOWN_TEXTS[kind], "count": number}
            for kind, number in result.unknown.items()
        ],
    }


def list_sums(sums, name=""):
    """Return sums as rows by what they are of and currency, in this order."""
    return [
        ({name: key} if name else {})
        | {"currency": currency, "before": it.before, "after": it.after}
        for (key, currency), it in sorted(sums.items())
    ]


def explain(decision, earned):
    """Return to whom a sale goes and what it earns, with reasons, as JSON data."""
    return {
        "program": decision.program,
        "affiliate": None if decision.refusal else decision.affiliate,
        "tracking_source": decision.parameter,
        "refusal": decision.refusal or None,
        "commissions": [
            {
                "affiliate": each.affiliate,
                "kind": each.kind,
                "commission_type": each.commission_type,
                "sub_amount": each.sub_amount,
                "rate": {
                    "kind": each.rate.kind,
                    "value": each.rate.value,
                    "from": each.rate.source,
                },
                "amount": each.amount,
                "is_earned": each.is_earned,
                "due_at": each.due_at,
            }
            for each in earned
        ],
    }
