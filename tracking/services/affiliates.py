"""Affiliates: create, look up, update and delete."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.contrib.auth.hashers import make_password
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.compiled_queries import compiled
from accounts.email_addresses import fold_email
from accounts.errors import ErrorList, InvalidInput
from accounts.ids import generate_random_text
from accounts.models.accounts import Account
from accounts.models.users import User
from accounts.services.changes import record_change, record_changes
from accounts.services.webhooks import disable_postbacks
from tracking.errors import AffiliateNotFound, DuplicateEmail, MultipleValuesNotAllowed
from tracking.models.affiliates import Affiliate, FieldType
from tracking.search import fold_text
from tracking.services.mails import queue_security_mail
from tracking.services.portal_settings import get_contact
from tracking.services.search import SEARCHED_FIELDS, update_suffixes

MAX_SLUG_BASE_LENGTH = 32
MAX_NUMBERED_ATTEMPTS = 5  # then random letters replace the number of a slug
SLUG_SUFFIX_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
GENERATED_PASSWORD_LENGTH = 16
OTHER_SPELLING = r'[^ -~]|^"'  # of what `fold_email` may change

EMAIL_CHANGE_MAIL = "email_change"
EMAIL_SUBJECT = _("Your e-mail address at {account} was changed")
EMAIL_TEXT = _(
    "Hello {name},\n\n{account} writes to another e-mail address of yours from now on,"
    " and you sign in with that one.\n\nIf you neither did nor expected this, write to"
    " {contact} at once.\n"
)

DELETION_MAIL = "deletion"
DELETION_SUBJECT = _("Your account at {account} is deleted")
DELETION_TEXT = _(
    "Hello {name},\n\nas you asked, your affiliate account at {account} is deleted:"
    " your links and coupons stopped working, and you cannot sign in any more.\n\n"
    "{account}"
    " still keeps your data, your sales and your payments as long as it has to, for"
    " example for its books. To ask what is kept, or to have it erased, write to"
    " {contact}.\n\nIf it was not you who asked, write to {contact} at once.\n"
)

CustomFieldValues = Mapping[str, str | Sequence[str] | None]  # by id or title


@dataclass(frozen=True)
class AffiliatePassword:
    """The hash of a password, and the password itself if it was generated."""

    hashed: str
    generated: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class PersonData:
    """The data of a new affiliate or prospect; None: not sent."""

    firstname: str
    lastname: str
    email: str | None = None
    company: dict[str, Any] = field(default_factory=dict)  # by column
    address: dict[str, Any] = field(default_factory=dict)  # by column
    custom_fields: CustomFieldValues = field(default_factory=dict)
    meta_data: dict[str, str] = field(default_factory=dict)


def create_password(password: str | None = None) -> AffiliatePassword:
    """Hash the password, or a generated one if there is none.

    Hashing is slow by design, so call it outside of transactions.
    """
    generated = None if password else generate_random_text(GENERATED_PASSWORD_LENGTH)
    return AffiliatePassword(hashed=make_password(password or generated), generated=generated)


def create_affiliate(
    account: Account, *, data: PersonData, password: AffiliatePassword, at: datetime
) -> Affiliate:
    """Create an affiliate and its source, without any enrollment.

    Raises `DuplicateEmail` and `MultipleValuesNotAllowed`.
    """
    try:
        with transaction.atomic():
            custom_fields = drop_blank_values(
                resolve_custom_field_values(account, data.custom_fields)
            )
            affiliate = insert_affiliate(
                account,
                replace(data, custom_fields=custom_fields),
                password_hash=password.hashed,
                at=at,
            )
            account.sources.create(affiliate=affiliate)
    except IntegrityError:
        ensure_email_available(account, data.email)
        raise
    return affiliate


def update_affiliate(
    account: Account, *, affiliate_id: str, changes: Mapping[str, Any], at: datetime
) -> Affiliate:
    """Set the columns in `changes`; `custom_fields` is merged, None clears a value.

    The former e-mail address gets a mail about a new one. Raises `AffiliateNotFound`,
    `DuplicateEmail` and `MultipleValuesNotAllowed`.
    """
    email = changes.get("email")
    try:
        with transaction.atomic():
            affiliate = get_affiliate(account, affiliate_id, lock=True)
            old_email = affiliate.email_folded
            values = {
                name: value
                for name, value in _get_column_values(affiliate, changes).items()
                if getattr(affiliate, name) != value
            }
            if values:
                affiliate.account = account
                if "email" in values:
                    _queue_mail(affiliate, at=at)  # to the former address
                affiliate.update_row(**values)
                if "email" in values:
                    _end_portal_access(account, affiliate, at=at)
                    former = account.portal_applications.filter(email_folded=old_email)
                    former.delete()  # an erasure would not find them
                if not SEARCHED_FIELDS.isdisjoint(values):
                    update_suffixes(account, affiliate_id=affiliate.pk)
                fields = sorted(values)
                record_change(account, "affiliate.updated", affiliate, at=at, fields=fields)
    except IntegrityError:
        ensure_email_available(account, email, exclude=get_affiliate(account, affiliate_id))
        raise
    return affiliate


def delete_affiliate(account: Account, *, affiliate_id: str, at: datetime) -> None:
    """Mark an affiliate as deleted: it earns nothing more, its commissions stay.

    Its e-mail address may be used again, and its children lose their parent. Who asked
    to be deleted gets a mail.
    """
    with transaction.atomic():
        lock_hierarchy(account)
        affiliate = get_affiliate(account, affiliate_id, lock=True)
        record_change(account, "affiliate.deleted", affiliate, at=at)
        affiliate.update_row(deleted_at=at)
        if affiliate.deletion_asked_at:
            affiliate.account = account
            queue_security_mail(
                affiliate,
                kind=DELETION_MAIL,
                subject=DELETION_SUBJECT,
                text=DELETION_TEXT,
                contact=get_contact(account),
                at=at,
            )
        children = list(account.affiliates.not_deleted().filter(parent=affiliate))
        account.affiliates.filter(parent=affiliate).update(parent=None)
        record_changes(account, "affiliate.updated", children, at=at, parent=None)
        disable_postbacks(account, affiliate=affiliate.slug, at=at)


def lock_hierarchy(account: Account) -> None:
    """Serialize changes of parents in an account until the transaction ends.

    Concurrent changes could create a cycle, or leave a child with a deleted parent.
    """
    account.lock_row()


@compiled
def affiliate_by_slug(account: Account, slug: str) -> QuerySet[Affiliate]:
    """Return the affiliate with this slug, unless it is deleted."""
    return Affiliate.objects.of(account).not_deleted().filter(slug=slug)


@compiled
def locked_affiliate_by_slug(account: Account, slug: str) -> QuerySet[Affiliate]:
    """Return the same as `affiliate_by_slug`, locked until the transaction ends."""
    rows = affiliate_by_slug(account=account, slug=slug)
    return rows.select_for_update(no_key=True)


def get_affiliate(account: Account, slug: str, *, lock: bool = False) -> Affiliate:
    """Get the affiliate with this id; raise `AffiliateNotFound` if it is deleted."""
    query = locked_affiliate_by_slug if lock else affiliate_by_slug
    return query.get_or_raise(AffiliateNotFound, account=account, slug=slug)


def list_known_slugs(account: Account, slugs: Collection[str]) -> dict[str, int]:
    """Map known ids to primary keys, including those of deleted affiliates."""
    rows = account.affiliates.filter(slug__in=slugs)
    return dict(rows.values_list("slug", "pk"))


def ensure_email_available(
    account: Account, email: str | None, *, exclude: Affiliate | None = None
) -> None:
    """Raise `DuplicateEmail` if another affiliate, not deleted, has this address."""
    others = account.affiliates.not_deleted()
    if exclude is not None:
        others = others.exclude(pk=exclude.pk)
    if email and others.with_email(email).exists():
        raise DuplicateEmail


def insert_affiliate(
    account: Account,
    data: PersonData,
    *,
    password_hash: str,
    at: datetime,
    **values: Any,
) -> Affiliate:
    """Insert an affiliate with a unique slug, within the caller's transaction."""
    affiliate = Affiliate(
        account=account,
        firstname=data.firstname,
        lastname=data.lastname,
        email=data.email,
        email_folded=fold_email(data.email) if data.email else None,
        password=password_hash,
        custom_fields=data.custom_fields,
        meta_data=data.meta_data,
        created_at=at,
        **data.company,
        **data.address,
        **values,
    )
    _insert_with_slug(account, affiliate)
    update_suffixes(account, affiliate_id=affiliate.pk)
    record_change(account, "affiliate.created", affiliate, at=at)
    return affiliate


