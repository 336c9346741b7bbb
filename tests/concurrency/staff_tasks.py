"""Tasks about staff users: owners demote and deactivate each other."""

import re
from datetime import UTC, datetime
from http import HTTPStatus

from django.test import Client

from accounts.errors import DomainError
from accounts.services.invitations import accept_invitation
from accounts.services.recovery_codes import use_recovery_code
from accounts.services.staff import deactivate_staff_user, update_role
from affiliate_site.backoffice.site import OwnPasswordForm

AT = datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC)


def demote_task(account, *, by, email):
    """Change the role of a staff user to viewer."""
    return run_and_report(update_role, account, by=by, email=email, role="viewer")


def deactivate_task(account, *, by, email):
    """Deactivate a staff user."""
    return run_and_report(deactivate_staff_user, account, by=by, email=email)


def run_and_report(operation, account, *, by, **kwargs):
    """Return `done` or the name of the error."""
    try:
        operation(account, by=account.staff.get(email=by), **kwargs, at=AT)
    except DomainError as error:
        return type(error).__name__
    return "done"


def accept_task(account, *, token):
    """Accept an invitation."""
    try:
        accept_invitation(token, password="lamps-at-the-harbor", at=AT)
    except DomainError as error:
        return type(error).__name__
    return "done"


def recover_task(account, *, email, code):
    """Use a recovery code."""
    is_valid = use_recovery_code(account.staff.get(email=email), code, at=AT)
    return "used" if is_valid else "refused"


def change_password_task(account, *, email, password):
    """Change the own password at the page of the back office."""
    names = ("old_password", "new_password1", "new_password2")
    values = (password, "boats-at-the-harbor", "boats-at-the-harbor")
    form = OwnPasswordForm(account.staff.get(email=email), dict(zip(names, values, strict=True)))
    try:
        return bool(form.is_valid() and form.save()) and "done"
    except DomainError as error:
        return type(error).__name__


def save_page_task(account, *, email, path, **values):
    """Open a form of the back office and save it; return `done`, or the page that says why not."""
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(account.staff.get(email=email))
    shown = client.get(path).content.decode()
    version = re.search(r'name="version" value="([^"]*)"', shown)
    answer = client.post(path, values | ({"version": version[1]} if version else {}))
    return "done" if answer.status_code == HTTPStatus.FOUND else answer.content.decode()


STAFF_TASKS = {
    "save_page": save_page_task,
    "change_password": change_password_task,
    "demote": demote_task,
    "deactivate": deactivate_task,
    "accept": accept_task,
    "recover": recover_task,
}
