"""The docs promise what the code does: sentences with numbers of its constants."""

from datetime import timedelta

import pytest

from accounts.models.accounts import Account
from accounts.services import accounts, deliveries, idempotency, invitations, retention
from accounts.services.webhooks import OLD_SECRET_VALIDITY
from affiliate_site import settings, statement_files
from affiliate_site.api.openapi_descriptions import DELIVERY
from affiliate_site.backoffice.imports.upload_page import MAX_PAGE_ROWS
from affiliate_site.browser.handovers import LIFETIME as HANDOVER_LIFETIME
from affiliate_site.creative_images import MAX_BYTES as MAX_BANNER_BYTES
from affiliate_site.moving.tables import files, limited
from affiliate_site.portal import throttling
from affiliate_site.shops.views import MAX_EVENT_SIZE
from affiliate_site.throttling import APPLICATIONS, BROWSER_CALLS, WRONG_KEYS
from affiliate_site.webhooks.sending import TIMEOUT_SECONDS
from payouts.services import scenarios
from payouts.services.reconciliation import MAX_CHECKED_TRANSFERS
from tests.affiliate_site.backoffice.test_lists import MAX_STATEMENTS
from tests.architecture.syntax_trees import ROOT
from tracking import claims
from tracking.models.portal import LinkPurpose
from tracking.services import failed_page_calls, inbox, mails, page_storage, programs
from tracking.services import retention as visits
from tracking.services.portal_access import (
    APPLICATION_LIFETIME,
    PROOF_LIFETIME,
    SESSION_LIFETIME,
    VIEW_LIFETIME,
)
from tracking.services.portal_addresses import ADDRESS_RETENTION, MAX_ADDRESSES
from tracking.services.portal_applications import MAX_STORED_PER_HOUR
from tracking.services.portal_links import LINK_LIFETIMES
from tracking.services.table_uploads import UPLOAD_RETENTION

MB = 1_000_000


def count(period: timedelta, unit: str) -> int:
    return round(period / timedelta(**{f"{unit}s": 1}))


def count_retries(delays, unit: str) -> int:
    return count(sum(delays, timedelta()), unit)


