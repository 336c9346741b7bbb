"""Affiliate groups, and the group and the parent of an affiliate."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.ids import generate_public_id
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event, record_change, record_changes
from tracking.errors import AffiliateHierarchyCycle, GroupNotFound, UnknownReference
from tracking.models.affiliates import Affiliate, AffiliateGroup
from tracking.services.affiliates import get_affiliate, lock_hierarchy
from tracking.services.programs import validate_hold_days


def create_group(account: Account, *, title: str, at: datetime) -> AffiliateGroup:
    """Create a group; titles need not be unique."""
    with transaction.atomic():
        group = account.affiliate_groups.create(
            public_id=generate_public_id("ag"), title=title, created_at=at
        )
        log_event(account, "affiliate_group.created", group, at=at)
    return group


def update_group(
    account: Account, *, group_id: str, changes: Mapping[str, Any], at: datetime
) -> AffiliateGroup:
    """Set `title` and `hold_days`, those of them in `changes`.

    `hold_days` is for later sales, None: as the program says. Raises `GroupNotFound`
    and `InvalidSetting`.
    """
    if (hold_days := changes.get("hold_days")) is not None:
        validate_hold_days(hold_days)
    with transaction.atomic():
        group = get_group(account, group_id, lock=True)
        values = {name: value for name, value in changes.items() if getattr(group, name) != value}
        if values:
            logged: dict[str, Any] = {"fields": ["title"]} if "title" in values else {}
            if "hold_days" in values:
                logged["hold_days"] = [group.hold_days, hold_days]
            group.update_row(**values)
            log_event(account, "affiliate_group.updated", group, at=at, **logged)
    return group


def get_group(account: Account, public_id: str, *, lock: bool = False) -> AffiliateGroup:
    """Return the account's group with this id; raise `GroupNotFound`."""
    rows = account.affiliate_groups
    return get_or_raise(rows, GroupNotFound, lock=lock, public_id=public_id)


def get_referenced_group(
    account: Account, public_id: str, *, path: str = "group_id", lock: bool = False
) -> AffiliateGroup:
    """Return the group that a request names in `path`; raise `UnknownReference`."""
    unknown = UnknownReference(what="affiliate group", path=path)
    rows = account.affiliate_groups
    return get_or_raise(rows, unknown, lock=lock, public_id=public_id)


def set_group(
    account: Account, *, affiliate_id: str, group_id: str | None, at: datetime
) -> Affiliate:
    """Set the group of an affiliate; None removes it from its group.

    Raises `AffiliateNotFound` and `UnknownReference`.
    """
    with transaction.atomic():
        affiliate = get_affiliate(account, affiliate_id, lock=True)
        present = affiliate.group.public_id if affiliate.group else None
        if present != group_id:
            # The lock keeps the group from being deleted concurrently.
            group = group_id and get_referenced_group(account, group_id, lock=True)
            affiliate.update_row(group=group or None)
            kind = "affiliate.added_to_group" if group else "affiliate.updated"
            record_change(account, kind, affiliate, at=at, group=group_id)
    return affiliate


def add_to_group(
    account: Account, *, group_id: str, affiliate_ids: Collection[str], at: datetime
) -> list[Affiliate]:
    """Put affiliates into a group, out of those that they were in.

    Returns the affiliates that were not in it. Raises `GroupNotFound`.
    """
    with transaction.atomic():
        rows = account.affiliates.not_deleted().filter(slug__in=affiliate_ids)
        # Affiliates before the group, as `set_group` locks them.
        affiliates = list(rows.select_for_update(no_key=True).order_by("pk"))
        group = get_group(account, group_id, lock=True)
        moved = [each for each in affiliates if each.group_id != group.pk]
        for affiliate in moved:
            affiliate.update_row(group=group)
        kind = "affiliate.added_to_group"
        record_changes(account, kind, moved, at=at, group=group_id)
    return moved


def set_parent(
    account: Account,
    *,
    affiliate_id: str,
    parent_id: str | None,
    parent_reference: str | None = None,
    at: datetime,
) -> Affiliate:
    """Set the parent of an affiliate; remove it without `parent_id` and
    `parent_reference`.

    `parent_reference` is an affiliate id or a referral code. Only later conversions pay
    level commissions to the new ancestors. Raises `AffiliateNotFound`,
    `UnknownReference` and `AffiliateHierarchyCycle`.
    """
    with transaction.atomic():
        lock_hierarchy(account)
        affiliate = get_affiliate(account, affiliate_id)
        parent = (
            _get_parent(account, parent_id, parent_reference)
            if parent_id or parent_reference
            else None
        )
        if parent is not None:
            _ensure_no_cycle(account, affiliate, parent)
        if affiliate.parent_id != (parent.pk if parent else None):
            affiliate.update_row(parent=parent)
            parent_name = parent.log_id if parent else None
            record_change(account, "affiliate.updated", affiliate, at=at, parent=parent_name)
    return affiliate


def _get_parent(account: Account, slug: str | None, reference: str | None) -> Affiliate:
    rows = account.affiliates.not_deleted()
    affiliate = rows.filter(slug=slug or reference).first()
    if affiliate is None and not slug:
        codes = account.referral_codes.filter(code=reference)
        aliases = account.referral_code_aliases.filter(code=reference)
        affiliate = (
            rows.filter(pk__in=codes.values("enrollment__affiliate")).first()
            or rows.filter(pk__in=aliases.values("enrollment__affiliate")).first()
        )
    if affiliate is None:
        raise UnknownReference(what="affiliate", path="affiliate_id")
    return affiliate


def _ensure_no_cycle(account: Account, affiliate: Affiliate, parent: Affiliate) -> None:
    ancestor_id: int | None = parent.pk
    while ancestor_id is not None:
        if ancestor_id == affiliate.pk:
            raise AffiliateHierarchyCycle
        parents = account.affiliates.values_list("parent", flat=True)
        ancestor_id = parents.get(pk=ancestor_id)
