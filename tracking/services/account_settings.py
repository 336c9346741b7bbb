"""Settings of an account that its owners change."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.db_compat import BATCH_SIZE
from accounts.errors import InvalidSetting, SigningSecretRequired
from accounts.models.accounts import Account
from accounts.services.accounts import update_settings
from accounts.services.changes import log_event
from tracking.errors import TooManyCustomersForRequest
from tracking.meta_data import MetaDataFieldError, find_email, validate_key
from tracking.money import get_currency

MAX_EMAIL_KEYS = 5


def update_customer_email_keys(account: Account, *, keys: Sequence[str], at: datetime) -> Account:
    """Set the meta data keys that hold a customer's e-mail address, the best one first.

    The existing customers are read again, in a transaction for each batch, which takes
    about a minute per million. If that is interrupted, call it again with the same
    keys.
    """
    keys = list(dict.fromkeys(key.strip() for key in keys))
    validate_email_keys(keys)
    old = account.customer_email_keys
    if keys != old:
        with transaction.atomic():
            Account.objects.filter(pk=account.pk).update(customer_email_keys=keys)
            log_event(
                account,
                "account.customer_email_keys_changed",
                account,
                at=at,
                customer_email_keys=[old, keys],
            )
        account.customer_email_keys = keys
    _update_emails(account)
    return account


def validate_email_keys(keys: Sequence[str]) -> None:
    """Raise `InvalidSetting` unless customers can have these keys."""
    setting = "The keys of e-mail addresses"
    if len(keys) > MAX_EMAIL_KEYS:
        rule = f"{MAX_EMAIL_KEYS} at most"
        raise InvalidSetting(setting=setting, rule=rule, path="customer_email_keys")
    for key in keys:
        try:
            validate_key(key)
        except MetaDataFieldError as error:
            rule = f"keys of meta data; “{key}” is none: {error.text}"
            raise InvalidSetting(setting=setting, rule=rule, path="customer_email_keys") from None


def _update_emails(account: Account) -> None:
    last_pk = 0
    while True:
        with transaction.atomic():
            rows = account.customers.filter(pk__gt=last_pk).order_by("pk")
            batch = list(
                rows.select_for_update(no_key=True).only("account_id", "meta_data", "email_folded")[
                    :BATCH_SIZE
                ]
            )
            changed = []
            for customer in batch:
                email = find_email(customer.meta_data, account.customer_email_keys)
                if email != customer.email_folded:
                    customer.email_folded = email
                    changed.append(customer)
            account.customers.bulk_update(changed, ["email_folded"])
        if len(batch) < BATCH_SIZE:
            return
        last_pk = batch[-1].pk


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
            raise TooManyCustomersForRequest(limit=MAX_CUSTOMERS_READ)
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
