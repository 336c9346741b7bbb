"""The terms of an account's portal, and who accepted them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef

from accounts.errors import InvalidSetting
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from tracking.errors import TermsChanged
from tracking.models.affiliates import Affiliate
from tracking.models.applications import PortalTerms, TermsAcceptance


def get_terms(account: Account) -> PortalTerms | None:
    """Return the present version; None if there are no terms."""
    newest = account.portal_terms.order_by("-version").first()
    return newest if newest and newest.text else None


def publish_terms(
    account: Account,
    text: str,
    *,
    translations: Mapping[str, str] | None = None,
    at: datetime,
) -> None:
    """Add a version, unless all texts are the present ones.

    `translations` are texts by language, and by default stay. Who reads another
    language reads `text`: raises `InvalidSetting` without it. Call it with the settings
    of the portal locked.
    """
    newest = account.portal_terms.order_by("-version").first()
    present = (newest.text, newest.translations) if newest else ("", {})
    text = _clean_text(text)
    if translations is None:
        translations = present[1] if text else {}
    cleaned = {key: _clean_text(value) for key, value in translations.items()}
    cleaned = {key: value for key, value in cleaned.items() if value}
    if cleaned and not text:
        rule = "written for all other languages, too"
        raise InvalidSetting(setting="The terms", rule=rule, path="terms")
    if (text, cleaned) == present:
        return
    version = newest.version + 1 if newest else 1
    terms = account.portal_terms.create(
        version=version, text=text, translations=cleaned, created_at=at
    )
    log_event(account, "portal.terms_published", terms, at=at, version=version)


def check_version(account: Account, version: int | None) -> PortalTerms | None:
    """Return the present terms; raise `TermsChanged` if they are another version."""
    terms = get_terms(account)
    if (terms.version if terms else None) != version:
        raise TermsChanged
    return terms


def find_unaccepted_terms(affiliate: Affiliate) -> PortalTerms | None:
    """Return the present terms if the affiliate has not accepted them."""
    own = affiliate.account.terms_acceptances.filter(affiliate=affiliate)
    is_accepted = Exists(own.filter(terms=OuterRef("pk")))
    rows = affiliate.account.portal_terms.annotate(is_accepted=is_accepted)
    newest: Any = rows.order_by("-version").first()
    return newest if newest and newest.text and not newest.is_accepted else None


def list_acceptances(affiliate: Affiliate) -> list[TermsAcceptance]:
    """Return what an affiliate has accepted, the newest version first."""
    rows = affiliate.account.terms_acceptances.filter(affiliate=affiliate)
    return list(rows.select_related("terms").order_by("-terms__version"))


def accept_terms(
    affiliate: Affiliate, *, version: int | None, language: str = "", at: datetime
) -> None:
    """Accept the present terms, as they are in a language; raise `TermsChanged` if they
    are another version."""
    with transaction.atomic():
        terms = check_version(affiliate.account, version)
        if terms is not None:
            record_acceptance(affiliate, terms, language=language, at=at)


def record_acceptance(
    affiliate: Affiliate,
    terms: PortalTerms,
    *,
    language: str,
    accepted_at: datetime | None = None,
    at: datetime,
) -> None:
    """Store that an affiliate accepted a version, once: at `at`, or earlier.

    Without a text in the `language` they have read the one for all others.
    """
    account = affiliate.account
    row = TermsAcceptance(
        account=account,
        affiliate=affiliate,
        terms=terms,
        language=terms.choose_language(language),
        accepted_at=accepted_at or at,
    )
    unique_fields = ("account", "affiliate", "terms")
    if account.terms_acceptances.insert_or_ignore(row, unique_fields=unique_fields):
        kind, version = "affiliate.terms_accepted", terms.version
        log_event(account, kind, affiliate, at=at, version=version)


def _clean_text(text: str) -> str:
    return "\n".join(text.splitlines()).strip()
