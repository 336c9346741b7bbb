"""Tasks about the portal: affiliates sign in and set passwords."""

from datetime import UTC, datetime

from tests.portal_links import create_portal_link
from tracking.services.affiliates import get_affiliate
from tracking.services.portal_access import (
    change_portal_password,
    set_portal_password,
    sign_in,
    use_sign_in_link,
)
from tracking.services.portal_addresses import record_address
from tracking.services.portal_applications import (
    apply_for_program,
    confirm_application,
)
from tracking.services.portal_emails import cancel_email_change, confirm_email_change

AT = datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC)


def use_sign_in_link_task(account, *, token):
    """Sign in with a link."""
    use_sign_in_link(account, token, at=AT)


def set_portal_password_task(account, *, token, password):
    """Set the password with a link."""
    set_portal_password(account, token, password=password, at=AT)


def change_portal_password_task(account, *, affiliate_id, old_password, password):
    """Change the password."""
    affiliate = get_affiliate(account, affiliate_id)
    change_portal_password(affiliate, old_password=old_password, password=password, at=AT)


def create_portal_link_task(account, *, affiliate_id):
    """Create a link to set a password; return its token."""
    affiliate = get_affiliate(account, affiliate_id)
    return create_portal_link(affiliate, purpose="set_password", at=AT)


def sign_in_task(account, *, email, password):
    """Sign in with a password; return the token of the session."""
    return sign_in(account, email=email, password=password, at=AT)


def record_address_task(account, *, affiliate_id, address):
    """Sign in from an address."""
    record_address(get_affiliate(account, affiliate_id), address, at=AT)


def confirm_application_task(account, *, token):
    """Confirm an application with a link."""
    confirm_application(account, token, at=AT)


def apply_for_program_task(account, *, affiliate_id, slug):
    """Apply for a program, signed in."""
    affiliate = get_affiliate(account, affiliate_id)
    affiliate.account = account
    apply_for_program(affiliate, program_slug=slug, terms_version=None, at=AT)


def confirm_email_change_task(account, *, token):
    """Confirm another e-mail address; return whether it changed."""
    return confirm_email_change(account, token, at=AT)


def cancel_email_change_task(account, *, token):
    """Cancel another e-mail address."""
    cancel_email_change(account, token, at=AT)


PORTAL_TASKS = {
    "confirm_application": confirm_application_task,
    "apply_for_program": apply_for_program_task,
    "confirm_email_change": confirm_email_change_task,
    "cancel_email_change": cancel_email_change_task,
    "use_sign_in_link": use_sign_in_link_task,
    "set_portal_password": set_portal_password_task,
    "change_portal_password": change_portal_password_task,
    "create_portal_link": create_portal_link_task,
    "record_address": record_address_task,
    "sign_in": sign_in_task,
}
