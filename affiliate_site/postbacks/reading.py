"""What a postback says: a query with brackets, read as the JSON that a POST sends."""

import re
from urllib.parse import unquote_to_bytes

from rest_framework.exceptions import ValidationError

from affiliate_site.api.clues import ALIASES as CLUE_ALIASES
from affiliate_site.api.clues import CLUES
from affiliate_site.api.errors import Flaw
from affiliate_site.api.fields import NO_TEXT, QueryFlag

NAME = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\]){0,2})")
STEP = re.compile(r"\[([^\[\]]*)\]")
ALIASES = {
    "ref": "referral_code",
    "refc": "referral_code",
    "a": "asset_id",
    "aid": "asset_id",
    "s": "source_id",
    "sid": "source_id",
}
FLAGS = ("override_max_cookie_time", "recalculate_commissions")
LISTS = ("commissions",)
MAY_BE_EMPTY = {*CLUES, *CLUE_ALIASES, *ALIASES}  # "sent but empty", says the spec
PREFETCH_HEADERS = ("Sec-Purpose", "Purpose", "X-Moz")


def is_prefetch(request) -> bool:
    """Does somebody only look ahead, who may never come?"""
    said = (request.headers.get(name, "") for name in PREFETCH_HEADERS)
    return request.method == "GET" and any("prefetch" in it.lower() for it in said)


def from_query(query) -> dict:
    """`meta_data[plan]=pro&commissions[0][sub_amount]=20` as an object; the last of a
    parameter counts. An empty one is not sent, but for clues and meta data."""
    said: dict = {}
    for name, value in query.items():
        match = NAME.fullmatch(name)
        if match and (value or match[2] or match[1] in MAY_BE_EMPTY):
            put(said, [match[1], *STEP.findall(match[2])], value)
    for alias, name in ALIASES.items():
        if alias in said:
            said.setdefault(name, said[alias])
    for name in FLAGS:
        if isinstance(said.get(name), str):
            said[name] = QueryFlag.words.get(said[name].lower(), said[name])
    for name in LISTS:
        said[name] = listed(said.get(name))
    return said


def refuse_odd_text(request, *names: str) -> None:
    """NUL is no text, nor is what is not UTF-8: in these parameters or, where none is
    named, in any. Read with gaps, two ids would be the same."""
    sent = [
        unquote_to_bytes(pair.encode("latin-1").replace(b"+", b" "))
        for pair in request.META.get("QUERY_STRING", "").split("&")
    ]
    garbled = {it for it in map(garbled_name, sent) if it is not None}
    odd = [
        name
        for name, value in request.GET.items()
        if ("\x00" in name + value or name in garbled) and (not names or name in names)
    ]
    if odd:
        raise ValidationError({name: Flaw(NO_TEXT).detail for name in odd})


def garbled_name(pair: bytes) -> str | None:
    """The name of a parameter that is not UTF-8."""
    try:
        pair.decode()
    except UnicodeDecodeError:
        return pair.partition(b"=")[0].decode(errors="replace")
    return None


def put(said: dict, path: list[str], value: str) -> None:
    """Put a value at its place in objects of objects; nothing empty into a list's."""
    *above, last = path
    in_list = path[0] in LISTS
    for step in above:
        if not isinstance(said.get(step), dict):
            said[step] = {}
        said = said[step]
    if value or not in_list:
        said[last] = value


def listed(numbered):
    """`{"0": …, "1": …}` as a list in the order of its numbers."""
    if not isinstance(numbered, dict) or not all(
        key.isascii() and key.isdigit() for key in numbered
    ):
        return numbered
    return [numbered[key] for key in sorted(numbered, key=by_number)]


def by_number(digits: str) -> tuple[int, str]:
    """Digits in the order of their numbers, however many there are."""
    plain = digits.lstrip("0")
    return len(plain), plain
