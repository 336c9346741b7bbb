"""What texts promise is what the code does: numbers are those of its constants."""

import ast
import re
from datetime import timedelta

from django.db import models

from accounts.services import invitations, retention, webhooks
from accounts.services.idempotency import RESPONSE_RETENTION
from affiliate_site.api.resources.notes import MAX_NOTE_LENGTH
from affiliate_site.backoffice.payouts.run_parts import CHANGED_RECENTLY
from affiliate_site.browser.handovers import LIFETIME as HANDOVER_LIFETIME
from affiliate_site.webhooks.sending import TIMEOUT_SECONDS
from tests.architecture.syntax_trees import ROOT, parse_modules_below
from tracking.models.portal import LinkPurpose
from tracking.services import inbox, mails
from tracking.services.attempts import MIN_RETRY_INTERVAL
from tracking.services.portal_access import APPLICATION_LIFETIME, VIEW_LIFETIME
from tracking.services.portal_links import LINK_LIFETIMES
from tracking.services.retention import FAILED_PAGE_CALL_RETENTION

READ_BY_PEOPLE = (
    *("accounts/errors", "accounts/services", "tracking/errors", "tracking/services"),
    *("payouts/errors", "payouts/services"),
    *("affiliate_site/api", "affiliate_site/backoffice", "affiliate_site/portal"),
)
UNITS = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
}
PROMISE = re.compile(r"\b(\d[\d,]*) (second|minute|hour|day|character)s?\b")
# By a part of the text: the time or length that it promises.
PROMISES = {
    "deliveries are kept for": retention.DELIVERY_RETENTION,
    "Pending deliveries are kept": retention.DELIVERY_RETENTION,
    "revoked or older than": invitations.VALIDITY,
    "Set your password within 48": invitations.VALIDITY,
    "chooses a password within": invitations.VALIDITY,
    "old secret stays valid": webhooks.OLD_SECRET_VALIDITY,
    "This link works once, within": APPLICATION_LIFETIME,
    "Confirm it within": APPLICATION_LIFETIME,
    "to finish your application": APPLICATION_LIFETIME,
    "confirm it within": LINK_LIFETIMES[LinkPurpose.ENTER_EMAIL],
    "to your present address, within": LINK_LIFETIMES[LinkPurpose.LEAVE_EMAIL],
    "Sign in within": LINK_LIFETIMES[LinkPurpose.SIGN_IN],
    "Set your password within 7": LINK_LIFETIMES[LinkPurpose.SET_PASSWORD],
    "The link sets a password once": LINK_LIFETIMES[LinkPurpose.SET_PASSWORD],
    "sets a password for the portal": LINK_LIFETIMES[LinkPurpose.SET_PASSWORD],
    "a link that sets a password within": LINK_LIFETIMES[LinkPurpose.SET_PASSWORD],
    "as the affiliate sees it, for": VIEW_LIFETIME,
    "At most 5,000": MAX_NOTE_LENGTH,
    "by a link older than": HANDOVER_LIFETIME,
    "was loaded again within": MIN_RETRY_INTERVAL,
    "that cannot be stored are listed": FAILED_PAGE_CALL_RETENTION,
    "connected shop sends is listed": inbox.EVENT_RETENTION,
    "when the payment arrived, or is older": mails.MAIL_RETENTION,
    "Payout methods changed in the last": CHANGED_RECENTLY,
    "with this key is replayed, for": RESPONSE_RETENTION,
    "Answer with a status of 2xx within": timedelta(seconds=TIMEOUT_SECONDS),
}
# Of columns, other systems and periods of statistics, which the code beside them shows.
NO_PROMISES = (
    *("1 to 64 characters", "signing secret of the shop", "of at most 64 characters"),
    *("Orders older than 60 days", "of at most 255 characters", "every 60 days"),
    *("Last 7 days", "Last 30 days", "Events in 24 hours", "Top affiliates, 30 days"),
)


def list_texts():
    """All texts of the code and of templates that people may read."""
    for path, tree in parse_modules_below(*READ_BY_PEOPLE).items():
        documented = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_text and id(node) not in documented:
                yield path, node.value
    for path in sorted((ROOT / "templates").rglob("*.html")):
        yield from ((path.name, line) for line in path.read_text().splitlines())


def test_numbers_in_texts_are_those_of_the_code():
    used, unknown = set(), []
    for path, text in list_texts():
        for number, unit in PROMISE.findall(text):
            if any(each in text for each in NO_PROMISES):
                continue
            parts = [each for each in PROMISES if each in text]
            if not parts:
                unknown.append((path, text))
            for part in parts:
                used.add(part)
                amount = int(number.replace(",", ""))
                promised = amount * UNITS[unit] if unit in UNITS else amount
                assert promised == PROMISES[part], text
    assert unknown == []
    assert used == PROMISES.keys()


def list_choices(choices):
    for each in choices.__subclasses__():
        yield from list_choices(each)
        if not each.__module__.startswith("django."):
            yield each


def test_labels_of_choices_have_capitals_as_sentences_do():
    """Those that Django makes of names have others: “Payment Canceled”, “Api”."""
    odd = [
        label
        for choices in list_choices(models.TextChoices)
        for label in map(str, choices.labels)
        if label == "Api" or re.search(r"(?<!\.) [A-Z][a-z]+\b(?! ID)", label)
    ]
    assert odd == []
