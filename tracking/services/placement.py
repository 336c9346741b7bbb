"""Placement: the groups, and an affiliate's group and parent."""

from datetime import datetime

from django.db import transaction

from accounts.ids import new_id
from accounts.models.accounts import Account
from accounts.services.events import note
from tracking.errors import GroupNotFound, OwnAncestor, UnknownAffiliate, UnknownGroup
from tracking.models.affiliates import Affiliate, AffiliateGroup
from tracking.services.affiliates import affiliate_named, lock_family


def make_group(account: Account, *, title: str, at: datetime) -> AffiliateGroup:
    """A new group; two may have the same title."""
    with transaction.atomic():
        group = account.affiliate_groups.create(
            public_id=new_id("ag"), title=title, created_at=at
        )
        note(account, "affiliate_group.created", group, at=at)
    return group


def rename_group(
    account: Account, *, group_id: str, title: str | None, at: datetime
) -> AffiliateGroup:
    """Give a group another title; None: it stays as it is."""
    with transaction.atomic():
        group = group_named(account, group_id)
        if title is not None and title != group.title:
            group.change(title=title)
            note(account, "affiliate_group.updated", group, at=at, fields=["title"])
    return group


def group_named(account: Account, public_id: str) -> AffiliateGroup:
    """The account's group with this id."""
    group = account.affiliate_groups.filter(public_id=public_id).first()
    if group is None:
        raise GroupNotFound
    return group


def group_sent(
    account: Account, public_id: str, *, path: str = "group_id"
) -> AffiliateGroup:
    """The group that a body names."""
    group = account.affiliate_groups.filter(public_id=public_id).first()
    if group is None:
        raise UnknownGroup(path=path)
    return group


def put_into_group(
    account: Account, *, affiliate_id: str, group_id: str | None, at: datetime
) -> Affiliate:
    """Put an affiliate into this group and no other; None: into none."""
    with transaction.atomic():
        affiliate = affiliate_named(account, affiliate_id, lock=True)
        group = (
            None if group_id is None else group_sent(account, group_id, path="group_id")
        )
        if affiliate.group_id != (group.pk if group else None):
            affiliate.change(group=group)
            kind = "affiliate.added_to_group" if group else "affiliate.updated"
            note(account, kind, affiliate, at=at, group=group_id)
    return affiliate


def put_below(
    account: Account,
    *,
    affiliate_id: str,
    parent: str | None,
    via: str | None = None,
    at: datetime,
) -> Affiliate:
    """Give an affiliate a parent by its id, else `via` its id or a referral code;
    neither: none.

    Only later sales pay the new chain.
    """
    with transaction.atomic():
        lock_family(account)
        affiliate = affiliate_named(account, affiliate_id)
        above = _parent_sent(account, parent, via) if parent or via else None
        if above is not None:
            _refuse_circle(account, affiliate, above)
        if affiliate.parent_id != (above.pk if above else None):
            affiliate.change(parent=above)
            slug = above.slug if above else None
            note(account, "affiliate.updated", affiliate, at=at, parent=slug)
    return affiliate


def _parent_sent(account: Account, slug: str | None, via: str | None) -> Affiliate:
    present = account.affiliates.present()
    affiliate = present.filter(slug=slug or via).first()
    if affiliate is None and not slug:
        codes = account.referral_codes.filter(code=via)
        ids = codes.values("enrolment__affiliate")
        affiliate = present.filter(pk__in=ids).first()
    if affiliate is None:
        raise UnknownAffiliate(path="affiliate_id")
    return affiliate


def _refuse_circle(account: Account, affiliate: Affiliate, above: Affiliate) -> None:
    number: int | None = above.pk
    while number is not None:
        if number == affiliate.pk:
            raise OwnAncestor
        number = account.affiliates.values_list("parent", flat=True).get(pk=number)
