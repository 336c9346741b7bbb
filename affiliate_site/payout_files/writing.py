"""The formats of payout files, and which line of a run goes into which file.

A format is one declaration in `FORMATS`. Each file pays by one method in one currency;
a line that its format cannot pay goes into a CSV file, which says why.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from django.db import transaction

from accounts.exact_json import format_decimal
from affiliate_site.cells import format_csv_line, is_kept_in_csv
from affiliate_site.columns import list_places
from affiliate_site.payout_files.sepa import (
    explain_unfit,
    get_receiver_name,
    write_pain001,
    write_receiver_name,
)
from affiliate_site.workbooks import render_workbook
from payouts.errors import PayoutRunNotConfirmed
from payouts.models.payments import PayoutMethodKind
from payouts.models.runs import (
    LEFT_OUT_STATES,
    PayoutFile,
    PayoutLine,
    PayoutRun,
    PayoutRunState,
)
from payouts.services.payout_files import (
    BANK_METHODS,
    SEPA_CURRENCY,
    format_bank_reference,
    list_paid_lines,
    list_recorded_payments,
    record_file,
)
from payouts.services.run_selection import add_receivers
from tracking.money import get_exponent, round_amount

MAX_PAYPAL_ROWS = 5000
MAX_WISE_ROWS = 1000
ERASED = "erased"  # the part of a list with receivers who were erased
FILES_OF_METHODS = ("pain001", "paypal", "wise")
WITHOUT_FILES = (PayoutRunState.DRAFT, PayoutRunState.DISCARDED)
# https://developer.paypal.com/docs/api/reference/currency-codes/, without the ruble
PAYPAL_CURRENCIES = frozenset(
    {
        *("AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF"),
        *("ILS", "JPY", "MXN", "MYR", "NOK", "NZD", "PHP", "PLN", "SEK", "SGD", "THB"),
        *("TWD", "USD"),
    }
)
PAYPAL_WHOLE_UNITS = frozenset({"HUF", "JPY", "TWD"})  # decimals are an error
# In which Wise pays to accounts of the country: "Which countries can I send to?"
WISE_CURRENCIES = frozenset(
    {
        *("AED", "ARS", "AUD", "BDT", "BRL", "BWP", "CAD", "CHF", "CLP", "CNY", "COP"),
        *("CRC", "CZK", "DKK", "EGP", "EUR", "GBP", "GEL", "GHS", "HKD", "HUF", "IDR"),
        *("ILS", "INR", "JPY", "KES", "KRW", "LKR", "MAD", "MXN", "MYR", "NOK"),
        *("NPR", "NZD", "PEN", "PHP", "PKR", "PLN", "RON", "SEK", "SGD", "THB", "TRY"),
        *("TZS", "UAH", "UGX", "USD", "UYU", "VND", "XOF", "ZAR", "ZMW"),
    }
)
WISE_WHOLE_UNITS = frozenset({"HUF"})  # Hungarian banks transfer no fillér
# https://wise.com/help/articles/2932105
WISE_NOT_BY_EMAIL = frozenset(
    {"BDT", "BRL", "BWP", "CNY", "COP", "GHS", "INR", "LKR", "PEN", "UAH"}
)
WISE_MAX_BY_EMAIL = {"JPY": Decimal(1_000_000)}
WISE_COLUMNS = (
    *("name", "recipientEmail", "paymentReference", "receiverType"),
    *("amountCurrency", "amount", "sourceCurrency", "targetCurrency"),
)
WISE_RECIPIENT_COLUMNS = ("recipientId", *WISE_COLUMNS)


@dataclass(frozen=True)
class WrittenFile:
    """A file to send to a bank or a payment service."""

    name: str
    format: str
    currency: str
    line_count: int
    control_sum: Decimal
    content: bytes


@dataclass(frozen=True)
class FileFormat:
    """How lines are written, and which: `explain_unfit` is empty for those that fit."""

    label: str
    extension: str
    # With the message id, which is empty unless `is_message`.
    write: Callable[[PayoutRun, Sequence[PayoutLine], str], bytes]
    methods: frozenset[str] | None = None  # None: all
    explain_unfit: Callable[[PayoutLine], str] = lambda line: ""
    max_lines: int | None = None
    write_name: Callable[[PayoutLine], str] = get_receiver_name
    # Lines that cannot be in one file with others, such as two kinds of recipients.
    get_part: Callable[[PayoutLine], str] = lambda line: ""
    is_message: bool = False  # which banks answer as a whole
    currencies: frozenset[str] | None = None  # None: all, of a list
    whole_units: frozenset[str] = frozenset()  # currencies without decimals there

    def explain_amount(self, line: PayoutLine) -> str:
        """Why its receiver refuses currency or amount of a line; empty if it does not.

        A list has every amount.
        """
        if self.methods is None:
            return ""
        service, currency = self.label.split()[0], line.currency
        if self.currencies is not None and currency not in self.currencies:
            if len(self.currencies) == 1:
                return f"{service} pays in {', '.join(self.currencies)} only"
            return f"{service} does not pay in {currency}"
        if currency in self.whole_units and line.net_amount % 1:
            return f"{service} pays whole units of {currency} only"
        if line.net_amount != round_amount(line.net_amount, currency):
            return f"the amount has more decimals than {currency}"
        return ""


@dataclass(frozen=True)
class PlannedFile:
    """A file that is not written yet. `unfit` says why lines are not in another one."""

    name: str
    format: str
    method: str
    currency: str
    lines: tuple[PayoutLine, ...]
    unfit: tuple[tuple[PayoutLine, str], ...] = ()

    @property
    def control_sum(self) -> Decimal:
        return sum((line.net_amount for line in self.lines), Decimal(0))

    def list_written_names(self) -> list[tuple[PayoutLine, str, str]]:
        """The names that the file has in other characters, and how it writes them."""
        write_name = FORMATS[self.format].write_name
        names = ((it, get_receiver_name(it), write_name(it)) for it in self.lines)
        return [each for each in names if each[1] != each[2]]

    def record(self, run: PayoutRun, *, at: datetime) -> PayoutFile:
        """Record whom the file pays. Raises `ReceiverErased`."""
        is_message = FORMATS[self.format].is_message
        return record_file(run, self.lines, format_name=self.format, is_message=is_message, at=at)

    def build(self, run: PayoutRun, *, at: datetime) -> WrittenFile:
        """Record and write the file: the same bytes each time.

        Raises `PayerIncomplete`, `ReceiverErased` and `InvalidPayoutFile`.
        """
        with transaction.atomic():
            message_id = self.record(run, at=at).message_id or ""
            content = FORMATS[self.format].write(run, self.lines, message_id)
        return WrittenFile(
            name=self.name,
            format=self.format,
            currency=self.currency,
            line_count=len(self.lines),
            control_sum=self.control_sum,
            content=content,
        )


def plan_files(run: PayoutRun, *, formats: Sequence[str]) -> list[PlannedFile]:
    """Return which line goes into which file, without writing them.

    `csv` has all lines, also those of other files. Raises `PayoutRunNotConfirmed`.
    """
    return _plan_files(run, _list_lines(run), formats)


def plan_default_files(run: PayoutRun) -> list[PlannedFile]:
    """Return the files that together pay each line of a run once."""
    lines = _list_lines(run)
    files = _plan_files(run, lines, FILES_OF_METHODS)
    paid = {line.pk for planned in files for line in planned.lines}
    others = [line for line in lines if line.pk not in paid]
    return [*files, *_plan_format(run, "csv", others)]


def list_other_files(run: PayoutRun, planned: Iterable[PlannedFile]) -> list[PayoutFile]:
    """Return the files that were made and are not as planned now: a payment was canceled.

    A bank, PayPal or Wise that gets an earlier file and one of these pays twice.
    """
    now = {(it.format, frozenset(str(line.payment) for line in it.lines)) for it in planned}
    made = run.account.payout_files.filter(run=run, format__in=FILES_OF_METHODS)
    return [
        file for file in made.order_by("id") if (file.format, frozenset(file.payments)) not in now
    ]


def _list_lines(run: PayoutRun) -> list[PayoutLine]:
    if run.state in WITHOUT_FILES:
        raise PayoutRunNotConfirmed(run=run.public_id)
    return list_paid_lines(run)


def _plan_files(
    run: PayoutRun, lines: Sequence[PayoutLine], formats: Sequence[str]
) -> list[PlannedFile]:
    planned: list[PlannedFile] = []
    unfit: dict[PayoutLine, str] = {}
    for name in dict.fromkeys(formats):
        file_format = FORMATS[name]
        own = [it for it in lines if is_paid_by(file_format, get_method(it))]
        files = _plan_format(run, name, own)
        paid = {line for file in files for line in file.lines}
        planned += files
        unfit |= {it: explain(file_format, it) for it in own if it not in paid}
    if "csv" not in formats:
        for rest in _plan_format(run, "csv", list(unfit), "rest-"):
            reasons = tuple((line, unfit[line]) for line in rest.lines)
            planned.append(replace(rest, unfit=reasons))
    return planned


def _plan_format(
    run: PayoutRun, name: str, lines: Sequence[PayoutLine], prefix: str = ""
) -> list[PlannedFile]:
    """Return the files of one format, with the lines that fit."""
    erased = _find_erased(run, lines, name)
    fit = [
        line
        for line in lines
        if (line in erased if not line.receiver else not explain(FORMATS[name], line))
    ]
    return list(iterate_files(run, name, fit, prefix, erased))


def _find_erased(run: PayoutRun, lines: Sequence[PayoutLine], name: str) -> dict[PayoutLine, str]:
    """Return the lines whose receiver was erased and that a file of this format has,
    with their part: it is not made again. Others were answered without such a file.

    Lines of a file that has none of others are a part of their own.
    """
    erased = [line for line in lines if not line.receiver]
    files = list_recorded_payments(run, name) if erased else []
    found = {}
    for line in erased:
        for payments in files:
            if str(line.payment) in payments:
                others = (it for it in lines if it.receiver and str(it.payment) in payments)
                found[line] = next(map(FORMATS[name].get_part, others), ERASED)
    return found


def is_paid_by(file_format: FileFormat, method: str) -> bool:
    return file_format.methods is None or method in file_format.methods


def get_method(line: PayoutLine) -> str:
    """The method of a line: both kinds of bank transfers are one."""
    if line.method in BANK_METHODS:
        return PayoutMethodKind.BANK
    return line.method or PayoutMethodKind.OTHER


def explain(file_format: FileFormat, line: PayoutLine) -> str:
    """Why a line is not in a file of this format; empty if it is."""
    return file_format.explain_amount(line) or file_format.explain_unfit(line)


def list_unfit_lines(run: PayoutRun) -> list[tuple[PayoutLine, str]]:
    """The lines that no file of their method can have, and why: those of a draft as a
    confirmation would pay them now. Methods without a file have lists."""
    rows = run.account.payout_lines.filter(run=run).exclude(state__in=LEFT_OUT_STATES)
    lines = list(rows.select_related("affiliate", "payment").order_by("id"))
    if run.confirmed_at is None:
        add_receivers(run.account, lines)
    explained = ((line, explain_line(line)) for line in lines if line.receiver)
    return [(line, reason) for line, reason in explained if reason]


def explain_line(line: PayoutLine) -> str:
    """Why no file of its method can have a line; empty if one can, or there is none."""
    own = (FORMATS[name] for name in FILES_OF_METHODS)
    reasons = [explain(it, line) for it in own if is_paid_by(it, get_method(line))]
    return reasons[0] if reasons and all(reasons) else ""


def iterate_files(
    run: PayoutRun,
    name: str,
    lines: Iterable[PayoutLine],
    prefix: str,
    parts: Mapping[PayoutLine, str],
) -> Iterator[PlannedFile]:
    """The files of these lines: per method, currency and part, split at the limit.

    `parts` has those of lines whose receiver was erased.
    """
    file_format = FORMATS[name]
    groups: dict[tuple[str, str, str], list[PayoutLine]] = defaultdict(list)
    for line in lines:
        part = parts[line] if line in parts else file_format.get_part(line)
        groups[get_method(line), line.currency, part].append(line)
    for (method, currency, part), group in sorted(groups.items()):
        size = file_format.max_lines or len(group)
        for number, first in enumerate(range(0, len(group), size), start=1):
            words = [run.public_id, f"{prefix}{name}", method, currency, part]
            words.append(str(number) if len(group) > size else "")
            stem = "-".join(filter(None, dict.fromkeys(words)))
            yield PlannedFile(
                name=f"{stem}.{file_format.extension}",
                format=name,
                method=method,
                currency=currency,
                lines=tuple(group[first : first + size]),
            )


def format_file_amount(line: PayoutLine) -> str:
    """What is paid, with the decimals of its currency: `12.50`, or `1250` in JPY."""
    return format_cell(line.net_amount, line.currency)


def format_cell(amount: Decimal, currency: str) -> str:
    """An amount with the decimals of its currency, or more if it has more."""
    if amount != round_amount(amount, currency):
        return format_decimal(amount)
    return f"{amount:.{get_exponent(currency)}f}"


def get_detail(name: str) -> Callable[[PayoutLine], str]:
    """A function that reads a detail of the payout method."""
    return lambda line: line.receiver.get("details", {}).get(name) or ""


def get_address_part(name: str) -> Callable[[PayoutLine], str]:
    """A function that reads a part of the receiver's address."""
    return lambda line: line.receiver.get("address", {}).get(name) or ""