def resolve_custom_field_values(account: Account, values: CustomFieldValues) -> dict[str, Any]:
    """Return custom field values by id, given `values` by id or title.

    Unknown fields are left out. A single text for a multi-select field becomes a list.
    Raises `MultipleValuesNotAllowed` for a list as value of any other field.
    """
    if not values:
        return {}
    definitions = list(account.field_definitions.order_by("id"))
    by_title = {definition.title: definition for definition in reversed(definitions)}
    by_id = {definition.slug: definition for definition in definitions}
    resolved: dict[str, Any] = {}
    errors: list[InvalidInput] = []
    # Ids come last and so override titles of the same field.
    for key in sorted(values, key=lambda key: key in by_id):
        definition = by_id.get(key) or by_title.get(key)
        if definition is None:
            continue
        value, is_multiple = values[key], definition.type == FieldType.MULTISELECT
        if not is_multiple and isinstance(value, list):
            errors.append(MultipleValuesNotAllowed(path=f"custom_fields[{key}]"))
        is_single_text = is_multiple and isinstance(value, str)
        resolved[definition.slug] = [value] if is_single_text else value
    if errors:
        raise ErrorList(errors)
    return resolved


def drop_blank_values(custom_fields: CustomFieldValues) -> dict[str, Any]:
    """Return the custom fields without those whose value is None."""
    return {key: value for key, value in custom_fields.items() if value is not None}


