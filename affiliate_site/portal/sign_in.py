"""Sign in by password or by a link in a mail, sign out, and set a password."""

from django.conf import settings
from django.contrib.auth.password_validation import password_validators_help_texts
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.services.notifications import can_send_mail
from affiliate_site.portal.access import (
    build_url,
    end_session,
    portal_page,
    show,
    start_session,
    translate_error,
)
from affiliate_site.portal.forms import EmailForm, NewPasswordForm, SignInForm
from affiliate_site.portal.second_factor_pages import ask_for_code
from affiliate_site.portal.throttling import TOO_MANY_ATTEMPTS, is_sign_in_throttled
from affiliate_site.portal_sessions import COOKIE
from tracking.errors import CodeRequired, LinkExpired, SignInRefused, WeakPassword
from tracking.models.portal import LinkPurpose
from tracking.services import portal_access, portal_links

REFUSED = _("E-mail address or password is wrong.")
LINK_SENT = _(
    "If this address belongs to an affiliate, a mail with a link is on its way. Look"
    " into your spam folder, too."
)


@portal_page("GET", "HEAD", "POST", is_public=True)
def sign_in(request):
    """Sign in by e-mail address and password."""
    form = SignInForm(request.POST or None)
    status = 200
    if request.method == "POST" and form.is_valid():
        email, password = form.cleaned_data["email"], form.cleaned_data["password"]
        if is_sign_in_throttled(request, request.account, email):
            form.add_error(None, TOO_MANY_ATTEMPTS)
            status = 429
        else:
            try:
                token = portal_access.sign_in(
                    request.account, email=email, password=password, at=timezone.now()
                )
            except CodeRequired as error:
                return ask_for_code(request.account, error)
            except SignInRefused:
                form.add_error(None, REFUSED)
            else:
                return start_session(request, token)
    context = {
        "title": _("Sign in"),
        "form": form,
        "link_url": build_url(request.account, "ask_for_link"),
        "apply_url": request.portal.is_open and build_url(request.account, "apply"),
    }
    return show(request, "sign_in", context, status=status)


@portal_page("GET", "HEAD", "POST", is_public=True)
def ask_for_link(request):
    """Mail a link that signs in, or that sets a password.

    The answer is the same for addresses that nobody has.
    """
    account, form = request.account, EmailForm(request.POST or None)
    message: str = ""
    status = 200
    if request.method == "POST" and form.is_valid():
        email = form.cleaned_data["email"]
        if is_sign_in_throttled(request, request.account, email):
            form.add_error(None, TOO_MANY_ATTEMPTS)
            status = 429
        else:
            is_for_password = "password" in request.POST
            portal_links.request_portal_link(
                account,
                email=email,
                purpose=LinkPurpose.SET_PASSWORD if is_for_password else LinkPurpose.SIGN_IN,
                at=timezone.now(),
            )
            message = str(LINK_SENT)
    context = {
        "title": _("Get a link"),
        "form": form,
        "message": message,
        "can_send_mail": can_send_mail(),
    }
    return show(request, "ask_for_link", context, status=status)


@portal_page("GET", "HEAD", "POST", is_public=True)
def use_link(request, token: str):
    """Sign in by a link. A button does it, because mail programs open links, too."""
    message = ""
    if request.method == "POST":
        try:
            session = portal_access.use_sign_in_link(request.account, token, at=timezone.now())
        except CodeRequired as error:
            return ask_for_code(request.account, error)
        except LinkExpired as error:
            message = translate_error(error)
        else:
            return start_session(request, session)
    return show(request, "use_link", {"title": _("Sign in"), "message": message})


@portal_page("GET", "HEAD", "POST", is_public=True)
def set_password(request, token: str):
    """Set a password by a link, and sign in."""
    form = NewPasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            session = portal_access.set_portal_password(
                request.account,
                token,
                password=form.cleaned_data["password"],
                at=timezone.now(),
            )
        except CodeRequired as error:
            return ask_for_code(request.account, error)
        except LinkExpired as error:
            form.add_error(None, translate_error(error))
        except WeakPassword as error:
            form.add_error("password", translate_error(error))
        else:
            return start_session(request, session)
    context = {
        "title": _("Set a password"),
        "form": form,
        "rules": password_validators_help_texts(),
        "has_applied": "applied" in request.GET,
    }
    return show(request, "set_password", context)


@portal_page(is_public=True)
def view_as(request, token: str):
    """Show staff what an affiliate sees, by a link from the back office."""
    try:
        session = portal_access.start_view(request.account, token, at=timezone.now())
    except LinkExpired as error:
        context = {"title": _("Sign in"), "message": translate_error(error)}
        return show(request, "use_link", context, status=410)
    return start_session(request, session)


@portal_page("POST", is_public=True, is_for_staff=True)
def sign_out(request):
    """End this session, or all of them."""
    is_own = request.affiliate is not None and request.viewed_by is None
    if is_own and "everywhere" in request.POST:
        portal_access.sign_out_everywhere(request.affiliate)
    else:
        portal_access.sign_out(request.account, request.COOKIES.get(COOKIE, ""))
    if request.viewed_by:
        page = reverse("admin:tracking_affiliate_change", args=[request.affiliate.pk])
        return end_session(request.account, f"{settings.PUBLIC_URL}{page}")
    return end_session(request.account, build_url(request.account, "sign_in"))
