"""Staff users: they have access to the back office of one account.

The account's owners manage them. Changes lock all staff users of the account, so that
it keeps an active owner under concurrent changes.
"""

from datetime import datetime

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import (
    UserAttributeSimilarityValidator,
    validate_password,
)
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.module_loading import import_string
from django.utils.translation import gettext

from accounts.email_addresses import fold_email, validate_address
from accounts.errors import (
    AmbiguousSignIn,
    DuplicateStaffUser,
    InvalidSetting,
    LastOwnerRequired,
    NotAccountOwner,
    OwnUserNotModifiable,
    PasswordNotChanged,
    StaffUserAlreadyActive,
    StaffUserNotFound,
)
from accounts.ids import generate_random_text
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.models.api_keys import Role
from accounts.models.users import MAX_EMAIL_LENGTH, User
from accounts.services.changes import log_event

GENERATED_PASSWORD_LENGTH = 20


class EmailSimilarityValidator(UserAttributeSimilarityValidator):
    """Refuses passwords like the address; Django would name the field by its label."""

    def __init__(self) -> None:
        super().__init__(user_attributes=["email"])

    def get_error_message(self) -> str:
        return gettext("The password is too similar to the e-mail address.")


def create_staff_user(
    account: Account,
    *,
    email: str,
    role: str,
    password: str | None,
    by: User | None = None,
    at: datetime,
) -> tuple[User, str | None]:
    """Create a user with access to one account.

    Without a password, one is generated and returned with the user. `by` is the acting
    user, who must still be an owner of the account.
    """
    email = fold_email(email.strip())
    validate_email_address(email)
    generated = generate_password() if password is None else None
    password = generated if password is None else password
    user = User(account=account, email=email, role=role, created_at=at)
    validate_password_strength(password, user)
    user.set_password(password)
    try:
        with transaction.atomic():
            if by is not None:
                lock_all_staff(account, by=by)
            user.save(force_insert=True)
            log_event(account, "staff.created", account, at=at, user_id=user.log_id, role=role)
    except IntegrityError:
        if account.staff.filter(email=email).exists():
            raise DuplicateStaffUser(email=email) from None
        raise
    return user, generated


def reset_password(account: Account, *, email: str, by: User | None = None, at: datetime) -> str:
    """Set a generated password and return it.

    The user's sessions end, and the second factor is removed, as its device may be
    lost. The next sign-ins show that `by` reset the password.
    """
    password = generate_password()
    with transaction.atomic():
        if by is None:
            user = lock_user(get_staff_user(account, email))
        else:
            user, _ = lock_staff_user(account, email=email, by=by)
        user.set_password(password)
        user.password_reset_by = by
        user.password_reset_at = None if by is None else at
        update_credentials(account, user)
        log_event(account, "staff.password_reset", account, at=at, user_id=user.log_id)
        remove_second_factor(user, at=at)
    return password


def get_staff_user_to_sign_in(email: str, *, account: str | None) -> User:
    """Return the user with this address, of the account with this slug if one is given.

    An empty slug means the operator. Raises `StaffUserNotFound`, or `AmbiguousSignIn`
    without a slug if the address has users in several accounts.
    """
    if account is not None:
        user = User.objects.find_for_sign_in(account=account, email=email)
        users = [] if user is None else [user]
    else:
        users = list(
            User.objects.filter(email=fold_email(email))
            .select_related("account")
            .order_by("account__slug")
        )
    if not users:
        raise StaffUserNotFound(email=email)
    if len(users) > 1:
        accounts = [f'"{user.account.slug if user.account else ""}"' for user in users]
        raise AmbiguousSignIn(email=email, accounts=", ".join(accounts))
    return users[0]


def set_password(user: User, password: str, *, at: datetime) -> None:
    """Set the password that a user chose; the user's sessions end.

    Nothing but the password is written, and only while the user is active and has the
    password that was read: another person may deactivate the user, or reset the
    password, in that moment. Raises `InvalidSetting` if the password is too weak, and
    `PasswordNotChanged`.
    """
    validate_password_strength(password, user)
    hashed = make_password(password)
    with transaction.atomic():
        users = User.objects.filter(pk=user.pk, is_active=True, password=user.password)
        if not users.update(password=hashed, password_reset_at=None, password_reset_by=None):
            raise PasswordNotChanged(email=user.email)
        if user.account is not None:
            log_event(
                user.account,
                "staff.password_changed",
                user.account,
                at=at,
                user_id=user.log_id,
            )
    user.password = hashed


def remove_second_factor(user: User, *, at: datetime) -> None:
    """Remove the second factor of a user, who then signs in by password only."""
    remover = settings.SECOND_FACTOR_REMOVER
    if remover and import_string(remover)(user):
        log_second_factor_change(user, "staff.second_factor_removed", at=at)


def log_second_factor_change(user: User, kind: str, *, at: datetime) -> None:
    """Log an event about the second factor of a staff user; operators have no log."""
    if user.account is not None:
        log_event(user.account, kind, user.account, at=at, user_id=user.log_id)


