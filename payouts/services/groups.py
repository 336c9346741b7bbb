"""Affiliate groups with their rates: delete one."""

from datetime import datetime

from django.db import transaction

from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.audit_log import log_event
from accounts.services.changes import record_changes
from tracking.errors import GroupNotFound


def delete_group(account: Account, *, group_id: str, at: datetime) -> None:
    """Delete a group and its rates; its affiliates and prospects are in none then.

    Later conversions earn by the rates of the commission types; earlier commissions
    keep their rates.
    """
    with transaction.atomic():
        rows = account.affiliate_groups.all()
        group = get_or_raise(rows, GroupNotFound, lock=True, public_id=group_id)
        # Prospects first: one that is promoted meanwhile is an affiliate afterwards.
        account.prospects.filter(group=group).update(group=None)
        members = account.affiliates.filter(group=group)
        changed = list(members.not_deleted())
        members.update(group=None)
        record_changes(account, "affiliate.updated", changed, at=at, group=None)
        account.group_rates.filter(group=group).delete()
        log_event(account, "affiliate_group.deleted", group, at=at)
        account.affiliate_groups.filter(pk=group.pk).delete()
