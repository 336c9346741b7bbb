"""Settings of an account that its owners change."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from accounts.errors import SigningSecretRequired
from accounts.models.accounts import Account
from accounts.services.accounts import update_settings
from tracking.errors import TooManyCustomers
from tracking.money import get_currency
from tracking.services.customer_search import update_customer_email_keys

MAX_CUSTOMERS_READ = 50_000  # in a request: about three seconds


def update_account_settings(
    account: Account, *, changes: Mapping[str, Any], at: datetime
) -> Account:
    """Set the columns in `changes`; a blank default currency means none.

    Raises `SigningSecretRequired` if signatures are required before there is a secret.
    All customers are read if `customer_email_keys` change, so with more than
    `MAX_CUSTOMERS_READ` these keys are left to the command.
    """
    values = dict(changes)
    email_keys = values.pop("customer_email_keys", account.customer_email_keys)
    if email_keys != account.customer_email_keys:
        if account.customers.order_by("pk")[MAX_CUSTOMERS_READ:].exists():
            raise TooManyCustomers(limit=MAX_CUSTOMERS_READ)
        update_customer_email_keys(account, keys=email_keys, at=at)
    if values.get("default_currency"):
        values["default_currency"] = get_currency(values["default_currency"])
    if values.get("require_signatures") and not account.require_signatures:
        ensure_signing_secret(account)
    return update_settings(account, changes=values, at=at)


def ensure_signing_secret(account: Account) -> None:
    """Raise `SigningSecretRequired` unless a signing secret is valid."""
    if not account.signing_secrets.filter(revoked_at=None).exists():
        raise SigningSecretRequired
