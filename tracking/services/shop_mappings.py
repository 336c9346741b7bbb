"""How the events of any other shop are read: `Connection.settings["other"]`.

- `signature`: `kind` is `standard_webhooks`, `hmac` (SHA-256 of the body), `header`
  (the secret itself), `basic` (user and password), `sorted_parameters` (SHA-512 of the
  fields of a form, in the field `parameter`) or `address` (the secret is a parameter of
  the address, so sales are claims). `hmac` and `header` name a `header` and may have a
  `prefix`, and `hmac` an `encoding`, `hex` or `base64`
- `answer`: the body of the answer 200, where the shop expects a text
- `event`: `id`, `kind` and the path of its `time`, each optional
- `sale`: `order_id`, `amount` (what earns commissions), `currency`, and optionally
  `paid` (what refunds are a part of), `customer`, `email`; `referral` and `coupons` are
  lists of paths; `lines` has the path of the `items`, and in each of them `amount` and
  the path of the `product`; `unit` is `major` or `minor` (cents)
- `refund`: `order_id`, `amount`, and optionally `refund_id` and `currency`, if it is
  elsewhere than that of a sale; `is_canceled` is a condition

IDs and the currency are expressions of texts, amounts are expressions of amounts, both
of `tracking.dotted_paths`; `*` in an amount adds up each item. `when` of a sale or
refund is a list of conditions, which must all be met; a refund has at least one. A
condition is `{path, equals}`, `{path, differs}`, or `{any}`, a list of such of which
one must be met. Until there is a `sale`, events are only stored, so that one can be
looked at.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from accounts.errors import run_checks
from tracking.dotted_paths import (
    MAX_EXPRESSION_LENGTH,
    MAX_PATH_LENGTH,
    MAX_PATH_PARTS,
    MAX_TERMS,
    is_expression,
    is_path,
)
from tracking.errors import InvalidMapping

ADDRESS = "address"
# Kinds of signature with the field that each needs.
SIGNATURE_KINDS = {
    "standard_webhooks": "",
    "hmac": "header",
    "header": "header",
    "basic": "",
    "sorted_parameters": "parameter",
    ADDRESS: "",
}
ENCODINGS = ("hex", "base64")
UNITS = ("major", "minor")
PARAMETER_PATTERN = re.compile(r"[A-Za-z0-9_.-]{1,64}")
ANSWER_PATTERN = re.compile(r"[ -~]{1,64}")
HEADER_PATTERN = re.compile(r"[A-Za-z0-9-]{1,64}")
MAX_PREFIX_LENGTH = 32
MAX_CONDITIONS = 10
MAX_PATHS = 20
MAX_VALUE_LENGTH = 255  # of what a condition compares with
MAX_NUMBER = 10**18

Validator = Callable[[str, Any], None]


def validate_mapping(mapping: Any) -> None:
    """Raise `InvalidMapping` if it cannot be used; an `ErrorList` of several.

    The sentence and the `path` of each name the field.
    """
    _validate_object(
        "mapping",
        mapping,
        {
            "signature": _validate_signature,
            "event": _validate_event,
            "sale": _validate_sale,
            "refund": _validate_refund,
            "answer": _validate_answer,
        },
        required=("signature",),
        prefix="",
    )
    if "refund" in mapping and "sale" not in mapping:
        what = "Enter a sale, whose order the refund names."
        raise InvalidMapping(what=what, path="sale")


def reports_claims(settings: Mapping[str, Any]) -> bool:
    """Whether what a connection with these settings reports is only claimed.

    Addresses stand in logs, so who knows the secret of one has proven nothing.
    """
    kind = settings.get("other", {}).get("signature", {}).get("kind")
    return bool(kind == ADDRESS)


def _validate_signature(name: str, value: Any) -> None:
    fields = {
        "kind": _build_choice_validator(tuple(SIGNATURE_KINDS)),
        "header": _validate_header,
        "parameter": _validate_parameter,
        "encoding": _build_choice_validator(ENCODINGS),
        "prefix": _validate_prefix,
    }
    _validate_object(name, value, fields, required=("kind",))
    needed = SIGNATURE_KINDS[value["kind"]]
    if needed and needed not in value:
        _refuse_missing(f"{name}.{needed}")


def _validate_event(name: str, value: Any) -> None:
    fields = {"id": _validate_text, "kind": _validate_text, "time": _validate_path}
    _validate_object(name, value, fields)


def _validate_sale(name: str, value: Any) -> None:
    required = ("order_id", "amount", "currency")
    fields: dict[str, Validator] = {
        "when": _validate_conditions,
        **dict.fromkeys(("order_id", "currency", "customer", "email"), _validate_text),
        **dict.fromkeys(("amount", "paid"), _validate_amount),
        "referral": _validate_paths,
        "coupons": _validate_paths,
        "lines": _validate_lines,
        "unit": _build_choice_validator(UNITS),
    }
    _validate_object(name, value, fields, required=required)


def _validate_lines(name: str, value: Any) -> None:
    fields = {
        "items": _validate_path,
        "amount": _validate_amount,
        "product": _validate_path,
    }
    _validate_object(name, value, fields, required=tuple(fields))


def _validate_refund(name: str, value: Any) -> None:
    fields: dict[str, Validator] = {
        "when": _validate_conditions,
        **dict.fromkeys(("order_id", "refund_id", "currency"), _validate_text),
        "amount": _validate_amount,
        "is_canceled": _validate_condition,
    }
    _validate_object(name, value, fields, required=("when", "order_id", "amount"))
    if not value["when"]:
        what = f"Enter a condition in {name}.when."
        raise InvalidMapping(what=what, path=f"{name}.when")


def _validate_object(
    name: str,
    value: Any,
    fields: Mapping[str, Validator],
    *,
    required: tuple[str, ...] = (),
    prefix: str | None = None,
) -> None:
    """Validate the fields of an object; their names begin with `prefix`."""
    if not isinstance(value, Mapping):
        raise InvalidMapping(what=f"Make {name} an object.", path=name)
    start = f"{name}." if prefix is None else prefix
    checks: list[Callable[[], object]] = []
    for key, each in value.items():
        if key not in fields:
            known = ", ".join(fields)
            path = f"{start}{str(key)[:64]!s}"
            what = f"Remove {path}; the fields of {name} are: {known}."
            raise InvalidMapping(what=what, path=path)
        checks.append(partial(fields[key], f"{start}{key}", each))
    missing = [f"{start}{key}" for key in required if key not in value]
    checks += [partial(_refuse_missing, path) for path in missing]
    run_checks(*checks)


def _refuse_missing(name: str) -> None:
    raise InvalidMapping(what=f"Enter {name}.", path=name)


def _validate_path(name: str, value: Any) -> None:
    if not is_path(value):
        raise InvalidMapping(
            what=f"Make {name} a path such as data.items.0.sku, of at most"
            f" {MAX_PATH_LENGTH} characters and {MAX_PATH_PARTS} parts.",
            path=name,
        )


def _validate_text(name: str, value: Any) -> None:
    if not is_expression(value, is_text=True):
        _refuse_expression(name, 'a path such as data.id, a text such as "EUR"', "+")


def _validate_amount(name: str, value: Any) -> None:
    if not is_expression(value):
        _refuse_expression(name, "a path such as data.total", "+ and -")


def _refuse_expression(name: str, example: str, operators: str) -> None:
    raise InvalidMapping(
        what=f"Make {name} {example}, or several of at most {MAX_TERMS} with"
        f" {operators} between them, in spaces; at most {MAX_EXPRESSION_LENGTH}"
        " characters.",
        path=name,
    )


def _validate_paths(name: str, value: Any) -> None:
    if not isinstance(value, list) or len(value) > MAX_PATHS:
        what = f"Make {name} a list of at most {MAX_PATHS} paths."
        raise InvalidMapping(what=what, path=name)
    for number, each in enumerate(value):
        _validate_path(f"{name}.{number}", each)


def _validate_conditions(name: str, value: Any) -> None:
    if not isinstance(value, list) or len(value) > MAX_CONDITIONS:
        what = f"Make {name} a list of at most {MAX_CONDITIONS} conditions."
        raise InvalidMapping(what=what, path=name)
    for number, each in enumerate(value):
        _validate_condition(f"{name}.{number}", each)


def _validate_condition(name: str, value: Any) -> None:
    if isinstance(value, Mapping) and "any" in value:
        _validate_object(name, value, {"any": _validate_any_of})
    else:
        _validate_comparison(name, value)


def _validate_any_of(name: str, value: Any) -> None:
    if not isinstance(value, list) or not 0 < len(value) <= MAX_CONDITIONS:
        what = f"Make {name} a list of at most {MAX_CONDITIONS} conditions."
        raise InvalidMapping(what=what, path=name)
    for number, each in enumerate(value):
        _validate_comparison(f"{name}.{number}", each)


def _validate_comparison(name: str, value: Any) -> None:
    is_negated = isinstance(value, Mapping) and "differs" in value
    operator = "differs" if is_negated else "equals"
    fields = {"path": _validate_path, operator: _validate_value}
    _validate_object(name, value, fields, required=("path", operator))


def _validate_value(name: str, value: Any) -> None:
    is_number = isinstance(value, int) and abs(value) <= MAX_NUMBER
    is_text = isinstance(value, str) and len(value) <= MAX_VALUE_LENGTH
    if not is_number and not is_text:
        raise InvalidMapping(
            what=f"Make {name} a text, a whole number, true or false, of at most"
            f" {MAX_VALUE_LENGTH} characters.",
            path=name,
        )


def _build_choice_validator(choices: tuple[str, ...]) -> Validator:
    def validate(name: str, value: Any) -> None:
        if value not in choices:
            what = f"Make {name} one of: {', '.join(choices)}."
            raise InvalidMapping(what=what, path=name)

    return validate


def _validate_header(name: str, value: Any) -> None:
    if not isinstance(value, str) or not HEADER_PATTERN.fullmatch(value):
        raise InvalidMapping(
            what=f"Make {name} the name of a header, such as X-Signature.", path=name
        )


def _validate_parameter(name: str, value: Any) -> None:
    if not isinstance(value, str) or not PARAMETER_PATTERN.fullmatch(value):
        what = f"Make {name} the name of a field, such as sha_sign."
        raise InvalidMapping(what=what, path=name)


def _validate_answer(name: str, value: Any) -> None:
    if not isinstance(value, str) or not ANSWER_PATTERN.fullmatch(value):
        what = f"Make {name} a text of at most 64 characters of ASCII, such as OK."
        raise InvalidMapping(what=what, path=name)


def _validate_prefix(name: str, value: Any) -> None:
    is_text = isinstance(value, str) and value.isprintable()
    if not is_text or len(value) > MAX_PREFIX_LENGTH:
        raise InvalidMapping(
            what=f"Make {name} a text of at most {MAX_PREFIX_LENGTH} characters.",
            path=name,
        )
