"""The delivery worker: one thread uses the database, a thread pool sends requests
and mail.

Design: docs/reliability.md, section 6.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from itertools import islice
from time import monotonic
from typing import Any

from django.conf import settings
from django.db import DatabaseError, OperationalError, connection
from django.urls import reverse
from django.utils import timezone

from accounts.models.accounts import Account
from accounts.models.webhooks import Delivery, WebhookEndpoint
from accounts.services.accounts import list_accounts
from accounts.services.command_runs import WORKER_NAME, record_command_run
from accounts.services.deliveries import (
    DeliveryResult,
    claim_deliveries,
    list_due_endpoints,
    record_delivery_result,
)
from accounts.services.notifications import can_send_mail
from accounts.services.queues import list_accounts_with_due_rows
from affiliate_site.shops.processing import process_due_events
from affiliate_site.webhooks.mail_sending import send_mail
from affiliate_site.webhooks.sending import send_delivery
from payouts.errors import StatisticsNotReady
from payouts.models.alerts import Alert
from payouts.models.scenarios import Scenario
from payouts.services.alerts import evaluate_watches, queue_alert_mails
from payouts.services.risk_cases import evaluate_rules, list_evaluated_accounts
from payouts.services.scenarios import calculate_in_background, claim_scenario
from payouts.services.statistics import store_past_days
from tracking.models.mails import Mail
from tracking.models.shops import ShopEvent
from tracking.services.mails import (
    MailResult,
    claim_mail,
    record_mail_result,
)
from tracking.services.portal_links import queue_requested_links

logger = logging.getLogger(__name__)

# Limits of concurrent calls.
MAX_CONCURRENCY = 32
AWAY_LOG_SECONDS = 60.0  # between two lines that say that the database is away
MAX_CALLS_PER_ENDPOINT = 4  # while more than half of all slots are free; else one
MAX_CALLS_TO_FAILING_ENDPOINTS = 8  # in all, and one to each: its last call failed
MAX_FAILING_CALLS_PER_ACCOUNT = 2  # to failing endpoints of one account
MAX_EVENTS_AT_ONCE = 20  # of shops, between two looks at the deliveries
MAX_MAILS = 4  # at once, beside the calls
MAX_SCENARIOS = 1  # at once: each has a thread and a connection of its own
RISK_INTERVAL_SECONDS = 10.0  # between two looks of the risk rules at new sales
WATCH_INTERVAL_SECONDS = 3600.0  # between two evaluations of the watches of all accounts
WATCHES_NAME = "watches"  # of the record of these evaluations, for metrics
STATISTICS_INTERVAL_SECONDS = 300.0  # between two looks for days whose statistics to store
POLL_INTERVAL_SECONDS = 1.0  # between two database queries when nothing is due
HEARTBEAT_INTERVAL = timedelta(minutes=1)

ResultCallback = Callable[[Delivery, DeliveryResult], None]
MailCallback = Callable[[Mail, MailResult], None]
EventCallback = Callable[[ShopEvent], None]
HeartbeatCallback = Callable[[datetime], None]
AlertsCallback = Callable[[Account, int], None]
ScenarioCallback = Callable[[Scenario], None]


class DeliveryWorker:
    """Sends due deliveries and mails, processes what shops sent, lets the risk rules look
    at new sales and the watches at the numbers, stores statistics of past days, and
    calculates scenarios, until stopped.

    Several workers can run at once, because each one claims its deliveries. A slow
    endpoint occupies a few slots and a failing one a single slot, so that the other
    endpoints are served; mail has slots of its own.
    """

    def __init__(
        self,
        on_result: ResultCallback,
        on_heartbeat: HeartbeatCallback = lambda at: None,
        on_mail: MailCallback = lambda mail, result: None,
        on_event: EventCallback = lambda event: None,
        on_alerts: AlertsCallback = lambda account, number: None,
        on_scenario: ScenarioCallback = lambda scenario: None,
    ) -> None:
        self.on_result = on_result
        self.on_mail = on_mail
        self.on_event = on_event
        self.on_alerts = on_alerts
        self.on_scenario = on_scenario
        self.on_heartbeat = on_heartbeat
        self.due_before: datetime | None = None
        self.heartbeat_at: datetime | None = None
        self.stopping = threading.Event()
        self.calls_in_progress: dict[Future[DeliveryResult], Delivery] = {}
        self.mails_in_progress: dict[Future[MailResult], Mail] = {}
        self.scenarios_in_progress: dict[Future[None], Scenario] = {}
        # On a clock that begins at 0.
        self.evaluated_at = -RISK_INTERVAL_SECONDS
        self.watched_at = -WATCH_INTERVAL_SECONDS
        self.unwatched: list[Account] = []  # whose watches are still to be evaluated
        self.stored_at = -STATISTICS_INTERVAL_SECONDS
        # Steps of each account whose statistics are still to be stored.
        self.unstored: list[tuple[Account, Iterator[None]]] = []
        self.logged_away_at = -AWAY_LOG_SECONDS

    def stop(self, *_signal: object) -> None:
        """Claim nothing more; calls in progress are completed and recorded."""
        self.stopping.set()

    def run(self, *, due_before: datetime | None = None) -> None:
        """Work until stopped or, with `due_before`, until everything that was due at
        that time has been attempted."""
        self.due_before = due_before
        with ThreadPoolExecutor(MAX_CONCURRENCY + MAX_MAILS + MAX_SCENARIOS) as executor:
            while not self.stopping.is_set():
                due = due_before or timezone.now()
                with self.retry_on_database_error():
                    self.record_heartbeat(at=timezone.now())
                    self.start_due_deliveries(executor, due=due)
                with self.retry_on_database_error():
                    self.start_due_mails(executor, due=due)
                with self.retry_on_database_error():
                    self.start_due_scenario(executor, due=due)
                has_more = False
                with self.retry_on_database_error():
                    has_more = self.process_inbox(due=due)
                with self.retry_on_database_error():
                    has_more |= self.evaluate_risk_rules()
                with self.retry_on_database_error():
                    has_more |= self.store_statistics()
                with self.retry_on_database_error():
                    has_more |= self.evaluate_watches()
                if self.is_busy:
                    timeout = 0 if has_more else POLL_INTERVAL_SECONDS
                    self.record_finished(timeout_seconds=timeout)
                elif has_more:
                    continue
                elif due_before:
                    break
                else:
                    self.stopping.wait(POLL_INTERVAL_SECONDS)
            while self.is_busy:
                self.record_finished(timeout_seconds=None)

    @property
    def is_busy(self) -> bool:
        return bool(self.calls_in_progress or self.mails_in_progress or self.scenarios_in_progress)

    def record_heartbeat(self, *, at: datetime) -> None:
        """Record once a minute that a worker is alive."""
        if not self.heartbeat_at or abs(at - self.heartbeat_at) >= HEARTBEAT_INTERVAL:
            record_command_run(WORKER_NAME, at=at)
            self.heartbeat_at = at
            self.on_heartbeat(at)

    def start_due_deliveries(self, executor: ThreadPoolExecutor, *, due: datetime) -> None:
        """Claim as many deliveries as there are free slots, and start the calls."""
        if len(self.calls_in_progress) == MAX_CONCURRENCY:
            return
        for endpoint in list_due_endpoints(at=due):
            now = timezone.now()
            limit = self.get_available_slots(endpoint, now=now)
            if limit <= 0:
                continue
            for delivery in claim_deliveries(endpoint, limit=limit, due_before=due, at=now):
                call = executor.submit(send_delivery, delivery, at=now)
                self.calls_in_progress[call] = delivery

    def get_available_slots(self, endpoint: WebhookEndpoint, *, now: datetime) -> int:
        """Return how many calls to this endpoint may start now."""
        deliveries = self.calls_in_progress.values()
        free = MAX_CONCURRENCY - len(deliveries)
        busy = sum(delivery.endpoint_id == endpoint.pk for delivery in deliveries)
        if endpoint.failing_since is None:
            limit = MAX_CALLS_PER_ENDPOINT if free > MAX_CONCURRENCY // 2 else 1
            return min(free, limit - busy)
        if self.due_before is None and (endpoint.backoff_until or now) > now:
            return 0
        failing = [
            delivery for delivery in deliveries if delivery.endpoint.failing_since is not None
        ]
        failing_of_account = sum(delivery.account_id == endpoint.account_id for delivery in failing)
        return min(
            free,
            MAX_CALLS_TO_FAILING_ENDPOINTS - len(failing),
            MAX_FAILING_CALLS_PER_ACCOUNT - failing_of_account,
            1 - busy,
        )

    def start_due_mails(self, executor: ThreadPoolExecutor, *, due: datetime) -> None:
        """Claim a mail of each account while slots are free, and send them."""
        if len(self.mails_in_progress) == MAX_MAILS or not can_send_mail():
            return
        for account in list_accounts_with_due_rows(Mail, due_before=due):
            if len(self.mails_in_progress) == MAX_MAILS:
                break
            queue_requested_links(account, at=due)
            if mail := claim_mail(account, due_before=due):
                self.mails_in_progress[executor.submit(send_mail, mail)] = mail

    def start_due_scenario(self, executor: ThreadPoolExecutor, *, due: datetime) -> None:
        """Claim a scenario while none is calculated, and begin."""
        if len(self.scenarios_in_progress) == MAX_SCENARIOS:
            return
        for account in list_accounts_with_due_rows(Scenario, due_before=due):
            if scenario := claim_scenario(account, due_before=due, at=timezone.now()):
                calculating = executor.submit(calculate, scenario, self.stopping.is_set)
                self.scenarios_in_progress[calculating] = scenario
                return

    def process_inbox(self, *, due: datetime) -> bool:
        """Process some events that shops sent; return whether more may be due."""
        count = 0
        with closing(process_due_events(due_before=due)) as events:
            for event in islice(events, MAX_EVENTS_AT_ONCE):
                count += 1
                self.on_event(event)
        return count == MAX_EVENTS_AT_ONCE

    def evaluate_risk_rules(self) -> bool:
        """Let the risk rules look at some sales; return whether there are more of them.

        A rule that fails is logged: others, and all that is sent, go on.
        """
        if monotonic() - self.evaluated_at < RISK_INTERVAL_SECONDS:
            return False
        has_more = False
        for account in list_evaluated_accounts():
            try:
                has_more |= evaluate_rules(account, at=timezone.now())
            except StatisticsNotReady:
                continue  # the next look counts on
            except DatabaseError:
                raise
            except Exception:
                logger.exception("Risk rules of account %s could not be evaluated", account)
        if not has_more:
            self.evaluated_at = monotonic()
        return has_more

    def evaluate_watches(self) -> bool:
        """Evaluate the watches of one account; return whether there are more accounts.

        Each hour has all of them, once the statistics that they read are stored. An
        account that fails is logged: others go on.
        """
        if self.unstored:
            return False
        if not self.unwatched and monotonic() - self.watched_at >= WATCH_INTERVAL_SECONDS:
            self.watched_at = monotonic()
            self.unwatched = [each for each in list_accounts() if each.locked_at is None]
        if not self.unwatched:
            return False
        account, now = self.unwatched.pop(), timezone.now()
        try:
            self.on_alerts(account, evaluate_watches(account, at=now))
            queue_alert_mails(account, build_url=build_alert_url, at=now)
        except DatabaseError:
            raise
        except Exception:
            logger.exception("Watches of account %s could not be evaluated", account)
        if not self.unwatched:
            record_command_run(WATCHES_NAME, at=now)
        return bool(self.unwatched)

    def store_statistics(self) -> bool:
        """Store the statistics of some past days of one account; return whether there may
        be more to store. An account that fails is logged: others go on.
        """
        if not self.unstored and monotonic() - self.stored_at >= STATISTICS_INTERVAL_SECONDS:
            self.stored_at, now = monotonic(), timezone.now()
            self.unstored = [(it, store_past_days(it, at=now)) for it in list_accounts()]
        if not self.unstored:
            return False
        account, steps = self.unstored.pop()
        try:
            for _ in islice(steps, 1):
                self.unstored.append((account, steps))
        except DatabaseError:
            raise
        except Exception:
            logger.exception("Statistics of account %s could not be stored", account)
        return bool(self.unstored)

    def record_finished(self, *, timeout_seconds: float | None) -> None:
        """Record the results of completed calls and mails; wait for one of them."""
        in_progress: list[Future[Any]] = [
            *self.calls_in_progress,
            *self.mails_in_progress,
            *self.scenarios_in_progress,
        ]
        done, _ = wait(in_progress, timeout_seconds, return_when=FIRST_COMPLETED)
        for call in [call for call in self.calls_in_progress if call in done]:
            delivery = self.calls_in_progress.pop(call)
            result = get_result(call)
            with self.retry_on_database_error():
                record_delivery_result(delivery, result, at=timezone.now())
                self.on_result(delivery, result)
        for sending in [each for each in self.mails_in_progress if each in done]:
            mail = self.mails_in_progress.pop(sending)
            outcome = get_mail_result(sending)
            with self.retry_on_database_error():
                record_mail_result(mail, outcome, at=timezone.now())
                self.on_mail(mail, outcome)
        for calculating in [each for each in self.scenarios_in_progress if each in done]:
            scenario = self.scenarios_in_progress.pop(calculating)
            if error := calculating.exception():
                logger.error("Scenario %s waits for another try", scenario.pk, exc_info=error)
            self.on_scenario(scenario)

    @contextmanager
    def retry_on_database_error(self) -> Iterator[None]:
        """Suppress a database error and wait, unless `due_before` is given.

        Deliveries whose result was not recorded are sent again after their lease,
        mails are not.
        """
        try:
            yield
        except DatabaseError as error:
            if self.due_before:
                raise
            if isinstance(error, OperationalError):
                self.log_database_error(error)
            else:
                logger.exception("Due deliveries could not be read or written")
            if not connection.in_atomic_block:
                connection.close()  # the next query opens a new connection

    def log_database_error(self, error: DatabaseError) -> None:
        """Log in one line, once a minute, that the database is away."""
        if monotonic() - self.logged_away_at >= AWAY_LOG_SECONDS:
            self.logged_away_at = monotonic()
            reason = " ".join(str(error).split())
            logger.error("Due deliveries could not be read or written: %s", reason)


def build_alert_url(alert: Alert) -> str:
    """Return the address of an alert in the back office."""
    return settings.PUBLIC_URL + reverse("admin:payouts_alert_change", args=[alert.pk])


def calculate(scenario: Scenario, should_stop: Callable[[], bool]) -> None:
    """Calculate a scenario on the connection of this thread."""
    try:
        calculate_in_background(scenario, should_stop=should_stop)
    finally:
        connection.close()


def get_result(call: Future[DeliveryResult]) -> DeliveryResult:
    """Return the result of a call; an unexpected exception is a failed attempt."""
    error = call.exception()
    if error is None:
        return call.result()
    logger.error("A webhook could not be called", exc_info=error)
    return DeliveryResult(error=f"our own fault, see the log: {type(error).__name__}")


def get_mail_result(sending: Future[MailResult]) -> MailResult:
    """Return the result of a mail; an unexpected exception is a failed attempt."""
    error = sending.exception()
    if error is None:
        return sending.result()
    logger.error("A mail could not be sent: %s", type(error).__name__)
    return MailResult(f"our own fault: {type(error).__name__}")
