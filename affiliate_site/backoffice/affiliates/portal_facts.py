"""What the office says about an affiliate and the portal."""

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.html import format_html

from affiliate_site.backoffice.formatters import format_datetime, format_day
from tracking.services.portal_terms import list_acceptances


def list_accepted_terms(affiliate, state) -> list[tuple[str, str]]:
    """The version of the portal's terms that the affiliate accepted last."""
    if state.terms_version is None:
        return []
    text = format_html(
        'version {}{} accepted on {}: <a href="{}">texts</a>',
        state.terms_version,
        f" ({state.terms_language})" if state.terms_language else "",
        format_day(state.terms_accepted_at),
        reverse("admin:affiliate_terms", args=[affiliate.pk]),
    )
    return [("Terms of the portal", text)]


def terms_view(model_admin, request, object_id: int):
    """What an affiliate has accepted, word for word, the newest version first."""
    if not model_admin.has_view_permission(request):
        raise PermissionDenied
    affiliate = model_admin.get_object(request, object_id)
    if affiliate is None:
        raise Http404
    texts = [
        f"Version {row.label}, accepted on {format_datetime(row.accepted_at)}\n\n{row.text}\n"
        for row in list_acceptances(affiliate)
    ]
    content = "\n\n".join(texts)
    return HttpResponse(content, content_type="text/plain; charset=utf-8")


def list_portal_facts(affiliate, state) -> list[str]:
    """The language, invitation and sign-in of the affiliate, and the second factor."""
    invited_at, signed_in_at = affiliate.invited_at, affiliate.signed_in_at
    language = dict(settings.LANGUAGES).get(affiliate.language, "not chosen yet")
    return [
        f"Language: {language}",
        f"Invited: {format_datetime(invited_at) if invited_at else 'never'}",
        f"Last sign-in: {format_datetime(signed_in_at) if signed_in_at else 'never'}",
        f"Second factor: {'on' if state.has_second_factor else 'off'}",
    ]
