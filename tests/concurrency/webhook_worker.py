"""`deliver_webhooks` with a short lease, to be killed: `python -m …`."""

from datetime import timedelta

LEASE = timedelta(seconds=1)


def work() -> None:
    """What a killed worker had in hand is anybody's again within a second."""
    import django

    django.setup()
    from django.core.management import call_command

    from accounts.services import deliveries

    deliveries.LEASE = LEASE
    call_command("deliver_webhooks")


if __name__ == "__main__":
    work()
