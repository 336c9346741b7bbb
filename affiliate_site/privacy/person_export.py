"""Export everything that is kept about a person, in the words of the API."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from accounts.db_compat import BATCH_SIZE, use_snapshot
from accounts.models.accounts import Account
from affiliate_site.api.representations.affiliates import (
    AffiliateRepresentation,
    EnrollmentEventRepresentation,
    NoteRepresentation,
    PayoutMethodRepresentation,
    ProspectRepresentation,
)
from affiliate_site.api.representations.base import Representation
from affiliate_site.api.representations.conversions import (
    CommissionRepresentation,
    ConversionRepresentation,
    PaymentRepresentation,
)
from affiliate_site.api.representations.tracking import (
    ClickRepresentation,
    CustomerRepresentation,
)
from payouts.services.erasure import find_people
from payouts.services.opening_balances import (
    get_signed_amount,
    list_opening_balances,
)
from tracking.models.affiliates import Affiliate
from tracking.models.customers import Customer
from tracking.models.prospects import Prospect
from tracking.services.erasure import find_clicks
from tracking.services.mails import SECRET_MAILS
from tracking.services.portal_terms import list_acceptances

VISITOR_DATA = ("ip", "user_agent")
# What an affiliate has set, and what the portal keeps, beyond the API.
PORTAL_COLUMNS = (
    *("language", "notices", "bounced_email", "invited_at", "signed_in_at"),
    "deletion_asked_at",
)
TAX_COLUMNS = (
    *("is_business", "is_small_business", "legal_name", "country", "tax_number"),
    *("vat_id", "consented_on"),
)
QUESTION_COLUMNS = (
    *("order_id", "day", "answer_given", "text", "state"),
    *("created_at", "answered_at", "answer"),
)
MAIL_COLUMNS = ("created_at", "recipient", "subject", "text", "sent_at", "error")
# What affiliates read of their own export.
OWN_KEYS = (
    *("id", "firstname", "lastname", "email", "company", "address", "created_at"),
    *("promotion_method", *PORTAL_COLUMNS),
    *("custom_fields", "programs", "payout_methods", "postbacks", "tax_data"),
    *("opening_balances", "documents", "mails", "portal_sessions", "portal_links"),
    "portal_addresses",
    *("questions", "accepted_terms", "portal_applications"),
)
OWN_COMMISSION_KEYS = ("id", "kind", "created_at", "amount", "currency", "status")
OWN_PAYMENT_KEYS = ("id", "created_at", "amount", "currency", "canceled_at")
PAYOUT_LINE_TEXTS = ("receiver", "note", "bank_reason")


def export_person(account: Account, *, identifier: str, at: datetime) -> dict[str, Any]:
    """Return all rows of a person, removed ones too; raise `PersonNotFound`."""
    with use_snapshot():
        people = find_people(account, identifier)
        return {
            "account": account.slug,
            "exported_at": at,
            "affiliates": [_export_affiliate(account, row) for row in people.affiliates],
            "prospects": [_export_prospect(account, row) for row in people.prospects],
            "customers": [_export_customer(account, row) for row in people.customers],
        }


def export_own_data(affiliate: Affiliate, *, at: datetime) -> dict[str, Any]:
    """Return what an affiliate may read of the export: nothing that staff wrote, and
    nothing about a customer or another affiliate."""
    account = affiliate.account
    with use_snapshot():
        whole = _export_affiliate(account, affiliate)
    commissions = [
        {name: row[name] for name in OWN_COMMISSION_KEYS} for row in whole["commissions"]
    ]
    return {
        "account": account.slug,
        "exported_at": at,
        **{name: whole[name] for name in OWN_KEYS},
        "commissions": commissions,
        "payments": [{name: row[name] for name in OWN_PAYMENT_KEYS} for row in whole["payments"]],
    }


def _export_affiliate(account: Account, affiliate: Affiliate) -> dict[str, Any]:
    own = {"affiliate": affiliate}
    commissions = account.commissions.filter(**own)
    programs = _represent(EnrollmentEventRepresentation, account, account.enrollments.filter(**own))
    postbacks = account.webhook_endpoints.filter(affiliate=affiliate.slug)
    payments = _represent(
        PaymentRepresentation,
        account,
        account.payments.filter(**own),
        ("canceled_at", "cancel_reason", "payout_kind", "payout_details"),
    )
    for row in payments:
        details = row["payout_details"].items()
        row["payout_details"] = ", ".join(f"{name}: {value}" for name, value in details)
    return {
        **_represent_one(AffiliateRepresentation, account, affiliate),
        **{name: getattr(affiliate, name) for name in PORTAL_COLUMNS},
        "removed_at": affiliate.deleted_at,
        "programs": [
            {
                key: value
                for key, value in program.items()
                if key not in AffiliateRepresentation.keys
            }
            for program in programs
        ],
        "payout_methods": _represent(
            PayoutMethodRepresentation, account, account.payout_methods.filter(**own)
        ),
        "notes": _represent(NoteRepresentation, account, account.notes.filter(**own)),
        "postbacks": list(postbacks.order_by("pk").values("url", "method", "events")),
        "commissions": _represent(CommissionRepresentation, account, commissions),
        **_list_reasons(account, commissions.values("conversion")),
        "payments": payments,
        "opening_balances": [
            {
                "amount": get_signed_amount(row),
                "currency": row.currency,
                "created_at": row.created_at,
            }
            for row in list_opening_balances(affiliate)
        ],
        "payout_lines": list(
            account.payout_lines.filter(**own)
            .order_by("pk")
            .values("amount", "currency", *PAYOUT_LINE_TEXTS)
        ),
        "withheld_balances": list(
            account.withheld_balances.filter(**own)
            .order_by("currency")
            .values("currency", "reason", "created_at")
        ),
        "alerts": list(
            account.alerts.filter(**own)
            .order_by("pk")
            .values("watch", "text", "note", "created_at", "dismissed_at")
        ),
        "risk_cases": list(
            account.risk_cases.filter(**own)
            .order_by("pk")
            .values("rule", "state", "note", "created_at", "decided_at")
        ),
        "tax_data": list(account.tax_data.filter(**own).values(*TAX_COLUMNS)),
        "documents": list(
            account.documents.filter(**own)
            .order_by("pk")
            .values("label", "issued_on", "currency", "total", "tax_withheld", "supplier")
        ),
        "mails": list(
            account.mails.filter(**own)
            .exclude(kind__in=SECRET_MAILS, sent_at=None)  # their links still work
            .order_by("pk")
            .values(*MAIL_COLUMNS)
        ),
        "questions": list(account.questions.filter(**own).order_by("pk").values(*QUESTION_COLUMNS)),
        "portal_sessions": list(
            account.portal_sessions.filter(**own).order_by("pk").values("created_at", "expires_at")
        ),
        "portal_second_factors": list(
            account.portal_second_factors.filter(**own).values("confirmed_at")
        ),
        "portal_links": list(
            account.portal_links.filter(**own)
            .order_by("pk")
            .values("purpose", "created_at", "expires_at", "used_at", "new_email")
        ),
        # When each was used; nobody can read a digest.
        "portal_addresses": list(
            account.portal_addresses.filter(**own)
            .order_by("pk")
            .values("opened_account", "first_used_at", "last_used_at")
        ),
        "portal_applications": list(
            account.portal_applications.filter(email_folded=affiliate.email_folded)
            .order_by("pk")
            .values("email", "data", "created_at", "used_at")
        ),
        "accepted_terms": [
            {
                "version": row.terms.version,
                "language": row.language,
                "text": row.text,
                "accepted_at": row.accepted_at,
            }
            for row in list_acceptances(affiliate)
        ],
        "events": _list_audit_entries(account, f"affiliate:{affiliate.log_id}"),
    }


def _export_prospect(account: Account, prospect: Prospect) -> dict[str, Any]:
    return {
        **_represent_one(ProspectRepresentation, account, prospect),
        "meta_data": prospect.meta_data,
        "custom_fields": prospect.custom_fields,
        "removed_at": prospect.deleted_at,
        "events": _list_audit_entries(account, f"prospect:{prospect.public_id}"),
    }


def _export_customer(account: Account, customer: Customer) -> dict[str, Any]:
    conversions = account.conversions.filter(customer=customer)
    clicks = find_clicks(account, customer)
    visitors = account.visitors.filter(click__in=clicks.values("pk"))
    former_ids = account.former_external_ids.filter(conversion__in=conversions.values("pk"))
    return {
        **_represent_one(CustomerRepresentation, account, customer),
        **{name: getattr(customer, name) for name in VISITOR_DATA},
        "removed_at": customer.deleted_at,
        "conversions": _represent(ConversionRepresentation, account, conversions, VISITOR_DATA),
        **_list_reasons(account, conversions),
        "shop_events": _list_shop_events(account, conversions),
        "former_external_ids": [str(row) for row in former_ids.order_by("pk")],
        "clicks": _represent(ClickRepresentation, account, clicks, VISITOR_DATA),
        "tracking_ids": [visitor.tracking_id for visitor in visitors.order_by("pk")],
        "events": _list_audit_entries(account, f"customer:{customer.public_id}"),
    }


def _list_reasons(
    account: Account, conversions: QuerySet[Any, Any]
) -> dict[str, list[dict[str, Any]]]:
    """Why sales were refunded and corrected, with the shop's IDs of refunds."""
    own = {"conversion__in": conversions}
    refunds = account.refunds.filter(**own).order_by("pk")
    corrections = account.corrections.filter(**own).order_by("pk")
    columns = ("conversion_id", "reason", "created_at")
    return {
        "refunds": list(refunds.values(*columns, "external_id")),
        "corrections": list(corrections.values(*columns)),
    }


