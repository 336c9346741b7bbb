"""Erase the personal data of affiliates, prospects and customers.

Rows, IDs without a name, amounts and relations stay. Each function returns how many
rows it changed or deleted, and is called within the transaction of
`payouts.services.erasure`, which has locked and removed the person.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl

from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Left, StrIndex
from django.utils.translation import gettext_lazy as _

from accounts.db_compat import split_into_batches
from accounts.email_addresses import fold_email
from accounts.models.accounts import Account
from accounts.services.erasure import rewrite_columns, update_other_values
from tracking.attribution import (
    CLICK_ID,
    COUPON,
    CUSTOMER,
    REFERRAL_CODE,
    TRACKING_ID,
)
from tracking.models.affiliates import ADDRESS_COLUMNS, Affiliate
from tracking.models.clicks import Click, parse_click_id
from tracking.models.conversions import AttributionRecord, ConversionClaim
from tracking.models.customers import Customer
from tracking.models.enrollments import ReferralCode
from tracking.models.prospects import Prospect
from tracking.search import fold_text
from tracking.services.attribution import serialize_canonical_json
from tracking.services.former_ids import CONVERSION, record_former_id
from tracking.services.imports import erase_source_ids
from tracking.services.mails import (
    APPLICATION_MAIL,
    ERASURE_MAIL,
    queue_security_mail,
)
from tracking.services.portal_settings import get_contact
from tracking.services.referral_codes import (
    record_used_codes,
    record_used_codes_of_prospect,
)
from tracking.services.search import update_suffixes

ERASED = "erased"
ERASED_ID_PREFIX = "erased-"  # slugs made of names have no dash
ERASED_PERSON: dict[str, Any] = {
    "firstname": "Erased",
    "lastname": "person",
    "email": None,
    "email_folded": None,
    "company_name": None,
    "company_description": None,
    **dict.fromkeys(ADDRESS_COLUMNS),
    "meta_data": {},
    "custom_fields": {},
}
UNUSABLE_PASSWORD = "!"  # noqa: S105 - the hash of no password

ERASURE_SUBJECT = _("Your data at {account} is erased")
ERASURE_TEXT = _(
    "Hello {name},\n\n{account} has erased the data of your affiliate account: name,"
    " addresses, bank details, tax data, codes, questions and mails. Links and"
    " coupons do not work any more, and nobody can sign in with this address.\n\nWhat"
    " the books need is kept without your name: sales, commissions and payments with"
    " their days and amounts. Documents that were issued to you, if there are any, are"
    " kept as they are, because tax law asks for it. Backups end later.\n\nIf you did"
    " not expect this, write to {contact}. This mail is the last one: your address"
    " is not stored any more.\n"
)

# A candidate, a rejected candidate or the outcome of a stored attribution.
Entry = dict[str, Any]


def get_erased_id(affiliate_id: int) -> str:
    """Return the ID of an erased affiliate, instead of the one made of its name."""
    return f"{ERASED_ID_PREFIX}{affiliate_id}"


def queue_erasure_mail(affiliate: Affiliate, *, at: datetime) -> None:
    """Confirm the erasure to an affiliate who is not erased yet."""
    queue_security_mail(
        affiliate,
        kind=ERASURE_MAIL,
        subject=ERASURE_SUBJECT,
        text=ERASURE_TEXT,
        contact=get_contact(affiliate.account),
        at=at,
    )


def erase_affiliate(account: Account, affiliate: Affiliate) -> int:
    """Erase an affiliate, and replace its ID everywhere: it contains the name."""
    erased_id = get_erased_id(affiliate.pk)
    count = sum(
        _erase_in_records(account, old_id, erased_id)
        for old_id in {affiliate.slug, *_list_former_ids(account, affiliate)}
    )
    count += erase_source_ids(account, "affiliate", affiliate.pk, affiliate.email)
    count += _erase_applications(account, affiliate)
    count += update_other_values(
        account.affiliates.filter(pk=affiliate.pk),
        **ERASED_PERSON,
        slug=erased_id,
        password=UNUSABLE_PASSWORD,
        bounced_email=None,
    )
    enrollments = account.enrollments.filter(affiliate=affiliate)
    count += account.coupons.filter(enrollment__in=enrollments).delete()[0]
    aliases = account.referral_code_aliases.filter(enrollment__in=enrollments)
    codes = account.referral_codes.filter(enrollment__in=enrollments)
    for enrollment in enrollments.select_related("program", "affiliate"):
        own = [rows.filter(enrollment=enrollment) for rows in (codes, aliases)]
        record_used_codes(enrollment, _list_codes(*own))
    count += _erase_codes(codes) + aliases.delete()[0]
    count += account.notes.filter(affiliate=affiliate).delete()[0]
    tables = (
        account.mails,
        account.portal_sessions,
        account.portal_links,
        account.portal_second_factors,
        account.portal_addresses,
        account.questions,
    )
    for rows in tables:
        count += rows.filter(affiliate=affiliate).delete()[0]
    count += _erase_links(account.clicks.filter(affiliate=affiliate))
    removed = account.pruned_click_counts.filter(affiliate=affiliate)
    count += update_other_values(removed, referrer_host=None, sub_id=None)
    update_suffixes(account, affiliate_id=affiliate.pk)
    return count


def _erase_applications(account: Account, affiliate: Affiliate) -> int:
    """Delete applications under an address that the affiliate has, had or asked for.

    The name alone may be a namesake's.
    """
    links = account.portal_links.filter(affiliate=affiliate)
    mails = account.mails.filter(affiliate=affiliate)
    addresses = [
        affiliate.email,
        *links.values_list("new_email", flat=True),
        *mails.values_list("recipient", flat=True),
    ]
    folded = {fold_email(text) for text in addresses if text}
    applications = account.portal_applications.filter(email_folded__in=folded)
    about = map(str, applications.values_list("pk", flat=True))
    sent = account.mails.filter(kind=APPLICATION_MAIL, about__in=list(about))
    return sent.delete()[0] + applications.delete()[0]


def erase_prospect(account: Account, prospect: Prospect) -> int:
    """Erase a prospect, but not the affiliate that it became."""
    rows = account.prospects.filter(pk=prospect.pk)
    codes = account.referral_codes.filter(prospect=prospect)
    record_used_codes_of_prospect(prospect, _list_codes(codes))
    return (
        erase_source_ids(account, "prospect", prospect.pk, prospect.email)
        + _erase_in_records(account, prospect.public_id, prospect.public_id)
        + update_other_values(rows, **ERASED_PERSON)
        + _erase_codes(codes)
        + _erase_links(account.clicks.filter(prospect=prospect))
        + update_other_values(
            account.pruned_click_counts.filter(prospect=prospect),
            referrer_host=None,
            sub_id=None,
        )
    )


def erase_customer(account: Account, customer: Customer) -> int:
    """Erase a customer with its conversions, clicks and tracking ids.

    The `external_id` of a conversion stays, so that the order is not counted twice,
    unless it contains an e-mail address: then its digest stays.
    """
    conversions = account.conversions.filter(customer=customer)
    claims = account.conversion_claims.filter(conversion__in=conversions)
    count = _erase_clicks(account, customer)
    count += erase_source_ids(account, "customer", customer.pk, None)
    count += _change_records(_find_records(account, customer), _erase_visitor)
    count += _change_claims(claims, _erase_visitor, _erase_comments)
    count += update_other_values(claims, tracking_id=None)
    count += update_other_values(
        account.customers.filter(pk=customer.pk),
        customer_id="",
        meta_data={},
        email_folded=None,
        user_agent=None,
        ip=None,
    )
    count += update_other_values(conversions, meta_data={}, user_agent=None, ip=None)
    former_ids = account.former_external_ids.filter(conversion__in=conversions)
    former_ids = former_ids.filter(external_id__contains="@")
    addresses = conversions.filter(external_id__contains="@")
    for rows in (former_ids, addresses.filter(claim_status=None)):
        for row in rows:
            record_former_id(account, CONVERSION, row.external_id or "")
    count += former_ids.delete()[0]
    questions = account.questions.filter(conversion__in=conversions)
    count += questions.filter(order_id__contains="@").update(order_id="")
    return count + addresses.update(external_id=None)


def fold_names(texts: Iterable[str | None]) -> set[str]:
    """Fold texts that name somebody; what is too short for it is left out."""
    return {name for text in texts if text and len(name := fold_text(text)) > 2}


def erase_imports(account: Account, *, texts: Collection[str]) -> int:
    """Replace names of files, and clear settings of imports, that contain one of the
    `texts`, without accents."""
    folded = fold_names(texts)

    def replace(files: models.QuerySet[Any], column: str, value: Any) -> int:
        pks = [
            pk
            for pk, stored in files.exclude(**{column: value}).values_list("pk", column)
            for found in [fold_text(json.dumps(stored, ensure_ascii=False))]
            if any(text in found for text in folded)
        ]
        return files.filter(pk__in=pks).update(**{column: value})

    imports = account.table_imports.all()
    count = replace(imports, "settings", {}) + replace(imports, "file_name", ERASED)
    return count + replace(account.table_uploads.all(), "file_name", ERASED)


def delete_saved_views(account: Account, *, texts: Collection[str], words: Collection[str]) -> int:
    """Delete the saved views of all staff whose search names a person.

    Such a view has a name or query that contains one of the `texts`, or one of the
    `words` as whole words; case and accents do not count.
    """
    parts = list(map(re.escape, fold_names(texts)))
    parts += [rf"(?<!\w){re.escape(word)}(?!\w)" for word in fold_names(words)]
    if not parts:
        return 0
    person = re.compile("|".join(parts))
    pks = [
        view.pk
        for view in account.saved_views.all()
        for values in [[view.name, *(value for _, value in parse_qsl(view.query))]]
        if any(person.search(fold_text(value)) for value in values)
    ]
    return account.saved_views.filter(pk__in=pks).delete()[0]


def delete_attempts(account: Account, *, texts: Collection[str], order_ids: Collection[str]) -> int:
    """Delete failed attempts whose `external_id` is in `order_ids`, or contains one of
    the case-folded `texts`."""
    pks = [
        attempt.pk
        for attempt in account.conversion_attempts.all()
        if attempt.external_id in order_ids
        or any(text in attempt.external_id.casefold() for text in texts)
    ]
    return sum(
        account.conversion_attempts.filter(pk__in=batch).delete()[0]
        for batch in split_into_batches(pks)
    )


def erase_failed_page_calls(
    account: Account, *, texts: Collection[str], order_ids: Collection[str]
) -> int:
    """Clear the last order of failed page calls if it is in `order_ids`, or contains
    one of the case-folded `texts`."""
    rows = account.failed_page_calls
    pks = [
        pk
        for pk, order_id in rows.exclude(last_order_id="").values_list("pk", "last_order_id")
        if order_id in order_ids or any(text in order_id.casefold() for text in texts)
    ]
    return rows.filter(pk__in=pks).update(last_order_id="", last_amount="")


def _list_codes(*tables: models.QuerySet[Any]) -> list[str]:
    """The codes that are not erased yet."""
    codes = (rows.exclude(code__startswith=ERASED_ID_PREFIX) for rows in tables)
    return [code for rows in codes for code in rows.values_list("code", flat=True)]


def _erase_codes(codes: models.QuerySet[ReferralCode]) -> int:
    """Replace referral codes, because staff may have put a name in."""
    return sum(
        update_other_values(codes.filter(pk=code.pk), code=f"{ERASED_ID_PREFIX}{code.pk}")
        for code in codes.all()
    )


def _erase_links(clicks: models.QuerySet[Any]) -> int:
    """Erase what clicks have of an affiliate's link and of the page with the link."""
    return update_other_values(clicks, referrer=None, sub_id=None, meta_data={}) + _cut_queries(
        clicks
    )


