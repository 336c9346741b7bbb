"""Rates of programs in the audit log, whose subjects are made of primary keys."""

import re

from accounts.audit_details import is_id
from accounts.tenant_admin import filter_for_user
from payouts.models.commission_types import CommissionType
from tracking.models.affiliates import AffiliateGroup
from tracking.models.programs import Program

# `commissiontype:PROGRAM/ID`, `level:PROGRAM/NUMBER` and `grouprate:TYPE/GROUP`.
SUBJECT = re.compile(r"(commissiontype|level|grouprate):([0-9]{1,18})/(.{1,64})")


def name_rates(user, subjects) -> dict[str, str]:
    """Map the subjects that are rates to their names, as far as the user may see what
    they are made of."""
    found = [match for each in subjects if (match := SUBJECT.fullmatch(each))]
    if not found:
        return {}
    type_ids = {int(each[2]) for each in found if each[1] == "grouprate"}
    types = load(user, CommissionType, type_ids, "program_id", "title")
    program_ids = {int(each[2]) for each in found if each[1] != "grouprate"}
    program_ids |= {program_id for program_id, _title in types.values()}
    programs = load(user, Program, program_ids, "title", "slug")
    named = {each[3] for each in found if each[1] == "grouprate"}
    group_ids = {int(each) for each in named if each.isdecimal()}
    groups = load(user, AffiliateGroup, group_ids, "title", "public_id")
    names = {}
    for each in found:
        kind, pk, rest = each[1], int(each[2]), each[3]
        if kind == "grouprate" and pk in types:
            program_id, title = types[pk]
            group = groups.get(int(rest)) if rest.isdecimal() else None
            program = programs.get(program_id)
            if group and program:
                names[each[0]] = f"rate {title} of the group {group[0]} in {program[0]}"
        elif kind == "level" and pk in programs:
            names[each[0]] = f"level {rest} of {programs[pk][0]}"
        elif kind == "commissiontype" and pk in programs:
            names[each[0]] = f"commission type {rest} of {programs[pk][0]}"
    return names


def load(user, model, pks, *columns: str) -> dict:
    """Map primary keys to values of the rows that the user may see."""
    wanted = [pk for pk in pks if is_id(pk)]
    if not wanted:
        return {}
    rows = filter_for_user(model.objects.filter(pk__in=wanted), user)
    return {pk: values for pk, *values in rows.values_list("pk", *columns)}
