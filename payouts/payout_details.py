"""What the details of a payout method mean, by its kind. Does not import Django.

Clients of the API choose the names of details themselves: usual ones are read as the
names of this service, others are kept.
"""

import re
from collections.abc import Mapping
from contextlib import suppress

from schwifty import BIC, IBAN
from schwifty.exceptions import SchwiftyException

BANK_NAMES = (
    *("account_holder", "iban", "bic"),
    *("account_number", "routing_number", "bank_name", "country"),
)
# What each kind has, by the names of this service, in the order of a form.
DETAIL_NAMES: dict[str, tuple[str, ...]] = {
    "bank": BANK_NAMES,
    "wire_transfer": BANK_NAMES,
    "paypal": ("email",),
    "wise": ("email", "recipient", "account_holder"),
    "other": (),
}
DETAIL_LABELS = {  # for staff
    name: name.replace("_", " ").capitalize() for names in DETAIL_NAMES.values() for name in names
} | {"iban": "IBAN", "bic": "BIC", "email": "E-mail", "recipient": "Recipient ID"}
BANK_ALIASES = {
    **dict.fromkeys(("swift", "swiftbic", "bicswift", "swiftcode"), "bic"),
    **dict.fromkeys(("name", "holder", "accountname", "beneficiary"), "account_holder"),
    **dict.fromkeys(("account", "konto", "accountno"), "account_number"),
    **dict.fromkeys(("routing", "aba", "sortcode", "bankcode"), "routing_number"),
    "bank": "bank_name",
    "bankcountry": "country",
}
# Other names, without case and marks.
ALIASES: dict[str, dict[str, str]] = {
    "bank": BANK_ALIASES,
    "wire_transfer": BANK_ALIASES,
    "paypal": dict.fromkeys(
        ("paypal", "paypaladdress", "paypalemail", "address", "account"), "email"
    ),
    "wise": {
        "wiseemail": "email",
        **dict.fromkeys(("recipientid", "wiserecipient", "account"), "recipient"),
        "name": "account_holder",
    },
}
MARKS = re.compile(r"[^a-z0-9]")
EMAIL = re.compile(r"[^@\s,;:<>()\[\]\"\\]+@(?:[^\W_](?:[\w-]*[^\W_])?\.)+[^\W\d_]{2,}")
MAX_EMAIL_LENGTH = 254
SHOWN_LENGTH = 4  # of the end of an account
MIN_MASKED_LENGTH = 8
NUMBERS = ("iban", "account_number", "recipient")


def normalize_details(kind: str, details: Mapping[str, str]) -> dict[str, str]:
    """Return the details by the names of this service, known ones first.

    White space and case of codes do not matter. An IBAN as the number of an account is
    an IBAN.
    """
    names, aliases = DETAIL_NAMES.get(kind, ()), ALIASES.get(kind, {})
    plain_names = {_strip_marks(name): name for name in names} | aliases
    known: dict[str, str] = {}
    others: dict[str, str] = {}
    # What has our name itself comes before other names for it.
    for name, text in sorted(details.items(), key=lambda pair: pair[0] not in names):
        value = str(text).strip()
        ours = plain_names.get(_strip_marks(name))
        if ours and ours not in known:
            if value:
                known[ours] = _compact(value) if ours in ("iban", "bic") else value
        else:
            others[name] = value
    number = known.get("account_number", "")
    if not known.get("iban") and _is_iban(number):
        known["iban"] = _compact(known.pop("account_number"))
    if "country" in known:
        known["country"] = known["country"].upper()
    return {name: known[name] for name in names if name in known} | others


def find_problems(kind: str, details: Mapping[str, str]) -> dict[str, str]:
    """Return a sentence for each detail that is missing or wrong, by its name."""
    values = normalize_details(kind, details)
    if kind in ("bank", "wire_transfer"):
        return _find_bank_problems(values)
    email = values.get("email", "")
    if email and not (EMAIL.fullmatch(email) and len(email) <= MAX_EMAIL_LENGTH):
        return {
            "email": f"{email[:80]} is not an e-mail address. Enter one such as"
            " odette@notes.example.org."
        }
    if kind == "paypal" and not email:
        return {"email": "Enter the e-mail address of the PayPal account."}
    if kind == "wise" and not (email or values.get("recipient")):
        return {"email": "Enter the e-mail address or the recipient ID at Wise."}
    if not any(values.values()):
        return {"": "Enter the details: without them nobody can pay."}
    return {}


