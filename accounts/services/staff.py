"""Staff: signed in to the back office of one account, managed by its owners.

Who may do what, and who signs in, is decided with all staff of the account locked: an
account keeps an owner who can sign in, however many change it at once.
"""

from datetime import datetime

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils.module_loading import import_string

from accounts.errors import (
    LastOwner,
    OddSetting,
    OwnerNoMore,
    OwnSignIn,
    StaffActive,
    StaffExists,
    UnknownStaff,
)
from accounts.ids import random_text
from accounts.models.accounts import Account
from accounts.models.keys import Role
from accounts.models.users import LONGEST_EMAIL, User
from accounts.services.events import note

PASSWORD_LENGTH = 20


def invite_staff(
    account: Account,
    *,
    email: str,
    role: str,
    password: str | None,
    by: User | None = None,
    at: datetime,
) -> tuple[User, str | None]:
    """A sign-in that sees this account alone, and its password if it was made here.

    With `by`, as long as that one may: an owner whom nobody has made less meanwhile.
    """
    email = email.strip().casefold()
    refuse_odd_address(email)
    made = None if password is not None else random_text(PASSWORD_LENGTH)
    user = User(account=account, email=email, role=role, created_at=at)
    refuse_weak(password if made is None else made, user)
    user.set_password(password if made is None else made)
    try:
        with transaction.atomic():
            if by is not None:
                hold_all(account, by=by)
            user.save(force_insert=True)
            note(account, "staff.invited", account, at=at, role=role)
    except IntegrityError:
        if User.objects.filter(email=email).exists():
            raise StaffExists(email=email) from None
        raise
    return user, made


def new_password(
    account: Account, *, email: str, by: User | None = None, at: datetime
) -> str:
    """Give somebody another password, made here; what they are signed in to ends, and
    a second factor is asked for no more: its device may be lost."""
    made = random_text(PASSWORD_LENGTH)
    with transaction.atomic():
        if by is None:
            user = staff_named(account, email)
        else:
            user, _ = hold_staff(account, email=email, by=by)
        user.set_password(made)
        account.staff.filter(pk=user.pk).update(password=user.password)
        note(account, "staff.password_renewed", account, at=at, number=user.pk)
        drop_second_factor(user, at=at)
    return made


def note_own_password(user: User, *, at: datetime) -> None:
    """Write down that somebody changed the own password."""
    if user.account is not None:
        note(user.account, "staff.password_changed", user.account, at=at)


def drop_second_factor(user: User, *, at: datetime) -> None:
    """Let somebody in by the password alone."""
    drop = settings.DROP_SECOND_FACTOR
    if drop and import_string(drop)(user):
        note_second_factor(user, "removed", at=at)


def note_second_factor(user: User, what: str, *, at: datetime) -> None:
    """Write down that a second factor was added, or removed; nothing of its secret."""
    if user.account is not None:
        kind = f"staff.second_factor_{what}"
        note(user.account, kind, user.account, at=at, number=user.pk)


def change_role(
    account: Account, *, email: str, role: str, by: User, at: datetime
) -> User:
    """Let somebody do more or less from the next request on."""
    with transaction.atomic():
        user, others = hold_staff(account, email=email, by=by)
        was = user.role
        if was != role:
            if role != Role.OWNER:
                refuse_last_owner(user, others)
            account.staff.filter(pk=user.pk).update(role=role)
            user.role = role
            note(
                account,
                "staff.role_changed",
                account,
                at=at,
                number=user.pk,
                role=[was, role],
            )
    return user


def deactivate(account: Account, *, email: str, by: User, at: datetime) -> User:
    """Let somebody in no more: what they are signed in to ends, and so does their
    password, so that no forgotten browser comes back with them."""
    with transaction.atomic():
        user, others = hold_staff(account, email=email, by=by)
        if user.is_active:
            refuse_last_owner(user, others)
            user.is_active = False
            user.set_unusable_password()
            write_sign_in(account, user)
            note(account, "staff.deactivated", account, at=at, number=user.pk)
    return user


def activate(account: Account, *, email: str, by: User, at: datetime) -> str:
    """Let somebody in again, with a password that is made here."""
    made = random_text(PASSWORD_LENGTH)
    with transaction.atomic():
        user, _ = hold_staff(account, email=email, by=by)
        if user.is_active:
            raise StaffActive(email=user.email)
        user.is_active = True
        user.set_password(made)
        write_sign_in(account, user)
        note(account, "staff.activated", account, at=at, number=user.pk)
        drop_second_factor(user, at=at)
    return made


def hold_staff(account: Account, *, email: str, by: User) -> tuple[User, list[User]]:
    """The one with this address, and all others, as they stand now: locked.

    Operators manage the staff of every account; an owner does as long as nobody has
    made them less, and never their own sign-in.
    """
    held = hold_all(account, by=by)
    user = next((it for it in held if it.email == email.casefold()), None)
    if user is None:
        raise UnknownStaff(email=email)
    if user == by:
        raise OwnSignIn
    return user, [it for it in held if it != user]


def hold_all(account: Account, *, by: User) -> list[User]:
    """Everybody who signs in to the account, locked, if this one manages them now."""
    held = list(account.staff.select_for_update(no_key=True).order_by("pk"))
    if not by.is_superuser and not any(it == by and is_owner(it) for it in held):
        raise OwnerNoMore
    return held


def refuse_last_owner(user: User, others: list[User]) -> None:
    """Stop here if nobody else could manage the account."""
    if is_owner(user) and not any(is_owner(it) for it in others):
        raise LastOwner(email=user.email)


def is_owner(user: User) -> bool:
    """Does somebody do everything in the account, and sign in?"""
    return user.role == Role.OWNER and user.is_active


def write_sign_in(account: Account, user: User) -> None:
    """Keep whether somebody signs in, and with which password."""
    account.staff.filter(pk=user.pk).update(
        is_active=user.is_active, password=user.password
    )


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
