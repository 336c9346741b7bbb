"""Checks of `manage.py doctor`: what is switched off, or lacks a part."""

from datetime import datetime

from django.conf import settings
from django_otp.plugins.otp_totp.models import TOTPDevice

from affiliate_site.operations.findings import OK, WARNING, Finding
from affiliate_site.pdf import find_weasyprint
from payouts.fonts import PACKAGES, PROGRAM, find_unprintable, list_printable

# A character of each script that names of affiliates are written in.
SCRIPTS = {
    "Greek": "\u03b1",
    "Cyrillic": "\u0416",
    "Chinese": "\u4e2d",
    "Japanese": "\u3042",
    "Korean": "\ud55c",
    "Hindi": "\u0939",
    "Thai": "\u0e44",
    "emoji": "\U0001f33f",
}


def check_email(_at: datetime) -> Finding:
    """E-mail must be configured: else owners see notices only on the dashboard."""
    if settings.EMAIL_BACKEND.endswith("dummy.EmailBackend"):
        return Finding(
            WARNING,
            "not configured: no invitations, no notices to owners, no mail to affiliates",
            "set EMAIL_URL and DEFAULT_FROM_EMAIL",
        )
    if settings.DEFAULT_FROM_EMAIL.endswith("@localhost"):
        return Finding(
            WARNING,
            f"the sender is {settings.DEFAULT_FROM_EMAIL}",
            "set DEFAULT_FROM_EMAIL to an address of your domain",
        )
    return Finding(OK, f"sent as {settings.DEFAULT_FROM_EMAIL}")


def check_pdf(_at: datetime) -> Finding:
    """Statements and documents are printed by a library of the system."""
    if find_weasyprint() is None:
        return Finding(
            WARNING,
            "the library Pango is missing: no statement or document as PDF",
            "apt-get install libpango-1.0-0 libpangoft2-1.0-0",
        )
    if not list_printable():
        return Finding(
            WARNING,
            f"{PROGRAM} is missing: whether fonts print all names is not known",
            "apt-get install fontconfig",
        )
    missing = [title for title, text in SCRIPTS.items() if find_unprintable(text)]
    if missing:
        return Finding(
            WARNING,
            f"no font prints {', '.join(missing)}: PDFs with such names are refused",
            f"apt-get install {PACKAGES}",
        )
    return Finding(OK, "statements and documents can be printed")


def check_second_factor(_at: datetime) -> Finding:
    """A second factor that people set up must not be switched off unnoticed."""
    devices = TOTPDevice.objects.filter(confirmed=True)
    number = devices.values("user").distinct().count()
    if not settings.STAFF_OTP and number:
        return Finding(
            WARNING,
            f"STAFF_OTP is off: the password alone signs in {number:,} people who have"
            " set up a second factor",
            "remove STAFF_OTP, or set it to on",
        )
    state = "asked of those who have set it up" if settings.STAFF_OTP else "off"
    return Finding(OK, f"{state}: {number:,} people")
