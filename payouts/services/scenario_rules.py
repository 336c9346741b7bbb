"""Make the changes of a scenario the rules, by the services that forms call."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from accounts.models.accounts import Account
from payouts.errors import ChangedSince, CommissionTypeNotFound, NotARule
from payouts.services.programs import (
    create_level,
    delete_group_rate,
    delete_level,
    set_group_rate,
    update_commission_type,
    update_level,
)
from payouts.services.scenarios import list_present_changes, read_result, read_rules
from payouts.what_if import RuleChange
from tracking.services.hierarchy import get_group, set_group
from tracking.services.programs import get_program, update_program


def apply_scenario(account: Account, *, pk: int, at: datetime) -> None:
    """Make the changes of a scenario the rules of later sales, all of them or none.

    Raises `ChangedSince` unless the rules are as it was calculated with, `NotARule` for
    an order of attribution or a level that is not the next one, and what the services
    raise.
    """
    with transaction.atomic():
        scenario = account.scenarios.get(pk=pk)
        result = read_result(scenario)
        changes = read_rules(result) if result else []
        _lock_rules(account, changes)
        if not changes or list_present_changes(account, json.loads(scenario.changes)) != changes:
            raise ChangedSince
        settings: dict[str, dict[str, Any]] = defaultdict(dict)
        for change in _sort_levels(changes):
            if change.rule in APPLY:
                APPLY[change.rule](account, change, at)
            else:
                settings[change.program][change.rule] = change.after
        for slug, columns in settings.items():
            update_program(account, slug=slug, changes=columns, at=at)


def _lock_rules(account: Account, changes: Iterable[RuleChange]) -> None:
    """Lock what forms lock, so that nobody changes the rules between check and change."""
    members = [change.of[0] for change in changes if change.rule == "group"]
    slugs = {change.program for change in changes}
    rows: tuple[QuerySet[Any], ...] = (
        account.affiliates.filter(slug__in=members),
        account.programs.filter(slug__in=slugs),
        account.commission_types.filter(program__slug__in=slugs),
        account.levels.filter(program__slug__in=slugs),
    )
    for each in rows:
        list(each.select_for_update(no_key=True, of=("self",)).order_by("pk"))


def _sort_levels(changes: Iterable[RuleChange]) -> list[RuleChange]:
    """Levels are added and removed at the end only."""

    def find_place(change: RuleChange) -> int:
        is_level = change.rule == "level"
        return int(change.of[0]) * (-1 if change.after is None else 1) if is_level else 0

    return sorted(changes, key=find_place)


def _read_rate(data: Mapping[str, str]) -> dict[str, Any]:
    return {"kind": data["kind"], "value": Decimal(data["value"])}


def _find_type(account: Account, change: RuleChange) -> Any:
    types = account.commission_types.select_related("program")
    row = types.filter(program__slug=change.program, identifier=change.of[0]).first()
    if row is None:
        raise CommissionTypeNotFound
    return row


def _apply_rate(account: Account, change: RuleChange, at: datetime) -> None:
    row = _find_type(account, change)
    update_commission_type(account, pk=row.pk, changes=_read_rate(change.after), at=at)


def _apply_group_rate(account: Account, change: RuleChange, at: datetime) -> None:
    kind, group = _find_type(account, change), get_group(account, change.of[1])
    if change.after is None:
        row = account.group_rates.get(commission_type=kind, group=group)
        delete_group_rate(account, pk=row.pk, at=at)
    else:
        rate = _read_rate(change.after)
        set_group_rate(account, commission_type=kind, group=group, **rate, at=at)


def _apply_level(account: Account, change: RuleChange, at: datetime) -> None:
    number = int(change.of[0])
    row = account.levels.filter(program__slug=change.program, level=number).first()
    if row is None:
        program = get_program(account, change.program)
        title, rate = f"Level {number}", _read_rate(change.after)
        row = create_level(account, program=program, title=title, **rate, at=at)
        if row.level != number:
            raise NotARule(what=f"{title}, without the levels before it,")
    elif change.after is None:
        delete_level(account, pk=row.pk, at=at)
    else:
        update_level(account, pk=row.pk, changes=_read_rate(change.after), at=at)


def _apply_group(account: Account, change: RuleChange, at: datetime) -> None:
    set_group(account, affiliate_id=change.of[0], group_id=change.after or None, at=at)


def _refuse_order(account: Account, change: RuleChange, at: datetime) -> None:
    raise NotARule(what="The order of attribution")


APPLY: Mapping[str, Callable[[Account, RuleChange, datetime], None]] = {
    "rate": _apply_rate,
    "group_rate": _apply_group_rate,
    "level": _apply_level,
    "group": _apply_group,
    "order": _refuse_order,
}
