"""Affiliates: signed up, found, changed, removed."""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.contrib.auth.hashers import make_password
from django.db import IntegrityError, transaction

from accounts.errors import Rejected, Several
from accounts.ids import random_text
from accounts.models.accounts import Account
from accounts.services.events import note, note_each
from accounts.services.webhooks import disable_postbacks
from tracking.errors import AffiliateNotFound, EmailTaken, NoSeveralValues
from tracking.models.affiliates import Affiliate, FieldType

LONGEST_BASE = 32
NUMBERED_TRIES = 5
LETTERS = "abcdefghijklmnopqrstuvwxyz"
PASSWORD_LENGTH = 16
# Letters that Unicode does not take apart; casefold() has made ss of the sharp s.
WITHOUT_A_BASE = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}  # noqa: RUF001 - that very letter
)

Answers = Mapping[str, str | Sequence[str] | None]  # custom field → value


@dataclass(frozen=True)
class Secret:
    """A password's hash, and the password itself where it was made here."""

    hashed: str
    made: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Application:
    """Who wants to be an affiliate; None: not given."""

    firstname: str
    lastname: str
    email: str | None = None
    company: dict[str, str | None] = field(default_factory=dict)  # columns
    address: dict[str, str | None] = field(default_factory=dict)  # columns
    custom_fields: Answers = field(default_factory=dict)
    meta_data: dict[str, str] = field(default_factory=dict)


def new_secret(password: str | None = None) -> Secret:
    """Hash a password, or make one.

    Call it before any transaction opens: it is slow on purpose.
    """
    made = None if password else random_text(PASSWORD_LENGTH)
    return Secret(hashed=make_password(password or made), made=made)


def sign_up(
    account: Account, *, application: Application, secret: Secret, at: datetime
) -> Affiliate:
    """Make an affiliate with its source; it is in no program yet."""
    try:
        with transaction.atomic():
            fields = without_blanks(answered(account, application.custom_fields))
            affiliate = write_affiliate(
                account,
                replace(application, custom_fields=fields),
                password=secret.hashed,
                at=at,
            )
            account.sources.create(affiliate=affiliate)
    except IntegrityError:
        refuse_taken_email(account, application.email)
        raise
    return affiliate


def change_affiliate(
    account: Account, *, affiliate_id: str, changes: Mapping[str, Any], at: datetime
) -> Affiliate:
    """Set the columns that are named; of `custom_fields` the keys that are, None
    clears one."""
    email = changes.get("email")
    try:
        with transaction.atomic():
            affiliate = affiliate_named(account, affiliate_id, lock=True)
            values = {
                name: value
                for name, value in _columns(affiliate, changes).items()
                if getattr(affiliate, name) != value
            }
            if values:
                affiliate.change(**values)
                fields = sorted(values)
                note(account, "affiliate.updated", affiliate, at=at, fields=fields)
    except IntegrityError:
        refuse_taken_email(account, email, but=affiliate_named(account, affiliate_id))
        raise
    return affiliate


def remove_affiliate(account: Account, *, affiliate_id: str, at: datetime) -> None:
    """Mark an affiliate as removed: it earns no more, what it earned stays.

    Its e-mail address is free again, its children have no parent.
    """
    with transaction.atomic():
        lock_family(account)
        affiliate = affiliate_named(account, affiliate_id, lock=True)
        note(account, "affiliate.deleted", affiliate, at=at)  # as it was last
        affiliate.change(removed_at=at)
        children = list(account.affiliates.present().filter(parent=affiliate))
        account.affiliates.filter(parent=affiliate).update(parent=None)
        note_each(account, "affiliate.updated", children, at=at, parent=None)
        disable_postbacks(account, affiliate=affiliate.slug, at=at)


def lock_family(account: Account) -> None:
    """Change who is whose parent one at a time in an account: two moves at once could
    close a circle, or leave a child with a parent that is gone."""
    Account.objects.select_for_update(no_key=True).get(pk=account.pk)


def affiliate_named(account: Account, slug: str, *, lock: bool = False) -> Affiliate:
    """The account's present affiliate with this id."""
    rows = account.affiliates.present().filter(slug=slug)
    affiliate = (rows.select_for_update(no_key=True) if lock else rows).first()
    if affiliate is None:
        raise AffiliateNotFound
    return affiliate


