"""What a check of `manage.py doctor` returns."""

from dataclasses import dataclass

OK = "ok"
WARNING = "warning"
FAILURE = "failure"


@dataclass(frozen=True)
class Finding:
    """The result of a check: status, facts, and what to do if the status is not OK."""

    status: str
    detail: str
    advice: str = ""
