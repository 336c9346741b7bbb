"""The profile of an affiliate: name, address, e-mail address and password."""

from django.contrib.auth.password_validation import password_validators_help_texts
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
from affiliate_site.portal.confirmations import is_valid, run_confirmed, show_form
from affiliate_site.portal.forms import ChangePasswordForm
from affiliate_site.portal.profile_forms import EmailChangeForm, ProfileForm
from affiliate_site.portal.throttling import (
    find_password_limit,
    forget_right_password,
)
from payouts.services.self_service import find_document_settings
from tracking.errors import (
    EmailNotAvailable,
    LinkExpired,
    WeakPassword,
    WrongPassword,
)
from tracking.models.portal import LinkPurpose
from tracking.services import portal_emails
from tracking.services.portal_access import change_portal_password
from tracking.services.portal_profiles import update_own_profile
from tracking.services.portal_settings import build_portal_url
from tracking.services.portal_terms import get_terms


@portal_page("GET", "HEAD", "POST")
def profile(request):
    """Who is signed in; a new password; sign out everywhere."""
    form, status = ChangePasswordForm(request.POST or None), 200
    if request.method != "POST" or not form.is_valid():
        pass
    elif limit := find_password_limit(request.affiliate):
        form.add_error(None, limit)
        status = 429
    else:
        try:
            token = change_portal_password(
                request.affiliate, **form.cleaned_data, at=timezone.now()
            )
        except WrongPassword as error:
            form.add_error("old_password", translate_error(error))
        except WeakPassword as error:
            form.add_error("password", translate_error(error))
        else:
            forget_right_password(request.affiliate)
            return start_session(request, token)
    context = {
        "title": _("Profile"),
        "is_saved": "saved" in request.GET,
        "details": list_details(request),
        "new_email": portal_emails.find_email_change(request.affiliate, at=timezone.now()),
        "more_pages": list_pages(request.account),
        "form": form,
        "rules": password_validators_help_texts(),
    }
    return show(request, "profile", context, status=status)


def list_details(request):
    """What is known of the affiliate: labels and texts."""
    affiliate = request.affiliate
    details = (
        (_("Name"), f"{affiliate.firstname} {affiliate.lastname}"),
        (_("Company"), affiliate.company_name),
        (_("Address"), ", ".join(affiliate.address_lines)),
        (_("E-mail address"), affiliate.email or _("none")),
        (_("ID"), affiliate.slug),
    )
    return [(label, text) for label, text in details if text]


def list_pages(account):
    """What the affiliate can change: titles and addresses."""
    titles = {
        "edit_profile": _("Change name and address"),
        "change_email": _("Change e-mail address"),
        "notices": _("Mails"),
        "second_factor": _("Second factor"),
    }
    if find_document_settings(account):
        titles["tax_data"] = _("Tax data")
    if get_terms(account):
        titles["terms"] = _("Terms")
    if account.uses_webhooks:
        titles["postbacks"] = _("Postbacks")
    titles["own_data"] = _("Download my data")
    titles["delete"] = _("Delete my account")
    return [(title, build_url(account, name)) for name, title in titles.items()]


@portal_page("GET", "HEAD", "POST")
def edit_profile(request):
    """Change name, company and address."""
    form = ProfileForm(request.POST or None, affiliate=request.affiliate)
    if request.method == "POST" and form.is_valid():
        update_own_profile(request.affiliate, changes=form.changes, at=timezone.now())
        return redirect(f"{build_url(request.account, 'profile')}?saved=1")
    title = _("Change name and address")
    return show_form(request, title, form, _("Save"), back="profile")


@portal_page("GET", "HEAD", "POST")
def change_email(request):
    """Ask for another e-mail address, which both addresses confirm."""
    form, status, account = EmailChangeForm(request.POST or None), 200, request.account
    if request.method == "POST" and is_valid(request, form):
        status = run_confirmed(
            request,
            form,
            portal_emails.ask_for_email_change,
            email=form.cleaned_data["email"],
            url_for=lambda token: build_portal_url(account, f"email/{token}/"),
            at=timezone.now(),
        )
        if not status:
            return redirect(build_url(account, "profile"))
    return show_form(
        request,
        _("Change e-mail address"),
        form,
        _("Send the links"),
        text=_(
            "A link goes to the new address and one to your present address. When both"
            " are confirmed, you sign in with the new address."
        ),
        back="profile",
        status=status,
    )


@portal_page("GET", "HEAD", "POST", is_public=True)
def confirm_email(request, token: str):
    """Confirm another e-mail address by a link, or cancel it. Buttons do it, because
    mail programs open links, too."""
    account, at = request.account, timezone.now()
    link, error, message = None, "", ""
    try:
        link = portal_emails.get_email_link(account, token, at=at)
        if request.method == "POST" and "cancel" in request.POST:
            portal_emails.cancel_email_change(account, token, at=at)
            message = _("Canceled: your e-mail address stays as it is.")
        elif request.method == "POST":
            message = _("Confirmed. Now confirm it by the link in the other mail, too.")
            if portal_emails.confirm_email_change(account, token, at=at):
                message = _("Your e-mail address is changed. Sign in with the new one.")
                request.affiliate = None  # its sessions are over
    except (LinkExpired, EmailNotAvailable) as refusal:
        error = translate_error(refusal)
    context = {
        "title": _("New e-mail address"),
        "link": link,
        "is_present": link is not None and link.purpose == LinkPurpose.LEAVE_EMAIL,
        "error": error,
        "message": message,
    }
    return show(request, "confirm_email", context)
