import sys
from pathlib import Path

from django.core.management.base import CommandError

from accounts.commands import AccountCommand, read_file
from affiliate_site.moving.tables.files import MAX_FILE_BYTES
from affiliate_site.moving.tables.importing import TableImporter
from affiliate_site.moving.tables.kinds import KINDS
from affiliate_site.moving.tables.limited import COMMAND_LIMITS, read_foreign_table
from affiliate_site.moving.tables.mappings import SYSTEMS
from affiliate_site.moving.tables.uploads import build_template, guess_settings
from affiliate_site.moving.tables.values import DATE_STYLES, NUMBER_STYLES, Styles

MAX_SHOWN_PROBLEMS = 100
STYLES = ("decimal", "dates")  # have options of their own
COLUMNS = ("ROW", "COLUMN", "PROBLEM")


class Command(AccountCommand):
    help = (
        "Store the rows of a CSV or XLSX file: affiliates, customers, conversions,"
        " payments or opening balances. All or nothing, unless --only-good; a second"
        " run doubles nothing. With --template: print a table to fill in."
    )
    json_help = (
        "id of the import, counts by what became of the rows, columns, questions (name,"
        " column, example, options), problems (row, column, code, value, sentence)"
    )

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument(
            "kind", metavar="TABLE", choices=KINDS, help=f"one of {', '.join(KINDS)}"
        )
        parser.add_argument(
            "file", metavar="FILE", type=Path, nargs="?", help="- is standard input"
        )
        parser.add_argument(
            "--template", action="store_true", help="print a CSV file with the columns"
        )
        parser.add_argument(
            "--system", choices=SYSTEMS, help="whose export it is; check the columns"
        )
        parser.add_argument(
            "--column",
            action="append",
            default=[],
            type=parse_pair,
            metavar="PAIR",
            help="NAME=HEADER of a column, or NAME= without one (repeatable)",
        )
        parser.add_argument(
            "--default",
            action="append",
            default=[],
            type=parse_pair,
            metavar="PAIR",
            help="NAME=VALUE of empty cells, as status=approved (repeatable)",
        )
        parser.add_argument("--program", metavar="PROGRAM", help="of empty cells")
        parser.add_argument("--currency", metavar="CODE", help="of empty cells")
        parser.add_argument(
            "--dates",
            choices=DATE_STYLES,
            action="append",
            default=[],
            help="how dates are written (repeatable, if in several styles)",
        )
        parser.add_argument("--decimal", choices=NUMBER_STYLES, help="of numbers: the decimal mark")
        parser.add_argument(
            "--answer",
            action="append",
            default=[],
            type=parse_answer,
            metavar="PAIR",
            help="QUESTION=ANSWER, as units=cents or value:status:hold=pending (repeatable)",
        )
        parser.add_argument("--dry-run", action="store_true", help="store nothing")
        parser.add_argument(
            "--only-good", action="store_true", help="store the rows without a problem"
        )

    def run_for_account(self, account, *, at, kind="", file=None, template=False, **options):
        kind = KINDS[kind]
        if template:
            self.stdout.write(build_template(account, kind), ending="")
            return
        if file is None:
            raise CommandError("Name a FILE, or --template.", returncode=2)
        file_name, content = read_file(file, max_bytes=MAX_FILE_BYTES)
        table = read_foreign_table(content, file_name, COMMAND_LIMITS)
        guessed = guess_settings(kind, table, options["system"] or "")
        mapping = {**guessed.mapping, **dict(options["column"])}
        defaults = {**guessed.defaults, **dict(options["default"])}
        for name in ("program", "currency"):
            if options[name]:
                defaults[name] = options[name]
        importer = TableImporter(
            account,
            kind,
            table,
            {name: header for name, header in mapping.items() if header},
            at,
            file_name=file_name,
            styles=Styles(options["decimal"], " ".join(options["dates"]) or None),
            defaults=defaults,
            only_good=options["only_good"],
            answers={**guessed.answers, **dict(options["answer"])},
        )
        report = importer.preview() if options["dry_run"] else importer.store()
        self.write_report(importer, report, is_dry_run=options["dry_run"])
        if report.questions or report.problems:
            sys.exit(1)

    def write_report(self, importer, report, *, is_dry_run):
        """The columns, the numbers of rows, and what is wrong with which cell."""
        stored = report.table_import
        problems = [problem.serialize() for problem in report.problems]
        if self.as_json:
            self.write_result(
                "",
                dry_run=is_dry_run,
                id=stored.public_id if stored else None,
                columns=importer.mapping,
                encoding=importer.table.encoding,
                delimiter=importer.table.delimiter,
                counts=report.counts,
                notes=report.notes,
                questions=[vars(question) for question in report.questions],
                problems=problems,
            )
            return
        lines = [f"{name}: {header}" for name, header in importer.mapping.items()]
        lines += report.notes
        for question in report.questions:
            readings = ", ".join(f"{k} = {v}" for k, v in question.options.items())
            name = question.name.partition(":")[0]
            option = f"--{name}" if name in STYLES else f"--answer '{question.name}=…'"
            lines.append(
                f"{option} is needed: {question.example!r} in {question.column} can be {readings}"
            )
        lines += [f"{name}: {count:,}" for name, count in report.counts.items()]
        if stored:
            lines.append(f"Import {stored.public_id} is stored.")
        elif not report.questions:
            lines.append("Nothing was stored.")
        self.write_result("\n".join(lines))
        if problems:
            shown = problems[:MAX_SHOWN_PROBLEMS]
            rows = [(it["row"], it["column"], it["sentence"]) for it in shown]
            self.write_table(COLUMNS, rows)
            if len(problems) > len(shown):
                self.write_result(f"… and {len(problems) - len(shown):,} more")


def parse_answer(text: str) -> tuple[str, str]:
    """Split `QUESTION=ANSWER`; a question may name a word with `=`."""
    name, _, answer = text.rpartition("=")
    return name, answer


def parse_pair(text: str) -> tuple[str, str]:
    """Split `NAME=VALUE`."""
    name, _, value = text.partition("=")
    return name, value