CSV_COLUMNS: dict[str, Callable[[PayoutLine], str]] = {
    "payment": lambda line: str(line.payment),
    "affiliate": lambda line: str(line.affiliate),
    "name": get_receiver_name,
    "amount": format_file_amount,
    "currency": lambda line: line.currency,
    "method": lambda line: line.method,
    **{
        name: get_detail(name)
        for name in (
            *("iban", "bic", "account_number", "routing_number", "bank_name"),
            *("email", "recipient"),
        )
    },
    **{name: get_address_part(name) for name in ("street", "postal_code", "city", "country")},
    "tax_withheld": lambda line: (
        format_cell(line.tax_withheld, line.currency) if line.tax_withheld else ""
    ),
    "state": lambda line: line.state,
    "reference": lambda line: line.bank_reference,
}
# A file is the same each time: what is answered later is not in it.
FILE_COLUMNS = tuple(
    name for name in CSV_COLUMNS if name not in ("tax_withheld", "state", "reference")
)


def write_csv(
    run: PayoutRun, lines: Sequence[PayoutLine], columns: Sequence[str] = FILE_COLUMNS
) -> bytes:
    """A list with the chosen columns, and the tax that is withheld, if there is any."""
    columns = add_tax_column(lines, columns)
    rows = ([CSV_COLUMNS[name](line) for name in columns] for line in lines)
    return write_rows([columns, *rows])


