"""Scenarios: what-ifs that are stored, calculated at once or by the worker.

See docs/architecture.md, section 5.
"""

import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from textwrap import shorten
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import DatabaseError, connection
from django.db.models import Q
from django.utils import timezone

from accounts.actor import get_actor
from accounts.errors import DomainError
from accounts.models.accounts import Account
from accounts.services.queues import claim_due_rows
from accounts.services.retention import delete_in_batches
from payouts.errors import NothingChanges
from payouts.models.scenarios import MAX_TITLE_LENGTH, Scenario
from payouts.services.what_if import calculate_what_if, load_rules, validate_period
from payouts.services.what_if_changes import read_changes
from payouts.services.what_if_results import MAX_AFFILIATES, describe_difference, serialize_what_if
from payouts.statistics import Period
from payouts.what_if import RuleChange, list_rule_changes

logger = logging.getLogger(__name__)

LEASE = timedelta(minutes=1)  # of who calculates; the worker renews it
PROGRESS_SECONDS = 1.0
MAX_ATTEMPTS = 3  # of calculations that were killed
MAX_SALES_AT_ONCE = 5_000  # that a page calculates itself
SCENARIO_RETENTION = timedelta(days=90)
OUR_FAULT = "This could not be calculated; see the log for “Scenario {pk}”."
KILLED = f"The calculation was stopped {MAX_ATTEMPTS} times. Choose a shorter period."


class TooManySales(Exception):
    """A page would wait too long."""


class _Stopped(Exception):
    """The worker stops, or the scenario is no longer its own."""


def create_scenario(
    account: Account,
    *,
    period: Period,
    changes: Any,
    describe: Callable[[Sequence[RuleChange]], str],
    at: datetime,
) -> Scenario:
    """Create a scenario that the caller calculates (`calculate_now`) before its lease ends.

    `describe` returns its title. Raises `PeriodTooLong`, `InvalidChange` and `NothingChanges`.
    """
    validate_period(period)
    if not (rules := list_present_changes(account, changes)):
        raise NothingChanges
    scenario: Scenario = account.scenarios.create(
        first_day=period.first,
        last_day=period.last,
        title=shorten(describe(rules), MAX_TITLE_LENGTH, placeholder=" …"),
        changes=json.dumps(changes),
        created_by=get_actor().name,
        created_at=at,
        due_at=at + LEASE,
    )
    return scenario


def list_present_changes(account: Account, changes: Any) -> list[RuleChange]:
    """Return what changes of the rules of now. Raises `InvalidChange`."""
    rules = load_rules(account)
    return list_rule_changes(replace(rules, changes=read_changes(account, changes, rules)))


def calculate_now(scenario: Scenario, *, at: datetime) -> None:
    """Calculate a small scenario; leave a larger one to the worker."""
    try:
        result = _calculate(scenario, begin=refuse_many)
    except TooManySales:
        scenario.update_row(expected={"due_at": scenario.due_at}, due_at=at)
    except DomainError as error:
        _finish(scenario, error=error.text)
    else:
        _finish(scenario, **result)


def refuse_many(number: int) -> None:
    """Raise `TooManySales` above `MAX_SALES_AT_ONCE`: `begin` of calculations that wait."""
    if number > MAX_SALES_AT_ONCE:
        raise TooManySales


def claim_scenario(account: Account, *, due_before: datetime, at: datetime) -> Scenario | None:
    """Claim the scenario that waits longest; None if none does, or none can be calculated.

    One whose calculation was killed `MAX_ATTEMPTS` times is not tried again.
    """
    claimed = claim_due_rows(
        account.scenarios.all(), limit=1, due_before=due_before, next_attempt=at + LEASE
    )
    for scenario in claimed:
        scenario.account = account
        if scenario.attempts < MAX_ATTEMPTS:
            scenario.update_row(attempts=scenario.attempts + 1, done=0, total=0)
            return scenario
        _finish(scenario, error=KILLED)
    return None


def list_waiting_scenarios(*, until: datetime) -> list[Scenario]:
    """List the scenarios of all accounts, oldest first, that were created until then and
    have no result yet."""
    rows = Scenario.objects.across_accounts().filter(due_at__isnull=False, created_at__lte=until)
    return list(rows.select_related("account").defer("changes").order_by("created_at", "id"))


