"""Forms of the portal."""

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

MAX_DAYS = 366  # of a statement
MAX_PASSWORD_LENGTH = 1000  # hashing longer ones would take long


class EmailForm(forms.Form):
    """An e-mail address."""

    email = forms.EmailField(
        label="E-mail address",
        max_length=254,
        widget=forms.EmailInput({"autocomplete": "username"}),
    )


class SignInForm(EmailForm):
    """E-mail address and password."""

    password = forms.CharField(
        max_length=MAX_PASSWORD_LENGTH,
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "current-password"}),
    )


class NewPasswordForm(forms.Form):
    """A new password."""

    password = forms.CharField(
        label="New password",
        max_length=MAX_PASSWORD_LENGTH,
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )


class ChangePasswordForm(NewPasswordForm):
    """The present password and a new one."""

    old_password = forms.CharField(
        label="Present password",
        max_length=MAX_PASSWORD_LENGTH,
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "current-password"}),
    )

    field_order = ("old_password", "password")


class DeepLinkForm(forms.Form):
    """A page of the shop."""

    page = forms.URLField(
        label="Page of the shop", max_length=2000, assume_scheme="https"
    )


class PeriodForm(forms.Form):
    """Days, both included."""

    start = forms.DateField(label=_("From"), widget=forms.DateInput({"type": "date"}))
    end = forms.DateField(label=_("To"), widget=forms.DateInput({"type": "date"}))

    def clean(self) -> dict[str, Any]:
        """At most a year: a page lists all that happened."""
        days = super().clean() or {}
        start, end = days.get("start"), days.get("end")
        if start and end and (end - start).days > MAX_DAYS:
            self.add_error(
                "end",
                gettext("A statement is of at most {days} days.").format(days=MAX_DAYS),
            )
        return days
