from pathlib import Path

from accounts.commands import AccountCommand, parse_day
from accounts.days import start_of_day
from affiliate_site.management.json_files import read_json_file
from payouts.calculation import write_rate
from payouts.services.program_rates import set_rates

EXAMPLE = '{"rates": [{"percentage": "10"}, {"percentage": "12", "orders": {"from": 1, "to": 1}}]}'


class Command(AccountCommand):
    help = "Replace the rates of a program by those of a file; what it leaves out ends."
    json_help = "added, ended, warnings"
    arguments = {"program": "the program's slug"}

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument(
            "--file", metavar="FILE", type=Path, required=True, help="JSON; - is standard input"
        )
        parser.add_argument(
            "--from",
            dest="first",
            metavar="DAY",
            type=parse_day,
            help="a day that has not begun, in the account's zone; default: now",
        )
        parser.add_argument("--dry-run", action="store_true", help="only print what would change")

    def run_for_account(self, account, *, at, **options):
        first = options["first"]
        change = set_rates(
            account,
            options["program"],
            read_json_file(options["file"], example=EXAMPLE),
            starts_at=start_of_day(first, account.zone) if first else None,
            is_dry_run=options["dry_run"],
            at=at,
        )
        lines = [
            *(f"begins: {write_rate(each)}" for each in change.added),
            *(f"ends: {write_rate(each)}" for each in change.ended),
            *(f"warning: {text}" for text in change.warnings),
        ]
        text = "\n".join(lines) or "Nothing changes: the program has these rates."
        self.write_result(text, **vars(change))