def list_problems(kind: str, details: Mapping[str, str]) -> list[str]:
    """Return the sentences of `find_problems`; none if nothing is missing or wrong."""
    return list(find_problems(kind, details).values())


def get_identifier(kind: str, details: Mapping[str, str]) -> str:
    """Return what names the account, equal for equal ones; empty if nothing does."""
    values = normalize_details(kind, details)
    if values.get("iban"):
        return values["iban"]
    if values.get("account_number"):
        parts = (values.get("country"), values.get("routing_number"))
        return "/".join(_compact(part or "") for part in (*parts, _get_number(values)))
    if kind in ("paypal", "wise"):
        return values.get("email", values.get("recipient", "")).casefold()
    return ""


def mask_details(kind: str, details: Mapping[str, str]) -> str:
    """Return by what an account is recognized, without naming it: `SI56…3438`."""
    values = normalize_details(kind, details)
    if values.get("iban"):
        return values["iban"][:SHOWN_LENGTH] + _mask(values["iban"])
    if values.get("account_number"):
        return _mask(_get_number(values))
    if kind in ("paypal", "wise") and values.get("email"):
        name, _, host = values["email"].rpartition("@")
        return f"{name[:1]}…@{host}" if name else "…"
    if kind == "wise" and values.get("recipient"):
        return _mask(values["recipient"])
    return "…" if any(values.values()) else ""


def mask_changes(
    kind: str, before: Mapping[str, str], after: Mapping[str, str]
) -> dict[str, list[str | None]]:
    """Return the old and new value of changed accounts, so masked that nobody can be
    found by them: `•••• 3438`, `m•••@•••`; None without a value."""
    old, new = normalize_details(kind, before), normalize_details(kind, after)
    return {
        name: [_hide(name, old.get(name)), _hide(name, new.get(name))]
        for name in (*NUMBERS, "email")
        if old.get(name) != new.get(name)
    }


def _hide(name: str, value: str | None) -> str | None:
    if not value:
        return None
    if name == "email":
        return f"{value[:1]}•••@•••"
    number = _compact(value)
    return f"•••• {number[-SHOWN_LENGTH:]}" if len(number) >= MIN_MASKED_LENGTH else "••••"


def _find_bank_problems(values: Mapping[str, str]) -> dict[str, str]:
    iban, bic = values.get("iban", ""), values.get("bic", "")
    country = values.get("country", "")
    problems: dict[str, str] = {}
    if iban and not _is_iban(iban):
        problems["iban"] = (
            f"{iban[:80]} is not an IBAN: its check digits do not match, or it is too"
            " long or too short. Compare it with what the affiliate sent."
        )
    if bic and not _is_bic(bic):
        problems["bic"] = (
            f"{bic[:80]} is not a BIC: it has 8 or 11 letters and digits, such as BSLJSI2X."
        )
    if iban:
        if not bic and not problems and not IBAN(iban).in_sepa_zone:
            problems["bic"] = "Enter the BIC: outside of SEPA the IBAN is not enough."
        return problems
    if not values.get("account_number"):
        problems["iban"] = (
            "Enter the IBAN; in countries without IBANs the account number, the country"
            " and the routing number or BIC."
        )
        return problems
    if not re.fullmatch("[A-Z]{2}", country):
        problems["country"] = "Choose the country of the bank."
    if not bic and not values.get("routing_number"):
        problems["routing_number"] = "Enter the routing number or the BIC of the bank."
    return problems


def _get_number(values: Mapping[str, str]) -> str:
    return _compact(values["account_number"])


def _is_iban(text: str) -> bool:
    with suppress(SchwiftyException):
        return bool(IBAN(text))
    return False


def _is_bic(text: str) -> bool:
    with suppress(SchwiftyException):
        return bool(BIC(text))
    return False


def _mask(text: str) -> str:
    return f"…{text[-SHOWN_LENGTH:]}" if len(text) >= MIN_MASKED_LENGTH else "…"


def _compact(text: str) -> str:
    """A text without white space, in capital letters."""
    return "".join(text.split()).upper()


def _strip_marks(name: str) -> str:
    return MARKS.sub("", name.casefold())
