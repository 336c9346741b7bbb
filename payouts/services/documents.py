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
from payouts.models.documents import (
    Document,
    DocumentKind,
    DocumentSequence,
    RequiredNumber,
    TaxData,
    TaxRule,
)
from payouts.models.payments import Payment
from payouts.models.runs import (
    PayoutLine,
    PayoutLineState,
    PayoutRun,
    PayoutSettings,
)
from payouts.services.opening_balances import find_paid_opening_balances
from payouts.services.payout_settings import get_payout_settings
from payouts.services.tax_data import Taxes, is_well_formed, load_taxes
from tracking.models.affiliates import Affiliate
from tracking.money import round_amount

ISSUER_NAMES = ("name", "street", "postal_code", "city", "country")
# The names in a document, and the columns of the settings.
ISSUER_COLUMNS = {name: f"payer_{name}" for name in (*ISSUER_NAMES, "building", "vat_id")}
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
    NO_VAT_ID = "no_vat_id", "The affiliate's VAT ID is missing"
    NO_TAX_NUMBER = "no_tax_number", "The affiliate's tax number is missing"
    NO_NUMBER = "no_number", "The affiliate's VAT ID or tax number is missing"
    NOT_ABROAD = (
        "not_abroad",
        "The tax rule is reverse charge, but the affiliate is in your own country: add"
        " a rule for it",
    )
    NOT_IN_CENTS = "not_in_cents", "The amount has fractions of a cent"


