"""No function takes the square of a text's length: twice the text, twice the time.

Whoever sends 100 kB could otherwise stop a worker for seconds. The patterns of all
modules are found by themselves, other functions stand in a list.
"""

import ast
import importlib
import pkgutil
import re
import time
from contextlib import suppress
from itertools import chain, product
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError

import accounts
import affiliate_site
import payouts
import tracking
from accounts.commands import escape_controls
from accounts.decimals import parse_decimal
from accounts.email_addresses import fold_email, list_spellings
from accounts.errors import DomainError
from accounts.url_safety import parse_url, split_url
from affiliate_site.backoffice.fields import read_number
from affiliate_site.cells import format_cell, format_csv_cell, restore_cell
from affiliate_site.links import find_shop_page
from affiliate_site.moving.tables.files import find_delimiter
from affiliate_site.moving.tables.mappings import normalize
from affiliate_site.payout_files.results.lists import parse_amount as parse_listed
from affiliate_site.payout_files.results.reading import read_results
from affiliate_site.throttling import normalize_ip, normalize_name
from payouts.services.payout_results import find_payment_id
from tracking.search import fold_text, list_suffixes
from tracking.services.clicks import find_sub_id, normalize_url
from tracking.services.failed_page_calls import normalize_page

PACKAGES = (accounts, tracking, payouts, affiliate_site)
OPERATIONS = ("match", "fullmatch", "search", "sub", "split", "findall", "finditer")
ANCHORED = ("match", "fullmatch")
PAYMENT = "pa-0123456789abcdef"
DOUBLED = (3_000, 12_000, 100_000)  # the shorter ones find what would take minutes
FLOOR_SECONDS = 0.1  # shorter times say nothing
MAX_RATIO = 3
AWKWARD = [
    *" ;'\"/@<&%{}$[]().,:=+-|\t\n\\_#09aZé",
    *(
        "\u0301",
        "\u200b",
        "\u3000",
        "%40",
        "12",
        "&a=",
        "a;",
        "?",
        "://",
        "${",
        '="',
        "a ",
    ),
]
FRAMES = ("{}", "{}!", "https://a/{}!")
FUNCTIONS = (
    *(escape_controls, parse_decimal, split_url, read_number, format_cell),
    *(format_csv_cell, restore_cell, find_delimiter, normalize, normalize_ip),
    *(normalize_name, find_payment_id, fold_text, find_sub_id, normalize_url),
    *(fold_email, list_spellings),
    normalize_page,
    lambda text: restore_cell(f"'={text}"),
    lambda text: normalize_page(f"https://a/{text}"),
    lambda text: find_sub_id(f"https://a/?sub_id={text}"),
    lambda text: parse_listed(text, "EUR", 1),
    lambda text: parse_url(text, allowed_hosts=()),
    lambda text: find_shop_page(text, text),
    lambda text: list_suffixes([text[:2000]]),
)

# Half of a message is a text or elements, half are transactions that look at them.
TRANSACTION = f"<TxDtls><Refs><EndToEndId>{PAYMENT}</EndToEndId></Refs></TxDtls>"
MESSAGES = {
    "reason": (
        "CstmrPmtStsRpt",
        "<OrgnlGrpInfAndSts><GrpSts>RJCT</GrpSts><StsRsnInf><AddtlInf>{}</AddtlInf></StsRsnInf>"
        "</OrgnlGrpInfAndSts>{}",
        "d ",
        "<TxInfAndSts/>",
    ),
    "reasons": (
        "CstmrPmtStsRpt",
        "<OrgnlPmtInfAndSts><PmtInfSts>RJCT</PmtInfSts>{}{}</OrgnlPmtInfAndSts>",
        "<StsRsnInf/>",
        "<TxInfAndSts/>",
    ),
    "status": (
        "CstmrPmtStsRpt",
        "<OrgnlPmtInfAndSts><PmtInfSts>{}</PmtInfSts>{}</OrgnlPmtInfAndSts>",
        "d",
        "<TxInfAndSts/>",
    ),
    "entry": (
        "BkToCstmrStmt",
        "<Ntry><Sts>BOOK</Sts><CdtDbtInd>CRDT</CdtDbtInd>{}<NtryDtls>{}</NtryDtls></Ntry>",
        "<a/>",
        TRANSACTION,
    ),
    "entry text": (
        "BkToCstmrStmt",
        "<Ntry><Sts>BOOK</Sts><CdtDbtInd>CRDT</CdtDbtInd><AddtlNtryInf>{}</AddtlNtryInf>"
        "<NtryDtls>{}</NtryDtls></Ntry>",
        "d ",
        TRANSACTION,
    ),
}