def write_xlsx(
    run: PayoutRun, lines: Sequence[PayoutLine], columns: Sequence[str] = FILE_COLUMNS
) -> bytes:
    """The list as a spreadsheet; amounts are numbers."""
    columns = add_tax_column(lines, columns)
    rows = (
        [line.net_amount if it == "amount" else CSV_COLUMNS[it](line) for it in columns]
        for line in lines
    )
    return render_workbook(run.public_id, list_places(*columns), rows, run.confirmed_at)


def add_tax_column(lines: Sequence[PayoutLine], columns: Sequence[str]) -> Sequence[str]:
    """The columns, with that of the tax at the end if some is withheld, unless it is
    chosen."""
    is_missing = "tax_withheld" not in columns
    has_tax = is_missing and any(line.tax_withheld for line in lines)
    return [*columns, *(["tax_withheld"] if has_tax else [])]


def write_rows(rows: Iterable[Sequence[str]]) -> bytes:
    """Lines of a CSV file, without formulas."""
    return "".join(map(format_csv_line, rows)).encode()


def format_whole_amount(line: PayoutLine, whole_units: frozenset[str]) -> str:
    """The amount, without decimals in these currencies."""
    is_whole = line.currency in whole_units
    return f"{line.net_amount:.0f}" if is_whole else format_file_amount(line)


