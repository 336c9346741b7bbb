"""Rows of tables, given to the services that store objects of another system."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from accounts.ids import generate_public_id
from affiliate_site.moving.tables.rows import Row
from payouts.services import imported_people as people
from payouts.services import imported_sales as sales
from payouts.services.ledger import LedgerSession
from payouts.services.opening_balances import import_opening_balance
from tracking.services.imports import ImportMap, ImportProblem


def store_affiliate(imports: ImportMap, row: Row, ledger: LedgerSession) -> None:
    """Store an affiliate with group, enrollment and payout method.

    A further row of it only enrolls it. Parents are set when all are stored.
    """
    account, body, key = imports.account, row.body, row.body["id"]
    known = imports.find("affiliate", key)
    if known is not None:
        affiliate = account.affiliates.get(pk=known)
    else:
        slug = row.values.get("slug", key)
        if account.affiliates.filter(slug=slug).exists():
            raise ImportProblem("stored_by_another_run", "id", key)
        store_group(imports, body)
        affiliate = people.import_affiliate(imports, body | {"id": slug})
        imports.remember("affiliate", key, affiliate, body)
        method = body.get("payout_method", {})
        if method.get("details"):
            people.import_payout_method(imports, method, affiliate)
    if "program" in body:
        pk = imports.get("program", body["program"]["id"], "program")
        enrollment = people.import_enrollment(
            imports,
            {
                "affiliate": {"id": key},
                "approved": body.get("approved"),
                "applied_at": body.get("created_at"),
                "referral_link": {"link": "?" + urlencode({"ref": body.get("code", "")})},
                "coupon": body.get("coupon"),
                "referral_codes": body.get("referral_codes"),
            },
            account.programs.get(pk=pk),
        )
        imports.remember("enrollment", enrollment.pk, enrollment, body)


def store_group(imports: ImportMap, body: dict[str, Any]) -> None:
    """Create the group of an affiliate if no group has this ID or title."""
    name = body.get("affiliate_group_id")
    if name and imports.find("group", name) is None:
        group = people.import_group(imports, {"id": generate_public_id("ag"), "title": name})
        imports.remember("group", name, group, body)


def store_parent(imports: ImportMap, row: Row) -> None:
    """Set the parent of a stored affiliate."""
    parent = row.values.get("parent_row")
    slug = parent.body["id"] if parent else row.values.get("parent_id")
    if slug and not row.is_known:
        people.import_parent(imports, {"id": row.body["id"], "parent_id": slug})


def store_customer(imports: ImportMap, row: Row, ledger: LedgerSession) -> None:
    """Store a customer; without a status it is new."""
    body = {"status": "new"} | row.body
    customer = people.import_customer(imports, body)
    imports.remember("customer", customer.customer_id, customer, body)


def store_conversion(imports: ImportMap, row: Row, ledger: LedgerSession) -> None:
    """Store a sale with its commission, and with its customer if nobody has its ID.

    What a paid one without a payment is paid by is stored when all sales are.
    """
    # A copy, because the row is stored once more if another one of its page fails.
    body, key = dict(row.body), f"row {row.number}"
    body["commissions"] = [{"currency": body["currency"]}]
    if customer := row.values.get("new_customer"):
        store_new_customer(imports, customer)
    conversion = sales.import_conversion(imports, body)
    imports.remember("conversion", key, conversion, body)
    imports.conversions[conversion.pk] = conversion
    if body.get("commission") is None:
        return
    if "payment" in body:
        imports.get("payment", body["payment"]["id"], "payment")
    status = body.get("status", "pending")
    if status == "paid":
        status = "approved"
    commission_body = {
        "conversion": {"id": key},
        "affiliate": body["affiliate"],
        "amount": body["commission"],
        "conversion_sub_amount": body["amount"],
        "commission_type": body.get("commission_type"),
        "status": status,
        "payout": body.get("payment"),
        "created_at": body.get("created_at"),
    }
    commission = sales.import_commission(imports, commission_body, ledger)
    imports.remember("commission", key, commission, commission_body)
    row.values["commission_pk"] = commission.pk


def store_new_customer(imports: ImportMap, body: dict[str, Any]) -> None:
    """Store the customer of a sale, unless an earlier row has done so."""
    if imports.find("customer", body["customer_id"]) is None:
        customer = people.import_customer(imports, body)
        imports.remember("customer", customer.customer_id, customer, body)


def store_payment(imports: ImportMap, row: Row, ledger: LedgerSession) -> None:
    payment = sales.import_payment(imports, row.body, ledger)
    key = row.body.get("id") or f"row {row.number}"
    imports.remember("payment", key, payment, row.body)


def store_opening_balance(imports: ImportMap, row: Row, ledger: LedgerSession) -> None:
    """Post an opening balance; its transfer is remembered when it is written."""
    import_opening_balance(imports, row.body, ledger)


STORES: dict[str, Callable[[ImportMap, Row, LedgerSession], None]] = {
    "affiliates": store_affiliate,
    "customers": store_customer,
    "conversions": store_conversion,
    "payments": store_payment,
    "opening_balances": store_opening_balance,
}