# What the affiliate, or staff on its page, can add.
OF_THE_AFFILIATE = (
    *(DocumentProblem.NO_TAX_DATA, DocumentProblem.NO_CONSENT),
    *(DocumentProblem.NO_ADDRESS, DocumentProblem.NO_VAT_ID),
    *(DocumentProblem.NO_TAX_NUMBER, DocumentProblem.NO_NUMBER),
)
WHERE_TO_ADD = "The affiliate can add it in the portal under Profile"


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
    taxes = _load_taxes(account, settings, payments)
    return [
        UnbilledPayment(payment, _find_problem(payment, settings, taxes)) for payment in payments
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
        taxes = _load_taxes(account, settings, payments)
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
                data = taxes.data[payment.affiliate_id]
                document = _build_document(payment, settings, rule, data, at)
                document.first_day, document.last_day = days.get(payment.pk, NO_DAYS)
                document.opening = openings.get(payment.pk)  # type: ignore[assignment]
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
    rows = consents.filter(affiliate__in=lines.values("affiliate"))
    data = {row.affiliate_id: row for row in rows}
    affiliates = account.affiliates.filter(
        Q(pk__in=lines.values("affiliate")), pk__in=consents.values("affiliate")
    )
    for affiliate in affiliates.order_by("pk").iterator():
        own = data[affiliate.pk]
        parts = (_get_name(affiliate, own), own.tax_number)
        text = " ".join([*parts, *_build_address(affiliate).values()])
        found[affiliate.slug] = find_unprintable(text)
    texts = [f"{name}: {text[:MAX_NAMED]}" for name, text in found.items() if text]
    more = f"; and {len(texts) - MAX_NAMED} more" if len(texts) > MAX_NAMED else ""
    return "; ".join(texts[:MAX_NAMED]) + more


def correct_document(account: Account, payment: Payment, *, at: datetime) -> Document | None:
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
        tax_withheld=None if (tax := document.tax_withheld) is None else -tax,
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


def find_billed_months(account: Account, affiliate_ids: Collection[int]) -> set[tuple[int, str]]:
    """Return affiliates and the months, as `2026-03`, that documents of theirs bill.

    Corrected documents do not count. One of an opening balance alone bills the month of
    its issue.
    """
    months = set()
    for batch in split_into_batches(sorted(affiliate_ids)):
        rows = account.documents.filter(affiliate__in=batch, kind=DocumentKind.SELF_BILLING)
        corrections = account.documents.filter(corrects=OuterRef("pk"))
        columns = ("affiliate", "first_day", "last_day", "issued_on")
        for pk, first, last, issued_on in rows.exclude(Exists(corrections)).values_list(*columns):
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


def _load_taxes(account: Account, settings: PayoutSettings, payments: Iterable[Payment]) -> Taxes:
    affiliates = {payment.affiliate_id for payment in payments}
    return load_taxes(account, affiliates, payer_country=settings.payer_country)


def _find_problem(
    payment: Payment, settings: PayoutSettings, taxes: Taxes
) -> DocumentProblem | None:
    for problem in list_problems(payment.affiliate, settings, taxes):
        return problem
    if payment.amount != round_amount(payment.amount, payment.currency):
        return DocumentProblem.NOT_IN_CENTS
    return None


def list_problems(
    affiliate: Affiliate, settings: PayoutSettings, taxes: Taxes
) -> list[DocumentProblem]:
    """Return what documents of an affiliate lack, whatever they bill."""
    problems = []
    data = taxes.data.get(affiliate.pk)
    if not all(getattr(settings, ISSUER_COLUMNS[name]) for name in ISSUER_NAMES):
        problems.append(DocumentProblem.NO_ISSUER)
    if data is None:
        problems.append(DocumentProblem.NO_TAX_DATA)
    elif data.consented_on is None:
        problems.append(DocumentProblem.NO_CONSENT)
    address = (affiliate.address, affiliate.city, affiliate.country)
    if not (_get_name(affiliate, data) and all(address)):
        problems.append(DocumentProblem.NO_ADDRESS)
    if data is not None:
        rule = taxes.find_rule(affiliate.pk)
        problem = _find_missing_number(rule, data, settings.payer_country)
        problems += [problem] if problem else []
    return problems


def _find_missing_number(
    rule: TaxRule | None, data: TaxData, payer_country: str
) -> DocumentProblem | None:
    if rule is None:
        return DocumentProblem.NO_TAX_RULE
    has_vat_id = is_well_formed(data.country, data.vat_id)
    match rule.required_number:
        case RequiredNumber.REVERSE_CHARGE if data.country == payer_country:
            return DocumentProblem.NOT_ABROAD
        case RequiredNumber.REVERSE_CHARGE | RequiredNumber.VAT_ID if not has_vat_id:
            return DocumentProblem.NO_VAT_ID
        case RequiredNumber.TAX_NUMBER if not data.tax_number:
            return DocumentProblem.NO_TAX_NUMBER
        case RequiredNumber.EITHER if not (has_vat_id or data.tax_number):
            return DocumentProblem.NO_NUMBER
    return None


def describe_problems(problems: Collection[DocumentProblem]) -> str:
    """Return `The affiliate's VAT ID is missing. The affiliate can add it in …`."""
    texts = [str(problem.label) for problem in problems]
    if any(problem in OF_THE_AFFILIATE for problem in problems):
        texts.append(WHERE_TO_ADD)
    return ". ".join(texts)


def list_lines_without_document(run: PayoutRun, *, at: datetime) -> list[tuple[PayoutLine, str]]:
    """Return the lines of a run, not settled yet, that could have no document today,
    and what they lack."""
    account = run.account
    settings = find_billing_settings(account, account.get_day(at))
    if settings is None:
        return []
    states = (PayoutLineState.INCLUDED, PayoutLineState.UNKNOWN)
    rows = account.payout_lines.filter(run=run, state__in=states).defer("receiver")
    lines = list(rows.select_related("affiliate").order_by("affiliate_id", "currency"))
    country = settings.payer_country
    affiliates = {line.affiliate_id for line in lines}
    taxes = load_taxes(account, affiliates, payer_country=country)
    found = ((it, list_problems(it.affiliate, settings, taxes)) for it in lines)
    return [(line, describe_problems(each)) for line, each in found if each]


def find_document_problems(
    account: Account, affiliates: Collection[Affiliate], *, day: date
) -> dict[int, str]:
    """Return what documents of these affiliates lack, by primary key, if the account
    pays nobody without one."""
    settings = find_billing_settings(account, day)
    if settings is None or not settings.requires_documents:
        return {}
    pks = [affiliate.pk for affiliate in affiliates]
    taxes = load_taxes(account, pks, payer_country=settings.payer_country)
    found = {it.pk: list_problems(it, settings, taxes) for it in affiliates}
    return {pk: describe_problems(each) for pk, each in found.items() if each}


def find_billing_settings(account: Account, day: date) -> PayoutSettings | None:
    """Return the settings if payments of a day should have documents."""
    return account.payout_settings.filter(documents_from__lte=day).first()


def _lock_sequence(account: Account, year: int) -> DocumentSequence:
    sequence = DocumentSequence(account=account, year=year)
    account.document_sequences.insert_or_ignore(sequence, unique_fields=("account", "year"))
    rows = account.document_sequences.select_for_update(no_key=True)
    return rows.get(year=year)


def _list_billed(account: Account, payments: Iterable[Payment]) -> set[int]:
    pks = [payment.pk for payment in payments]
    return {
        pk
        for batch in split_into_batches(pks)
        for pk in account.documents.filter(payment__in=batch).values_list("payment", flat=True)
    }


def _list_days(account: Account, payments: Iterable[Payment]) -> dict[int, tuple[date, date]]:
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


def calculate_withholding(total: Decimal, rule: TaxRule, currency: str) -> Decimal | None:
    """Return the tax to withhold of a total, by its net amount, in whole minor units;
    None without any, or if nothing else would be left."""
    net = total - calculate_vat(total, rule.rate, currency)
    tax = round_amount(net * rule.withholding_rate / 100, currency)
    return tax if 0 < tax < total else None


def _build_document(
    payment: Payment,
    settings: PayoutSettings,
    rule: TaxRule,
    data: TaxData,
    at: datetime,
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
        tax_withheld=payment.tax_withheld,
        vat_rate=rule.rate,
        sentence=rule.sentence,
        issuer={name: getattr(settings, it) for name, it in ISSUER_COLUMNS.items()},
        supplier={
            "name": _get_name(affiliate, data),
            **_build_address(affiliate),
            "vat_id": data.vat_id,
            **({"tax_number": data.tax_number} if data.tax_number else {}),
        },
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


def _get_name(affiliate: Affiliate, data: TaxData | None) -> str:
    if data is not None and data.legal_name:
        return data.legal_name
    person = f"{affiliate.firstname} {affiliate.lastname}".strip()
    company = affiliate.company_name or ""
    return f"{company}, {person}" if company and person else company or person


def _store(sequence: DocumentSequence, settings: PayoutSettings, documents: list[Document]) -> None:
    """Number the documents, and store them with the last number."""
    prefix = f"{settings.document_prefix}{sequence.year}-"
    for number, document in enumerate(documents, sequence.last_number + 1):
        document.year, document.number = sequence.year, number
        document.label = f"{prefix}{number:05d}"
    sequence.account.documents.bulk_create(documents)
    sequence.update_row(last_number=sequence.last_number + len(documents))