def _cut_queries(clicks: models.QuerySet[Any]) -> int:
    """Remove query and fragment from the landing pages of clicks, as statistics do."""
    return sum(
        clicks.filter(landing_page__contains=mark).update(
            landing_page=Left("landing_page", StrIndex(F("landing_page"), Value(mark)) - 1)
        )
        for mark in "?#"
    )


def find_clicks(account: Account, customer: Customer) -> models.QuerySet[Click]:
    """Return the clicks that led to the customer, its conversions and their claims."""
    conversions = account.conversions.filter(customer=customer)
    claims = account.conversion_claims.filter(conversion__in=conversions)
    records = _find_records(account, customer)
    inputs = [*records.values_list("inputs", flat=True)]
    inputs += [claim.attribution["inputs"] for claim in claims]
    sent = {
        (candidate["parameter"], candidate["value"])
        for text in inputs
        for candidate in json.loads(text)["candidates"]
    }
    tracking_ids = [value for parameter, value in sent if parameter == TRACKING_ID]
    click_ids = [
        click_id
        for parameter, value in sent
        if parameter == CLICK_ID and (click_id := parse_click_id(value))
    ]
    visitors = account.visitors.filter(tracking_id__in=tracking_ids)
    return account.clicks.filter(
        Q(pk=customer.click_id)
        | Q(pk__in=conversions.values("click"))
        | Q(pk__in=claims.values("click"))
        | Q(pk__in=visitors.values("click"))
        | Q(public_id__in=click_ids)
    )