def write_message(kind, size):
    """A bank's answer of about this size."""
    name, body, piece, transaction = MESSAGES[kind]
    parts = [each * (size // 2 // len(each)) for each in (piece, transaction)]
    return f"<Document><{name}>{body.format(*parts)}</{name}></Document>".encode()


def list_modules():
    for package in PACKAGES:
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            parts = found.name.split(".")
            if not {"migrations", "management", "demo", "run", "wsgi"} & set(parts):
                yield importlib.import_module(found.name)


def list_patterns():
    """Each pattern of a module with the operations by which the module uses it."""
    for module in list_modules():
        source = Path(module.__file__).read_text()
        for name, value in sorted(vars(module).items()):
            defines = re.search(rf"^{name}\b.*= ", source, re.MULTILINE)
            for pattern in iterate_patterns(value) if defines else ():
                used = re.findall(rf"\b{name}\.(\w+)\(", source)
                operations = {*ANCHORED, *(it for it in used if it in OPERATIONS)}
                yield f"{module.__name__}.{name}", pattern, operations
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="re"), attr=operation),
                    args=[ast.Constant(value=str(text)), *_],
                ) if operation in OPERATIONS:
                    label = f"{module.__name__}:{text}"
                    yield label, re.compile(text), {operation}


def iterate_patterns(value):
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from chain.from_iterable(map(iterate_patterns, value.values()))


def apply(pattern, operation):
    if isinstance(pattern.pattern, bytes):
        pattern = re.compile(pattern.pattern.decode(), pattern.flags & ~re.ASCII)
    if operation == "sub":
        return lambda text: pattern.sub("", text)
    if operation == "finditer":
        return lambda text: list(pattern.finditer(text))
    return getattr(pattern, operation)


def measure(function, text, times=1):
    """The least CPU time of some calls; a refusal is an answer, too."""
    seconds = []
    for _ in range(times):
        started = time.process_time()
        with suppress(DomainError, ValidationError, ValueError):
            function(text)
        seconds.append(time.process_time() - started)
    return min(seconds)


def grows_as_text(function, once, twice):
    """Whether a double text takes less than three times as long; other work may disturb
    one comparison, but not each."""
    return any(
        measure(function, twice, times=5)
        < max(FLOOR_SECONDS, MAX_RATIO * measure(function, once, times=5))
        for _ in range(3)
    )


def find_growth(function):
    """The text whose double takes more than three times as long, or None."""
    for part, frame, size in product(AWKWARD, FRAMES, DOUBLED):
        once, twice = (frame.format(part * (it // len(part))) for it in (size, 2 * size))
        if measure(function, twice) < FLOOR_SECONDS:
            continue
        if not grows_as_text(function, once, twice):
            return part, frame, size
    return None


def test_patterns_grow_as_their_text():
    found = {}
    for name, pattern, operations in list_patterns():
        for operation in sorted(operations):
            if growth := find_growth(apply(pattern, operation)):
                found[f"{name}.{operation}"] = growth
    assert found == {}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda it: it.__name__)
def test_functions_grow_as_their_text(function):
    assert find_growth(function) is None


@pytest.mark.parametrize("kind", MESSAGES)
def test_answers_of_banks_grow_as_their_text(kind):
    once, twice = (write_message(kind, size) for size in (100_000, 200_000))
    assert grows_as_text(read_results, once, twice)