def update_role(account: Account, *, email: str, role: str, by: User | None, at: datetime) -> User:
    """Change the role of a staff user, effective from their next request."""
    with transaction.atomic():
        user, others = lock_staff_user(account, email=email, by=by)
        old_role = user.role
        if old_role != role:
            if role != Role.OWNER:
                ensure_another_owner(user, others)
            account.staff.filter(pk=user.pk).update(role=role)
            user.role = role
            log_event(
                account,
                "staff.role_changed",
                account,
                at=at,
                user_id=user.log_id,
                role=[old_role, role],
            )
    return user


def update_email(account: Account, *, email: str, new_email: str, at: datetime) -> User:
    """Change the address by which a staff user signs in; password and sessions stay."""
    new_email = fold_email(new_email.strip())
    validate_email_address(new_email)
    try:
        with transaction.atomic():
            user = lock_user(get_staff_user(account, email))
            if user.email != new_email:
                account.staff.filter(pk=user.pk).update(email=new_email)
                user.email = new_email
                log_event(account, "staff.email_changed", account, at=at, user_id=user.log_id)
    except IntegrityError:
        if account.staff.filter(email=new_email).exists():
            raise DuplicateStaffUser(email=new_email) from None
        raise
    return user


def deactivate_staff_user(account: Account, *, email: str, by: User | None, at: datetime) -> User:
    """Deactivate a staff user: their sessions end and their password is removed."""
    with transaction.atomic():
        user, others = lock_staff_user(account, email=email, by=by)
        if user.is_active:
            ensure_another_owner(user, others)
            user.is_active = False
            user.set_unusable_password()
            update_credentials(account, user)
            log_event(account, "staff.deactivated", account, at=at, user_id=user.log_id)
    return user


def activate_staff_user(account: Account, *, email: str, by: User | None, at: datetime) -> str:
    """Activate a deactivated staff user with a generated password; return it."""
    password = generate_password()
    with transaction.atomic():
        user, _ = lock_staff_user(account, email=email, by=by)
        if user.is_active:
            raise StaffUserAlreadyActive(email=user.email)
        user.is_active = True
        user.set_password(password)
        user.password_reset_at, user.password_reset_by = (at if by else None), by
        update_credentials(account, user)
        log_event(account, "staff.activated", account, at=at, user_id=user.log_id)
        remove_second_factor(user, at=at)
    return password


def generate_password() -> str:
    """Return a random password."""
    return generate_random_text(GENERATED_PASSWORD_LENGTH)


def lock_user(user: User) -> User:
    """Return the user as it is now, locked until the transaction ends."""
    return User.objects.select_for_update(no_key=True).get(pk=user.pk)


def lock_staff_user(account: Account, *, email: str, by: User | None) -> tuple[User, list[User]]:
    """Lock all staff users; return the one with this e-mail address, and the others.

    `by` must be an operator or an active owner of the account, and another user; None
    is a command of an operator.
    """
    staff = lock_all_staff(account, by=by)
    user = next((each for each in staff if each.email == fold_email(email)), None)
    if user is None:
        raise StaffUserNotFound(email=email)
    if user == by:
        raise OwnUserNotModifiable
    return user, [each for each in staff if each != user]


def lock_all_staff(account: Account, *, by: User | None) -> list[User]:
    """Lock and return all staff users of the account.

    Raises `NotAccountOwner` unless `by` is an operator or an active owner.
    """
    staff = list(account.staff.select_for_update(no_key=True).order_by("pk"))
    is_owner = any(each == by and is_active_owner(each) for each in staff)
    if by is not None and not by.is_superuser and not is_owner:
        raise NotAccountOwner
    return staff


def ensure_another_owner(user: User, others: list[User]) -> None:
    """Raise `LastOwnerRequired` if the user is the account's only active owner."""
    if is_active_owner(user) and not any(is_active_owner(each) for each in others):
        raise LastOwnerRequired(email=user.email)


def is_active_owner(user: User) -> bool:
    """Return whether the user is active and has the owner role."""
    return user.role == Role.OWNER and user.is_active


def update_credentials(account: Account, user: User) -> None:
    """Store the user's active flag and password, and who reset it."""
    account.staff.filter(pk=user.pk).update(
        is_active=user.is_active,
        password=user.password,
        password_reset_at=user.password_reset_at,
        password_reset_by=user.password_reset_by_id,
    )


def get_staff_user(account: Account, email: str) -> User:
    """Return the account's staff user with this e-mail address."""
    missing = StaffUserNotFound(email=email)
    return get_or_raise(account.staff, missing, email=fold_email(email))


def validate_email_address(email: str) -> None:
    """Raise `InvalidSetting` if the text is not an e-mail address or too long."""
    try:
        validate_address(email)
        is_valid = len(email) <= MAX_EMAIL_LENGTH
    except ValidationError:
        is_valid = False
    if not is_valid:
        rule = f"like name@example.org, {MAX_EMAIL_LENGTH} characters at most"
        raise InvalidSetting(setting="The e-mail address", rule=rule, path="email")


def validate_password_strength(password: str | None, user: User) -> None:
    """Raise `InvalidSetting` if a password is too weak."""
    try:
        validate_password(password or "", user)
    except ValidationError as error:
        raise InvalidSetting(
            setting="The password",
            rule=f"stronger: {' '.join(error.messages)}",
            path="password",
        ) from None
