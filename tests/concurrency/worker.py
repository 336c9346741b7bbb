"""A process that does what it is told, line by line: JSON in, JSON out.

`python -m tests.concurrency.worker`; `Workers` starts some and speaks to them all.
"""

import json
import subprocess
import sys
from datetime import UTC, datetime

from tests.command_line import ROOT, environment

PROCESSES = 4
AT = datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC)


class Workers:
    """So many processes on the test database."""

    def __init__(self, number: int) -> None:
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.concurrency.worker"],
                cwd=ROOT,
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(number)
        ]
        for process in self.processes:
            assert process.stdout.readline() == "ready\n"

    def do(self, *tasks: dict) -> list[str]:
        """One task for each process, all at once; what came of each."""
        for process, task in zip(self.processes, tasks, strict=True):
            process.stdin.write(json.dumps(task) + "\n")
        for process in self.processes:
            process.stdin.flush()
        return [json.loads(process.stdout.readline()) for process in self.processes]

    def end(self) -> None:
        for process in self.processes:
            process.communicate(timeout=30)


def together(*sets: dict) -> dict:
    """All acts by their names; no two have one."""
    acts = {name: act for some in sets for name, act in some.items()}
    if len(acts) != sum(map(len, sets)):
        raise ValueError("two acts have one name")
    return acts


def work() -> None:
    """Answer with what the act tells, `done` or the name of the refusal, until there
    is no more."""
    import django

    django.setup()
    from django.db import connection

    from accounts.engines import waited_too_long
    from accounts.services.accounts import account_named
    from payouts.services.commissions import approve, disapprove
    from payouts.services.recording import Sale, record_conversion
    from tests.concurrency.affiliate_acts import AFFILIATE_ACTS
    from tests.concurrency.payment_acts import PAYMENT_ACTS
    from tests.concurrency.sale_acts import SALE_ACTS
    from tests.concurrency.staff_acts import STAFF_ACTS
    from tests.shop import items_of
    from tracking.attribution import Clues
    from tracking.services.attempts import admit

    def sell(account, *, amount, external_id=None, **clues):
        if external_id is not None:
            admit(account, source="api", external_id=external_id)
        told = Sale(
            clues=Clues(**clues), items=items_of(amount), external_id=external_id
        )
        record_conversion(account, sale=told, at=AT)

    def decide(account, *, commission, goals):
        decisions = {"approve": approve, "disapprove": disapprove}
        for goal in goals:
            decisions[goal](account, commission_id=commission, at=AT)

    ours = {"sell": sell, "decide": decide}
    acts = together(ours, PAYMENT_ACTS, AFFILIATE_ACTS, SALE_ACTS, STAFF_ACTS)
    connection.ensure_connection()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        task = json.loads(line)
        account = account_named(task.pop("account"))
        try:
            told = acts[task.pop("act")](account, **task)
        except Exception as failure:
            late = waited_too_long(failure)
            result = "TooManyAttempts" if late else type(failure).__name__
        else:
            result = told or "done"
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    work()
