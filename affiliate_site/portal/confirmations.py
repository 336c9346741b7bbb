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
from affiliate_site.portal.throttling import (
    find_password_limit,
    forget_right_password,
)
from tracking.services.portal_access import create_proof, is_own_password, is_proof


class ConfirmedForm(forms.Form):
    """A form whose last field is the present password."""

    old_password = forms.CharField(
        label=_("Your password"),
        max_length=MAX_PASSWORD_LENGTH,
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "current-password"}),
        help_text=_("So that nobody else can do this."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.proof = ""
        self.order_fields([*(name for name in self.fields if name != "old_password")])

    def replace_password(self, proof: str) -> None:
        """Ask for the password no more: a text of the page has proven it."""
        self.proof = proof
        del self.fields["old_password"]
        self.fields["proof"] = forms.CharField(widget=forms.HiddenInput())
        data: Any = self.data.copy()  # type: ignore[attr-defined]  # a QueryDict
        data["proof"] = proof
        self.data = data

    def show_error(self, error: DomainError) -> None:
        """Show next to its field what a service refuses."""
        field = error.path if error.path in self.fields else None
        self.add_error(field, translate_error(error))


def run_confirmed(
    request: Any, form: ConfirmedForm, service: Callable[..., Any], **values: Any
) -> int:
    """Call a service with the password; return 0, or the status of the form's page."""
    affiliate = request.affiliate
    if not is_valid(request, form):
        return 200
    if not form.proof and (limit := find_password_limit(affiliate)):
        form.add_error(None, limit)
        return 429
    password = form.proof or form.cleaned_data["old_password"]
    try:
        service(affiliate, password=password, **values)
    except ErrorList as error:
        for each in error.errors:
            form.show_error(each)
    except DomainError as error:
        form.show_error(error)
    if form.errors:
        keep_proof(affiliate, form)
        return 200
    if not form.proof:
        forget_right_password(affiliate)
    return 0


def is_valid(request: Any, form: ConfirmedForm) -> bool:
    """Validate a form; a proof that the page kept stands for the password."""
    affiliate, proof = request.affiliate, request.POST.get("proof", "")
    if not form.is_bound:
        return False
    if proof and not form.proof and is_proof(affiliate, proof):
        form.replace_password(proof)
    if form.is_valid():
        return True
    password = form.data.get("old_password", "")
    if password and not form.proof and not find_password_limit(affiliate):
        keep_proof(affiliate, form)
    return False


def keep_proof(affiliate: Any, form: ConfirmedForm) -> None:
    """Show the form again without the password if it was right, and count it not."""
    password = form.data.get("old_password", "")
    if not form.proof and is_own_password(affiliate, password):
        forget_right_password(affiliate)
        form.replace_password(create_proof(affiliate))


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
