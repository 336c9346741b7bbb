"""Staff: users, their invitations and their saved views of lists."""

from datetime import datetime
from functools import partial
from typing import Any, ClassVar

from django.contrib.auth import get_backends
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.hashers import check_password, make_password
from django.db import models
from django.utils import timezone

from accounts.actor import ActorKind, build_actor
from accounts.email_addresses import fold_email
from accounts.ids import generate_public_id
from accounts.models.accounts import Account, TenantModel
from accounts.models.api_keys import Role

MAX_EMAIL_LENGTH = 254


class UserManager(BaseUserManager["User"]):
    """Find the user who signs in, and create operators."""

    def find_for_sign_in(self, *, account: str, email: str) -> "User | None":
        """Return the staff user of the account with this slug; "": the operator."""
        users = self.filter(email=fold_email(email))
        if account:
            return users.filter(account__slug=account).first()
        return users.filter(account=None).first()

    def create_superuser(self, email: str, password: str | None = None) -> "User":
        """Create an operator, for Django's `createsuperuser` command."""
        operator = User(email=fold_email(email), is_superuser=True)
        operator.set_password(password)
        operator.validate_constraints()
        operator.save(using=self._db)
        return operator


class User(AbstractBaseUser):
    """A user who signs in to the back office with account and e-mail address.

    Staff have the permissions of their role, as API keys do; operators have all. A
    person who works for two accounts has a user in each: see docs/reliability.md,
    section 5.
    """

    not_exported: ClassVar[dict[str, str]] = {
        "recovery_codes": "second-factor secrets",
    }

    account = models.ForeignKey(
        Account, models.PROTECT, null=True, related_name="staff", db_index=False
    )
    email = models.EmailField("e-mail", max_length=MAX_EMAIL_LENGTH)  # lower case
    # The name in the audit log, which has no addresses. An account that moves keeps it.
    log_id = models.CharField(max_length=32, default=partial(generate_public_id, "us"))
    role = models.CharField(max_length=16, choices=Role, default=Role.OWNER)
    is_active = models.BooleanField("active", default=True)
    is_superuser = models.BooleanField(default=False)
    last_login = models.DateTimeField("last sign-in", blank=True, null=True)
    created_at = models.DateTimeField(default=timezone.now)
    # Set when another user resets the password, until the user changes it.
    password_reset_at = models.DateTimeField(null=True)
    password_reset_by = models.ForeignKey(
        "self", models.PROTECT, null=True, related_name="+", db_index=False
    )

    mails_alerts_since = models.DateTimeField(null=True)  # null: wants no such mail

    # SHA-256 digests of the unused recovery codes of the second factor.
    recovery_codes = models.JSONField(default=list, db_default=models.Value([], models.JSONField()))

    objects = UserManager()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        verbose_name = "staff user"
        verbose_name_plural = "staff users"
        constraints = [
            models.UniqueConstraint(fields=["account", "email"], name="one_staff_user_per_email"),
            models.UniqueConstraint(fields=["account", "log_id"], name="one_staff_user_per_log_id"),
            models.UniqueConstraint(
                fields=["email"],
                condition=models.Q(account=None),
                name="one_operator_per_email",
                violation_error_message="An operator with this e-mail already exists.",
            ),
            models.CheckConstraint(
                condition=models.Q(account__isnull=True, is_superuser=True)
                | models.Q(account__isnull=False, is_superuser=False),
                name="staff_of_an_account_or_operator",
            ),
        ]

    def __str__(self) -> str:
        return self.email

    def check_password(self, raw_password: str | None) -> bool:
        """Whether the password is right; its hash is renewed if it is of an old kind.

        Only the hash that was read is replaced: Django would undo a reset.
        """

        def renew(raw_password: str) -> None:
            users = User.objects.filter(pk=self.pk, password=self.password)
            self.password = make_password(raw_password)
            users.update(password=self.password)

        return check_password(raw_password, self.password, renew)

    @property
    def actor_name(self) -> str:
        """The name of the user in the audit log: an ID instead of the address."""
        kind = ActorKind.OPERATOR if self.is_superuser else ActorKind.STAFF
        return build_actor(kind, self.log_id)

    @property
    def is_staff(self) -> bool:
        """Allow every user to sign in to the back office."""
        return True

    def has_perm(self, perm: str, obj: Any = None) -> bool:
        """Return whether the user has a permission like `tracking.change_program`."""
        return any(backend.has_perm(self, perm, obj) for backend in get_backends())

    def has_module_perms(self, app_label: str) -> bool:
        """Return whether the user may see any model of an app."""
        return self.is_active


class Invitation(TenantModel):
    """An invitation; the digest identifies the token of its link, which works once."""

    not_exported = "one-time links"

    digest = models.CharField(max_length=64)
    email = models.EmailField("e-mail", max_length=MAX_EMAIL_LENGTH)  # lower case
    role = models.CharField(max_length=16, choices=Role)
    invited_by = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField("revoked", null=True)

    class Meta:
        default_related_name = "invitations"
        constraints = [
            # Looked up before the account is known.
            models.UniqueConstraint(fields=["digest"], name="one_invitation_per_digest"),
        ]
        indexes = [models.Index(fields=["account", "email"], name="invitations_by_email")]

    def __str__(self) -> str:
        return self.email

    @property
    def log_id(self) -> int:
        """The name in the audit log, which has no e-mail addresses."""
        return self.pk

    def get_state(self, *, at: datetime) -> str:
        """Return `open`, or why the link does not work any more."""
        if self.accepted_at is not None:
            return "accepted"
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at <= at else "open"


MAX_NAME_LENGTH = 64
MAX_QUERY_LENGTH = 2000


class MailRhythm(models.TextChoices):
    """When a saved report is mailed."""

    WEEK = "week", "On the first day of a week"
    MONTH = "month", "On the first day of a month"


class SavedView(TenantModel):
    """The query of the URL of a list or report under a name, for its user or the team.

    A report may be on the dashboard, and be mailed to its user.
    """

    user = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    # The label of the model, `tracking.affiliate`; of a report with its page behind it.
    list = models.CharField(max_length=64)
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    query = models.CharField(max_length=MAX_QUERY_LENGTH)
    shared_at = models.DateTimeField(null=True)  # with the team
    pinned_at = models.DateTimeField(null=True)  # to the dashboard
    mailed_every = models.CharField(  # noqa: DJ001 - null: never
        max_length=8, choices=MailRhythm, null=True
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "saved_views"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "user", "list", "name"],
                name="one_saved_view_per_name",
            )
        ]

    def __str__(self) -> str:
        return self.name
