"""What is kept about an affiliate, and the end of it."""

from django.core import signing
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from accounts.exact_json import serialize_exact_json
from accounts.services.notifications import can_send_mail
from affiliate_site import http_errors
from affiliate_site.downloads import send_file
from affiliate_site.portal.access import build_url, end_session, portal_page, show
from affiliate_site.portal.confirmations import ConfirmedForm, run_confirmed, show_form
from affiliate_site.portal.formats import long_day
from affiliate_site.portal.languages import remember_language
from affiliate_site.privacy.person_export import export_own_data
from payouts.services.self_service import delete_own_account, sum_open_amounts
from tracking.services.portal_access import confirm_password
from tracking.services.portal_settings import get_contact
from tracking.written_amounts import write_amount

DELETED_SALT = "portal-deleted"


@portal_page("GET", "HEAD", "POST")
def own_data(request):
    """Download what is kept about the affiliate."""
    form, status, at = ConfirmedForm(request.POST or None), 200, timezone.now()
    if request.method == "POST":
        found = []

        def export(affiliate, *, password):
            with confirm_password(affiliate, password):
                found.append(export_own_data(affiliate, at=at))

        status = run_confirmed(request, form, export)
        if not status:
            content = serialize_exact_json(found[0])
            name = f"my-data-{request.affiliate.slug}.json"
            return send_file(content, name)
    text = _(
        "The file has what {account} keeps about you: profile, payout methods, sales,"
        " payments, documents and mails. It is a JSON file, which programs can read."
    ).format(account=request.account.name)
    title, button = _("Download my data"), _("Download")
    return show_form(request, title, form, button, text=text, back="profile", status=status)


@portal_page("GET", "HEAD", "POST")
def delete(request):
    """Delete the affiliate, or ask for it while money is open."""
    account, affiliate = request.account, request.affiliate
    form, status, at = ConfirmedForm(request.POST or None), 200, timezone.now()
    if request.method == "POST":
        status = run_confirmed(request, form, delete_own_account, at=at)
        if not status:
            affiliate.refresh_from_db()
            if affiliate.deleted_at:
                return lead_to_the_end(request)
            form, status = ConfirmedForm(), 200
    sums = sum_open_amounts(affiliate, at=at)
    amounts = [write_amount(amount, currency) for currency, amount in sums.items()]
    values = {"account": account.name, "amounts": ", ".join(amounts)}
    button = _("Ask to delete my account") if amounts else _("Delete my account")
    if affiliate.deletion_asked_at and amounts:
        button = ""
        text = _(
            "On {day} you asked {account} to delete your account. They settle what is"
            " open first: {amounts}."
        )
        values["day"] = long_day(account.get_day(affiliate.deletion_asked_at))
    elif affiliate.deletion_asked_at:
        text = _(
            "You have asked {account} to delete your account. Nothing is open any more:"
            " you can delete it now."
        )
    elif amounts:
        text = _(
            "Money is still open: {amounts}. That is why your account is not deleted at"
            " once: {account} gets your request, settles what is open and deletes it"
            " then."
        )
    else:
        text = _(
            "Your links and coupons stop working, and you cannot sign in any more. This"
            " cannot be undone. {account} keeps your data, sales and payments as long"
            " as it has to, for example for its books."
        )
    return show_form(
        request,
        _("Delete my account"),
        form,
        button,
        text=text.format(**values),
        back="profile",
        status=status,
    )


def lead_to_the_end(request):
    """Sign out, and lead to a page that says what was deleted, in the same language."""
    account, affiliate = request.account, request.affiliate
    has_mail = bool(affiliate.email and not affiliate.has_bounced and can_send_mail())
    day = account.get_day(affiliate.deleted_at)
    token = signing.dumps([account.pk, f"{day}", has_mail], salt=DELETED_SALT)
    response = end_session(account, build_url(account, "deleted", token=token))
    remember_language(response, account, get_language())
    return response


@portal_page(is_public=True)
def deleted(request, token: str):
    """What was deleted and what is kept, for who cannot sign in any more."""
    account = request.account
    try:
        account_id, day, has_mail = signing.loads(token, salt=DELETED_SALT)
    except signing.BadSignature:
        return http_errors.not_found(request)
    if account_id != account.pk:
        return http_errors.not_found(request)
    if request.affiliate:  # again, or somebody else
        return redirect(build_url(account, "home"))
    context = {
        "title": _("Your account is deleted"),
        "day": parse_date(day),
        "has_mail": has_mail,
        "contact": get_contact(account),
    }
    return show(request, "deleted", context)
