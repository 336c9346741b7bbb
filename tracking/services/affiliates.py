"""Affiliates: signed up, found."""

import re
import unicodedata
from dataclasses import dataclass, field
from datetime import datetime

from django.contrib.auth.hashers import make_password
from django.db import IntegrityError, transaction

from accounts.ids import random_text
from accounts.models.accounts import Account
from accounts.services.events import note
from tracking.errors import AffiliateNotFound, EmailTaken
from tracking.models.affiliates import Affiliate

LONGEST_BASE = 32
NUMBERED_TRIES = 5
LETTERS = "abcdefghijklmnopqrstuvwxyz"
PASSWORD_LENGTH = 16
# Letters that Unicode does not take apart; casefold() has made ss of the sharp s.
WITHOUT_A_BASE = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}  # noqa: RUF001 - that very letter
)


@dataclass(frozen=True)
class Application:
    """Who wants to be an affiliate; None: not given."""

    firstname: str
    lastname: str
    email: str | None = None
    password: str | None = field(default=None, repr=False)
    company: dict[str, str] = field(default_factory=dict)  # columns of Affiliate
    address: dict[str, str] = field(default_factory=dict)  # columns of Affiliate
    meta_data: dict[str, str] = field(default_factory=dict)


def sign_up(
    account: Account, *, application: Application, at: datetime
) -> tuple[Affiliate, str | None]:
    """Make an affiliate with its source; it is in no program yet.

    With it comes the password, where one was made here: this once, only a hash is
    stored.
    """
    made = None if application.password else random_text(PASSWORD_LENGTH)
    # Hashed before the transaction opens: it is slow on purpose.
    hashed = make_password(application.password or made)
    affiliate = Affiliate(
        account=account,
        firstname=application.firstname,
        lastname=application.lastname,
        email=application.email,
        email_folded=application.email.casefold() if application.email else None,
        password=hashed,
        meta_data=application.meta_data,
        created_at=at,
        **application.company,
        **application.address,
    )
    try:
        with transaction.atomic():
            _insert_with_slug(account, affiliate)
            account.sources.create(affiliate=affiliate)
            note(account, "affiliate.created", affiliate, at=at)
    except IntegrityError:
        refuse_taken_email(account, application.email)
        raise
    return affiliate, made


def affiliate_named(account: Account, slug: str) -> Affiliate:
    """The account's present affiliate with this id."""
    affiliate = account.affiliates.present().filter(slug=slug).first()
    if affiliate is None:
        raise AffiliateNotFound
    return affiliate


def refuse_taken_email(account: Account, email: str | None) -> None:
    """Stop here if another present affiliate has this address."""
    if email and account.affiliates.present().with_email(email).exists():
        raise EmailTaken


def slug_base(firstname: str, lastname: str) -> str:
    """Letters and digits of the name in lower-case ASCII, 32 at most."""
    plain = (firstname + lastname).casefold().translate(WITHOUT_A_BASE)
    decomposed = unicodedata.normalize("NFKD", plain)
    base = re.sub(r"[^a-z0-9]", "", decomposed.encode("ascii", "ignore").decode())
    return base[:LONGEST_BASE] or "affiliate"


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
