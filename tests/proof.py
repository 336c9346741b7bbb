"""After every test that moves money: do the books agree?"""

from contextlib import contextmanager

from django.apps import apps
from django.db import OperationalError, connection
from django.utils import timezone

from accounts.models.accounts import Owned
from payouts.services.equations import Books
from payouts.services.proof import prove


def books_agree(*accounts):
    """Every equation holds for these accounts."""
    report = prove(accounts, at=timezone.now())
    assert report.failures == []
    return report


def money_agrees(*accounts):
    """The amounts of these accounts agree: what each test of an endpoint leaves."""
    for account in accounts:
        assert list(Books(account).of_money()) == []


def everything(account):
    """All that is stored of an account, to be compared with itself later."""
    return {
        model.__name__: list(
            model._base_manager.filter(account=account).order_by("pk").values()
        )
        for model in apps.get_models()
        if issubclass(model, Owned)
    }


class Broken(OperationalError):
    """What `failing_at` raises in place of a statement."""


@contextmanager
def failing_at(number):
    """Raise in place of the statement of this number, counted from nought.

    Yields the list of statements that were asked for.
    """
    asked = []

    def ask(execute, sql, params, many, context):
        asked.append(sql)
        if len(asked) == number + 1:
            raise Broken(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(ask):
        yield asked
