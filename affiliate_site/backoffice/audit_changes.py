"""What changed, in words, for the audit log: fields, old and new values."""

import re
from decimal import Decimal
from typing import Any

from django.apps import apps
from django.db.models import Q
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from accounts.tenant_admin import filter_for_user
from affiliate_site.backoffice.formatters import format_money
from payouts.models.commission_types import CommissionType
from tracking.models.affiliates import ADDRESS_COLUMNS, AffiliateGroup
from tracking.models.programs import Program

# What staff call a column; one name for several columns, "" for a hidden column.
FIELD_NAMES = (
    {
        field.name: str(field.verbose_name)
        for app in ("accounts", "tracking", "payouts")
        for model in apps.get_app_config(app).get_models()
        for field in model._meta.fields
        if field.verbose_name != field.name.replace("_", " ")
    }
    | {"payout": "payment status", "email_folded": "", "company_description": "company"}
    | dict.fromkeys(ADDRESS_COLUMNS, "address")
    | {"mails_payments": "mail to paid affiliates"}
    | {"iban": "IBAN", "bic": "BIC", "recipient": "recipient ID"}
    | {"click_days": "days that clicks are kept"}
    | {"is_contested": "contest", "is_amount_claimed": "claimed amount"}
    | {"aliases": "further codes", "locked_at": "lock", "host": "own host"}
    # Of the portal.
    | {"is_on": "sign-in of affiliates", "is_open": "applications"}
    | {"sender_name": "sender of mail", "order_ids": "shown order IDs"}
    | {"shows_comments": "shown reasons", "shows_recruit_sales": "sales of recruits"}
    # Of the payer.
    | {"payer_name": "name", "payer_iban": "IBAN", "payer_bic": "BIC"}
    | dict.fromkeys(
        (f"payer_{part}" for part in ("street", "building", "postal_code", "city")),
        "address",
    )
    | {"payer_country": "address", "payer_vat_id": "VAT ID"}
    | {"requires_second_person": "confirmation by somebody else"}
    | {"documents_from": "first day of documents", "document_prefix": "document prefix"}
)
EXACT_AMOUNT = re.compile(r"-?[0-9]{1,20}\.[0-9]{4}")
NUMBER = r"-?[0-9]{1,20}(?:\.[0-9]{1,8})?"
MONEY = re.compile(rf"({NUMBER}) ([A-Z]{{3}})")
MONEY_DETAILS = ("amount", "minimum", "refunded")  # such as `25 EUR`
AMOUNT_DETAILS = ("amount", "line_item_amount")  # in the currency of the object
PAYOUT_FIELD_NAMES = FIELD_NAMES | {"country": "country", "others": "other details"}


def describe_fields_change(fields: list[str], details) -> str:
    """Return the sentence for changed fields, or for a commission's payment."""
    if "payment" in fields and is_change(details.get("payment")):
        old, new = details.pop("payment")
        # Not “paid”: the bank may not have answered.
        return f"put {{}} into payment {new}" if new else f"took {{}} out of payment {old}"
    if "method" in details:
        return describe_payout_change(fields)
    words = [FIELD_NAMES.get(name, name.replace("_", " ")) for name in fields]
    return f"changed the {join_words(words)} of {{}}"


def describe_payout_change(fields: list[str]) -> str:
    """Return the sentence for changed details of a payout method."""
    words = [
        PAYOUT_FIELD_NAMES.get(name, name.replace("_", " ")) for name in fields if name != "primary"
    ]
    if not words:
        return "made the payout method {method} the primary one of {}"
    primary = " and made it the primary one" if "primary" in fields else ""
    return f"set the {join_words(words)} of the payout method {{method}} of {{}}{primary}"


def format_amounts(details: dict[str, Any], currency: str) -> None:
    """Write amounts of details as pages do, `25.00 EUR`.

    The currency is that of the object; an empty one, or one that changed, leaves its
    amounts as they are.
    """
    for name in MONEY_DETAILS:
        if found := MONEY.fullmatch(f"{details.get(name)}"):
            details[name] = format_money(Decimal(found[1]), found[2])
    for name in AMOUNT_DETAILS if currency and "currency" not in details else ():
        values = details.get(name) or []
        if is_change(values) and all(re.fullmatch(NUMBER, f"{it}") for it in values):
            details[name] = [format_money(Decimal(f"{it}"), currency) for it in values]


