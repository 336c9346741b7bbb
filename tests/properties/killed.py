"""Operations that end as a killed process ends them: nothing is cleaned up."""

import os
import signal
import warnings
from collections.abc import Callable
from typing import Any

from django.db import connection, connections


class KillAtStatement:
    """Kill this process at a statement, before or after the database has run it."""

    def __init__(self, number: int, *, is_executed: bool) -> None:
        self.left = number
        self.is_executed = is_executed

    def __call__(self, execute, *arguments):
        self.left -= 1
        if self.left <= 0 and not self.is_executed:
            os.kill(os.getpid(), signal.SIGKILL)
        result = execute(*arguments)
        if self.left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result


def run_killed(operation: Callable[[], Any], *, statement: int, is_executed: bool) -> None:
    """Run an operation in another process, which is killed at a statement.

    With fewer statements it is killed when the operation has ended.
    """
    connections.close_all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of the test runner
        pid = os.fork()
    if pid == 0:
        try:
            with connection.execute_wrapper(KillAtStatement(statement, is_executed=is_executed)):
                operation()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