def write_paypal(run: PayoutRun, lines: Sequence[PayoutLine]) -> bytes:
    """Recipient, amount, currency, our id and a note, without titles."""
    return write_rows(
        (
            get_detail("email")(line),
            format_whole_amount(line, PAYPAL_WHOLE_UNITS),
            line.currency,
            str(line.payment),
            f"Payment {line.payment}",
        )
        for line in lines
    )


def write_wise(run: PayoutRun, lines: Sequence[PayoutLine]) -> bytes:
    """The columns of Wise's template for e-mail addresses, or saved recipients."""
    is_saved = get_wise_part(lines[0]) == "recipients"
    columns = WISE_RECIPIENT_COLUMNS if is_saved else WISE_COLUMNS
    rows = (
        {
            "recipientId": get_detail("recipient")(line),
            "name": get_receiver_name(line),
            "recipientEmail": get_detail("email")(line),
            # 18 letters and digits: the longest reference in all currencies.
            "paymentReference": format_bank_reference(str(line.payment)).replace("-", ""),
            "receiverType": "PERSON",
            "amountCurrency": "target",
            "amount": format_whole_amount(line, WISE_WHOLE_UNITS),
            "sourceCurrency": line.currency,
            "targetCurrency": line.currency,
        }
        for line in lines
    )
    return write_rows([columns, *([row[it] for it in columns] for row in rows)])


