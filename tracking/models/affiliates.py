"""Affiliates, their groups, custom fields and notes."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, NamedTuple, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_noop as _

from accounts.countries import get_country_name
from accounts.email_addresses import fold_email
from accounts.ids import generate_public_id
from accounts.models.accounts import (
    TenantModel,
    TenantQuerySet,
    TenantRow,
    join_within_account,
)
from tracking.search import MAX_SUFFIX_LENGTH


class AddressPart(NamedTuple):
    """A column of an address, as forms of staff and affiliates and imported tables have it."""

    label: str  # of forms; translated in the portal
    autocomplete: str  # what HTML calls it
    table_label: str
    synonyms: tuple[str, ...] = ()  # in headers of tables


ADDRESS_PARTS = {
    "address": AddressPart(_("Street and number"), "address-line1", "Address", ("street",)),
    "address_two": AddressPart(_("Address line 2"), "address-line2", "Address, second line"),
    "postal_code": AddressPart(
        *(_("Postal code"), "postal-code", "Postal code", ("zip", "zip code", "postcode"))
    ),
    "city": AddressPart(_("City"), "address-level2", "City"),
    "state": AddressPart(_("State or region"), "address-level1", "State", ("region",)),
    "country": AddressPart(_("Country"), "country", "Country", ("country code",)),
}
PARTS_OF_ADDRESS = _("An address has a street, a postal code, a city and a country.")
ADDRESS_COLUMNS = tuple(ADDRESS_PARTS)
ADDRESS_TEXTS = tuple(name for name in ADDRESS_COLUMNS if name != "country")
ADDRESS_LINES = (("address",), ("address_two",), ("postal_code", "city"), ("state",), ("country",))


class PersonQuerySet(TenantQuerySet[TenantRow]):
    """People of one account."""

    def not_deleted(self) -> Self:
        """People that are not deleted."""
        return self.filter(deleted_at=None)

    def with_email(self, email: str) -> Self:
        """People with this e-mail address, case-insensitively."""
        return self.filter(email_folded=fold_email(email))


class Person(TenantModel):
    """Name, e-mail address, company and address.

    `promoted_at` is set on a promoted prospect and on the affiliate created from it.
    """

    firstname = models.CharField("first name", max_length=255)
    lastname = models.CharField("last name", max_length=255)
    email = models.CharField("e-mail", max_length=254, null=True)  # noqa: DJ001 - not given
    # Case-folded in Python: the databases differ outside ASCII.
    email_folded = models.CharField(max_length=762, null=True)  # noqa: DJ001
    company_name = models.CharField("company", max_length=255, null=True)  # noqa: DJ001
    company_description = models.CharField(max_length=1000, null=True)  # noqa: DJ001
    address = models.CharField(max_length=255, null=True)  # noqa: DJ001
    address_two = models.CharField("address, second line", max_length=255, null=True)  # noqa: DJ001
    postal_code = models.CharField(max_length=255, null=True)  # noqa: DJ001
    city = models.CharField(max_length=255, null=True)  # noqa: DJ001
    state = models.CharField(max_length=255, null=True)  # noqa: DJ001
    country = models.CharField(max_length=2, null=True)  # noqa: DJ001
    meta_data = models.JSONField("metadata", default=dict)
    created_at = models.DateTimeField(default=timezone.now)
    promoted_at = models.DateTimeField("became affiliate", null=True)
    deleted_at = models.DateTimeField("removed", null=True)

    class Meta:
        abstract = True

    @property
    def address_lines(self) -> list[str]:
        """The lines of the address, without empty ones; the country by its name."""
        values = {name: getattr(self, name) or "" for name in ADDRESS_TEXTS}
        values["country"] = get_country_name(self.country)
        lines = (" ".join(filter(None, map(values.get, names))) for names in ADDRESS_LINES)
        return list(filter(None, lines))


class AffiliateGroupQuerySet(TenantQuerySet["AffiliateGroup"]):
    """Groups of one account."""

    def with_affiliate_count(self) -> Self:
        """Count the affiliates of each group as `affiliate_count`."""
        return self.annotate(
            member=join_within_account("members"),
            affiliate_count=models.Count("member", filter=Q(member__deleted_at=None)),
        )


class AffiliateGroup(TenantModel):
    """Affiliates with commission rates of their own; each is in at most one group."""

    public_id = models.CharField("ID", max_length=32)
    title = models.CharField(max_length=255)
    hold_days = models.PositiveSmallIntegerField("days on hold", null=True)  # null: as the program
    created_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar = AffiliateGroupQuerySet.as_manager()

    class Meta:
        default_related_name = "affiliate_groups"
        constraints = [
            models.UniqueConstraint(fields=["account", "public_id"], name="one_group_per_id")
        ]
        indexes = [
            models.Index(fields=["account", "-created_at", "-id"], name="groups_newest_first")
        ]

    def __str__(self) -> str:
        return self.public_id


class Affiliate(Person):
    """An affiliate of an account; `parent` earns level commissions.

    After deletion the `email` may be used again. The `slug` stays reserved until the
    affiliate is erased, which replaces it.
    """

    slug = models.CharField("ID", max_length=64)
    # The name in the audit log: the slug is made of the person's name.
    log_id = models.CharField(max_length=32, default=partial(generate_public_id, "af"))
    password = models.CharField(max_length=255)
    custom_fields = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    parent = models.ForeignKey("self", models.PROTECT, null=True, related_name="+", db_index=False)
    group = models.ForeignKey(
        AffiliateGroup,
        models.PROTECT,
        null=True,
        related_name="members",
        db_index=False,
    )
    promotion_method = models.CharField("became affiliate by", max_length=16, null=True)  # noqa: DJ001
    language = models.CharField(max_length=8, null=True)  # noqa: DJ001
    # The e-mail address, folded, to which mail could not be delivered.
    bounced_email = models.CharField(max_length=762, null=True)  # noqa: DJ001
    # Which mails are wanted, by `Notice`; others as usual.
    notices = models.JSONField(null=True)
    # To the portal, last.
    invited_at = models.DateTimeField(null=True)
    signed_in_at = models.DateTimeField(null=True)
    # In the portal, while money was open.
    deletion_asked_at = models.DateTimeField(null=True)
    # Since when an open risk case holds what it earns; null: none does.
    under_review_since = models.DateTimeField(null=True)

    objects: ClassVar = PersonQuerySet.as_manager()

    class Meta:
        default_related_name = "affiliates"
        constraints = [
            models.UniqueConstraint(fields=["account", "slug"], name="one_affiliate_per_slug"),
            models.UniqueConstraint(fields=["account", "log_id"], name="one_affiliate_per_log_id"),
            models.UniqueConstraint(
                fields=["account", "email_folded"],
                condition=Q(deleted_at=None),
                name="one_affiliate_per_email",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "-created_at", "-id"], name="affiliates_newest_first"),
            models.Index(fields=["account", "parent"], name="affiliates_of_parent"),
            models.Index(fields=["account", "group"], name="affiliates_of_group"),
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def has_bounced(self) -> bool:
        """Mail to the present address could not be delivered."""
        return bool(self.email) and self.bounced_email == self.email_folded


class SearchSuffix(TenantModel):
    """The end of a word that an affiliate is found by: see `tracking/search.py`."""

    suffix = models.CharField(max_length=MAX_SUFFIX_LENGTH)
    affiliate = models.ForeignKey(Affiliate, models.PROTECT, related_name="+", db_index=False)

    class Meta:
        default_related_name = "search_suffixes"
        indexes = [
            models.Index(
                fields=["account", "suffix", "affiliate"],
                opclasses=["int8_ops", "varchar_pattern_ops", "int8_ops"],
                name="affiliates_by_suffix",
            ),
            models.Index(fields=["account", "affiliate"], name="suffixes_of_affiliate"),
        ]

    def __str__(self) -> str:
        return self.suffix


class FieldType(models.TextChoices):
    """The input type of a custom field."""

    TEXT = "text"
    TEXTAREA = "textarea"
    SELECT = "select"
    MULTISELECT = "multiselect"
    CHECKBOX = "checkbox"
    URL = "url"


class CustomFieldQuerySet(TenantQuerySet["CustomField"]):
    """Custom fields of one account."""

    def in_definition_order(self) -> Self:
        return self.order_by("id")


class CustomField(TenantModel):
    """A custom field of an account's affiliates; `slug` is the key of its value."""

    slug = models.CharField("ID", max_length=64)
    title = models.CharField(max_length=255)
    type = models.CharField(max_length=16, choices=FieldType)
    required = models.BooleanField(default=False)
    options = models.JSONField(null=True)

    objects: ClassVar = CustomFieldQuerySet.as_manager()

    class Meta:
        default_related_name = "field_definitions"
        constraints = [
            models.UniqueConstraint(fields=["account", "slug"], name="one_custom_field_per_slug")
        ]

    def __str__(self) -> str:
        return self.slug


class Note(TenantModel):
    """A note of the account's staff about an affiliate."""

    public_id = models.CharField("ID", max_length=32)
    affiliate = models.ForeignKey(Affiliate, models.PROTECT, related_name="+", db_index=False)
    note = models.CharField(max_length=5000)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "notes"
        constraints = [
            models.UniqueConstraint(fields=["account", "public_id"], name="one_note_per_id")
        ]
        indexes = [
            models.Index(fields=["account", "-created_at", "-id"], name="notes_newest_first"),
            models.Index(
                fields=["account", "affiliate", "-created_at", "-id"],
                name="notes_of_affiliate",
            ),
        ]

    def __str__(self) -> str:
        return self.public_id