def create_slug_base(firstname: str, lastname: str) -> str:
    """Return letters and digits of the name as lower-case ASCII, 32 characters at most;
    `affiliate` if there are none."""
    base = re.sub(r"[^a-z0-9]", "", fold_text(firstname + lastname))
    return base[:MAX_SLUG_BASE_LENGTH] or "affiliate"


def _get_column_values(affiliate: Affiliate, changes: Mapping[str, Any]) -> dict[str, Any]:
    values = dict(changes)
    if "email" in values:
        values["email_folded"] = fold_email(values["email"])
    if "custom_fields" in values:
        changed = resolve_custom_field_values(affiliate.account, values["custom_fields"])
        values["custom_fields"] = drop_blank_values({**affiliate.custom_fields, **changed})
    return values


def _end_portal_access(account: Account, affiliate: Affiliate, *, at: datetime) -> None:
    """End the links that the former address may have received, and all sessions."""
    links = account.portal_links.filter(affiliate=affiliate, used_at=None)
    links.update(used_at=at)
    account.portal_sessions.filter(affiliate=affiliate).delete()


def _queue_mail(affiliate: Affiliate, *, at: datetime) -> None:
    queue_security_mail(
        affiliate,
        kind=EMAIL_CHANGE_MAIL,
        subject=EMAIL_SUBJECT,
        text=EMAIL_TEXT,
        contact=get_contact(affiliate.account),
        at=at,
    )


def _insert_with_slug(account: Account, affiliate: Affiliate) -> None:
    """Insert with the slug base alone, else followed by a number, else by letters."""
    base = create_slug_base(affiliate.firstname, affiliate.lastname)
    affiliate.slug = base
    attempts = 0
    while not account.affiliates.insert_or_ignore(affiliate, unique_fields=("account", "slug")):
        attempts += 1
        suffix = (
            str(_get_next_slug_number(account, base))
            if attempts <= MAX_NUMBERED_ATTEMPTS
            else generate_random_text(4, SLUG_SUFFIX_ALPHABET)
        )
        affiliate.slug = f"{base}{suffix}"


def _get_next_slug_number(account: Account, base: str) -> int:
    slugs = account.affiliates.filter(slug__startswith=base).values_list("slug", flat=True)
    suffixes = [slug.removeprefix(base) for slug in slugs]
    return max((int(suffix) for suffix in suffixes if suffix.isdigit()), default=1) + 1


def list_other_foldings() -> Iterator[tuple[str, str]]:
    """Yield accounts and their people whose address is compared in an earlier spelling.

    Another row has the present one, so that staff decide which of both stays.
    """
    people: tuple[tuple[QuerySet[Any], str], ...] = (
        (Affiliate.objects.across_accounts().filter(deleted_at=None), "email_folded"),
        (User.objects.all(), "email"),
    )
    for rows, column in people:
        candidates = rows.filter(**{f"{column}__regex": OTHER_SPELLING})
        found = candidates.order_by("account__slug", "pk")
        for slug, pk, text in found.values_list("account__slug", "pk", column):
            if fold_email(text) != text:
                yield slug or "operators", f"{rows.model._meta.verbose_name} {pk}"
