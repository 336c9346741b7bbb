"""The second factor of an affiliate: switch it on and off, and enter a code."""

import pyotp
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _

from affiliate_site.portal.access import (
    build_url,
    portal_page,
    show,
    start_session,
    translate_error,
)
from affiliate_site.portal.confirmations import ConfirmedForm
from affiliate_site.portal.forms import CodeForm
from affiliate_site.portal.throttling import (
    TOO_MANY_ATTEMPTS,
    TOO_MANY_CODES,
    forget_right_code,
    is_code_throttled,
    is_sign_in_throttled,
)
from affiliate_site.portal_sessions import COOKIE
from affiliate_site.qr_codes import render_inline_svg
from tracking.errors import CodeRequired, LinkExpired, WrongCode, WrongPassword
from tracking.models.portal import LinkPurpose
from tracking.services.portal_access import (
    add_second_factor,
    create_proof,
    enter_code,
    is_proof,
)
from tracking.services.portal_links import get_link
from tracking.services.second_factor import (
    get_second_factor,
    remove_second_factor,
    start_second_factor,
)


class SetUpForm(CodeForm, ConfirmedForm):
    """The first code of an app, and the password."""


def ask_for_code(account, error: CodeRequired):
    """Lead to the page that asks for the code of a sign-in."""
    return redirect(build_url(account, "enter_code", token=error.params["token"]))


@portal_page("GET", "HEAD", "POST", is_public=True)
def code(request, token: str):
    """Finish a sign-in by a code."""
    form, status = CodeForm(request.POST or None), 200
    if request.method == "POST" and form.is_valid():
        code = form.cleaned_data["code"]
        if is_sign_in_throttled(request, request.account, token):
            form.add_error(None, TOO_MANY_ATTEMPTS)
            status = 429
        else:
            account, at = request.account, timezone.now()
            try:
                link = get_link(account, token, LinkPurpose.SECOND_FACTOR, at=at)
                if not is_code_throttled(link.affiliate, code):
                    session = enter_code(account, token, code=code, at=at)
                    forget_right_code(link.affiliate, code)
                    return start_session(request, session)
            except (WrongCode, LinkExpired) as error:
                form.add_error("code", translate_error(error))
            else:
                form.add_error(None, TOO_MANY_CODES)
                status = 429
    context = {"title": _("Enter the code"), "form": form}
    return show(request, "enter_code", context, status=status)


def find_limit(request, affiliate, code: str):
    """Count a code of who is signed in; return which limit is exceeded, if one is."""
    if is_sign_in_throttled(request, request.account, affiliate.slug):
        return TOO_MANY_ATTEMPTS
    return TOO_MANY_CODES if is_code_throttled(affiliate, code) else ""


@portal_page("GET", "HEAD", "POST")
def second_factor(request):
    """Switch the second factor on, which shows the recovery codes once, or off."""
    affiliate, is_start = request.affiliate, "start" in request.POST
    app = (start_second_factor if is_start else get_second_factor)(affiliate)
    is_on = app is not None and app.confirmed_at is not None
    data = None if is_start else request.POST or None
    form, status = (CodeForm if is_on else SetUpForm)(data), 200
    context = {"title": _("Second factor"), "form": form, "is_on": is_on}
    if isinstance(form, SetUpForm) and is_proof(affiliate, request.POST.get("proof", "")):
        form.replace_password(request.POST["proof"])
    if request.method == "POST" and form.is_valid():
        if limit := find_limit(request, affiliate, form.cleaned_data["code"]):
            form.add_error(None, limit)
            status = 429
        else:
            try:
                return switch(request, context, **form.cleaned_data)
            except (WrongCode, WrongPassword) as error:
                form.add_error(error.path, translate_error(error))
                if isinstance(form, SetUpForm) and isinstance(error, WrongCode) and not form.proof:
                    form.replace_password(create_proof(affiliate))  # the password was right
    # Only the page that starts shows the secret, and asks for it again.
    is_own = is_start or (app and app.secret == request.POST.get("secret"))
    if app and is_own and not is_on and not request.viewed_by:
        name = affiliate.email or affiliate.slug
        uri = pyotp.TOTP(app.secret).provisioning_uri(name=name, issuer_name=request.account.name)
        key = {"label": _("Key"), "url": app.secret}
        context |= {"key": key, "app_url": uri, "qr_code": render_inline_svg(uri)}
    return show(request, "second_factor", context, status=status)


def switch(request, context, *, code: str, old_password: str = "", proof: str = ""):
    """Switch it off, or on and show the recovery codes.

    Raises `WrongCode` and `WrongPassword`.
    """
    affiliate, at = request.affiliate, timezone.now()
    if context["is_on"]:
        remove_second_factor(affiliate, code=code, at=at)
        forget_right_code(affiliate, code)
        return redirect(request.path)
    token = request.COOKIES[COOKIE]
    secret = request.POST.get("secret", "")
    codes = add_second_factor(
        affiliate, password=proof or old_password, secret=secret, code=code, token=token, at=at
    )
    forget_right_code(affiliate, code)
    return show(request, "recovery_codes", context | {"codes": codes})
