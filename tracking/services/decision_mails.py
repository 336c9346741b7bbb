"""Mail to affiliates who were approved for a program, or refused."""

import secrets
from datetime import datetime

from django.utils.translation import gettext as _

from accounts.services.notifications import can_send_mail
from tracking.models.affiliates import Affiliate
from tracking.models.enrollments import Enrollment
from tracking.models.portal import Notice
from tracking.models.programs import Program
from tracking.referral_links import build_referral_link
from tracking.services.mails import queue_mail, use_language_of
from tracking.services.portal_notices import wants_notice
from tracking.services.portal_settings import (
    build_portal_url,
    get_contact,
    get_portal_settings,
)

DECISION_MAIL = "enrollment"


def describe_links(program: Program, enrollment: Enrollment) -> str:
    """The referral link, and the page of the portal that has all links."""
    account = enrollment.account
    url = build_portal_url(account, "links/")
    code = account.referral_codes.filter(enrollment=enrollment).first()
    if code is None or not program.landing_page:
        return url
    link = build_referral_link(program.landing_page, code.code)
    return f"{link}\n\n" + _("All your links are at {url}").format(url=url)


def queue_decision_mail(
    affiliate: Affiliate, program: Program, enrollment: Enrollment, *, at: datetime
) -> None:
    """Mail the affiliate what was decided, if the portal is on and mail can be sent.

    Who wants no such mail gets none. Call it in the transaction of the decision.
    """
    account = affiliate.account
    is_decided = enrollment.approved is not None
    if not (is_decided and affiliate.email and can_send_mail()):
        return
    if not wants_notice(affiliate, Notice.APPROVED):
        return
    if not get_portal_settings(account).is_on:
        return
    names = {"program": program.title, "account": account.name}
    with use_language_of(affiliate):
        hello = _("Hello {name},").format(name=affiliate.firstname)
        if enrollment.approved:
            subject = _("You take part in {program}")
            text = _("{account} has approved you for the program {program}. Your link is here:")
            end = describe_links(program, enrollment)
        else:
            subject = _("About your application for {program}")
            text = _("You do not take part in the program {program}.")
            end = _("If you have questions, write to {contact}.").format(
                contact=get_contact(account)
            )
        body = f"{hello}\n\n{text.format(**names)}\n{end}\n"
        queue_mail(
            affiliate,
            kind=DECISION_MAIL,
            about=secrets.token_urlsafe(),
            subject=subject.format(**names),
            text=body,
            at=at,
        )
