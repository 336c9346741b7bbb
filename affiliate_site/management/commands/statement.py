from django.core.management.base import CommandError

from accounts.commands import parse_day
from accounts.lookups import get_or_raise
from affiliate_site.management.file_commands import FileCommand
from affiliate_site.statement_files import StatementFile
from payouts.services.statements import get_statement
from tracking.errors import AffiliateNotFound

NO_PDF = (
    "PDF needs the library Pango: apt-get install libpango-1.0-0 libpangoft2-1.0-0, or"
    " print the page Statement of the affiliate."
)


class Command(FileCommand):
    help = "Print or write what changed an affiliate's balance in a period."
    formats = StatementFile.formats
    json_help = (
        "currencies, each with opening, movements (date, what, order_id, payment,"
        " bank_reason, amount), closing and pending"
    )

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument("affiliate", metavar="AFFILIATE", help="its ID")
        for name, dest, text in (
            ("--from", "start", "the first day, YYYY-MM-DD, in the account's zone"),
            ("--to", "end", "the last day"),
        ):
            parser.add_argument(
                name, dest=dest, metavar="DAY", type=parse_day, required=True, help=text
            )

    def run_for_account(self, account, *, at, **options):
        file_format, output = options["file_format"], options["output"]
        if file_format == "pdf" and file_format not in StatementFile.list_formats():
            raise CommandError(NO_PDF)
        self.ensure_output(file_format, output)
        affiliate = get_or_raise(account.affiliates, AffiliateNotFound, slug=options["affiliate"])
        statement = get_statement(account, affiliate, start=options["start"], end=options["end"])
        result = serialize_statement(account, statement)
        self.write_file(result, StatementFile(statement).render, file_format, output)


def serialize_statement(account, statement):
    """The statement as JSON; `json_help` names its keys."""
    return {
        "account": account.slug,
        "affiliate": statement.affiliate.slug,
        "from": statement.start,
        "to": statement.end,
        "currencies": {
            each.currency: {
                "opening": each.opening,
                "movements": [
                    {
                        "date": account.get_day(line.at),
                        "what": line.kind.value,
                        "order_id": line.order_id or None,
                        "payment": line.payment_id or None,
                        "bank_reason": line.bank_reason or None,
                        "amount": line.amount,
                    }
                    for line in each.lines
                ],
                "closing": each.closing,
                "pending": each.pending,
            }
            for each in statement.currencies
        },
    }
