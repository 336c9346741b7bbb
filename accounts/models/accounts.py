"""Account: a company that runs affiliate programs; Owned: everything that is its."""

from collections.abc import Iterable
from typing import Any, Self, TypeVar

from django.db import connections, models
from django.utils import timezone


class Plan(models.Model):
    """What an account has bought: a row of feature flags."""

    name = models.CharField(max_length=64)
    api = models.BooleanField(default=False)
    clicks = models.BooleanField(default=False)
    bonuses = models.BooleanField(default=False)
    mlm = models.BooleanField(default=False)
    payouts = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name"], name="one_plan_per_name")
        ]

    def __str__(self) -> str:
        return self.name


class Account(models.Model):
    """A company: the tenant to whom every other row belongs."""

    slug = models.CharField(max_length=64)
    name = models.CharField(max_length=255)
    plan = models.ForeignKey(Plan, models.PROTECT, related_name="+", db_index=False)
    uses_payouts = models.BooleanField(default=False)
    pending_as_null = models.BooleanField(default=False)
    # Was there ever an endpoint to tell? Saves all others the question at each note; a
    # request that is in hand while the first one is made does not tell it.
    uses_webhooks = models.BooleanField(default=False, db_default=False)
    locked_at = models.DateTimeField(null=True)
    # When the books were last proved and it was noted, and how many rows differed.
    proved_at = models.DateTimeField(null=True)
    differing_rows = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["slug"], name="one_account_per_slug")
        ]

    def __str__(self) -> str:
        return self.slug


Row = TypeVar("Row", bound="Owned")


class OwnedQuerySet(models.QuerySet[Row]):
    """What every set of an account's rows can do."""

    def insert_unless_taken(
        self, row: Row, *, on: tuple[str, ...], among: str = ""
    ) -> bool:
        """Insert one row, or say False where these columns are taken.

        `on` names fields of one unique constraint, `among` the SQL condition of a
        partial one. Only this collision is forgiven; any other is an error. The
        row gets its primary key.
        """
        connection = connections[self.db]
        fields = [f for f in row._meta.concrete_fields if not f.primary_key]
        values = [
            field.get_db_prep_save(field.pre_save(row, add=True), connection)
            for field in fields
        ]
        columns = _names(field.column for field in fields)
        marks = ", ".join(["%s"] * len(fields))
        target = _names(row._meta.get_field(name).attname for name in on)  # type: ignore[union-attr]
        condition = f" WHERE {among}" if among else ""
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {row._meta.db_table} ({columns})"  # noqa: S608 - names from our own models
                f" VALUES ({marks}) ON CONFLICT ({target}){condition}"
                f" DO NOTHING RETURNING id",
                values,
            )
            inserted = cursor.fetchone()
        if inserted is None:
            return False
        row.pk = inserted[0]
        row._state.adding = False  # noqa: SLF001 - as Django's own insert does
        row._state.db = self.db  # noqa: SLF001
        return True

    def cut(self, account: Account, *, first: int, length: int) -> Self:
        """These rows from the first on, so many; the limit is applied before joins."""
        ids = self.values("pk")[first : first + length]
        rows = type(self)(self.model, using=self.db)
        return rows.filter(account=account, pk__in=ids).order_by(*self.query.order_by)


def _names(columns: Iterable[str | None]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def of_the_account(relation: str) -> models.FilteredRelation:
    """A relation joined by the account as well: every index begins with it."""
    return models.FilteredRelation(
        relation, condition=models.Q(**{f"{relation}__account": models.F("account")})
    )


class Owned(models.Model):
    """A row of one account."""

    account: models.ForeignKey[Account, Account] = models.ForeignKey(
        Account, models.PROTECT, related_name="+", db_index=False
    )

    class Meta:
        abstract = True

    def change(self, *, expecting: dict[str, Any] | None = None, **values: Any) -> bool:
        """Write these fields, by one UPDATE that names the account.

        With `expecting`, only where the row still holds those values; the answer
        says whether it did.
        """
        rows = type(self)._base_manager.filter(
            account_id=self.account_id, pk=self.pk, **(expecting or {})
        )
        if not rows.update(**values):
            return False
        for name, value in values.items():
            setattr(self, name, value)
        return True

    def again(self) -> Self:
        """The row as it stands now, read through its account."""
        rows = type(self)._base_manager.filter(account_id=self.account_id)
        return rows.get(pk=self.pk)