def get_wise_part(line: PayoutLine) -> str:
    """Saved recipients have a template of their own."""
    return "recipients" if get_detail("recipient")(line) else ""


def explain_wise(line: PayoutLine) -> str:
    """Why Wise does not pay a line to its recipient; empty if it does."""
    if get_wise_part(line) == "":
        if line.currency in WISE_NOT_BY_EMAIL:
            return f"Wise does not pay in {line.currency} to an e-mail address"
        limit = WISE_MAX_BY_EMAIL.get(line.currency)
        if limit is not None and line.net_amount > limit:
            most = f"{limit:,} {line.currency}"
            return f"Wise pays at most {most} to an e-mail address"
    return WISE_DETAILS(line)


def explain_details(reason: str, *names: str) -> Callable[[PayoutLine], str]:
    """A function that says why a line cannot be paid by one of these details: it has
    none, which is the `reason`, or a CSV file would change it."""

    def explain_line(line: PayoutLine) -> str:
        texts = [text for name in names if (text := get_detail(name)(line))]
        if all(map(is_kept_in_csv, texts)):
            return "" if texts else reason
        return "spreadsheets take its address for a formula, and the file would have another one"

    return explain_line


WISE_DETAILS = explain_details("neither e-mail address nor recipient", "email", "recipient")
FORMATS: dict[str, FileFormat] = {
    "pain001": FileFormat(
        "SEPA credit transfer",
        "xml",
        write_pain001,
        frozenset({PayoutMethodKind.BANK}),
        explain_unfit,
        write_name=write_receiver_name,
        is_message=True,
        currencies=frozenset({SEPA_CURRENCY}),
    ),
    "paypal": FileFormat(
        "PayPal mass payment",
        "csv",
        lambda run, lines, _: write_paypal(run, lines),
        frozenset({PayoutMethodKind.PAYPAL}),
        explain_details("no e-mail address", "email"),
        MAX_PAYPAL_ROWS,
        currencies=PAYPAL_CURRENCIES,
        whole_units=PAYPAL_WHOLE_UNITS,
    ),
    "wise": FileFormat(
        "Wise batch",
        "csv",
        lambda run, lines, _: write_wise(run, lines),
        frozenset({PayoutMethodKind.WISE}),
        explain_wise,
        MAX_WISE_ROWS,
        get_part=get_wise_part,
        currencies=WISE_CURRENCIES,
        whole_units=WISE_WHOLE_UNITS,
    ),
    "csv": FileFormat("CSV", "csv", lambda run, lines, _: write_csv(run, lines)),
    "xlsx": FileFormat("Excel", "xlsx", lambda run, lines, _: write_xlsx(run, lines)),
}
