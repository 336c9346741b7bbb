from argparse import ArgumentTypeError

from django.core.management.base import CommandError

from accounts.commands import add_days
from affiliate_site.management.file_commands import FileCommand
from affiliate_site.reports import FORMATS, ReportFile
from payouts.errors import StatisticsNotReady
from payouts.report_columns import COLUMNS
from payouts.services.report_fields import FIELDS
from payouts.services.reports import COMPARISONS, ReportQuery, build_report, serialize_report
from payouts.statistics import Period


def parse_names(text: str) -> list[str]:
    """Parse names with commas between them."""
    return [name.strip() for name in text.split(",")]


def parse_filter(text: str) -> tuple[str, str]:
    """Parse `program=harbor`."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ArgumentTypeError(f"{text!r} is not a filter like program=harbor")
    return name, value


class Command(FileCommand):
    help = "Print or write what affiliates brought and cost in a period."
    formats = FORMATS
    json_help = (
        "rows (a key per row field, the name of objects beside, currency, a key per"
        " column), totals by currency, from, to, limited; with converted columns converted"
    )

    def run_from_argv(self, argv):
        """Take `--sort -revenue`, of which the parser would take the value as an option."""
        argv = list(argv)
        if "--sort" in argv[:-1]:
            place = argv.index("--sort")
            argv[place : place + 2] = [f"--sort={argv[place + 1]}"]
        super().run_from_argv(argv)

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument(
            "--rows",
            metavar="FIELD[,FIELD]",
            type=parse_names,
            required=True,
            help=f"one or two of {', '.join(FIELDS)}",
        )
        parser.add_argument(
            "--columns",
            metavar="NAME[,NAME]",
            type=parse_names,
            required=True,
            help=f"some of {', '.join(COLUMNS)}",
        )
        add_days(parser)
        parser.add_argument(
            "--filter",
            dest="filters",
            metavar="FIELD=VALUE",
            type=parse_filter,
            action="append",
            default=[],
            help="only these, by the ID of an object; an empty value: those without (repeatable)",
        )
        parser.add_argument(
            "--compare",
            choices=[*COMPARISONS],
            default="",
            help="also the columns of the period before, or of the same days a year before",
        )
        parser.add_argument(
            "--sort", metavar="[-]NAME", default="", help="-revenue: the largest first"
        )

    def build(self, account, query, *, at):
        """Build the report; days that are not counted yet are, however long it takes."""
        while True:
            try:
                return build_report(account, query, at=at)
            except StatisticsNotReady as error:
                self.stderr.write(f"Counting {error.params['days']} more days ...")

    def run_for_account(self, account, *, at, **options):
        file_format, output = options["file_format"], options["output"]
        self.ensure_output(file_format, output)
        filters = dict(options["filters"])
        if len(filters) < len(options["filters"]):
            raise CommandError("--filter takes each field once.")
        query = ReportQuery(
            options["rows"],
            options["columns"],
            Period(options["first"], options["last"]),
            filters,
            options["sort"],
            options["compare"],
        )
        report = self.build(account, query, at=at)
        self.write_file(serialize_report(report), ReportFile(report).render, file_format, output)