def _list_shop_events(account: Account, conversions: QuerySet[Any, Any]) -> list[dict[str, Any]]:
    """What shops sent about the sales, as long as it is kept."""
    orders = account.shop_orders.filter(conversion__in=conversions)
    events = account.shop_events.filter(order__in=orders)
    columns = ("created_at", "kind", "body")
    return [dict(row) for row in events.order_by("pk").values(*columns)]


def _represent_one(
    representation: type[Representation], account: Account, row: Any
) -> dict[str, Any]:
    (found,) = representation.rows_by_pk.all(account=account, pks=[row.pk])
    return representation.represent(found, account)


def _represent(
    representation: type[Representation],
    account: Account,
    rows: QuerySet[Any, Any],
    columns: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Represent rows in the order of their ids, with further columns."""
    found = list(rows.order_by("pk").values("pk", *columns))
    answers: list[dict[str, Any]] = []
    for start in range(0, len(found), BATCH_SIZE):
        pks = [row["pk"] for row in found[start : start + BATCH_SIZE]]
        tuples = list(representation.rows_by_pk.all(account=account, pks=pks))
        answers += representation.represent_all(tuples, account)
    return [
        answer | {name: row[name] for name in columns}
        for answer, row in zip(answers, found, strict=True)
    ]


def _list_audit_entries(account: Account, subject: str) -> list[dict[str, Any]]:
    """What the audit log says happened to the person."""
    events = account.audit_log.filter(subject=subject).order_by("pk")
    return [{"kind": event.kind, "created_at": event.created_at} for event in events]
