"""Find everything in an account that is one person's."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db.models import Q

from accounts.email_addresses import fold_email, list_spellings
from accounts.models.accounts import Account
from payouts.errors import PersonNotFound
from tracking.models.affiliates import Affiliate
from tracking.models.customers import Customer
from tracking.models.prospects import Prospect

ERASED_ID_PATTERN = re.compile(r"erased-([1-9][0-9]{0,17})", re.ASCII)


@dataclass(frozen=True)
class People:
    """Affiliates, prospects and customers, removed ones too, in the order of ids."""

    affiliates: list[Affiliate]
    prospects: list[Prospect]
    customers: list[Customer]

    def __iter__(self) -> Iterator[Affiliate | Prospect | Customer]:
        yield from self.affiliates
        yield from self.prospects
        yield from self.customers


def find_people(account: Account, identifier: str) -> People:
    """Find by the ID of an affiliate, prospect or customer, or by an e-mail address.

    A promoted prospect and its affiliate are one person. An address finds all that have
    it: customers by their `customer_id` or meta data. An erased affiliate is found by
    its new ID, also in a backup in which it has its old one. Raises `PersonNotFound`.
    """
    email = fold_email(identifier) if "@" in identifier else None
    by_row_id = ERASED_ID_PATTERN.fullmatch(identifier)
    affiliates = account.affiliates.filter(
        Q(email_folded=email) if email else Q(pk=by_row_id[1]) if by_row_id else Q(slug=identifier)
    )
    prospects = account.prospects.filter(
        Q(email_folded=email) if email else Q(public_id=identifier)
    )
    customers = account.customers.filter(
        reduce(
            or_,
            (Q(customer_id__iexact=each) for each in list_spellings(identifier)),
            Q(email_folded=email),
        )
        if email
        else Q(public_id=identifier)
    )
    affiliate_ids = {*affiliates.values_list("pk", flat=True)}
    affiliate_ids |= {*prospects.values_list("affiliate", flat=True)} - {None}
    own_prospects = Q(pk__in=prospects.values("pk")) | Q(affiliate__in=affiliate_ids)
    people = People(
        list(account.affiliates.filter(pk__in=affiliate_ids).order_by("pk")),
        list(account.prospects.filter(own_prospects).order_by("pk")),
        list(customers.order_by("pk")),
    )
    if not any(people):
        raise PersonNotFound(account=account.slug, person=identifier)
    return people
