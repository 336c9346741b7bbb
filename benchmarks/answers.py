"""Answers of the bare statements as dicts, like those of the API."""

from collections.abc import Callable, Sequence
from typing import Any

Row = Any  # of a driver: its columns by position


def represent_conversions(rows: Sequence[Row], nested: Sequence[Row]) -> list[dict[str, Any]]:
    """Turn conversions and their commissions into dicts."""
    commissions: dict[int, list[dict[str, Any]]] = {row[0]: [] for row in rows}
    for row in nested:
        commissions[row[-1]].append(
            {
                "id": row[0],
                "conversion_sub_amount": row[1],
                "amount": row[2],
                "commission_type": row[3],
                "approved": row[4] == "approved",
                "affiliate": represent_person(row[5:8]),
                "kind": row[8],
                "currency": row[9],
                "created_at": row[10],
                "comment": row[11],
                "final": row[12],
                "commission_name": row[13],
            }
        )
    return [
        {
            "id": row[0],
            "external_id": row[1],
            "amount": row[2],
            "meta_data": row[3],
            "created_at": row[4],
            "tracking_source": row[5],
            "click": {
                "created_at": row[6],
                "referrer": row[7],
                "landing_page": row[8],
            },
            "affiliate_meta_data": row[9],
            "program": {"id": row[10], "title": row[11], "currency": row[12]},
            "affiliate": represent_person(row[13:16]),
            "customer": {"id": row[16], "customer_id": row[17], "status": row[18]},
            "commissions": commissions[row[0]],
        }
        for row in rows
    ]


def represent_person(row: Row) -> dict[str, Any]:
    """Represent the id and the names of an affiliate."""
    return {"id": row[0], "firstname": row[1], "lastname": row[2]}


def represent_customers(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Turn customers into dicts."""
    return [
        {
            "id": row[0],
            "customer_id": row[1],
            "status": row[2],
            "created_at": row[3],
            "click": {
                "created_at": row[5],
                "referrer": row[6],
                "landing_page": row[7],
            },
            "program": {"id": row[9], "title": row[10], "currency": row[11]},
            "affiliate": represent_person(row[12:15]),
            "affiliate_meta_data": row[8],
            "meta_data": row[4],
        }
        for row in rows
    ]


def represent_prospects(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Turn prospects into dicts."""
    return [
        {
            "id": row[0],
            "firstname": row[1],
            "lastname": row[2],
            "email": row[3],
            "company": row[4],
            "address": row[5],
            "created_at": row[6],
            "signup_source": row[7],
            "referral_link": {
                "link": f"{row[8]}?ref={row[9]}",
                "asset_id": f"{row[10]}-{row[11]}",
                "source_id": f"{row[12]}-{row[13]}",
            },
        }
        for row in rows
    ]


REPRESENTATIONS: dict[str, Callable[[Sequence[Row]], list[dict[str, Any]]]] = {
    "GET customer": represent_customers,
    "GET prospects": represent_prospects,
}
