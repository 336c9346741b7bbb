"""Sign in by password or by a link in a mail, sign out, and set a password."""

from functools import partial

from django.conf import settings
from django.utils import timezone

from accounts.services.notifications import can_send_mail
from affiliate_site.portal.access import (
    COOKIE,
    build_url,
    end_session,
    portal_page,
    show,
    start_session,
)
from affiliate_site.portal.forms import EmailForm, NewPasswordForm, SignInForm
from affiliate_site.throttling import count_sign_in_attempt
from tracking.errors import LinkExpired, SignInRefused, WeakPassword
from tracking.models.portal import LinkPurpose
from tracking.services import portal_access

TOO_MANY_ATTEMPTS = "Too many attempts. Try again in a minute."
REFUSED = "E-mail address or password is wrong."
LINK_SENT = (
    "If this address belongs to an affiliate, a mail with a link is on its way. Look"
    " into your spam folder, too."
)


def count_attempt(request, email: str) -> bool:
    """Count an attempt of this IP, and of the address in this account."""
    return count_sign_in_attempt(request, f"{request.account.slug} {email}")


@portal_page("GET", "HEAD", "POST", is_public=True)
def sign_in(request):
    """Sign in by e-mail address and password."""
    form = SignInForm(request.POST or None)
    status = 200
    if request.method == "POST" and form.is_valid():
        email, password = form.cleaned_data["email"], form.cleaned_data["password"]
        if count_attempt(request, email):
            form.add_error(None, TOO_MANY_ATTEMPTS)
            status = 429
        else:
            try:
                token = portal_access.sign_in(
                    request.account, email=email, password=password, at=timezone.now()
                )
            except SignInRefused:
                form.add_error(None, REFUSED)
            else:
                return start_session(request.account, token)
    context = {
        "title": "Sign in",
        "form": form,
        "link_url": build_url(request.account, "ask_for_link"),
    }
    return show(request, "sign_in", context, status=status)


@portal_page("GET", "HEAD", "POST", is_public=True)
def ask_for_link(request):
    """Mail a link that signs in, or that sets a password.

    The answer is the same for addresses that nobody has.
    """
    form = EmailForm(request.POST or None)
    message, status = "", 200
    if request.method == "POST" and form.is_valid():
        email = form.cleaned_data["email"]
        if count_attempt(request, email):
            form.add_error(None, TOO_MANY_ATTEMPTS)
            status = 429
        else:
            purpose, name = LinkPurpose.SIGN_IN, "use_link"
            if "password" in request.POST:
                purpose, name = LinkPurpose.SET_PASSWORD, "set_password"
            portal_access.send_portal_link(
                request.account,
                email=email,
                purpose=purpose,
                url_for=partial(build_absolute_url, request.account, name),
                at=timezone.now(),
            )
            message = LINK_SENT
    context = {
        "title": "Get a link",
        "form": form,
        "message": message,
        "can_send_mail": can_send_mail(),
    }
    return show(request, "ask_for_link", context, status=status)


def build_absolute_url(account, name: str, token: str) -> str:
    """The address of a link with a token, for a mail; never that of the `Host`."""
    return f"{settings.PUBLIC_URL}{build_url(account, name, token=token)}"


@portal_page("GET", "HEAD", "POST", is_public=True)
def use_link(request, token: str):
    """Sign in by a link. A button does it, because mail programs open links, too."""
    message = ""
    if request.method == "POST":
        try:
            session = portal_access.use_sign_in_link(
                request.account, token, at=timezone.now()
            )
        except LinkExpired as error:
            message = str(error)
        else:
            return start_session(request.account, session)
    return show(request, "use_link", {"title": "Sign in", "message": message})


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
        except LinkExpired as error:
            form.add_error(None, str(error))
        except WeakPassword as error:
            form.add_error("password", str(error))
        else:
            return start_session(request.account, session)
    return show(request, "set_password", {"title": "Set a password", "form": form})


@portal_page("POST", is_public=True)
def sign_out(request):
    """End this session, or all of them."""
    if request.affiliate is not None and "everywhere" in request.POST:
        portal_access.sign_out_everywhere(request.affiliate)
    else:
        portal_access.sign_out(request.account, request.COOKIES.get(COOKIE, ""))
    return end_session(request.account, "sign_in")
