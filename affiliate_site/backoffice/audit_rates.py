"""Rates of programs in the audit log, whose subjects are made of several IDs."""

from django.db.models import Q

from accounts.tenant_admin import filter_for_user
from payouts.models.commission_types import CommissionType
from tracking.models.affiliates import AffiliateGroup
from tracking.models.programs import Program

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
