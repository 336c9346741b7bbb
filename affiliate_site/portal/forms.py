"""Forms of the portal."""

from datetime import date
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.days import A_DAY
from accounts.email_addresses import validate_address
from tracking.models.questions import MAX_TEXT_LENGTH
from tracking.services.clicks import SUB_ID_PATTERN

MAX_DAYS = 366  # of a statement
MAX_PASSWORD_LENGTH = 1000  # hashing longer ones would take long


class LineField(forms.CharField):
    """One line of text: mails repeat it, so it starts no paragraph of its own."""

    def to_python(self, value: Any) -> str:
        """Replace line breaks and repeated spaces by a space."""
        return " ".join((super().to_python(value) or "").split())


class EmailField(forms.EmailField):
    """An e-mail address that mail can be sent to."""

    default_validators = [validate_address]
    # The catalog of REST framework would say *du* to Germans.
    default_error_messages = {"invalid": _("Enter a valid email address.")}


class EmailForm(forms.Form):
    """An e-mail address."""

    email = EmailField(
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


class CodeForm(forms.Form):
    """A code of the second factor."""

    code = forms.CharField(
        label=_("Code"),
        max_length=40,
        widget=forms.TextInput({"autocomplete": "one-time-code", "autocapitalize": "none"}),
    )


class NewPasswordForm(forms.Form):
    password = forms.CharField(
        label=_("New password"),
        max_length=MAX_PASSWORD_LENGTH,
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )


class ChangePasswordForm(NewPasswordForm):
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
        error_messages={"invalid": _("Enter a valid URL.")},  # as of addresses
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
        error_messages={"invalid": _("Use letters, digits and - _ . only, without spaces.")},
    )


class MissingSaleForm(forms.Form):
    order_id = forms.CharField(
        label=_("Order ID"),
        max_length=255,
        help_text=_("As the shop wrote it to the customer."),
    )
    day = forms.DateField(label=_("Day of the order"), widget=forms.DateInput({"type": "date"}))

    def __init__(self, *args: Any, today: date, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.today = today

    def clean_day(self) -> date:
        """No day to come; one of tomorrow may be today where the affiliate lives."""
        day: date = self.cleaned_data["day"]
        if day > self.today + A_DAY:
            raise forms.ValidationError(_("This day is still to come."))
        return day


class QuestionForm(forms.Form):
    """What the affiliate wants to know."""

    text = forms.CharField(
        label=_("Your question"),
        max_length=MAX_TEXT_LENGTH,
        widget=forms.Textarea({"rows": 4}),
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
