"""Tasks about affiliates: clicks, parents, changes, deletions."""

from datetime import UTC, datetime

from payouts.services.encryption import rotate_encryption
from payouts.services.erasure import erase_person
from payouts.services.payout_methods import set_payout_method
from tracking.attribution import TrackingParameters
from tracking.services.affiliates import (
    delete_affiliate,
    get_affiliate,
    update_affiliate,
)
from tracking.services.clicks import Visit, record_click
from tracking.services.hierarchy import set_parent
from tracking.services.notes import create_note

AT = datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC)


def create_click_task(account, **parameters):
    """Record a click on an affiliate link."""
    record_click(account, visit=Visit(parameters=TrackingParameters(**parameters)), at=AT)


def set_parent_task(account, *, affiliate_id, parent_id):
    """Set the parent of an affiliate."""
    set_parent(account, affiliate_id=affiliate_id, parent_id=parent_id, at=AT)


def delete_affiliate_task(account, *, affiliate_id):
    """Delete an affiliate."""
    delete_affiliate(account, affiliate_id=affiliate_id, at=AT)


def erase_person_task(account, *, identifier):
    """Erase a person."""
    erase_person(account, identifier=identifier, at=AT)


def rename_affiliate_task(account, *, affiliate_id, lastname):
    """Change the last name of an affiliate."""
    changes = {"lastname": lastname}
    update_affiliate(account, affiliate_id=affiliate_id, changes=changes, at=AT)


def create_note_task(account, *, affiliate_id, text):
    """Write a note about an affiliate."""
    affiliate = get_affiliate(account, affiliate_id)
    create_note(account, affiliate=affiliate, text=text, at=AT)


def set_payout_method_task(account, *, affiliate_id, text):
    """Set the PayPal account of an affiliate."""
    set_payout_method(
        account,
        affiliate_id=affiliate_id,
        kind="paypal",
        details={"account": text},
        is_primary=False,
        at=AT,
    )


def rotate_encryption_task(account):
    """Encrypt all encrypted columns by the first key."""
    rotate_encryption(is_dry_run=False, on_batch=lambda _: None)


AFFILIATE_TASKS = {
    "rotate_encryption": rotate_encryption_task,
    "erase_person": erase_person_task,
    "rename_affiliate": rename_affiliate_task,
    "create_note": create_note_task,
    "set_payout_method": set_payout_method_task,
    "create_click": create_click_task,
    "set_parent": set_parent_task,
    "delete_affiliate": delete_affiliate_task,
}
