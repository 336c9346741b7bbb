"""Users: staff of an account, and operators, who belong to none and see them all."""

from typing import Any, ClassVar

from django.contrib.auth import get_backends
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from django.utils import timezone

from accounts.models.accounts import Account
from accounts.models.keys import Role

LONGEST_EMAIL = 254


class UserManager(BaseUserManager["User"]):
    """Users, found by their e-mail address in any case."""

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email=(username or "").casefold())

    def create_superuser(self, email: str, password: str | None = None) -> "User":
        """An operator, for Django's own `createsuperuser`."""
        operator = User(email=email.casefold(), is_superuser=True)
        operator.set_password(password)
        operator.save(using=self._db)
        return operator


class User(AbstractBaseUser):
    """Somebody who signs in to the back office with an e-mail address.

    What staff may do is their role, as it is for keys; operators may do everything.
    """

    account = models.ForeignKey(
        Account, models.PROTECT, null=True, related_name="staff", db_index=False
    )
    email = models.EmailField(max_length=LONGEST_EMAIL)  # without capitals
    role = models.CharField(max_length=16, choices=Role, default=Role.OWNER)
    is_active = models.BooleanField(default=True)
    is_superuser = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    objects = UserManager()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["email"], name="one_user_per_email"),
            models.CheckConstraint(
                condition=models.Q(account__isnull=True, is_superuser=True)
                | models.Q(account__isnull=False, is_superuser=False),
                name="staff_of_an_account_or_operator",
            ),
        ]

    def __str__(self) -> str:
        return self.email

    @property
    def is_staff(self) -> bool:
        """Everybody who signs in does so to the back office."""
        return True

    def has_perm(self, name: str, thing: Any = None) -> bool:
        """`tracking.change_program`: may this user do that?"""
        return any(it.has_perm(self, name, thing) for it in get_backends())

    def has_module_perms(self, app_label: str) -> bool:
        """May this user see anything of an app?"""
        return self.is_active