def join_words(words: list[str]) -> str:
    """Return the words once each, with commas; without empty ones."""
    return ", ".join(dict.fromkeys(filter(None, words)))


def describe_parent_change(parent: str | int | None) -> str:
    """Return the sentence for the new parent, an ID, or for a removed one (None)."""
    if parent is None:
        return "removed the parent of {}"
    return f"set the parent of {{}} to {parent}"


def render_details(details, *, has_changes: bool = True) -> SafeString:
    """Return the remaining details, such as `amount: 10 → 7`, one per line.

    Without `has_changes`, a list of two values is no pair of old and new value.
    """
    return format_html_join(
        "",
        ' <span class="subtext">{}: {}</span>',
        (
            (
                FIELD_NAMES.get(name, name.replace("_", " ")),
                format_value(value, has_changes=has_changes),
            )
            for name, value in details.items()
        ),
    )


def is_change(value) -> bool:
    """Return whether a detail is a pair of old and new value."""
    return isinstance(value, list) and len(value) == 2


def format_value(value, *, has_changes: bool = True) -> str:
    """Return a value as text, or the old and the new value."""
    if has_changes and is_change(value):
        return " → ".join("none" if each is None else shorten_amount(str(each)) for each in value)
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "all"
    return "none" if value is None else shorten_amount(str(value))


def shorten_amount(text: str) -> str:
    """An exact amount without the zeros that say nothing: `13.5000` as `13.5`."""
    return text.rstrip("0").rstrip(".") if EXACT_AMOUNT.fullmatch(text) else text


# `commissiontype:PROGRAM/TYPE`, `level:PROGRAM/NUMBER`, `grouprate:PROGRAM/TYPE/GROUP`.
RATES = {"commissiontype": 2, "level": 2, "grouprate": 3}


def name_rates(user, entries) -> dict[tuple[int, str], str]:
    """Map accounts and subjects that are rates to their names, as far as the user may
    see what they are made of."""
    found = {}
    for entry in entries:
        kind, _, name = entry.subject.partition(":")
        if len(parts := name.split("/")) == RATES.get(kind):
            found[entry.account_id, entry.subject] = (kind, *parts)
    if not found:
        return {}
    programs = load_titles(user, Program, "slug", {parts[1] for parts in found.values()})
    rated = [parts for parts in found.values() if parts[0] == "grouprate"]
    groups = load_titles(user, AffiliateGroup, "public_id", {parts[3] for parts in rated})
    types = load_types(user, rated)
    return {
        (account, subject): text
        for (account, subject), parts in found.items()
        if (text := describe_rate(account, parts, programs, groups, types))
    }


def describe_rate(account: int, parts, programs, groups, types) -> str:
    """Return the rate in words; "" if the user may not see what it is made of."""
    kind, program, name, *group = parts
    program_title = programs.get((account, program))
    if program_title and kind == "level":
        return f"level {name} of {program_title}"
    if program_title and kind == "commissiontype":
        return f"commission type {name} of {program_title}"
    title, group_title = types.get((account, program, name)), groups.get((account, *group))
    if program_title and title and group_title:
        return f"rate {title} of the group {group_title} in {program_title}"
    return ""


def load_titles(user, model, column: str, values) -> dict[tuple[int, str], str]:
    """Map accounts and IDs to the titles of the rows that the user may see."""
    if not values:
        return {}
    rows = filter_for_user(model.objects.filter(**{f"{column}__in": values}), user)
    return {(pk, name): title for pk, name, title in rows.values_list("account", column, "title")}


def load_types(user, rated) -> dict[tuple[int, str, str], str]:
    """Map accounts, programs and commission types to their titles."""
    if not rated:
        return {}
    named = Q(
        program__slug__in={parts[1] for parts in rated},
        identifier__in={parts[2] for parts in rated},
    )
    rows = filter_for_user(CommissionType.objects.filter(named), user)
    columns = ("account", "program__slug", "identifier", "title")
    return {(pk, program, name): title for pk, program, name, title in rows.values_list(*columns)}
