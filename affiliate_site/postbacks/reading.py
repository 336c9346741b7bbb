"""What a postback says: a query with brackets, read as the JSON that a POST sends."""

import re

from rest_framework.exceptions import ValidationError

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
PREFETCH_HEADERS = ("Sec-Purpose", "Purpose", "X-Moz")


def is_prefetch(request) -> bool:
    """Does somebody only look ahead, who may never come?"""
    said = (request.headers.get(name, "") for name in PREFETCH_HEADERS)
    return request.method == "GET" and any("prefetch" in it.lower() for it in said)


def from_query(query) -> dict:
    """`meta_data[plan]=pro&commissions[0][sub_amount]=20` as an object; the last of a
    parameter counts, an empty one is not sent."""
    said: dict = {}
    for name, value in query.items():
        match = NAME.fullmatch(name)
        if match and (value or match[2]):
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


def refuse_nul(query, *names: str) -> None:
    """NUL is no text: in these parameters or, where none is named, in any."""
    odd = [
        name
        for name, value in query.items()
        if "\x00" in name + value and (not names or name in names)
    ]
    if odd:
        raise ValidationError({name: Flaw(NO_TEXT).detail for name in odd})


def put(said: dict, path: list[str], value: str) -> None:
    """Put a value at its place in objects of objects."""
    *above, last = path
    for step in above:
        if not isinstance(said.get(step), dict):
            said[step] = {}
        said = said[step]
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
