"""Record when commands ran, for `manage.py doctor`."""

from datetime import datetime, timedelta

from accounts.models.audit_log import CommandRun

WORKER_NAME = "deliver_webhooks"  # records every minute that it is alive
MAX_HEARTBEAT_AGE = timedelta(minutes=5)


def record_command_run(name: str, *, at: datetime) -> None:
    """Record that a command has done its work, or that a worker is alive."""
    CommandRun.objects.bulk_create(
        [CommandRun(name=name, succeeded_at=at)],
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=["succeeded_at"],
    )


def get_command_runs() -> dict[str, datetime]:
    """Map the name of each recorded command to the time of its last success."""
    return dict(CommandRun.objects.values_list("name", "succeeded_at"))


def is_worker_alive(alive_at: datetime | None, *, at: datetime) -> bool:
    """Return whether a webhook worker is alive, by its last sign of life."""
    return alive_at is not None and at - alive_at <= MAX_HEARTBEAT_AGE
