"""Find all that is one person's in an account, and erase the personal data of it.

What each column loses is declared in docs/privacy.md, section 3. Money is not
touched: transfers, statistics and the amounts of commissions and payments stay.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any, TypeVar

from django.db import models, transaction
from django.db.models import Q

from accounts.email_addresses import fold_email, list_spellings
from accounts.models.accounts import Account
from accounts.models.audit_log import AuditLogEntry
from accounts.services.changes import log_event
from accounts.services.erasure import (
    delete_postbacks_of,
    erase_deliveries,
    erase_stored_responses,
    rewrite_columns,
    update_other_values,
)
from accounts.services.idempotency import RESPONSE_RETENTION
from payouts.errors import PaymentsUnanswered, PersonNotFound
from payouts.models.commissions import Commission
from payouts.models.runs import PayoutLine
from payouts.services.payables import get_payable_balances
from payouts.services.payout_runs import list_unanswered_runs
from payouts.services.scenarios import delete_scenarios_naming
from tracking.models.affiliates import Affiliate
from tracking.models.customers import Customer
from tracking.models.prospects import Prospect
from tracking.search import fold_text
from tracking.services.affiliates import delete_affiliate, lock_hierarchy
from tracking.services.customers import delete_customer
from tracking.services.erasure import (
    ERASED_ID_PREFIX,
    ERASED_PERSON,
    delete_attempts,
    delete_saved_views,
    erase_affiliate,
    erase_customer,
    erase_failed_page_calls,
    erase_imports,
    erase_prospect,
    fold_names,
    get_erased_id,
    queue_erasure_mail,
)
from tracking.services.prospects import delete_prospect
from tracking.services.shop_erasure import (
    erase_shop_customer,
    erase_shop_events,
    erase_shop_referrals,
)

ERASED_ID_PATTERN = re.compile(r"erased-([1-9][0-9]{0,17})", re.ASCII)
ERASE_AGAIN_PERIOD = timedelta(days=2)
MIN_TEXT_LENGTH = 3  # of what is searched in texts

# Subjects of the audit log → rows of the account, and the column of their name.
SUBJECT_ROWS = {
    "affiliate": ("affiliates", "log_id"),
    "prospect": ("prospects", "public_id"),
    "customer": ("customers", "public_id"),
    "conversion": ("conversions", "pk"),
    "commission": ("commissions", "pk"),
    "payment": ("payments", "public_id"),
}
ENROLLMENT_EVENTS = (  # their subject is the affiliate
    "affiliate.added_to_program",
    "affiliate.approved",
    "affiliate.disapproved",
)
Row = TypeVar("Row", Affiliate, Prospect, Customer)

ERASED_EVENTS = {
    Affiliate: "affiliate.erased",
    Prospect: "affiliate_prospect.erased",
    Customer: "customer.erased",
}


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


@dataclass(frozen=True)
class Erasure:
    """Who was erased, how many rows changed, and the balances that are still due.

    `ids` name nobody; they find the same rows in a backup.
    """

    ids: list[str]
    row_count: int
    balances: dict[str, dict[str, Decimal]]  # by ID and currency


def erase_person(account: Account, *, identifier: str, at: datetime) -> Erasure:
    """Erase all that `find_people` finds; who is not removed yet is removed first.

    Affiliates get a mail, unless the ID is that of an erased one, in a backup. A second
    call changes nothing. Balances stay payable. Raises `PersonNotFound`, and
    `PaymentsUnanswered` for an affiliate whom a bank file may still have to name.
    """
    with transaction.atomic():
        people = _lock_people(account, find_people(account, identifier))
        _ensure_answered(account, people)
        texts = _PersonTexts(account, people, at)
        if not ERASED_ID_PATTERN.fullmatch(identifier):
            for affiliate in people.affiliates:
                affiliate.account = account
                queue_erasure_mail(affiliate, at=at)
        counts = {person: _erase(account, person, at) for person in people}
        count = sum(counts.values()) + texts.erase()
        for person, own_count in counts.items():
            if own_count:
                log_event(account, ERASED_EVENTS[type(person)], person, at=at)
        balances = get_payable_balances(account, [row.pk for row in people.affiliates])
    return Erasure(
        ids=[
            get_erased_id(person.pk) if isinstance(person, Affiliate) else person.public_id
            for person in people
        ],
        row_count=count,
        balances={get_erased_id(pk): totals for pk, totals in balances.items()},
    )


def erase_again(account: Account, *, at: datetime, dry_run: bool) -> int:
    """Erase affiliates who were removed within `ERASE_AGAIN_PERIOD` once more.

    A sale that was recorded at the moment of the erasure may have stored the old ID in
    its attribution record: it read the affiliate before, and wrote after. Returns the
    number of rows.
    """
    count = 0
    erased = account.affiliates.filter(
        slug__begins_with=ERASED_ID_PREFIX,
        deleted_at__gte=at - ERASE_AGAIN_PERIOD,
    )
    for slug in erased.order_by("pk").values_list("slug", flat=True):
        with transaction.atomic():
            count += erase_person(account, identifier=slug, at=at).row_count
            transaction.set_rollback(dry_run)
    return count


def _lock_people(account: Account, people: People) -> People:
    """Lock in the order of docs/architecture.md, section 3.

    The lock of an affiliate also waits for requests that have inserted a row of it, and
    keeps others from doing so.
    """
    if people.affiliates:
        lock_hierarchy(account)
    conversions = account.conversions.filter(customer__in=people.customers)
    locked = People(
        affiliates=_lock(account.affiliates.all(), people.affiliates),
        prospects=_lock(account.prospects.all(), people.prospects),
        customers=_lock(account.customers.all(), people.customers),
    )
    list(conversions.select_for_update(no_key=True).order_by("pk").values("pk"))
    return locked


def _ensure_answered(account: Account, people: People) -> None:
    """Raise `PaymentsUnanswered` before the bank has answered about all payments.

    The confirmation of a run locks its affiliates, too. Who is erased already has
    nothing left that a file could name.
    """
    named = [row.pk for row in people.affiliates if row.slug != get_erased_id(row.pk)]
    if runs := list_unanswered_runs(account, named):
        raise PaymentsUnanswered(runs=", ".join(runs))


def _lock(rows: models.QuerySet[Row], found: list[Row]) -> list[Row]:
    same = rows.filter(pk__in=[row.pk for row in found])
    return list(same.select_for_update().order_by("pk"))


def _erase(account: Account, person: Affiliate | Prospect | Customer, at: datetime) -> int:
    """Remove a person, unless it is removed, and erase its rows; count them."""
    is_active = person.deleted_at is None
    if isinstance(person, Affiliate):
        if is_active:
            delete_affiliate(account, affiliate_id=person.slug, at=at)
        count = _erase_payout_details(account, person) + erase_affiliate(account, person)
    elif isinstance(person, Prospect):
        if is_active:
            delete_prospect(account, public_id=person.public_id, at=at)
        count = erase_prospect(account, person)
    else:
        shop_count = erase_shop_customer(account, person)
        if is_active:
            delete_customer(account, public_id=person.public_id, at=at)
        conversions = account.conversions.filter(customer=person)
        sales = account.commissions.filter(conversion__in=conversions)
        refunds = account.refunds.filter(conversion__in=conversions)
        count = shop_count + update_other_values(sales, comment=None)
        count += _erase_reasons(account, conversions)
        count += update_other_values(refunds.filter(external_id__contains="@"), external_id=None)
        count += erase_customer(account, person)
    return count + is_active


def _erase_payout_details(account: Account, affiliate: Affiliate) -> int:
    """Erase payout methods, free texts, and the ID in the calculations of others."""
    own = account.commissions.filter(affiliate=affiliate)
    payments = account.payments.filter(affiliate=affiliate)
    naming = account.commissions.filter(calculation__contains=f'"{affiliate.slug}"')
    erased_id = get_erased_id(affiliate.pk)

    def change(commission: Commission) -> None:
        calculation = json.loads(commission.calculation)
        rates = [calculation["rate"]["source"], *calculation.get("choice", {}).get("rates", ())]
        words = [rate["words"] for rate in rates if "words" in rate]
        for each in (*calculation.get("skipped", ()), *words):
            if each.get("affiliate") == affiliate.slug:
                each["affiliate"] = erased_id
        commission.calculation = json.dumps(calculation, sort_keys=True)

    names = fold_names([affiliate.firstname, affiliate.lastname, affiliate.email])
    lines = account.payout_lines.filter(affiliate=affiliate)
    withheld = account.withheld_balances.filter(affiliate=affiliate)
    cases = account.risk_cases.filter(affiliate=affiliate)
    alerts = account.alerts.filter(affiliate=affiliate)

    def forget_name(line: PayoutLine) -> None:
        if any(name in fold_text(line.bank_reference) for name in names):
            line.bank_reference = ""

    return (
        account.payout_methods.filter(affiliate=affiliate).delete()[0]
        + account.tax_data.filter(affiliate=affiliate).delete()[0]
        + rewrite_columns(lines, forget_name, ["bank_reference"])
        + update_other_values(lines, receiver={}, note="", bank_reason="")
        + update_other_values(withheld, reason="")
        + update_other_values(cases, note="")
        + update_other_values(alerts, note="")
        + update_other_values(own, comment=None)
        + update_other_values(payments, cancel_reason="", payout_details={})
        + _erase_reasons(account, own.values("conversion"))
        + rewrite_columns(naming, change, ["calculation"])
        + delete_postbacks_of(account, affiliate.slug)
    )


def _erase_reasons(account: Account, conversions: models.QuerySet[Any, Any]) -> int:
    """Erase why sales were refunded and corrected."""
    refunds = account.refunds.filter(conversion__in=conversions)
    corrections = account.corrections.filter(conversion__in=conversions)
    return update_other_values(refunds, reason="") + update_other_values(corrections, reason="")


class _PersonTexts:
    """What names a person in the texts of other rows, read before it is erased."""

    def __init__(self, account: Account, people: People, at: datetime) -> None:
        self.account, self.at = account, at
        conversions = account.conversions.filter(customer__in=people.customers)
        sales = dict(conversions.values_list("pk", "external_id"))
        former_ids = account.former_external_ids.filter(conversion__in=conversions)
        commissions = account.commissions.filter(conversion__in=conversions)
        slugs = [affiliate.slug for affiliate in people.affiliates]
        customer_ids = [customer.customer_id for customer in people.customers]
        named: list[Affiliate | Prospect] = [*people.affiliates, *people.prospects]
        public_ids = [prospect.public_id for prospect in people.prospects]
        public_ids += [customer.public_id for customer in people.customers]
        self.ids = [*slugs, *public_ids]
        notes = account.notes.filter(
            affiliate__in=people.affiliates, created_at__gt=at - RESPONSE_RETENTION
        )
        self.note_ids = list(notes.values_list("public_id", flat=True))
        self.texts = _fold(
            [
                *public_ids,
                *(person.email for person in named),
                *(customer.email_folded for customer in people.customers),
                *(text for text in customer_ids if "@" in text),
            ]
        )
        self.words = _fold(
            [
                *slugs,
                *customer_ids,
                *(
                    word
                    for person in named
                    if person.firstname != ERASED_PERSON["firstname"]
                    for text in (person.firstname, person.lastname)
                    for word in text.split()
                ),
            ]
        )
        self.codes = _list_codes(account, people)
        self.quoted_slugs = {f'"{slug}"' for slug in slugs}
        self.sales = sales
        self.order_ids = {order_id for order_id in sales.values() if order_id}
        self.order_ids.update(former_ids.values_list("external_id", flat=True))
        self.subjects = [
            *(f"affiliate:{affiliate.log_id}" for affiliate in people.affiliates),
            *(f"prospect:{prospect.public_id}" for prospect in people.prospects),
            *(f"customer:{customer.public_id}" for customer in people.customers),
            *(f"conversion:{pk}" for pk in sales),
            *(f"commission:{pk}" for pk in commissions.values_list("pk", flat=True)),
        ]

    def erase(self) -> int:
        """Erase them, after the rows of the person; return the number of rows."""
        return (
            erase_deliveries(
                self.account,
                ids=self.ids,
                texts=self.texts | self.quoted_slugs,
                subjects=self.subjects,
                find_payload_row=self._find_payload_row,
            )
            + erase_stored_responses(
                self.account,
                ids=[*self.ids, *self.note_ids],
                beginnings=[f'{{"id":{pk},'.encode() for pk in self.sales],
            )
            + delete_attempts(
                self.account,
                texts=self.texts | self.words,
                order_ids=self.order_ids,
            )
            + erase_failed_page_calls(
                self.account,
                texts=self.texts | self.words,
                order_ids=self.order_ids,
            )
            + erase_imports(self.account, texts=self.texts | self.words)
            + erase_shop_events(self.account, texts=self.texts)
            + erase_shop_referrals(self.account, codes=self.codes)
            + delete_scenarios_naming(self.account, texts=self.quoted_slugs, at=self.at)
            + delete_saved_views(self.account, texts=self.texts, words=self.words)
        )

    def _find_payload_row(self, event: AuditLogEntry) -> models.Model | None:
        """Find the object that the body of an event shows."""
        name, _, key = event.subject.partition(":")
        if event.kind in ENROLLMENT_EVENTS:
            program = event.details.get("program")
            rows: Any = self.account.enrollments.filter(program__slug=program)
            return rows.filter(affiliate__log_id=key).first()  # type: ignore[no-any-return]
        if name not in SUBJECT_ROWS:
            return None
        manager, column = SUBJECT_ROWS[name]
        rows = getattr(self.account, manager)
        return rows.filter(**{column: key}).first()  # type: ignore[no-any-return]


def _list_codes(account: Account, people: People) -> set[str]:
    """The IDs, coupons and codes of people that are not erased yet."""
    own = Q(enrollment__affiliate__in=people.affiliates)
    tables: tuple[models.QuerySet[Any], ...] = (
        account.coupons.filter(own),
        account.referral_code_aliases.filter(own),
        account.referral_codes.filter(own | Q(prospect__in=people.prospects)),
    )
    codes = [affiliate.slug for affiliate in people.affiliates]
    for rows in tables:
        codes += rows.values_list("code", flat=True)
    return {code for code in codes if not code.startswith(ERASED_ID_PREFIX)}


def _fold(texts: Iterable[str | None]) -> set[str]:
    """The texts, case-folded, without those that are too short to name somebody."""
    folded = {each for text in texts if text for each in list_spellings(text)}
    return {text for text in folded if len(text) >= MIN_TEXT_LENGTH}
