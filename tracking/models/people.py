"""Person: what affiliates and prospects tell of themselves."""

from __future__ import annotations

from typing import Self

from django.db import models
from django.utils import timezone

from accounts.models.accounts import Owned, OwnedQuerySet, Row

ADDRESS = ("address", "address_two", "postal_code", "city", "state", "country")
PERSON = (
    "firstname",
    "lastname",
    "email",
    "company_name",
    "company_description",
    *ADDRESS,
    "created_at",
    "promoted_at",
    "promotion_method",
)


class PersonQuerySet(OwnedQuerySet[Row]):
    """People of one account."""

    def present(self) -> Self:
        """Those that were not removed."""
        return self.filter(removed_at=None)

    def with_email(self, email: str) -> Self:
        """E-mail addresses compare in any case."""
        return self.filter(email_folded=email.casefold())

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-id")


class Person(Owned):
    """Name, e-mail address, company and address. `promoted_at` is set on a prospect
    that became an affiliate, and on that affiliate."""

    firstname = models.CharField(max_length=255)
    lastname = models.CharField(max_length=255)
    email = models.CharField(max_length=254, null=True)  # noqa: DJ001 - none was given
    # Folded here, since the databases fold differently beyond ASCII.
    email_folded = models.CharField(max_length=762, null=True)  # noqa: DJ001
    company_name = models.CharField(max_length=255, null=True)  # noqa: DJ001
    company_description = models.CharField(max_length=1000, null=True)  # noqa: DJ001
    address = models.CharField(max_length=255, null=True)  # noqa: DJ001
    address_two = models.CharField(max_length=255, null=True)  # noqa: DJ001
    postal_code = models.CharField(max_length=255, null=True)  # noqa: DJ001
    city = models.CharField(max_length=255, null=True)  # noqa: DJ001
    state = models.CharField(max_length=255, null=True)  # noqa: DJ001
    country = models.CharField(max_length=2, null=True)  # noqa: DJ001
    meta_data = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)
    promoted_at = models.DateTimeField(null=True)
    removed_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True