@dataclass
class _Progress:
    """What the thread that calculates and the one that records tell each other."""

    done: int = 0
    total: int = 0
    is_stopped: bool = False

    def begin(self, number: int) -> None:
        self.total = number

    def advance(self, number: int) -> None:
        self.done += number
        if self.is_stopped:
            raise _Stopped


def calculate_in_background(
    scenario: Scenario,
    *,
    should_stop: Callable[[], bool] = lambda: False,
    clock: Callable[[], datetime] = timezone.now,
) -> None:
    """Calculate a claimed scenario in a thread, whose connection holds the snapshot.

    This thread records the progress and renews the lease. If `should_stop`, the scenario
    is due again at once.
    """
    progress = _Progress()
    with ThreadPoolExecutor(1) as pool:
        calculating = pool.submit(_calculate_on_own_connection, scenario, progress)
        try:
            while not wait([calculating], PROGRESS_SECONDS).done:
                at = clock()
                numbers = {"done": progress.done, "total": progress.total}
                is_own = _renew(scenario, due_at=at + LEASE, **numbers)
                progress.is_stopped = should_stop() or not is_own
        finally:
            progress.is_stopped = True
    _record(scenario, calculating, at=clock())


def _calculate_on_own_connection(scenario: Scenario, progress: _Progress) -> dict[str, str]:
    try:
        return _calculate(scenario, begin=progress.begin, advance=progress.advance)
    finally:
        connection.close()


def _renew(scenario: Scenario, **values: Any) -> bool:
    return scenario.update_row(expected={"due_at": scenario.due_at}, **values)


def _record(scenario: Scenario, calculating: Future[dict[str, str]], *, at: datetime) -> None:
    try:
        result = calculating.result()
    except _Stopped:
        attempts = scenario.attempts - 1  # nobody killed it
        _renew(scenario, due_at=at, attempts=attempts, done=0)
    except DomainError as error:
        _finish(scenario, error=error.text)
    except DatabaseError:
        raise  # its lease ends, and a worker begins again
    except Exception:
        logger.exception("Scenario %s could not be calculated", scenario.pk)
        _finish(scenario, error=OUR_FAULT.format(pk=scenario.pk))
    else:
        _finish(scenario, **result)


def _calculate(scenario: Scenario, **callbacks: Callable[[int], None]) -> dict[str, str]:
    """Return the outcome, and the result as JSON with the rules that change."""
    result = calculate_what_if(
        scenario.account,
        period=Period(scenario.first_day, scenario.last_day),
        changes=json.loads(scenario.changes),
        **callbacks,
    )
    data = serialize_what_if(result, limit=MAX_AFFILIATES)
    data["rules"] = [asdict(each) for each in list_rule_changes(result.rules)]
    text = json.dumps(data, cls=DjangoJSONEncoder)
    return {"outcome": describe_difference(result), "result": text}


def _finish(scenario: Scenario, **values: str) -> None:
    """Store a result, whole or not at all, unless somebody else has the scenario now."""
    values = {
        name: text if name == "result" else text[:MAX_TITLE_LENGTH] for name, text in values.items()
    }
    _renew(scenario, done=scenario.total, due_at=None, **values)


def read_result(scenario: Scenario) -> Mapping[str, Any] | None:
    """Return the result as JSON data; None before there is one."""
    return json.loads(scenario.result) if scenario.result else None


def read_rules(result: Mapping[str, Any]) -> list[RuleChange]:
    """Return the rules that a result was calculated with."""
    return [RuleChange(**{**each, "of": tuple(each["of"])}) for each in result["rules"]]


def delete_scenario(account: Account, *, pk: int, at: datetime) -> None:
    """Delete a scenario; a calculation of it ends without a result."""
    account.scenarios.filter(pk=pk).delete()


def delete_expired_scenarios(account: Account, *, at: datetime, dry_run: bool) -> int:
    """Delete the scenarios that are older than `SCENARIO_RETENTION`."""
    expired = account.scenarios.filter(created_at__lte=at - SCENARIO_RETENTION)
    return delete_in_batches(expired, dry_run=dry_run)


def delete_scenarios_naming(account: Account, *, texts: Collection[str], at: datetime) -> int:
    """Delete the scenarios that name a person; those in progress begin again."""
    account.scenarios.exclude(due_at=None).update(due_at=at)
    naming = Q()
    for text in texts:
        naming |= Q(changes__contains=text) | Q(result__contains=text)
    return account.scenarios.filter(naming).delete()[0] if texts else 0