def known_affiliates(account: Account, slugs: Collection[str]) -> set[str]:
    """Those of the ids that are somebody's, removed affiliates' too."""
    rows = account.affiliates.filter(slug__in=slugs)
    return set(rows.values_list("slug", flat=True))


def refuse_taken_email(
    account: Account, email: str | None, *, but: Affiliate | None = None
) -> None:
    """Stop here if another present affiliate has this address."""
    others = account.affiliates.present()
    if but is not None:
        others = others.exclude(pk=but.pk)
    if email and others.with_email(email).exists():
        raise EmailTaken


def write_affiliate(
    account: Account,
    application: Application,
    *,
    password: str,
    at: datetime,
    **values: Any,
) -> Affiliate:
    """Insert an affiliate under a slug of its own, within the caller's transaction."""
    affiliate = Affiliate(
        account=account,
        firstname=application.firstname,
        lastname=application.lastname,
        email=application.email,
        email_folded=application.email.casefold() if application.email else None,
        password=password,
        custom_fields=application.custom_fields,
        meta_data=application.meta_data,
        created_at=at,
        **application.company,
        **application.address,
        **values,
    )
    _insert_with_slug(account, affiliate)
    note(account, "affiliate.created", affiliate, at=at)
    return affiliate


def answered(account: Account, sent: Answers) -> dict[str, Any]:
    """The custom fields that were sent, under their ids; unknown ones are left.

    A field goes by its id or its title. A multiple choice takes a list, the others
    one text.
    """
    if not sent:
        return {}
    definitions = list(account.field_definitions.order_by("id"))
    by_title = {it.title: it for it in reversed(definitions)}
    by_id = {it.slug: it for it in definitions}
    kept: dict[str, Any] = {}
    odd: list[Rejected] = []
    # Titles first: what is sent under an id counts, and is never a title.
    for key in sorted(sent, key=lambda it: it in by_id):
        definition = by_id.get(key) or by_title.get(key)
        if definition is None:
            continue
        value, several = sent[key], definition.type == FieldType.MULTISELECT
        if not several and isinstance(value, list):
            odd.append(NoSeveralValues(path=f"custom_fields[{key}]"))
        alone = several and isinstance(value, str)
        kept[definition.slug] = [value] if alone else value
    if odd:
        raise Several(odd)
    return kept


def without_blanks(custom_fields: Answers) -> dict[str, Any]:
    """Custom fields that have a value."""
    return {key: value for key, value in custom_fields.items() if value is not None}


def slug_base(firstname: str, lastname: str) -> str:
    """Letters and digits of the name in lower-case ASCII, 32 at most."""
    plain = (firstname + lastname).casefold().translate(WITHOUT_A_BASE)
    decomposed = unicodedata.normalize("NFKD", plain)
    base = re.sub(r"[^a-z0-9]", "", decomposed.encode("ascii", "ignore").decode())
    return base[:LONGEST_BASE] or "affiliate"


def _columns(affiliate: Affiliate, changes: Mapping[str, Any]) -> dict[str, Any]:
    values = dict(changes)
    if "email" in values:
        values["email_folded"] = values["email"].casefold()
    if "custom_fields" in values:
        sent = answered(affiliate.account, values["custom_fields"])
        values["custom_fields"] = without_blanks({**affiliate.custom_fields, **sent})
    return values


def _insert_with_slug(account: Account, affiliate: Affiliate) -> None:
    """The bare name, else the next number five times, else four random letters."""
    base = slug_base(affiliate.firstname, affiliate.lastname)
    affiliate.slug = base
    tries = 0
    while not account.affiliates.insert_unless_taken(affiliate, on=("account", "slug")):
        tries += 1
        ending = (
            str(_next_number(account, base))
            if tries <= NUMBERED_TRIES
            else random_text(4, LETTERS)
        )
        affiliate.slug = f"{base}{ending}"


def _next_number(account: Account, base: str) -> int:
    taken = account.affiliates.filter(slug__startswith=base).values_list(
        "slug", flat=True
    )
    endings = [slug.removeprefix(base) for slug in taken]
    return max((int(it) for it in endings if it.isdigit()), default=1) + 1
