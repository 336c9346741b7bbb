from pathlib import Path

from accounts.commands import AccountCommand, add_days
from affiliate_site.management.json_files import read_json_file
from payouts.services.what_if import calculate_what_if
from payouts.services.what_if_results import serialize_what_if
from payouts.statistics import Period
from payouts.what_if import UNKNOWN_TEXTS

MAX_SHOWN = 20  # affiliates as text
EXAMPLE = '{"programs": {"harbor": {"cookie_time": 30}}}'


class Command(AccountCommand):
    help = (
        "Calculate the sales of a period by other rules, beside what is stored. Nothing is written."
    )
    json_help = (
        "from, to, sales, sales_changed, conversions_moved, conversions_refused,"
        " affiliates_changed, totals, affiliates, programs, months, due_months (each before and"
        " after), explained (the sales that change most, twice), unknown"
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
        changes = read_json_file(options["changes"], example=EXAMPLE)
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
