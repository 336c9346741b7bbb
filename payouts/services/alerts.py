"""Alerts: what watches found is stored while it lasts, mailed once, and may be dismissed.

The worker evaluates the watches of each account every hour.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.utils import translation

from accounts.actor import ActorKind, build_actor, get_actor, use_actor
from accounts.errors import InvalidSetting
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.models.users import User
from accounts.services.accounts import update_settings
from accounts.services.changes import log_event, record_changes
from accounts.services.notifications import can_send_mail
from payouts.errors import AlertNotOpen
from payouts.models.alerts import Alert, AlertState
from payouts.services.watches import WATCHES, Finding, WatchSetting, get_watch_settings
from tracking.services.mails import queue_mail_to

ALERT_MAIL = "alerts"
MAX_MAILED = 50  # alerts of a mail


def update_watches(
    account: Account, *, settings: Mapping[str, WatchSetting], at: datetime
) -> Account:
    """Set which watches are on, and their thresholds. Raises `InvalidSetting`."""
    for name, setting in settings.items():
        watch = WATCHES[name]
        if watch.unit and not 1 <= setting["threshold"] <= watch.maximum:
            rule = f"from 1 to {watch.maximum}"
            raise InvalidSetting(setting=watch.title, rule=rule, path=f"{name}_threshold")
    changes = {"watches": (account.watches or {}) | dict(settings)}
    return update_settings(account, changes=changes, kind="account.watches_changed", at=at)


def set_alert_mails(user: User, *, is_on: bool, at: datetime) -> None:
    """Let a staff user have mail about new alerts, or no more."""
    if is_on != (user.mails_alerts_since is not None):
        user.mails_alerts_since = at if is_on else None
        User.objects.filter(pk=user.pk).update(mails_alerts_since=user.mails_alerts_since)


class _Changes(NamedTuple):
    opened: list[tuple[str, Finding]]
    updated: list[tuple[Alert, str]]
    closed: list[Alert]


def evaluate_watches(account: Account, *, at: datetime) -> int:
    """Open alerts of what the watches of an account find, and close those that are over.

    Returns how many were opened. What they compare is in English, as the back office.
    """
    with use_actor(build_actor(ActorKind.SYSTEM)), translation.override("en"):
        found = {
            (name, finding.subject): finding
            for name, setting in get_watch_settings(account).items()
            if setting["is_on"]
            for finding in WATCHES[name].find(account, setting["threshold"], at)
        }
        if not any(_compare(account, found)):
            return 0
        with transaction.atomic():
            account.lock_row()  # another worker may be doing the same
            changes = _compare(account, found)
            opened = account.alerts.bulk_create(
                Alert(
                    account=account,
                    watch=name,
                    subject=finding.subject,
                    object_id=finding.object_id,
                    affiliate_id=finding.affiliate_id,
                    text=finding.text,
                    created_at=at,
                )
                for name, finding in changes.opened
            )
            record_changes(account, "alert.opened", opened, at=at)
            for alert, text in changes.updated:
                alert.update_row(text=text)
            for alert in changes.closed:
                alert.update_row(state=AlertState.OVER, closed_at=at)
        return len(changes.opened)


def _compare(account: Account, found: Mapping[tuple[str, str], Finding]) -> _Changes:
    lasting = {(it.watch, it.subject): it for it in account.alerts.filter(closed_at=None)}
    return _Changes(
        [(key[0], finding) for key, finding in found.items() if key not in lasting],
        [
            (alert, found[key].text)
            for key, alert in lasting.items()
            if key in found and found[key].text != alert.text
        ],
        [alert for key, alert in lasting.items() if key not in found],
    )


def dismiss_alert(account: Account, *, pk: int, note: str, at: datetime) -> Alert:
    """Show an alert no more while it lasts. Raises `AlertNotOpen`."""
    with transaction.atomic():
        alert = get_or_raise(account.alerts, AlertNotOpen, pk=pk)
        is_mine = alert.update_row(
            expected={"state": AlertState.OPEN},
            state=AlertState.DISMISSED,
            note=note,
            dismissed_by=get_actor().name,
            dismissed_at=at,
        )
        if not is_mine:
            raise AlertNotOpen
        log_event(account, "alert.dismissed", alert, at=at)
    return alert


def queue_alert_mails(account: Account, *, build_url: Callable[[Alert], str], at: datetime) -> int:
    """Store a mail about open alerts that were not mailed, to the staff who want it.

    At most one a day: what is found later that day is in the mail of the next one.
    `build_url` leads to an alert. Returns the number of mails.
    """
    if not can_send_mail():
        return 0
    day = account.get_day(at)
    new = account.alerts.filter(state=AlertState.OPEN, closed_at=None, mailed_at=None)
    alerts = list(new.order_by("pk"))
    if not alerts or account.mails.filter(kind=ALERT_MAIL, about__startswith=f"{day} ").exists():
        return 0
    titles = ", ".join(sorted({get_watch_title(it.watch) for it in alerts}))
    lines = [
        f"{get_watch_title(it.watch)}\n{it.text}\n{build_url(it)}" for it in alerts[:MAX_MAILED]
    ]
    if len(alerts) > MAX_MAILED:
        lines.append(f"… {len(alerts):,} alerts in all")
    lines.append("You get this mail because you asked for it. Switch it off under Watches.")
    with transaction.atomic():
        account.alerts.filter(pk__in=[it.pk for it in alerts[:MAX_MAILED]]).update(mailed_at=at)
        readers = account.staff.filter(is_active=True, mails_alerts_since__isnull=False)
        return sum(
            queue_mail_to(
                account,
                user.email,
                affiliate=None,
                kind=ALERT_MAIL,
                about=f"{day} {user.log_id}",
                subject=f"{account.name}: {titles}",
                text="\n\n".join(lines),
                at=at,
            )
            for user in readers.order_by("pk")
        )


def get_watch_title(watch: str) -> str:
    """What staff call a watch; its name if another version had it."""
    return WATCHES[watch].title if watch in WATCHES else watch
