"""Forms whose changes the present password confirms."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib.auth.hashers import is_password_usable
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _

from accounts.errors import DomainError, ErrorList
from affiliate_site.portal.access import build_url, show, translate_error
from affiliate_site.portal.forms import MAX_PASSWORD_LENGTH
from affiliate_site.portal.throttling import find_password_limit


class ConfirmedForm(forms.Form):
    """A form whose last field is the present password."""

    old_password = forms.CharField(
        label=_("Your password"),
        max_length=MAX_PASSWORD_LENGTH,
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "current-password"}),
        help_text=_("So that nobody else can change this."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.order_fields([*(name for name in self.fields if name != "old_password")])

    def show_error(self, error: DomainError) -> None:
        """Show next to its field what a service refuses."""
        field = error.path if error.path in self.fields else None
        self.add_error(field, translate_error(error))


def run_confirmed(
    request: Any, form: ConfirmedForm, service: Callable[..., Any], **values: Any
) -> int:
    """Call a service with the password; return 0, or the status of the form's page."""
    affiliate = request.affiliate
    if not form.is_valid():
        return 200
    if limit := find_password_limit(request, affiliate):
        form.add_error(None, limit)
        return 429
    try:
        service(affiliate, password=form.cleaned_data["old_password"], **values)
    except ErrorList as error:
        for each in error.errors:
            form.show_error(each)
        return 200
    except DomainError as error:
        form.show_error(error)
        return 200
    return 0


def show_form(
    request: Any,
    title: str,
    form: forms.Form,
    button: str,
    *,
    text: str = "",
    back: str = "payments",
    template: str = "form_page",
    status: int = 200,
    **context: Any,
) -> HttpResponse:
    """A page with a form; without a button, with the text only.

    Who has no password to confirm it sets one first.
    """
    is_confirmed = isinstance(form, ConfirmedForm)
    is_usable = not is_confirmed or is_password_usable(request.affiliate.password)
    context |= {
        "title": title,
        "form": form,
        "button": button,
        "text": text,
        "is_confirmed": is_confirmed,
        "is_usable": is_usable,
        "back_url": build_url(request.account, back),
        "password_url": build_url(request.account, "ask_for_link"),
    }
    return show(request, template, context, status=status)
