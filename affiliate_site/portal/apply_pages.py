"""Apply for a program: as a visitor, by a link in a mail, or signed in."""

from typing import Any

from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone, translation
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from accounts.countries import get_country_name
from accounts.errors import DomainError
from accounts.ids import SLUG_PATTERN
from accounts.services.notifications import can_send_mail
from affiliate_site.portal.access import (
    build_url,
    portal_page,
    show,
    translate_error,
)
from affiliate_site.portal.application_forms import ApplicationForm, TermsForm
from affiliate_site.portal.programs import list_open_offers
from affiliate_site.portal.throttling import (
    TOO_MANY_APPLICATIONS,
    is_application_throttled,
)
from affiliate_site.throttling import get_client_ip
from tracking.errors import InvitationEnded
from tracking.services.portal_applications import (
    apply_for_program,
    confirm_application,
    find_invitation,
    get_application,
    send_application,
)
from tracking.services.portal_terms import find_unaccepted_terms, get_terms

HONEYPOT = "website"  # people do not see it


@portal_page("GET", "HEAD", "POST", is_public=True)
def apply(request) -> HttpResponse:
    """Choose a program, if there are several, and apply for it."""
    if not request.portal.is_open:
        raise Http404
    account, affiliate = request.account, request.affiliate
    try:
        invitation = find_invitation(account, request.GET.get("invitation", ""), at=timezone.now())
    except InvitationEnded as error:
        return show_ended(request, error)
    slug = request.POST.get("program") or request.GET.get("program") or ""
    chosen = list_open_offers(account, affiliate, slug, invitation)
    offers = chosen or list_open_offers(account, affiliate)
    recruiter = request.GET.get("by", "")
    if SLUG_PATTERN.fullmatch(recruiter):  # of a link on the page "Tell others"
        for offer in offers:
            offer["apply_url"] += f"&by={recruiter}"
    if len(chosen) != 1:
        context = {"title": _("Apply"), "offers": offers}
        return show(request, "choose_program", context)
    if affiliate:
        return apply_as_affiliate(request, chosen[0])
    return apply_as_stranger(request, chosen[0])


def show_ended(request, error: InvitationEnded) -> HttpResponse:
    """The page of an invitation that has ended."""
    home_url = build_url(request.account, "home")
    context = {"title": _("Apply"), "text": translate_error(error), "home_url": home_url}
    return show(request, "not_found", context, status=404)


def apply_as_stranger(request, offer: dict[str, Any]) -> HttpResponse:
    """The form, and what it leads to: the same page for every address."""
    account, status = request.account, 200
    form = ApplicationForm(
        request.POST if request.method == "POST" else None,
        terms=get_terms(account),
        terms_url=build_url(account, "terms"),
        questions=account.field_definitions.in_definition_order(),
    )
    if request.method == "POST" and can_send_mail() and form.is_valid():
        data = form.get_data(recruiter=request.GET.get("by", ""))
        if error := find_challenge_error(request):
            form.add_error(None, error)
        elif is_application_throttled(request, account):
            form.add_error(None, TOO_MANY_APPLICATIONS)
            status = 429
        elif request.POST.get(HONEYPOT) or try_to_send(request, offer, form, data):
            context = {"title": _("Nearly done"), "email": data.email}
            return show(request, "applied", context)
    return show_form(request, offer, form, status=status)


def find_challenge_error(request) -> str:
    """Why the deployment's own check refuses the request; empty if it does not."""
    path = settings.PORTAL_CHALLENGE
    return import_string(path)(request) if path else ""


def try_to_send(request, offer: dict[str, Any], form: ApplicationForm, data) -> bool:
    """Call the service; on failure the form has the error."""
    try:
        send_application(
            request.account,
            program_slug=offer["slug"],
            data=data,
            language=translation.get_language() or "",
            terms_version=form.terms_version,
            invitation_id=request.GET.get("invitation", ""),
            address=get_client_ip(request),
            at=timezone.now(),
        )
    except DomainError as error:
        form.add_error(None, translate_error(error))
        return False
    return True


def apply_as_affiliate(request, offer: dict[str, Any]) -> HttpResponse:
    """One button, and the terms that are not accepted yet."""
    affiliate = request.affiliate
    form = TermsForm(
        request.POST if request.method == "POST" else None,
        terms=find_unaccepted_terms(affiliate),
        terms_url=build_url(affiliate.account, "terms"),
    )
    if request.method == "POST" and form.is_valid():
        try:
            apply_for_program(
                affiliate,
                program_slug=offer["slug"],
                language=translation.get_language() or "",
                terms_version=form.terms_version,
                invitation_id=request.GET.get("invitation", ""),
                at=timezone.now(),
            )
        except DomainError as error:
            form.add_error(None, translate_error(error))
        else:
            return redirect(build_url(affiliate.account, "links"))
    return show_form(request, offer, form)


def show_form(request, offer: dict[str, Any], form, *, status=200) -> HttpResponse:
    """The page with the terms of the program and the form."""
    title = _("Apply for {program}").format(program=offer["title"])
    context = {
        "title": title,
        "offer": offer,
        "form": form,
    }
    return show(request, "apply", context, status=status)


def list_details(application) -> list[tuple[str, str]]:
    """What was entered: anybody may have applied with the address. Labels and texts."""
    data = application.data
    answers = data["custom_fields"]
    fields = application.account.field_definitions.filter(slug__in=answers)
    details = [
        (_("Name"), f"{data['firstname']} {data['lastname']}"),
        (_("Company"), data["company"]),
        (_("Country"), get_country_name(data["country"])),
        *(
            (field.title, ", ".join(answer) if isinstance(answer, list) else answer)
            for field in fields.in_definition_order()
            for answer in [answers[field.slug]]
        ),
        (_("Recruited by"), data.get("recruiter", "")),
    ]
    return [(label, text) for label, text in details if text]


@portal_page("GET", "HEAD", "POST", is_public=True)
def confirm(request, token: str) -> HttpResponse:
    """Confirm by a link. A button does it, because mail programs open links, too."""
    account, at = request.account, timezone.now()
    context: dict[str, Any] = {
        "title": _("Confirm your application"),
        "apply_url": build_url(account, "apply"),
    }
    try:
        if request.method == "POST":
            password_token = confirm_application(account, token, at=at)
            url = build_url(account, "set_password", token=password_token)
            return redirect(f"{url}?applied=1")
        application = get_application(account, token, at=at)
    except DomainError as error:
        context["message"] = translate_error(error)
    else:
        context["email"] = application.email
        context["program"] = application.program.title
        context["details"] = list_details(application)
        if application.terms is not None:
            language = application.data["language"]
            context["terms"] = application.terms
            context["terms_text"] = application.terms.get_text(language)
    return show(request, "confirm_application", context)
