"""Payout methods: how an affiliate is paid."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.encryption import calculate_blind_index
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.errors import PayoutMethodNotFound
from payouts.models.payments import PayoutMethod, PayoutMethodKind
from payouts.models.runs import LeftOutReason, PayoutLineState, PayoutRun
from payouts.payout_details import (
    get_identifier,
    list_problems,
    mask_changes,
    mask_details,
    normalize_details,
)
from tracking.errors import AffiliateNotFound
from tracking.models.affiliates import Affiliate
from tracking.services.affiliates import get_affiliate
from tracking.services.mails import queue_security_mail
from tracking.services.portal_settings import get_contact

PAYOUT_CHANGE_MAIL = "payout_change"
KINDS: dict[str, Any] = {  # in the language of the affiliate
    PayoutMethodKind.PAYPAL: PayoutMethodKind.PAYPAL.label,
    PayoutMethodKind.WIRE_TRANSFER: _("Wire transfer"),
    PayoutMethodKind.BANK: _("Bank account"),
    PayoutMethodKind.WISE: PayoutMethodKind.WISE.label,
    PayoutMethodKind.OTHER: _("Other"),
}
SUBJECT = _("Your payout details at {account} were changed")
TEXT = _(
    "Hello {name},\n\nhow {account} pays you was changed: {method}.\n\nIf you neither"
    " did nor expected this, write to {contact} at once and set a new password.\n"
)
REMOVED_TEXT = _(
    "Hello {name},\n\nhow {account} pays you was changed, this was removed: {method}."
    "\n\nIf you neither did nor expected this, write to {contact} at once and set a"
    " new password.\n"
)

# Names of details that the audit log has: nobody can erase it, and other names, which
# anybody chooses, may say something of a person.
LOGGED_DETAILS = {
    *("account_holder", "account_number", "address", "bank", "bank_name", "bic"),
    *("country", "email", "iban", "name", "paypal_address", "recipient"),
    *("routing_number", "swift"),
}
MAX_EQUAL_METHODS = 20  # shown
MAX_REASON_LENGTH = 500  # of a hold or a canceled payment
RETURNED_WITHOUT_REASON = "Refused or returned, without a reason"


def validate_payout_method_kind(kind: str) -> None:
    """Raise `PayoutMethodNotFound` for an unknown kind."""
    if kind not in PayoutMethodKind.values:
        raise PayoutMethodNotFound


def set_payout_method(
    account: Account,
    *,
    affiliate_id: str,
    kind: str,
    details: Mapping[str, str] | None,
    is_primary: bool,
    at: datetime,
    should_notify: bool = True,
) -> PayoutMethod:
    """Create a payout method or replace its details; None leaves the details.

    The first payout method of an affiliate becomes the primary one. Other details end
    the hold of a method, unless the last payment to them came back. The audit log gets
    the names of what changed, and numbers and addresses only masked: nobody can erase
    it. The affiliate gets a mail if `should_notify`.
    """
    validate_payout_method_kind(kind)
    with transaction.atomic():
        affiliate = get_affiliate(account, affiliate_id, lock=True)
        affiliate.account = account
        methods = account.payout_methods.filter(affiliate=affiliate)
        is_first = not methods.exists()
        method = methods.filter(kind=kind).first()
        before = dict(method.details) if method else {}
        was_primary = method is not None and method.is_primary
        is_new = method is None
        if method is None:
            method = account.payout_methods.create(affiliate=affiliate, kind=kind)
            details = details or {}
        if details is not None and (is_new or details != before):
            method.update_row(
                details=dict(details),
                details_changed_at=at,
                blind_index=calculate_method_index(kind, details),
                on_hold_reason=_find_hold_reason(affiliate, kind, details),
            )
        if is_first or is_primary:
            methods.exclude(pk=method.pk).update(is_primary=False)
            method.update_row(is_primary=True)
        fields = _list_changed_fields(kind, before, method.details)
        if method.is_primary and not was_primary:
            fields.append("primary")
        changes = mask_changes(kind, before, method.details)
        log_event(
            account,
            "payout_method.set",
            affiliate,
            at=at,
            method=kind,
            fields=fields,
            **changes,
        )
        if fields and should_notify:
            _queue_mail(affiliate, method, TEXT, at=at)
    return method


def release_payout_method(
    account: Account, *, affiliate_id: str, kind: str, at: datetime
) -> PayoutMethod:
    """End the hold of a payout method: payout runs use it again.

    Also one of a removed affiliate, whose balance stays payable.
    Raises `PayoutMethodNotFound` if the affiliate has none of this kind on hold.
    """
    with transaction.atomic():
        affiliate = get_or_raise(
            account.affiliates, AffiliateNotFound, slug=affiliate_id, lock=True
        )
        methods = account.payout_methods.filter(affiliate=affiliate, kind=kind)
        method = methods.exclude(on_hold_reason="").first()
        if method is None:
            raise PayoutMethodNotFound
        method.update_row(on_hold_reason="")
        log_event(account, "payout_method.released", affiliate, at=at, method=kind)
    return method


def remove_payout_method(account: Account, *, affiliate_id: str, kind: str, at: datetime) -> None:
    """Remove a payout method; the next one becomes primary if it was.

    Raises `PayoutMethodNotFound`.
    """
    with transaction.atomic():
        affiliate = get_affiliate(account, affiliate_id, lock=True)
        affiliate.account = account
        methods = account.payout_methods.filter(affiliate=affiliate)
        method = methods.filter(kind=kind).first()
        if method is None:
            raise PayoutMethodNotFound
        methods.filter(pk=method.pk).delete()
        following = methods.in_definition_order().first()
        if method.is_primary and following is not None:
            following.update_row(is_primary=True)
        log_event(
            account,
            "payout_method.removed",
            affiliate,
            at=at,
            method=kind,
            **mask_changes(kind, method.details, {}),
        )
        _queue_mail(affiliate, method, REMOVED_TEXT, at=at)


def describe_return(payment_id: str, reason: str) -> str:
    """Return the reason of a hold: which payment came back, and why."""
    text = f"{payment_id}: {reason or RETURNED_WITHOUT_REASON}"
    return text[:MAX_REASON_LENGTH]


def find_obstacle(method: PayoutMethod | None) -> str:
    """Return why nobody is paid by this primary method; empty if it can be used."""
    if method is None:
        return LeftOutReason.NO_METHOD
    if list_problems(method.kind, method.details):
        return LeftOutReason.METHOD_INCOMPLETE
    return LeftOutReason.METHOD_ON_HOLD if method.on_hold_reason else ""


def calculate_method_index(kind: str, details: Mapping[str, str]) -> str | None:
    """Return the blind index of a method; None if its details name no account."""
    identifier = get_identifier(kind, details)
    return calculate_blind_index(identifier) if identifier else None


def list_equal_methods(account: Account, methods: Sequence[PayoutMethod]) -> list[PayoutMethod]:
    """Return methods of other affiliates, unless removed, that name the same accounts.

    `methods` are of one affiliate.
    """
    indexes = [row.blind_index for row in methods if row.blind_index]
    if not indexes:
        return []
    rows = account.payout_methods.filter(blind_index__in=indexes, affiliate__deleted_at=None)
    rows = rows.exclude(affiliate=methods[0].affiliate_id).select_related("affiliate")
    return list(rows.order_by("affiliate", "id")[:MAX_EQUAL_METHODS])


def list_shared_methods(run: PayoutRun) -> list[PayoutMethod]:
    """Return the payout methods that pay several affiliates of a draft's lines."""
    account = run.account
    paid = account.payout_lines.filter(run=run, state=PayoutLineState.INCLUDED)
    methods = account.payout_methods.filter(
        affiliate__in=paid.values("affiliate"),
        is_primary=True,
        blind_index__isnull=False,
    )
    groups = methods.order_by().values("blind_index").annotate(number=Count("pk"))
    shared = groups.filter(number__gt=1).values("blind_index")
    rows = methods.filter(blind_index__in=shared).select_related("affiliate")
    return list(rows.order_by("blind_index", "affiliate")[:MAX_EQUAL_METHODS])