def join(limits, divisor=1) -> str:
    """`200,000`, `500,000` and `2,000,000` of a link, an affiliate and an account."""
    parts = (limits.link, limits.affiliate, limits.account)
    return "{:,}, {:,} and {:,}".format(*(part // divisor for part in parts))


WEBHOOK_HOURS = count_retries(deliveries.RETRY_DELAYS, "hour")
KEPT = {
    "tracking.Mail:": (mails.MAIL_RETENTION, "day"),
    "tracking.PortalSession:": (SESSION_LIFETIME, "day"),
    "tracking.PortalLink:": (LINK_LIFETIMES[LinkPurpose.SET_PASSWORD], "day"),
    "tracking.PortalApplication:": (APPLICATION_LIFETIME, "hour"),
    "tracking.PortalAddress:": (ADDRESS_RETENTION, "day"),
    "tracking.ShopEvent: body": (inbox.EVENT_RETENTION, "day"),
    "tracking.ShopEvent: key": (inbox.EVENT_RETENTION, "day"),
    "payouts.Scenario:": (scenarios.SCENARIO_RETENTION, "day"),
    "tracking.TableUpload: file_name": (UPLOAD_RETENTION, "day"),
    "tracking.TableUpload: content": (UPLOAD_RETENTION, "day"),
    "tracking.Visitor:": (visits.VISITOR_RETENTION, "day"),
    "tracking.ConversionAttempt:": (visits.ATTEMPT_RETENTION, "day"),
    "tracking.FailedPageCall:": (visits.FAILED_PAGE_CALL_RETENTION, "day"),
    "accounts.Delivery:": (retention.DELIVERY_RETENTION, "day"),
    "accounts.IdempotencyKey:": (idempotency.RESPONSE_RETENTION, "hour"),
    "accounts.RateWindow:": (retention.MAX_RATE_WINDOW, "day"),
    "accounts.Invitation:": (
        retention.INVITATION_RETENTION + invitations.VALIDITY,
        "day",
    ),
}
PROMISES = {
    "affiliates.md": [
        f"within {count(APPLICATION_LIFETIME, 'hour')} hours",
        f"within {count(LINK_LIFETIMES[LinkPurpose.SIGN_IN], 'minute')} minutes",
    ],
    "api-contract.md": [
        f"{WRONG_KEYS.rate.split('/')[0]} wrong keys a minute",
        f"{BROWSER_CALLS.rate.split('/')[0]} requests a minute per `/track/`",
        f"At most {failed_page_calls.MAX_PAGES_PER_DAY} rows per account and day",
        f"after {visits.FAILED_PAGE_CALL_RETENTION.days} days",
        f"within {TIMEOUT_SECONDS} s in total",
        f"at most {count(HANDOVER_LIFETIME, 'minute')} minutes ago",
    ],
    "back-office.md": [
        f"for up to {programs.MAX_HOLD_DAYS} days",
        f"for {count(inbox.EVENT_RETENTION, 'day')} days",
        f"is tried again for {count_retries(inbox.RETRY_DELAYS, 'hour')} hours",
        f"up to {MAX_CHECKED_TRANSFERS:,} entries at once",
        f"A PDF of over {statement_files.MAX_LINES:,} lines",
        f"for {count(invitations.VALIDITY, 'hour')} hours",
        f"Results are kept for {count(scenarios.SCENARIO_RETENTION, 'day')} days",
        f"for {ADDRESS_RETENTION.days} days after their last use",
    ],
    "integration.md": [
        f"within {TIMEOUT_SECONDS} seconds",
        f"is tried again for {WEBHOOK_HOURS} hours",
        f"For {count(OLD_SECRET_VALIDITY, 'hour')} hours after a rotation",
        f"For {count(idempotency.RESPONSE_RETENTION, 'hour')} hours a repetition",
    ],
    "moving-in.md": [
        f"up to {MAX_PAGE_ROWS:,} rows",
        f"{limited.PAGE_LIMITS.memory_bytes >> 20} MB of memory and"
        f" {limited.PAGE_LIMITS.cpu_seconds} s",
        f"({limited.COMMAND_LIMITS.memory_bytes >> 30} GB,"
        f" {limited.COMMAND_LIMITS.cpu_seconds // 60} minutes)",
        f"({files.MAX_FILE_BYTES >> 20} MB, {files.MAX_ROWS:,} rows)",
    ],
    "operations.md": [
        f"periods of up to {scenarios.MAX_SALES_AT_ONCE:,} sales",
        f"deletes results after {count(scenarios.SCENARIO_RETENTION, 'day')} days",
    ],
    "performance.md": [f"takes at most {MAX_STATEMENTS} statements"],
    "portal.md": [
        f"for {count(VIEW_LIFETIME, 'minute')} minutes",
        f"up to {MAX_BANNER_BYTES >> 20} MB",
        f"{APPLICATIONS.rate.split('/')[0]} an hour of a client's network,"
        f" {MAX_STORED_PER_HOUR} stored an hour",
        f"{throttling.CODES.max_requests} an hour, then recovery codes only",
        f"is taken {throttling.PASSWORDS.max_requests} times an hour",
        f"counts for {count(PROOF_LIFETIME, 'minute')} minutes",
    ],
    "privacy.md": [
        f"visitor data (1 to {accounts.MAX_VISITOR_DATA_DAYS}) and of clicks"
        f" ({accounts.MIN_CLICK_DAYS} to {accounts.MAX_CLICK_DAYS:,})",
        f"until the account's days ({Account().click_days:,})",
        f"unconfirmed ones {visits.CLAIM_RETENTION.days} days",
        f"at most {MAX_ADDRESSES}, and the one that opened the account",
    ],
    "reliability.md": [
        f"sessions of {settings.SESSION_COOKIE_AGE // 3600} hours",
        f"for {SESSION_LIFETIME.days} days",
    ],
    "shops.md": [f"413 above {MAX_EVENT_SIZE // MB} MB"],
    "tracking-trust.md": [
        f"at most {claims.MAX_OPEN_CLAIMS:,} open conversions",
        f"have {claims.MAX_CLAIMED_COMMISSIONS:,} commissions",
        f"Clicks: {page_storage.CLICKS.link:,} of a link",
        f"texts of {join(page_storage.CLICK_TEXTS, MB)} MB",
    ],
}


def read(name: str) -> str:
    return " ".join((ROOT / "docs" / name).read_text().split())


@pytest.mark.parametrize("name", PROMISES)
def test_docs_say_the_numbers_of_the_code(name):
    text = read(name)
    assert [promise for promise in PROMISES[name] if promise not in text] == []


def test_the_record_of_personal_data_says_how_long_rows_are_kept():
    lines = (ROOT / "docs/privacy.md").read_text().splitlines()
    for table, (period, unit) in KEPT.items():
        (row,) = [line for line in lines if line.startswith(f"| {table}")]
        number = count(period, unit)
        kept = f"{number} {unit}{'s' * (number != 1)}"
        assert row.split(" | ")[2].startswith(kept), row


def test_the_description_of_events_says_how_long_they_are_tried():
    assert f"for {WEBHOOK_HOURS} hours" in DELIVERY