def _find_records(account: Account, customer: Customer) -> models.QuerySet[AttributionRecord]:
    conversions = account.conversions.filter(customer=customer)
    return account.attribution_records.filter(Q(customer=customer) | Q(conversion__in=conversions))


def _erase_clicks(account: Account, customer: Customer) -> int:
    """Erase the clicks of a customer, and delete their tracking ids."""
    pks = list(find_clicks(account, customer).values_list("pk", flat=True))
    clicks = account.clicks.filter(pk__in=pks)
    deleted, _ = account.visitors.filter(click__in=pks).delete()
    return (
        deleted
        + update_other_values(
            clicks,
            referrer=None,
            user_agent=None,
            ip=None,
            sub_id=None,
            meta_data={},
            dedup_key=None,
        )
        + _cut_queries(clicks)
    )


def _erase_in_records(account: Account, old_id: str, new_id: str) -> int:
    """Replace an ID of an affiliate or prospect in stored attributions, and erase the
    coupons and referral codes that were sent for it."""

    def change(entry: Entry) -> None:
        if entry["affiliate"] == old_id:
            entry["affiliate"] = new_id
            if entry["parameter"] in (COUPON, REFERRAL_CODE) and entry.get("value"):
                entry["value"] = ERASED

    records = account.attribution_records.filter(inputs__contains=f'"affiliate":"{old_id}"')
    claims = account.conversion_claims.all()
    return _change_records(records, change) + _change_claims(claims, change)


