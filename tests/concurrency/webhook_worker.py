"""`deliver_webhooks` with a short lease, for tests that kill it."""

from datetime import timedelta

LEASE = timedelta(seconds=1)


def main() -> None:
    """Run the command; deliveries of a killed worker are claimed after one second."""
    import django

    django.setup()
    from django.core.management import call_command

    from accounts.services import deliveries

    deliveries.LEASE_DURATION = LEASE
    call_command("deliver_webhooks")


if __name__ == "__main__":
    main()
