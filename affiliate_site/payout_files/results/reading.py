"""Read a file with answers, whatever its format is. A bad file is refused whole."""

from collections import Counter
from dataclasses import replace

from affiliate_site.payout_files.results.bounds import MAX_TEXT_LENGTH
from affiliate_site.payout_files.results.lists import LISTS, read_list
from affiliate_site.payout_files.results.xml_messages import XML_FORMATS, read_xml
from payouts.errors import InvalidResultsFile
from payouts.services.payout_answers import PayoutResult

AUTO = "auto"
RESULT_FORMATS = (AUTO, *XML_FORMATS, *LISTS)
MAX_RESULTS_BYTES = 50_000_000  # of the command; pages take what a form may have
MAX_MESSAGE_ANSWERS = 20
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
OTHER_KINDS = {
    b"PK": "This is a spreadsheet or a ZIP file: save it as CSV, or unpack it",
    b"%PDF": "This is a PDF: export the list as CSV, or ask the bank for XML",
}


def ensure_size(size: int, limit: int | None = None, way_out: str = "") -> None:
    """Raise `InvalidResultsFile` for a file that is too large or empty.

    `way_out` is added to the message: what to do with a file above the `limit`.
    """
    limit = limit or MAX_RESULTS_BYTES
    if size > limit:
        read = f"The file has {size / 1e6:,.0f} MB; at most {limit / 1e6:,g} are read"
        raise InvalidResultsFile(reason=read + way_out)
    if size == 0:
        raise InvalidResultsFile(reason="The file is empty")


def read_results(content: bytes, format_name: str = AUTO) -> list[PayoutResult]:
    """Return all answers of a file. Raises `InvalidResultsFile`."""
    ensure_size(len(content))
    results = [shorten_texts(it) for it in read_content(content, format_name)]
    ensure_few_answers(results)
    return results


def ensure_few_answers(results: list[PayoutResult]) -> None:
    """Raise `InvalidResultsFile` for many answers about one file of payments: each of
    them is about all of the payments."""
    messages = Counter(it.name for it in dict.fromkeys(results) if it.is_message)
    for name, number in messages.most_common(1):
        if number > MAX_MESSAGE_ANSWERS:
            raise InvalidResultsFile(
                reason=f"It has {number:,} different answers about the file"
                f" {name[:50]}; at most {MAX_MESSAGE_ANSWERS} are read"
            )


def shorten_texts(result: PayoutResult) -> PayoutResult:
    """Bound what a page or column holds of an answer: many may share a long text."""
    names = ("name", "currency", "reference", "reason")
    return replace(result, **{name: getattr(result, name)[:MAX_TEXT_LENGTH] for name in names})


def read_content(content: bytes, format_name: str) -> list[PayoutResult]:
    """Return the answers of a list or message."""
    for start, reason in OTHER_KINDS.items():
        if content.startswith(start):
            raise InvalidResultsFile(reason=reason)
    if format_name in XML_FORMATS or (format_name == AUTO and is_xml(content)):
        return read_xml(content, None if format_name == AUTO else format_name)
    return read_list(content, find_encoding(content), LISTS.get(format_name))


def is_xml(content: bytes) -> bool:
    """Whether the first character, in any encoding, begins a tag."""
    start = content[:64].replace(b"\x00", b"")
    for mark in (b"\xef\xbb\xbf", *UTF_16_MARKS):
        start = start.removeprefix(mark)
    return start.lstrip().startswith(b"<")


def find_encoding(content: bytes) -> str:
    """The encoding of a list. Others are not guessed: names would be wrong."""
    encoding = "utf-16" if content.startswith(UTF_16_MARKS) else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding == "utf-16":
            raise InvalidResultsFile(reason="The file is no valid UTF-16") from None
        row = content.count(b"\n", 0, error.start) + 1
        raise InvalidResultsFile(
            reason=f"Row {row} is not UTF-8. If this is a list, save it as “CSV UTF-8”;"
            " pictures, PDFs and spreadsheets cannot be read"
        ) from None
    if "\x00" in text:
        raise InvalidResultsFile(reason="The file holds zero bytes: it is no text")
    return encoding