def _list_former_ids(account: Account, affiliate: Affiliate) -> set[str]:
    """List former IDs of an affiliate that attribution records contain.

    A request that ran during an earlier erasure may have stored the former ID. It is
    the winner of a record of one of the affiliate's conversions or customers, and no
    affiliate or prospect has this ID now.
    """
    own = account.attribution_records.filter(
        Q(conversion__affiliate=affiliate) | Q(customer__affiliate=affiliate)
    )
    texts = own.exclude(outcome__startswith=f'{{"affiliate":"{affiliate.slug}"')
    winners = {json.loads(text)["affiliate"] for text in texts.values_list("outcome", flat=True)}
    return (
        winners
        - set(account.affiliates.filter(slug__in=winners).values_list("slug", flat=True))
        - set(account.prospects.filter(public_id__in=winners).values_list("public_id", flat=True))
    )


def _erase_visitor(entry: Entry) -> None:
    """Erase a tracking id, and a value that no row was found for (such as a coupon)."""
    is_unknown = entry["affiliate"] is None and entry["parameter"] != CUSTOMER
    if entry.get("value") and (entry["parameter"] == TRACKING_ID or is_unknown):
        entry["value"] = ERASED


def _erase_comments(claim: ConversionClaim) -> None:
    for line_item in claim.line_items:
        if line_item.get("comment"):
            line_item["comment"] = None


def _change_records(
    records: models.QuerySet[AttributionRecord], change: Callable[[Entry], None]
) -> int:
    """Apply `change` to each entry of attribution records; return how many changed.

    Inputs and outcome change alike, so that repeating the attribution still agrees.
    """

    def change_record(record: AttributionRecord) -> None:
        record.inputs, record.outcome = _rewrite_attribution(record.inputs, record.outcome, change)

    return rewrite_columns(records, change_record, ("inputs", "outcome"))


def _change_claims(
    claims: models.QuerySet[ConversionClaim],
    change: Callable[[Entry], None],
    change_claim: Callable[[ConversionClaim], None] = lambda claim: None,
) -> int:
    def change_all(claim: ConversionClaim) -> None:
        inputs, outcome = _rewrite_attribution(
            claim.attribution["inputs"], claim.attribution["outcome"], change
        )
        claim.attribution |= {"inputs": inputs, "outcome": outcome}
        change_claim(claim)

    return rewrite_columns(claims, change_all, ("attribution", "line_items"))


def _rewrite_attribution(
    inputs_text: str, outcome_text: str, change: Callable[[Entry], None]
) -> tuple[str, str]:
    inputs, outcome = json.loads(inputs_text), json.loads(outcome_text)
    entries: Iterable[Entry] = (
        *inputs["candidates"],
        *outcome["rejected_candidates"],
        outcome,
    )
    for entry in entries:
        change(entry)
    return serialize_canonical_json(inputs), serialize_canonical_json(outcome)
