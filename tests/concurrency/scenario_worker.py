"""`deliver_webhooks --once` whose calculation stops in the middle, for a test that kills it."""

from threading import Event

COMMISSIONS = 'FROM "payouts_commission"'


def main() -> None:
    """Run the command; print a line when a calculation reads sales, and wait there."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.db.backends.signals import connection_created

    def wait(execute, sql, *arguments):
        if COMMISSIONS in sql:
            print("reading", flush=True)  # noqa: T201 - what the test waits for
            Event().wait()
        return execute(sql, *arguments)

    def watch(connection, **_):
        connection.execute_wrappers.append(wait)

    connection_created.connect(watch)
    call_command("deliver_webhooks", once=True)


if __name__ == "__main__":
    main()
