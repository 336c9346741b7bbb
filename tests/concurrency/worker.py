"""A process that runs tasks: one JSON task per input line, one JSON result per line.

`Workers` starts several processes (`python -m tests.concurrency.worker`) and sends
them tasks.
"""

import json
import subprocess
import sys
from datetime import UTC, datetime

from tests.command_line import PROCESS_SECONDS, ROOT, build_environment

PROCESSES = 4
AT = datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC)


class Workers:
    """Worker processes on the test database."""

    def __init__(self, number: int) -> None:
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.concurrency.worker"],
                cwd=ROOT,
                env=build_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(number)
        ]
        for process in self.processes:
            assert process.stdout.readline() == "ready\n"

    def run(self, *tasks: dict) -> list[str]:
        """Run one task per process at the same time; return the results."""
        self.start(*tasks)
        return self.collect()

    def start(self, *tasks: dict) -> None:
        """Start one task per process at the same time."""
        for process, task in zip(self.processes, tasks, strict=True):
            process.stdin.write(json.dumps(task) + "\n")
        for process in self.processes:
            process.stdin.flush()

    def collect(self) -> list[str]:
        """Wait for the tasks that were started; return the results."""
        return [json.loads(process.stdout.readline()) for process in self.processes]

    def stop(self) -> None:
        for process in self.processes:
            process.communicate(timeout=PROCESS_SECONDS)


def merge_tasks(*sets: dict) -> dict:
    """Merge the tasks of several modules; raise ValueError for duplicate names."""
    tasks = {name: task for task_set in sets for name, task in task_set.items()}
    if len(tasks) != sum(map(len, sets)):
        raise ValueError("two tasks have the same name")
    return tasks


def main() -> None:
    """Run tasks until the input ends.

    The result is what the task returns, `done`, or the name of the error.
    """
    import django

    django.setup()
    from django.db import connection

    from accounts.services.accounts import get_account
    from payouts.services.commissions import approve_commission, disapprove_commission
    from payouts.services.conversion_creation import ConversionData, create_conversion
    from tests.concurrency.affiliate_tasks import AFFILIATE_TASKS
    from tests.concurrency.conversion_tasks import CONVERSION_TASKS
    from tests.concurrency.import_tasks import IMPORT_TASKS
    from tests.concurrency.payment_tasks import PAYMENT_TASKS
    from tests.concurrency.portal_tasks import PORTAL_TASKS
    from tests.concurrency.staff_tasks import STAFF_TASKS
    from tests.program_scenario import build_line_items
    from tracking.attribution import TrackingParameters
    from tracking.services.attempts import Attempt

    def create_conversion_task(account, *, amount, external_id=None, **parameters):
        Attempt(account, origin="api", external_id=external_id).ensure_allowed()
        data = ConversionData(
            parameters=TrackingParameters(**parameters),
            line_items=build_line_items(amount),
            external_id=external_id,
        )
        create_conversion(account, data=data, at=AT)

    def set_statuses_task(account, *, commission, operations):
        functions = {"approve": approve_commission, "disapprove": disapprove_commission}
        for operation in operations:
            functions[operation](account, commission_id=commission, at=AT)

    own_tasks = {
        "create_conversion": create_conversion_task,
        "set_statuses": set_statuses_task,
    }
    tasks = merge_tasks(
        own_tasks,
        PAYMENT_TASKS,
        AFFILIATE_TASKS,
        CONVERSION_TASKS,
        STAFF_TASKS,
        PORTAL_TASKS,
        IMPORT_TASKS,
    )
    connection.ensure_connection()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        task = json.loads(line)
        account = get_account(task.pop("account"))
        try:
            returned = tasks[task.pop("task")](account, **task)
        except Exception as error:
            result = type(error).__name__
        else:
            result = returned or "done"
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
