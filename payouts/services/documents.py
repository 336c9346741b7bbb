"""Self-billing documents: the account writes the bills of its affiliates.

A document bills one payment. What is paid includes the VAT. Numbers have no gaps: a row
of the account and year is locked, after all other rows, until the document is stored.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

from django.db import models, transaction
from django.db.models import Exists, Max, Min, OuterRef, Q

from accounts.days import start_of_day
from accounts.db_compat import split_into_batches
from accounts.models.accounts import Account
from accounts.services.changes import log_event, log_events
from payouts.fonts import find_unprintable
from payouts.models.documents import Document, DocumentKind, DocumentSequence, TaxRule
from payouts.models.payments import Payment
from payouts.models.runs import PayoutLineState, PayoutRun, PayoutSettings
from payouts.services.opening_balances import find_paid_opening_balances
from payouts.services.payout_settings import get_payout_settings
from payouts.services.tax_data import Taxes, load_taxes
from tracking.models.affiliates import Affiliate
from tracking.money import round_amount

ISSUER_NAMES = ("name", "street", "postal_code", "city", "country")
# The names in a document, and the columns of the settings.
ISSUER_COLUMNS = {
    name: f"payer_{name}" for name in (*ISSUER_NAMES, "building", "vat_id")
}
NO_DAYS = (None, None)
MAX_NAMED = 20  # affiliates, and characters of each


class DocumentProblem(models.TextChoices):
    """Why a payment cannot be billed."""

    NO_ISSUER = "no_issuer", "The payer settings lack the name or address"
    NO_TAX_DATA = "no_tax_data", "The affiliate has no tax data"
    NO_CONSENT = "no_consent", "The affiliate has not consented to self-billing"
    NO_ADDRESS = (
        "no_address",
        "The affiliate has no name or address",
    )
    NO_TAX_RULE = "no_tax_rule", "No tax rule for the country of the affiliate"
    NOT_IN_CENTS = "not_in_cents", "The amount has fractions of a cent"


@dataclass(frozen=True)
class UnbilledPayment:
    """A payment without a document, and why; without a problem it can be billed."""

    payment: Payment
    problem: DocumentProblem | None


def list_unbilled(
    account: Account, *, run_ids: Collection[int] | None = None, limit: int
) -> list[UnbilledPayment]:
    """Return the oldest payments that should have documents, and why they have none: of
    these runs, by default all."""
    settings = get_payout_settings(account)
    payments = list(_list_payments(account, settings, run_ids)[:limit])
    taxes = load_taxes(account, {payment.affiliate_id for payment in payments})
    return [
        UnbilledPayment(payment, _find_problem(payment, settings, taxes))
        for payment in payments
    ]


def count_unbilled(account: Account) -> int:
    """Count the payments that should have documents and have none."""
    return _list_payments(account, get_payout_settings(account)).count()


def issue_documents(
    account: Account, *, run_ids: Collection[int] | None = None, at: datetime
) -> list[Document]:
    """Bill payments that arrived and have no document: of these runs, by default all.

    Payments that cannot be billed are left out; `list_unbilled` says why. A payment
    that no payout run made counts as arrived.
    """
    settings = get_payout_settings(account)
    if settings.documents_from is None:
        return []
    today = account.get_day(at)
    with transaction.atomic():
        rows = _list_payments(account, settings, run_ids)
        # Locked, so that nobody cancels one without a correction of its document.
        payments = list(rows.select_for_update(no_key=True, of=("self",)))
        taxes = load_taxes(account, {payment.affiliate_id for payment in payments})
        billable = [it for it in payments if not _find_problem(it, settings, taxes)]
        if not billable:
            return []
        sequence = _lock_sequence(account, today.year)
        # Somebody else may have billed some of them before the lock.
        billed = _list_billed(account, billable)
        days = _list_days(account, billable)
        openings = find_paid_opening_balances(account, billable)
        documents = []
        for payment in billable:
            rule = taxes.find_rule(payment.affiliate_id)
            if rule and payment.pk not in billed:
                document = _build_document(payment, settings, rule, at)
                document.first_day, document.last_day = days.get(payment.pk, NO_DAYS)
                document.opening = openings.get(payment.pk)  # type: ignore[assignment]
                document.supplier["vat_id"] = taxes.data[payment.affiliate_id].vat_id
                documents.append(document)
        _store(sequence, settings, documents)
        log_events(account, [("document.issued", row) for row in documents], at=at)
    return documents


def describe_unprintable(run: PayoutRun) -> str:
    """Return whose name or address no font prints, of who gets documents by a run, and
    which characters; empty without such characters, or without documents."""
    account, settings = run.account, get_payout_settings(run.account)
    if settings.documents_from is None:
        return ""
    issuer = " ".join(getattr(settings, name) or "" for name in ISSUER_COLUMNS.values())
    found = {"the payer": find_unprintable(issuer)}
    lines = account.payout_lines.filter(run=run, state=PayoutLineState.INCLUDED)
    consents = account.tax_data.exclude(consented_on=None)
    affiliates = account.affiliates.filter(
        Q(pk__in=lines.values("affiliate")), pk__in=consents.values("affiliate")
    )
    for affiliate in affiliates.order_by("pk").iterator():
        text = " ".join([_get_name(affiliate), *_build_address(affiliate).values()])
        found[affiliate.slug] = find_unprintable(text)
    texts = [f"{name}: {text[:MAX_NAMED]}" for name, text in found.items() if text]
    more = f"; and {len(texts) - MAX_NAMED} more" if len(texts) > MAX_NAMED else ""
    return "; ".join(texts[:MAX_NAMED]) + more


def correct_document(
    account: Account, payment: Payment, *, at: datetime
) -> Document | None:
    """Cancel the document of a payment, if it has one, by a correction.

    The caller cancels the payment in the same transaction, and has locked all else.
    """
    rows = account.documents.filter(payment=payment, kind=DocumentKind.SELF_BILLING)
    document = rows.first()
    if document is None:
        return None
    sequence = _lock_sequence(account, account.get_day(at).year)
    correction = Document(
        account=account,
        kind=DocumentKind.CORRECTION,
        affiliate_id=document.affiliate_id,
        payment=payment,
        corrects=document,
        issued_on=account.get_day(at),
        first_day=document.first_day,
        last_day=document.last_day,
        currency=document.currency,
        net=-document.net,
        vat=-document.vat,
        total=-document.total,
        opening=None if document.opening is None else -document.opening,
        vat_rate=document.vat_rate,
        sentence=document.sentence,
        issuer=document.issuer,
        supplier=document.supplier,
        created_at=at,
    )
    _store(sequence, get_payout_settings(account), [correction])
    log_event(account, "document.corrected", correction, at=at, document=str(document))
    return correction


def find_billed_months(
    account: Account, affiliate_ids: Collection[int]
) -> set[tuple[int, str]]:
    """Return affiliates and the months, as `2026-03`, that documents of theirs bill.

    Corrected documents do not count. One of an opening balance alone bills the month of
    its issue.
    """
    months = set()
    for batch in split_into_batches(sorted(affiliate_ids)):
        rows = account.documents.filter(
            affiliate__in=batch, kind=DocumentKind.SELF_BILLING
        )
        corrections = account.documents.filter(corrects=OuterRef("pk"))
        columns = ("affiliate", "first_day", "last_day", "issued_on")
        for pk, first, last, issued_on in rows.exclude(Exists(corrections)).values_list(
            *columns
        ):
            day, end = first or issued_on, last or issued_on
            while day <= end:
                months.add((pk, day.strftime("%Y-%m")))
                day = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
    return months


def _list_payments(
    account: Account,
    settings: PayoutSettings,
    run_ids: Collection[int] | None = None,
) -> models.QuerySet[Payment]:
    """The payments that should have documents and have none, oldest first.

    Imported ones are left out: another system has made them.
    """
    if settings.documents_from is None:
        return account.payments.none()
    lines = account.payout_lines.filter(payment=OuterRef("pk"))
    documents = account.documents.filter(payment=OuterRef("pk"))
    settled = lines.filter(state=PayoutLineState.SETTLED)
    imported = account.imported_objects.filter(kind="payment")
    rows = account.payments.not_canceled().filter(
        Exists(settled) | ~Exists(lines)
        if run_ids is None
        else Exists(settled.filter(run__in=run_ids)),
        ~Exists(documents),
        created_at__gte=start_of_day(settings.documents_from, account.zone),
    )
    rows = rows.exclude(pk__in=imported.values("local_id"))
    return rows.select_related("affiliate").order_by("created_at", "id")


def _find_problem(
    payment: Payment, settings: PayoutSettings, taxes: Taxes
) -> DocumentProblem | None:
    affiliate = payment.affiliate
    data = taxes.data.get(payment.affiliate_id)
    if not all(getattr(settings, ISSUER_COLUMNS[name]) for name in ISSUER_NAMES):
        return DocumentProblem.NO_ISSUER
    if data is None:
        return DocumentProblem.NO_TAX_DATA
    if data.consented_on is None:
        return DocumentProblem.NO_CONSENT
    address = (affiliate.address, affiliate.city, affiliate.country)
    if not (_get_name(affiliate) and all(address)):
        return DocumentProblem.NO_ADDRESS
    if taxes.find_rule(payment.affiliate_id) is None:
        return DocumentProblem.NO_TAX_RULE
    if payment.amount != round_amount(payment.amount, payment.currency):
        return DocumentProblem.NOT_IN_CENTS
    return None


def _lock_sequence(account: Account, year: int) -> DocumentSequence:
    sequence = DocumentSequence(account=account, year=year)
    account.document_sequences.insert_or_ignore(
        sequence, unique_fields=("account", "year")
    )
    rows = account.document_sequences.select_for_update(no_key=True)
    return rows.get(year=year)


def _list_billed(account: Account, payments: Iterable[Payment]) -> set[int]:
    pks = [payment.pk for payment in payments]
    return {
        pk
        for batch in split_into_batches(pks)
        for pk in account.documents.filter(payment__in=batch).values_list(
            "payment", flat=True
        )
    }


def _list_days(
    account: Account, payments: Iterable[Payment]
) -> dict[int, tuple[date, date]]:
    """The first and last day of the commissions that each payment covers."""
    days = {}
    for batch in split_into_batches([payment.pk for payment in payments]):
        rows = account.payment_allocations.filter(payment__in=batch).order_by()
        moments = rows.values_list("payment").annotate(
            Min("commission__created_at"), Max("commission__created_at")
        )
        for pk, first, last in moments:
            days[pk] = account.get_day(first), account.get_day(last)
    return days


def calculate_vat(total: Decimal, rate: Decimal, currency: str) -> Decimal:
    """Return the VAT that a total includes, in whole minor units."""
    return round_amount(total * rate / (100 + rate), currency)


def _build_document(
    payment: Payment, settings: PayoutSettings, rule: TaxRule, at: datetime
) -> Document:
    vat = calculate_vat(payment.amount, rule.rate, payment.currency)
    affiliate = payment.affiliate
    return Document(
        account=payment.account,
        kind=DocumentKind.SELF_BILLING,
        affiliate=affiliate,
        payment=payment,
        issued_on=payment.account.get_day(at),
        currency=payment.currency,
        net=payment.amount - vat,
        vat=vat,
        total=payment.amount,
        vat_rate=rule.rate,
        sentence=rule.sentence,
        issuer={name: getattr(settings, it) for name, it in ISSUER_COLUMNS.items()},
        supplier={"name": _get_name(affiliate), **_build_address(affiliate)},
        created_at=at,
    )


def _build_address(affiliate: Affiliate) -> dict[str, str]:
    street = filter(None, (affiliate.address, affiliate.address_two))
    return {
        "street": ", ".join(street),
        "postal_code": affiliate.postal_code or "",
        "city": affiliate.city or "",
        "country": affiliate.country or "",
    }


def _get_name(affiliate: Affiliate) -> str:
    person = f"{affiliate.firstname} {affiliate.lastname}".strip()
    company = affiliate.company_name or ""
    return f"{company}, {person}" if company and person else company or person


def _store(
    sequence: DocumentSequence, settings: PayoutSettings, documents: list[Document]
) -> None:
    """Number the documents, and store them with the last number."""
    prefix = f"{settings.document_prefix}{sequence.year}-"
    for number, document in enumerate(documents, sequence.last_number + 1):
        document.year, document.number = sequence.year, number
        document.label = f"{prefix}{number:05d}"
    sequence.account.documents.bulk_create(documents)
    sequence.update_row(last_number=sequence.last_number + len(documents))
