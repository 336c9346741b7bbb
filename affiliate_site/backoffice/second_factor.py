"""Two-factor authentication: a time-based code from the user's device, or one of the
recovery codes that the user got with it.

It is imported only if STAFF_OTP is on.
No URL identifies a device: users see, confirm and remove only their own.
"""

from base64 import b32encode
from datetime import timedelta
from functools import wraps
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

from accounts.services.notifications import warn_about_codes
from accounts.services.rate_limits import open_window
from accounts.services.recovery_codes import (
    create_recovery_codes,
    delete_recovery_codes,
    use_recovery_code,
)
from accounts.services.staff import lock_user, log_second_factor_change
from affiliate_site import qr_codes
from affiliate_site.backoffice.site import (
    BackOfficeAdminSite,
    SignInForm,
    throttle_proof,
)

MAX_FAILURES = 13  # which lock for 2**12 seconds, 68 minutes
WARNED_FAILURES = 3
WARNING_INTERVAL = timedelta(days=1)
PENDING_DEVICE_SESSION_KEY = "pending_device"
SECOND_FACTOR_URL_NAME = "admin:second_factor"
ENABLED_MESSAGE = "Two-factor authentication is enabled. Every sign-in now asks for a code."
WRONG_CODE_MESSAGE = "Wrong code. Wait for the next code and enter it."
DISABLED_MESSAGE = "Two-factor authentication is disabled. You sign in with your password only."
WRONG_PROOF_MESSAGE = "Enter your password or an unused code."
REQUIRED_MESSAGE = "Your account requires two-factor authentication: set it up to go on."
# Pages for users who have to set up a device first.
SETUP_URL_NAMES = (
    *("second_factor", "second_factor_begin", "second_factor_confirm"),
    *("jsi18n", "logout"),
)
RECOVERY_CODE_USED_MESSAGE = (
    "You signed in with a recovery code; {count} are left. If your device is lost,"
    " disable two-factor authentication and set it up with a new one."
)


