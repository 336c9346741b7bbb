"""The bare statements behind FastAPI and asyncpg, for comparison.

No key, limits, balances, reasons, events or audit log.
"""

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import asyncpg
from fastapi import FastAPI
from pydantic import BaseModel

from benchmarks.answers import REPRESENTATIONS, represent_conversions
from benchmarks.operations import API, PAGE_SIZE, STATEMENTS

CONNECTIONS = 8
ACCOUNT_ID = int(os.environ["BENCHMARK_ACCOUNT_ID"])
NAME = re.compile(r"\{(\w+)\}")
pool: asyncpg.Pool


@asynccontextmanager
async def connect(_: FastAPI) -> AsyncIterator[None]:
    """Open the connections of this worker."""
    global pool
    url = os.environ["DATABASE_URL"]
    pool = await asyncpg.create_pool(url, min_size=CONNECTIONS, max_size=CONNECTIONS)
    yield
    await pool.close()


app = FastAPI(lifespan=connect)


def number_values(statement: str) -> tuple[str, list[str]]:
    """Write `{name}` as `$1`, …; return the names in the order of their numbers."""
    names = list(dict.fromkeys(NAME.findall(statement)))
    numbers = {name: f"${number}" for number, name in enumerate(names, 1)}
    return statement.format(**numbers), names


PREPARED = {
    name: [number_values(statement) for statement in statements]
    for name, statements in STATEMENTS["postgresql"].items()
}


async def run(operation: str, **values: Any) -> list[Any]:
    """Run the first statement of an operation."""
    sql, names = PREPARED[operation][0]
    values |= {"account": ACCOUNT_ID}
    rows: list[Any] = await pool.fetch(sql, *(values[name] for name in names))
    return rows


class Click(BaseModel):
    """The body of a click."""

    referral_code: str
    landing_page: str


class Customer(BaseModel):
    """The body of a customer."""

    referral_code: str
    customer_id: str


class Conversion(BaseModel):
    """The body of a conversion."""

    referral_code: str
    external_id: str
    amount: float


async def insert(operation: str, code: str, **values: Any) -> dict[str, Any]:
    """Store the rows of a write."""
    at = datetime.now(UTC)
    rows = await run(operation, code=code, at=at, uuid=uuid4().hex, **values)
    return {"id": rows[0][0]}


@app.post(f"{API}/clicks/")
async def create_click(body: Click) -> dict[str, Any]:
    """Store a click."""
    marker = body.landing_page.rpartition("/")[2]
    return await insert("POST clicks", body.referral_code, marker=marker)


@app.post(f"{API}/customers/")
async def create_customer(body: Customer) -> dict[str, Any]:
    """Store a customer."""
    return await insert("POST customers", body.referral_code, marker=body.customer_id)


@app.post(f"{API}/conversions/")
async def create_conversion(body: Conversion) -> dict[str, Any]:
    """Store a conversion, its commission and the transfer."""
    amount, marker = int(body.amount * 10_000), body.external_id
    values = {"amount": amount, "marker": marker}
    return await insert("POST conversions", body.referral_code, **values)


@app.get(f"{API}/conversions/")
async def list_conversions(page: int = 1) -> list[dict[str, Any]]:
    """Return a page of conversions with their commissions."""
    rows = await run("GET conversions", offset=(page - 1) * PAGE_SIZE)
    sql, names = PREPARED["GET conversions"][1]
    values = {"account": ACCOUNT_ID}
    nested = await pool.fetch(
        f"{sql} = ANY(${len(names) + 1})",
        *(values[name] for name in names),
        [row[0] for row in rows],
    )
    return represent_conversions(rows, nested)


@app.get(f"{API}/customers/{{customer_id}}/")
async def get_customer(customer_id: str) -> dict[str, Any]:
    """Return a customer."""
    rows = await run("GET customer", customer=customer_id)
    return REPRESENTATIONS["GET customer"](rows)[0]


@app.get(f"{API}/affiliate-prospects/")
async def list_prospects(page: int = 1) -> list[dict[str, Any]]:
    """Return a page of prospects."""
    rows = await run("GET prospects", offset=(page - 1) * PAGE_SIZE)
    return REPRESENTATIONS["GET prospects"](rows)
