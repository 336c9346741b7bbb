"""Person: the fields that affiliates and prospects share."""

from __future__ import annotations

from typing import Self

from django.db import models
from django.utils import timezone

from accounts.models.accounts import TenantModel, TenantQuerySet, TenantRow

ADDRESS_COLUMNS = ("address", "address_two", "postal_code", "city", "state", "country")


class PersonQuerySet(TenantQuerySet[TenantRow]):
    """People of one account."""

    def not_deleted(self) -> Self:
        """People that are not deleted."""
        return self.filter(deleted_at=None)

    def with_email(self, email: str) -> Self:
        """People with this e-mail address, case-insensitively."""
        return self.filter(email_folded=email.casefold())


class Person(TenantModel):
    """Name, e-mail address, company and address.

    `promoted_at` is set on a promoted prospect and on the affiliate created from it.
    """

    firstname = models.CharField(max_length=255)
    lastname = models.CharField(max_length=255)
    email = models.CharField(max_length=254, null=True)  # noqa: DJ001 - not given
    # Case-folded in Python: the databases differ outside ASCII.
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
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True