def _queue_mail(affiliate: Affiliate, method: PayoutMethod, text: Promise, *, at: datetime) -> None:
    """Write to the affiliate, who recognizes the method; a new one knows."""
    if affiliate.created_at != at:
        queue_security_mail(
            affiliate,
            kind=PAYOUT_CHANGE_MAIL,
            subject=SUBJECT,
            text=text,
            method=format_lazy(
                "{} {}",
                KINDS[method.kind],
                mask_details(method.kind, method.details),
            ),
            contact=get_contact(affiliate.account),
            at=at,
        )


def _find_hold_reason(affiliate: Affiliate, kind: str, details: Mapping[str, str]) -> str:
    """Return why the last payment of a run to these details came back; else empty.

    Removing a method and adding it again does not end its hold.
    """
    values = normalize_details(kind, details)
    answered = (PayoutLineState.SETTLED, PayoutLineState.RETURNED)
    lines = affiliate.account.payout_lines.filter(
        affiliate=affiliate, method=kind, state__in=answered
    )
    for line in lines.select_related("payment").order_by("-id"):
        if line.receiver.get("details") == values:
            if line.state == PayoutLineState.SETTLED:
                return ""
            return describe_return(str(line.payment), line.bank_reason)
    return ""


def _list_changed_fields(
    kind: str, before: Mapping[str, str], after: Mapping[str, str]
) -> list[str]:
    """The names of the details that were set, changed or removed."""
    old, new = normalize_details(kind, before), normalize_details(kind, after)
    changed = {
        name.lower() if name.lower() in LOGGED_DETAILS else "others"
        for name in {*old, *new}
        if old.get(name) != new.get(name)
    }
    return sorted(changed)
