"""Forms of the portal."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from tracking.services.clicks import SUB_ID_PATTERN

MAX_DAYS = 366  # of a statement
MAX_PASSWORD_LENGTH = 1000  # hashing longer ones would take long


class EmailForm(forms.Form):
    """An e-mail address."""

    email = forms.EmailField(
        label=_("E-mail address"),
        max_length=254,
        widget=forms.EmailInput({"autocomplete": "username"}),
    )


class SignInForm(EmailForm):
    """E-mail address and password."""

    password = forms.CharField(
        label=_("Password"),
        max_length=MAX_PASSWORD_LENGTH,
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "current-password"}),
    )


class NewPasswordForm(forms.Form):
    """A new password."""

    password = forms.CharField(
        label=_("New password"),
        max_length=MAX_PASSWORD_LENGTH,
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )


class ChangePasswordForm(NewPasswordForm):
    """The present password and a new one."""

    old_password = forms.CharField(
        label=_("Present password"),
        max_length=MAX_PASSWORD_LENGTH,
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "current-password"}),
    )

    field_order = ("old_password", "password")


class DeepLinkForm(forms.Form):
    """A page of the shop, and where the link to it will be."""

    page = forms.URLField(
        label=_("Page of the shop"),
        max_length=1500,
        assume_scheme="https",
        # Not of the type `url`: browsers would refuse a page without https://.
        widget=forms.TextInput({"inputmode": "url", "autocapitalize": "none"}),
    )
    sub_id = forms.RegexField(
        SUB_ID_PATTERN,
        label=_("Your own name for the link"),
        required=False,
        max_length=64,
        help_text=_(
            "If you like: where you put it, such as newsletter-12. You can then see how"
            " often it was clicked there."
        ),
        error_messages={
            "invalid": _("Use letters, digits and - _ . only, without spaces.")
        },
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
                "end", _("A statement is of at most {days} days.").format(days=MAX_DAYS)
            )
        return days
