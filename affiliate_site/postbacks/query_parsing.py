"""Query parsing of postbacks: brackets become the objects and lists of a JSON body.

Rules: docs/api-contract.md, section 4.
"""

import re
from urllib.parse import unquote_to_bytes

from rest_framework.exceptions import ValidationError

from affiliate_site.api.errors import FieldError
from affiliate_site.api.fields import INVALID_TEXT, QueryBooleanField
from affiliate_site.api.tracking_fields import TRACKING_ALIASES, TRACKING_PARAMETERS

PARAMETER_NAME = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\]){0,2})")
BRACKETED_KEY = re.compile(r"\[([^\[\]]*)\]")
ALIASES = {
    "ref": "referral_code",
    "refc": "referral_code",
    "a": "asset_id",
    "aid": "asset_id",
    "s": "source_id",
    "sid": "source_id",
}
BOOLEAN_PARAMETERS = ("override_max_cookie_time", "recalculate_commissions")
LIST_PARAMETERS = ("commissions",)
# The API 1.6 specification: these count as "sent but empty".
PARAMETERS_ALLOWED_EMPTY = {*TRACKING_PARAMETERS, *TRACKING_ALIASES, *ALIASES}


def parse_query(query) -> dict:
    """Parse `meta_data[plan]=pro&commissions[0][sub_amount]=20` into an object.

    The last of a repeated parameter counts. Empty parameters are ignored, except
    tracking parameters and meta data.
    """
    data: dict = {}
    for name, value in query.items():
        match = PARAMETER_NAME.fullmatch(name)
        if match and (value or match[2] or match[1] in PARAMETERS_ALLOWED_EMPTY):
            set_nested_value(data, [match[1], *BRACKETED_KEY.findall(match[2])], value)
    for alias, name in ALIASES.items():
        if alias in data:
            data.setdefault(name, data[alias])
    for name in BOOLEAN_PARAMETERS:
        if isinstance(data.get(name), str):
            data[name] = QueryBooleanField.BOOLEAN_VALUES.get(data[name].lower(), data[name])
    for name in LIST_PARAMETERS:
        data[name] = convert_to_list(data.get(name))
    return data


def validate_query_text(request, *names: str) -> None:
    """Raise ValidationError for NUL and invalid UTF-8 in `names`, or in any parameter.

    Replacement characters could make two different ids equal.
    """
    raw_pairs = [
        unquote_to_bytes(pair.encode("latin-1").replace(b"+", b" "))
        for pair in request.META.get("QUERY_STRING", "").split("&")
    ]
    undecodable = set(map(find_undecodable_name, raw_pairs)) - {None}
    invalid = [
        name
        for name, value in request.GET.items()
        if (not names or name in names) and ("\x00" in name + value or name in undecodable)
    ]
    if invalid:
        raise ValidationError({name: FieldError(INVALID_TEXT).detail for name in invalid})


def find_undecodable_name(pair: bytes) -> str | None:
    """Return the parameter's name if the pair is not valid UTF-8, else None."""
    try:
        pair.decode()
    except UnicodeDecodeError:
        return pair.partition(b"=")[0].decode(errors="replace")
    return None


def set_nested_value(data: dict, path: list[str], value: str) -> None:
    """Set a value in nested objects; empty values of list items are ignored."""
    *parents, key = path
    for parent in parents:
        if not isinstance(data.get(parent), dict):
            data[parent] = {}
        data = data[parent]
    if value or path[0] not in LIST_PARAMETERS:
        data[key] = value


def convert_to_list(indexed):
    """Convert `{"0": …, "1": …}` to a list in numeric order; keep other values."""
    if not isinstance(indexed, dict) or not all(key.isascii() and key.isdigit() for key in indexed):
        return indexed
    return [indexed[key] for key in sorted(indexed, key=get_numeric_sort_key)]


def get_numeric_sort_key(digits: str) -> tuple[int, str]:
    """Sort digits by their number; `int` would reject more than 4,300 digits."""
    stripped = digits.lstrip("0")
    return len(stripped), stripped
