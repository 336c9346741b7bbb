"""The pages of an affiliate: overview, links, sales, payments and profile."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.password_validation import password_validators_help_texts
from django.http import Http404
from django.utils import timezone

from affiliate_site.links import build_referral_link
from affiliate_site.portal.access import (
    build_url,
    portal_page,
    show,
    start_session,
)
from affiliate_site.portal.forms import ChangePasswordForm, DeepLinkForm, PeriodForm
from affiliate_site.portal.sales import (
    explain_amount,
    explain_sale,
    find_open_payments,
    find_order_id,
    list_earnings,
)
from affiliate_site.portal.throttling import TOO_MANY_ATTEMPTS, is_sign_in_throttled
from payouts.errors import InvalidPeriod
from payouts.models.commission_types import RateKind
from payouts.services.amounts_due import AmountsDue, get_amounts_due
from payouts.services.payout_minimums import get_minimums
from payouts.services.programs import STANDARD_COMMISSION_TYPE
from payouts.services.statements import get_statement
from tracking.errors import WeakPassword, WrongPassword
from tracking.money import format_amount
from tracking.services.portal_access import change_portal_password

PAGE_SIZE = 50
NEWEST = 10
STATEMENT_DAYS = 90
MAX_ID = 2**63 - 1  # of a row


@portal_page(is_public=True)
def home(request):
    """For strangers what the account offers, for affiliates what they earn."""
    account = request.account
    if request.affiliate is None:
        offers = list_offers(account) if request.portal.is_open else []
        return show(request, "welcome", {"title": account.name, "offers": offers})
    affiliate, at = request.affiliate, timezone.now()
    newest = select_earnings(affiliate)[:NEWEST]
    context = {
        "title": "Overview",
        "balances": list_balances(affiliate, at=at),
        "earnings": list_earnings(affiliate, newest, request.portal.order_ids, at=at),
    }
    return show(request, "home", context)


def select_earnings(affiliate):
    """The commissions of an affiliate, newest first."""
    rows = affiliate.account.commissions.filter(affiliate=affiliate)
    return rows.select_related("conversion").order_by("-created_at", "-id")


def list_offers(account) -> list[dict[str, Any]]:
    """The terms of each program, derived from its rules."""
    programs = account.programs.filter(archived_at=None).order_by("title")
    minimums = get_minimums(account, []).of_account
    rates = {
        row.program_id: row
        for row in account.commission_types.filter(identifier=STANDARD_COMMISSION_TYPE)
    }
    return [
        {
            "title": program.title,
            "rate": describe_rate(rates.get(program.pk), program.currency),
            "cookie_days": program.cookie_time,
            "hold_days": program.hold_days,
            "minimum": program.currency in minimums
            and format_amount(minimums[program.currency], program.currency),
        }
        for program in programs
    ]


def describe_rate(rate, currency: str) -> str:
    """`10 % of each sale`, or a fixed amount."""
    if rate is None:
        return ""
    if rate.kind == RateKind.FIXED:
        return f"{format_amount(rate.value, currency)} for each sale"
    return f"{rate.value.normalize():f} % of each sale"


def list_balances(affiliate, *, at) -> list[dict[str, Any]]:
    """What is due, on hold and pending in each currency, and what the due waits for."""
    account = affiliate.account
    amounts = get_amounts_due(account, [affiliate.pk], at=at)
    minimums = get_minimums(account, [affiliate.pk])
    return [
        build_balance(account, key[1], each, minimums.find(key))
        for key, each in sorted(amounts.items())
    ]


def build_balance(account, currency: str, amounts: AmountsDue, minimum):
    """The amounts of one currency as texts."""
    waits = minimum is not None and 0 < amounts.due < minimum
    return {
        "currency": currency,
        "due": format_amount(amounts.due, currency),
        "on_hold": format_amount(amounts.on_hold, currency),
        "held_until": amounts.held_until and account.get_day(amounts.held_until),
        "pending": format_amount(amounts.pending, currency),
        "minimum": format_amount(minimum, currency) if waits else "",
    }


@portal_page()
def links(request):
    """The referral link and coupon of each program, and links to other pages."""
    affiliate = request.affiliate
    enrollments = affiliate.account.enrollments.filter(affiliate=affiliate)
    rows = enrollments.filter(program__archived_at=None).for_links()
    coupons = dict(
        affiliate.account.coupons.filter(enrollment__affiliate=affiliate).values_list(
            "enrollment", "code"
        )
    )
    form = DeepLinkForm(request.GET if "page" in request.GET else None)
    programs = [
        build_program(row, coupons.get(row["pk"], ""))
        for row in rows.order_by("program__title")
    ]
    deep_link = ""
    if form.is_bound and form.is_valid():
        deep_link = build_deep_link(form.cleaned_data["page"], programs)
        if not deep_link:
            hosts = {it["host"] for it in programs if it["host"] and it["approved"]}
            named = " or ".join(sorted(hosts)) or "no shop yet"
            form.add_error("page", f"Your links lead to {named}, to no other host.")
    context = {
        "title": "Links",
        "programs": programs,
        "form": form,
        "deep_link": deep_link,
    }
    return show(request, "links", context)


def build_program(row, coupon: str) -> dict[str, Any]:
    """A program of the affiliate, from a row of `EnrollmentQuerySet.for_links`."""
    landing_page, code = row["program__landing_page"], row["code__code"]
    return {
        "title": row["program__title"],
        "approved": row["approved"],
        "host": get_host(landing_page),
        "link": build_referral_link(landing_page, code),
        "code": code,
        "coupon": coupon,
    }


def get_host(landing_page: str) -> str:
    """Host and port; empty if there is none."""
    try:
        return urlsplit(landing_page).netloc.lower()
    except ValueError:
        return ""


def build_deep_link(page: str, programs) -> str:
    """The link to a page of the shop; empty if no approved program is at its host."""
    parts = urlsplit(page)
    for program in programs:
        is_of_program = parts.netloc.lower() == program["host"] and program["approved"]
        if is_of_program and parts.scheme in {"http", "https"}:
            return build_referral_link(page, program["code"])
    return ""


@portal_page()
def sales(request):
    """All commissions, newest first."""
    affiliate, at = request.affiliate, timezone.now()
    rows = affiliate.account.commissions.filter(affiliate=affiliate)
    rows = rows.select_related("conversion").order_by("-id")
    before = request.GET.get("before", "")
    if before.isascii() and before.isdigit():
        rows = rows.filter(pk__lt=min(int(before[:20]), MAX_ID))
    found = list(rows[: PAGE_SIZE + 1])
    shown = found[:PAGE_SIZE]
    context = {
        "title": "Sales",
        "earnings": list_earnings(affiliate, shown, request.portal.order_ids, at=at),
        "before": shown[-1].pk if len(found) > PAGE_SIZE else "",
    }
    return show(request, "sales", context)


@portal_page()
def sale(request, sale: int):
    """Why the affiliate earns from a sale, how much, and what happened since."""
    affiliate, at = request.affiliate, timezone.now()
    account = affiliate.account
    rows = account.commissions.filter(affiliate=affiliate, conversion=min(sale, MAX_ID))
    commissions = list(
        rows.select_related("conversion__program", "payment").order_by("id")
    )
    if not commissions:
        raise Http404
    conversion = commissions[0].conversion
    earnings = list_earnings(affiliate, commissions, request.portal.order_ids, at=at)
    refunds = account.refunds.filter(conversion=conversion).order_by("id")
    if conversion.affiliate_id != affiliate.pk:
        refunds = refunds.none()
    context = {
        "title": "Why this sale",
        "order_id": earnings[0].order_id,
        "program": conversion.program.title,
        "day": account.get_day(conversion.created_at),
        "sentences": explain_sale(affiliate, conversion, commissions),
        "parts": [
            (earning, explain_amount(account, earning.commission))
            for earning in earnings
        ],
        "refunds": [account.get_day(refund.created_at) for refund in refunds],
        "sales_url": build_url(account, "sales"),
    }
    return show(request, "sale", context)


@portal_page()
def payments(request):
    """What was paid, and what will be."""
    affiliate, at = request.affiliate, timezone.now()
    account = affiliate.account
    rows = account.payments.filter(affiliate=affiliate).order_by("-created_at", "-id")
    shown = list(rows[:PAGE_SIZE])
    open_payments = find_open_payments(account, [row.pk for row in shown])
    context = {
        "title": "Payments",
        "balances": list_balances(affiliate, at=at),
        "payments": [
            {
                "id": row.public_id,
                "day": account.get_day(row.created_at),
                "amount": format_amount(row.amount, row.currency),
                "is_canceled": row.canceled_at is not None,
                "is_on_its_way": row.pk in open_payments,
            }
            for row in shown
        ],
        "statement_url": build_url(account, "statement"),
    }
    return show(request, "payments", context)


@portal_page()
def statement(request):
    """What changed the balances in a period."""
    affiliate, account = request.affiliate, request.account
    today = account.get_day(timezone.now())
    days = {"start": today - timedelta(days=STATEMENT_DAYS), "end": today}
    form = PeriodForm(request.GET if "start" in request.GET else days)
    currencies = []
    if form.is_valid():
        try:
            found = get_statement(account, affiliate, **form.cleaned_data)
        except InvalidPeriod as error:
            form.add_error("end", str(error))
        else:
            currencies = [build_statement(request, each) for each in found.currencies]
    context = {"title": "Statement", "form": form, "currencies": currencies}
    return show(request, "statement", context)


def build_statement(request, statement) -> dict[str, Any]:
    """The lines of a currency as texts; order IDs as far as the account shows them."""
    account, currency = request.account, statement.currency
    return {
        "currency": currency,
        "opening": format_amount(statement.opening, currency),
        "closing": format_amount(statement.closing, currency),
        "lines": [
            {
                "day": account.get_day(line.at),
                "what": line.kind.label,
                "reference": line.payment_id
                or (
                    find_order_id(line.commission, request.portal.order_ids)
                    if line.commission
                    else ""
                ),
                "amount": format_amount(line.amount, currency),
            }
            for line in statement.lines
        ],
    }


@portal_page("GET", "HEAD", "POST")
def profile(request):
    """Who is signed in; a new password; sign out everywhere."""
    form, status = ChangePasswordForm(request.POST or None), 200
    email = request.affiliate.email or request.affiliate.slug
    if request.method != "POST" or not form.is_valid():
        pass
    elif is_sign_in_throttled(request, request.account, email):
        form.add_error(None, TOO_MANY_ATTEMPTS)
        status = 429
    else:
        try:
            token = change_portal_password(
                request.affiliate, **form.cleaned_data, at=timezone.now()
            )
        except WrongPassword as error:
            form.add_error("old_password", str(error))
        except WeakPassword as error:
            form.add_error("password", str(error))
        else:
            return start_session(request.account, token)
    context = {
        "title": "Profile",
        "form": form,
        "rules": password_validators_help_texts(),
    }
    return show(request, "profile", context, status=status)
