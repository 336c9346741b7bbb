"""A second factor for who signs in: a code that a device shows, good for one sign-in.

Imported where STAFF_OTP is on, and nowhere else; no other module knows the library.
No address names a device: whoever is signed in sees, confirms and removes the own one.
"""

from base64 import b32encode
from textwrap import wrap

from django import forms
from django.contrib import messages
from django.db import transaction
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe
from django_otp import DEVICE_ID_SESSION_KEY, login, verify_token
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.models.users import User
from accounts.services.staff import note_second_factor
from affiliate_site.backoffice import qr
from affiliate_site.backoffice.seam import SignInForm, StaffSite, refuse_too_many

PAGE = "admin:second_factor"
ADDED = "The second factor is on: from now on, each sign-in asks for a code."
NOT_ADDED = "That code is not right. Wait for the next one, and type that."
REMOVED = "The second factor is off: the password alone lets you in."
NOT_REMOVED = "That is neither your password nor a code that was not used yet."


class CodeForm(SignInForm):
    """The sign-in, with a code from whoever uses one.

    A wrong code is told like a wrong password, or it would prove that one.
    """

    code = forms.CharField(
        label="Code, if you use one",
        required=False,
        widget=forms.TextInput({"autocomplete": "one-time-code"}),
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        look = self.fields["username"].widget.attrs["class"]
        self.fields["code"].widget.attrs["class"] = look
        self.fields["code"].template_name = "unfold/helpers/field.html"

    def confirm_login_allowed(self, user):
        """The password was right; where there is a device, its code has to be too."""
        super().confirm_login_allowed(user)
        if device_of(user) is None:
            return
        user.otp_device = takes_code(user, self.cleaned_data.get("code", ""))
        if user.otp_device is None:
            raise self.get_invalid_login_error()


class GuardedSite(StaffSite):
    """The back office, into which nobody with a device comes without its code."""

    login_form = CodeForm

    def has_permission(self, request):
        """A session from before the device was added is as good as none."""
        return super().has_permission(request) and has_given_code(request)

    def get_urls(self):
        """The pages of the second factor, before the site's own."""
        steps = {"": show, "begin/": begin, "confirm/": confirm, "remove/": remove}
        return [
            *(
                path(
                    f"second-factor/{step}",
                    self.admin_view(view),
                    {"site": self},
                    name="_".join(["second_factor", *step.split("/")[:-1]]),
                )
                for step, view in steps.items()
            ),
            *super().get_urls(),
        ]


@require_safe
def show(request, site):
    """Where somebody stands: no device, one to be confirmed, or one in use."""
    pending = devices(request.user, confirmed=False).first()
    context = {
        **site.each_context(request),
        "title": "Second factor",
        "device": device_of(request.user),
        "picture": qr.inline(pending.config_url) if pending else "",
        "secret": spelled(pending) if pending else "",
    }
    return TemplateResponse(request, "admin/second_factor.html", context)


@require_POST
def begin(request, site):
    """Make a secret to be put into a device; it counts once a code confirms it."""
    with transaction.atomic():
        user = held(request.user)
        if device_of(user) is None:
            devices(user, confirmed=False).delete()
            TOTPDevice.objects.create(user=user, name="Code", confirmed=False)
    return redirect(PAGE)


@require_POST
def confirm(request, site):
    """Put the device in use if it shows the right code; other sessions end."""
    with transaction.atomic():
        user = held(request.user)
        pending = devices(user, confirmed=False).first()
        is_right = pending is not None and pending.verify_token(typed(request, "code"))
        if is_right:
            devices(user, confirmed=False).update(confirmed=True)
            note_second_factor(user, "added", at=timezone.now())
    if not is_right:
        messages.error(request, NOT_ADDED)
        return redirect(PAGE)
    login(request, pending)
    messages.success(request, ADDED)
    return redirect(PAGE)


@require_POST
@sensitive_post_parameters()
def remove(request, site):
    """Forget the device, for who knows the password or has a code at hand."""
    user = request.user
    if refusal := refuse_too_many(request, user.email):
        return refusal
    proof = request.POST.get("proof", "")
    if not user.check_password(proof) and not takes_code(user, proof):
        messages.error(request, NOT_REMOVED)
        return redirect(PAGE)
    with transaction.atomic():
        if drop(held(user)):
            note_second_factor(user, "removed", at=timezone.now())
    messages.success(request, REMOVED)
    return redirect(PAGE)


def drop(user) -> bool:
    """Forget what somebody has; was a device in use?"""
    was_used = device_of(user) is not None
    TOTPDevice.objects.filter(user=user).delete()
    return was_used


def has_given_code(request) -> bool:
    """Was the code given in this session, by who has a device? Asked once a request."""
    if not hasattr(request, "has_given_code"):
        device = device_of(request.user)
        given = request.session.get(DEVICE_ID_SESSION_KEY)
        request.has_given_code = device is None or device.persistent_id == given
    return request.has_given_code


def takes_code(user, code: str) -> TOTPDevice | None:
    """The device whose code this is; each is good once, wrong ones slow it down."""
    device, digits = device_of(user), "".join(code.split())
    if device is None or not digits.isdigit():
        return None
    return verify_token(user, device.persistent_id, digits)


def device_of(user) -> TOTPDevice | None:
    """The one that is in use."""
    return devices(user, confirmed=True).first()


def devices(user, *, confirmed: bool):
    """What somebody has: the device in use, or the one to be confirmed."""
    return TOTPDevice.objects.devices_for_user(user, confirmed=confirmed)


def held(user) -> User:
    """The same, locked: two browsers at once make no second device."""
    return User.objects.select_for_update(no_key=True).get(pk=user.pk)


def typed(request, name: str) -> str:
    """A code as it was typed, without the blanks that devices show."""
    return "".join(request.POST.get(name, "").split())


def spelled(device: TOTPDevice) -> str:
    """The secret, in fours, as devices ask for it."""
    return " ".join(wrap(b32encode(device.bin_key).decode(), 4))
