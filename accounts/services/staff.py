"""Staff: signed in to the back office of one account."""

from datetime import datetime

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction

from accounts.errors import OddSetting, StaffExists, UnknownStaff
from accounts.ids import random_text
from accounts.models.accounts import Account
from accounts.models.users import LONGEST_EMAIL, User
from accounts.services.events import note

PASSWORD_LENGTH = 20


def invite_staff(
    account: Account, *, email: str, role: str, password: str | None, at: datetime
) -> tuple[User, str | None]:
    """A sign-in that sees this account alone, and its password if it was made here."""
    email = email.strip().casefold()
    refuse_odd_address(email)
    made = None if password is not None else random_text(PASSWORD_LENGTH)
    user = User(account=account, email=email, role=role, created_at=at)
    refuse_weak(password if made is None else made, user)
    user.set_password(password if made is None else made)
    try:
        with transaction.atomic():
            user.save(force_insert=True)
            note(account, "staff.invited", account, at=at, role=role)
    except IntegrityError:
        if User.objects.filter(email=email).exists():
            raise StaffExists(email=email) from None
        raise
    return user, made


def new_password(account: Account, *, email: str, at: datetime) -> str:
    """Give somebody another password, made here; what they are signed in to ends."""
    user, made = staff_named(account, email), random_text(PASSWORD_LENGTH)
    user.set_password(made)
    with transaction.atomic():
        account.staff.filter(pk=user.pk).update(password=user.password)
        note(account, "staff.password_renewed", account, at=at)
    return made


def note_own_password(user: User, *, at: datetime) -> None:
    """Write down that somebody changed the own password."""
    if user.account is not None:
        note(user.account, "staff.password_changed", user.account, at=at)


def change_role(account: Account, *, email: str, role: str, at: datetime) -> User:
    """Let somebody do more or less from the next request on."""
    user = staff_named(account, email)
    was = user.role
    if was != role:
        with transaction.atomic():
            account.staff.filter(pk=user.pk).update(role=role)
            user.role = role
            note(account, "staff.role_changed", account, at=at, role=[was, role])
    return user


def staff_named(account: Account, email: str) -> User:
    """The account's member of staff with this address."""
    user = account.staff.filter(email=email.casefold()).first()
    if user is None:
        raise UnknownStaff(email=email)
    return user


def refuse_odd_address(email: str) -> None:
    """Stop here if a text is no e-mail address, or does not fit its column."""
    try:
        validate_email(email)
        is_address = len(email) <= LONGEST_EMAIL
    except ValidationError:
        is_address = False
    if not is_address:
        rule = f"like name@example.org, {LONGEST_EMAIL} characters at most"
        raise OddSetting(setting="The e-mail address", rule=rule)


def refuse_weak(password: str | None, user: User) -> None:
    """Stop here if a password is short, common, or like the address."""
    try:
        validate_password(password or "", user)
    except ValidationError as flaw:
        raise OddSetting(
            setting="The password", rule=f"better: {' '.join(flaw.messages)}"
        ) from None