class SecondFactorSignInForm(SignInForm):
    """The sign-in form with a field for the code.

    A wrong or missing code gives the same error as a wrong password, so that it does
    not reveal that the password is correct; the error therefore names the code too.
    """

    code = forms.CharField(
        label="Authentication code (if enabled)",
        required=False,
        help_text="From your app, or a recovery code.",
        widget=forms.TextInput({"autocomplete": "one-time-code"}),
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        css_class = self.fields["username"].widget.attrs["class"]
        self.fields["code"].widget.attrs["class"] = css_class
        self.fields["code"].template_name = "unfold/helpers/field.html"

    error_messages = SignInForm.error_messages | {
        "invalid_login": f"{SignInForm.error_messages['invalid_login']}"
        " If you have enabled two-factor authentication, enter a new code of your"
        " device too."
    }

    def confirm_login_allowed(self, user):
        """Check the code of users who have a device, after the password."""
        super().confirm_login_allowed(user)
        if find_confirmed_device(user) is None:
            return
        code = self.cleaned_data.get("code", "")
        user.otp_device = verify_code(user, code)
        if user.otp_device is None and use_recovery_code(user, code, at=timezone.now()):
            user.otp_device = find_confirmed_device(user)
            messages.warning(
                self.request,
                RECOVERY_CODE_USED_MESSAGE.format(count=len(user.recovery_codes)),
            )
        if user.otp_device is None:
            raise self.get_invalid_login_error()


class SecondFactorAdminSite(BackOfficeAdminSite):
    """The admin site, which requires the code of users who have a device, and a device
    of all staff if their account says so."""

    login_form = SecondFactorSignInForm

    def has_permission(self, request):
        """Deny sessions without a verified code if the user has a device."""
        return super().has_permission(request) and is_second_factor_verified(request)

    def admin_view(self, view, cacheable=False):  # noqa: FBT002 - Django's own signature
        """Lead users to the page of their device if the account requires one."""

        @wraps(view)
        def view_after_setup(request, *args, **kwargs):
            if request.resolver_match.url_name not in SETUP_URL_NAMES and is_setup_required(
                request.user
            ):
                messages.warning(request, REQUIRED_MESSAGE)
                return redirect(SECOND_FACTOR_URL_NAME)
            return view(request, *args, **kwargs)

        return super().admin_view(view_after_setup, cacheable)

    def get_urls(self):
        """Add the pages of two-factor authentication."""
        views = {
            "": second_factor_view,
            "begin/": begin_setup_view,
            "confirm/": confirm_device_view,
            "remove/": remove_device_view,
            "codes/": create_recovery_codes_view,
        }
        return [
            *(
                path(
                    f"second-factor/{step}",
                    self.admin_view(view),
                    {"site": self},
                    name="_".join(["second_factor", *step.split("/")[:-1]]),
                )
                for step, view in views.items()
            ),
            *super().get_urls(),
        ]


@require_safe
def second_factor_view(request, site):
    """Show the state: no device, a device to be confirmed, or a confirmed device."""
    pending = find_pending_device(request, request.user)
    context = {
        **site.each_context(request),
        "title": "Two-factor authentication",
        "device": find_confirmed_device(request.user),
        "qr_code_svg": qr_codes.render_inline_svg(pending.config_url) if pending else "",
        "secret": format_secret(pending) if pending else "",
        "codes_left": len(request.user.recovery_codes),
    }
    return TemplateResponse(request, "admin/second_factor.html", context)


def render_recovery_codes(request, site, codes: list[str]) -> TemplateResponse:
    """The page that shows new recovery codes once; browsers do not store it."""
    context = {
        **site.each_context(request),
        "title": "Recovery codes",
        "codes": "\n".join(codes),
    }
    response = TemplateResponse(request, "admin/recovery_codes.html", context)
    response["Cache-Control"] = "no-store"
    return response


@require_POST
def begin_setup_view(request, site):
    """Create an unconfirmed device for this session, replacing an earlier one, whose
    secret the thief of another session may know."""
    with transaction.atomic():
        user = lock_user(request.user)
        if find_confirmed_device(user) is None:
            list_devices(user, confirmed=False).delete()
            device = TOTPDevice.objects.create(user=user, name="Code", confirmed=False)
            request.session[PENDING_DEVICE_SESSION_KEY] = device.pk
    return redirect(SECOND_FACTOR_URL_NAME)


@require_POST
@sensitive_post_parameters()
def confirm_device_view(request, site):
    """Confirm the device by its code and the password, and show recovery codes; other
    sessions of the user end.

    Without the password, a session left open would be enough to lock the user out.
    """
    if too_many_requests := throttle_proof(request):
        return too_many_requests
    if not request.user.check_password(request.POST.get("password", "")):
        messages.error(request, "Wrong password.")
        return redirect(SECOND_FACTOR_URL_NAME)
    with transaction.atomic():
        user = lock_user(request.user)
        pending = find_pending_device(request, user)
        is_confirmed = pending is not None and pending.verify_token(
            get_submitted_code(request, "code")
        )
        if is_confirmed:
            list_devices(user, confirmed=False).update(confirmed=True)
            log_second_factor_change(user, "staff.second_factor_added", at=timezone.now())
            codes = create_recovery_codes(user, at=timezone.now())
    if not is_confirmed:
        messages.error(request, WRONG_CODE_MESSAGE)
        return redirect(SECOND_FACTOR_URL_NAME)
    login(request, pending)
    messages.success(request, ENABLED_MESSAGE)
    return render_recovery_codes(request, site, codes)


@require_POST
@sensitive_post_parameters()
def create_recovery_codes_view(request, site):
    """Replace the recovery codes; requires the password or an unused code."""
    user = request.user
    if too_many_requests := throttle_proof(request):
        return too_many_requests
    if find_confirmed_device(user) is None:
        return redirect(SECOND_FACTOR_URL_NAME)
    if not is_proven(user, request.POST.get("proof", "")):
        messages.error(request, WRONG_PROOF_MESSAGE)
        return redirect(SECOND_FACTOR_URL_NAME)
    codes = create_recovery_codes(user, at=timezone.now())
    return render_recovery_codes(request, site, codes)


@require_POST
@sensitive_post_parameters()
def remove_device_view(request, site):
    """Delete the device; requires the password or an unused code."""
    user = request.user
    if too_many_requests := throttle_proof(request):
        return too_many_requests
    if not is_proven(user, request.POST.get("proof", "")):
        messages.error(request, WRONG_PROOF_MESSAGE)
        return redirect(SECOND_FACTOR_URL_NAME)
    with transaction.atomic():
        if delete_second_factor(lock_user(user)):
            log_second_factor_change(user, "staff.second_factor_removed", at=timezone.now())
    messages.success(request, DISABLED_MESSAGE)
    return redirect(SECOND_FACTOR_URL_NAME)


def delete_second_factor(user) -> bool:
    """Delete all devices and codes of a user; True if a device was confirmed."""
    had_confirmed_device = find_confirmed_device(user) is not None
    TOTPDevice.objects.filter(user=user).delete()
    delete_recovery_codes(user)
    return had_confirmed_device


def is_second_factor_verified(request) -> bool:
    """Whether the user has no device, or entered its code in this session.

    The result is cached on the request.
    """
    if not hasattr(request, "is_second_factor_verified"):
        device = find_confirmed_device(request.user)
        verified_id = request.session.get(DEVICE_ID_SESSION_KEY)
        request.is_second_factor_verified = device is None or device.persistent_id == verified_id
    return request.is_second_factor_verified


def is_proven(user, proof: str) -> bool:
    """Whether the text is the user's password, or a code that was not used yet."""
    return (
        user.check_password(proof)
        or verify_code(user, proof) is not None
        or use_recovery_code(user, proof, at=timezone.now())
    )


def is_setup_required(user) -> bool:
    """Whether the account requires a device and the user has none."""
    account = user.account
    return (
        account is not None
        and account.require_second_factor
        and find_confirmed_device(user) is None
    )


def verify_code(user, code: str) -> TOTPDevice | None:
    """The confirmed device if the code is valid, else None.

    A code is accepted once; wrong codes delay the next attempt.
    """
    device, digits = find_confirmed_device(user), "".join(code.split())
    if device is None or not digits.isdigit():
        return None
    verified = verify_token(user, device.persistent_id, digits)
    if verified is None:
        limit_lock(user, device)
    return verified


def limit_lock(user, device: TOTPDevice) -> None:
    """Bound how long wrong codes lock a device, and warn the user once a day.

    Each failure doubles the time. About 21 codes a day can be tried at its limit, of
    which each is right in 3 of a million cases.
    """
    rows = TOTPDevice.objects.filter(pk=device.pk)
    rows.filter(throttling_failure_count__gt=MAX_FAILURES).update(
        throttling_failure_count=MAX_FAILURES
    )
    is_suspicious = rows.filter(throttling_failure_count__gte=WARNED_FAILURES).exists()
    if is_suspicious and open_window(f"staff-codes {user.pk}", hits=1, window=WARNING_INTERVAL):
        warn_about_codes(user)


def find_confirmed_device(user) -> TOTPDevice | None:
    """The confirmed device of a user, or None."""
    return list_devices(user, confirmed=True).first()


def find_pending_device(request, user) -> TOTPDevice | None:
    """The unconfirmed device that this session has started, or None."""
    pk = request.session.get(PENDING_DEVICE_SESSION_KEY)
    return list_devices(user, confirmed=False).filter(pk=pk).first()


def list_devices(user, *, confirmed: bool):
    return TOTPDevice.objects.devices_for_user(user, confirmed=confirmed)


def get_submitted_code(request, name: str) -> str:
    """A code of the form without the spaces that apps display."""
    return "".join(request.POST.get(name, "").split())


def format_secret(device: TOTPDevice) -> str:
    """The secret in groups of four characters."""
    return " ".join(wrap(b32encode(device.bin_key).decode(), 4))
