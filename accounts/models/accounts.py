"""Account: a company that runs affiliate programs; TenantModel: a row of an account."""

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any, ClassVar, Self, TypeVar
from zoneinfo import ZoneInfo

from django.db import models
from django.utils import timezone

from accounts.compiled_writes import insert_or_ignore, insert_rows, update_rows


class Plan(models.Model):
    """A plan that accounts subscribe to: a set of feature flags."""

    name = models.CharField(max_length=64)
    api = models.BooleanField(default=False)
    clicks = models.BooleanField(default=False)
    bonuses = models.BooleanField(default=False)
    mlm = models.BooleanField(default=False)
    payouts = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name"], name="one_plan_per_name")]

    def __str__(self) -> str:
        return self.name


class Account(models.Model):
    """A company: the tenant that owns all other rows."""

    not_exported: ClassVar[dict[str, str]] = {
        "plan": "named by the first line of the file",
    }

    slug = models.CharField(max_length=64)
    name = models.CharField(max_length=255)
    plan = models.ForeignKey(Plan, models.PROTECT, related_name="+", db_index=False)
    uses_payouts = models.BooleanField(default=False)
    pending_as_null = models.BooleanField(default=False)
    # Whether the account ever had a webhook; saves other accounts a query per change.
    # Requests that run while the first webhook is created are not sent to it.
    uses_webhooks = models.BooleanField(default=False, db_default=False)
    # What the browser script may report (docs/tracking-trust.md).
    require_signatures = models.BooleanField(default=False, db_default=False)
    max_browser_amount = models.PositiveIntegerField(  # units of any currency
        default=100_000, db_default=100_000
    )
    # Keys of a customer's meta data with its e-mail address: the first one that is set
    # is searched (`tracking/services/account_settings.py`).
    customer_email_keys = models.JSONField(
        default=list, db_default=models.Value([], models.JSONField())
    )
    # Initial values of the form of a new program; "": no currency.
    default_currency = models.CharField(max_length=3, blank=True, default="", db_default="")
    default_auto_approve_affiliates = models.BooleanField(default=False, db_default=False)
    default_auto_approve_commissions = models.BooleanField(default=False, db_default=False)
    # The color of the QR codes of affiliates' links: `#rrggbb`.
    link_color = models.CharField(max_length=7, default="#000000", db_default="#000000")
    # Whether staff must set up a second factor, where it is available.
    require_second_factor = models.BooleanField(default=False, db_default=False)
    # Days until `prune` cuts the addresses of visitors and drops their user agents.
    visitor_data_days = models.PositiveSmallIntegerField(default=90, db_default=90)
    # Days until `prune` removes clicks of pages that nothing names, and until when it
    # has removed them.
    click_days = models.PositiveSmallIntegerField(default=1095, db_default=1095)
    clicks_pruned_until = models.DateTimeField(null=True)
    # By the name of a watch (`payouts/services/watches.py`); null: all have their defaults.
    watches = models.JSONField(null=True)
    locked_at = models.DateTimeField(null=True)
    # Of the moments and days that staff see, an IANA name; times are stored in UTC.
    time_zone = models.CharField(max_length=64, default="UTC", db_default="UTC")
    onboarding_dismissed_at = models.DateTimeField(null=True)
    # Time and result of the last ledger reconciliation.
    reconciled_at = models.DateTimeField(null=True)
    discrepancy_count = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["slug"], name="one_account_per_slug")]

    def __str__(self) -> str:
        return self.slug

    @property
    def zone(self) -> ZoneInfo:
        """The time zone of the account."""
        return ZoneInfo(self.time_zone)

    def get_day(self, at: datetime) -> date:
        """Return the day of a moment in the account's time zone."""
        return at.astimezone(self.zone).date()

    def lock_row(self) -> None:
        """Lock the row until the transaction ends: such changes run one at a time.

        Postings and reads do not wait for it.
        """
        Account.objects.select_for_update(no_key=True).only("pk").get(pk=self.pk)


TenantRow = TypeVar("TenantRow", bound="TenantModel")


class TenantQuerySet(models.QuerySet[TenantRow]):
    """Operations on the rows of accounts."""

    def of(self, account: Account) -> Self:
        """Return the rows of an account, for the querysets of compiled queries."""
        return self.filter(account=account)

    def across_accounts(self) -> Self:
        """Return the rows of all accounts, where the account is not known yet.

        A digest, an address or a host finds it, or a worker serves all accounts.
        """
        return self.all()

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-id")

    def create(self, **values: Any) -> TenantRow:
        """Insert one row, as Django does, by SQL that is compiled once."""
        row = self.model(**values)
        insert_rows([row])
        return row

    def bulk_create(  # type: ignore[override]  # Django: a copy of the list
        self, objs: Iterable[TenantRow], **options: Any
    ) -> list[TenantRow]:
        """Insert rows, as Django does; without options by SQL that is compiled once."""
        rows = list(objs)
        if options:
            return super().bulk_create(rows, **options)
        insert_rows(rows)
        return rows

    def insert_or_ignore(
        self, row: TenantRow, *, unique_fields: tuple[str, ...], condition_sql: str = ""
    ) -> bool:
        """Insert a row and set its primary key; return False if it conflicts.

        `unique_fields` are the fields of one unique constraint, `condition_sql` the
        SQL condition of a partial one. Only a conflict with this constraint is
        ignored; any other raises `IntegrityError`.
        """
        return insert_or_ignore(row, unique_fields, condition_sql)

    def paginate(self, account: Account, *, offset: int, limit: int) -> Self:
        """Return `limit` rows from `offset`; the limit applies before joins."""
        ids = self.values("pk")[offset : offset + limit]
        rows = type(self)(self.model, using=self.db)
        return rows.filter(account=account, pk__in=ids).order_by(*self.query.order_by)


def join_within_account(relation: str) -> models.FilteredRelation:
    """Join a relation by the account as well, because every index begins with it."""
    return models.FilteredRelation(
        relation, condition=models.Q(**{f"{relation}__account": models.F("account")})
    )


class TenantModel(models.Model):
    """A row of one account, which reads it through `Meta.default_related_name`.

    An account that moves takes its rows along (`affiliate_site/moving/`). `not_exported`
    says why not those of this table, or why not some of its columns.
    """

    not_exported: ClassVar[str | dict[str, str]] = {}

    account = models.ForeignKey(Account, models.PROTECT, db_index=False)

    objects = TenantQuerySet.as_manager()  # unless a model has its own

    class Meta:
        abstract = True

    def update_row(self, *, expected: dict[str, Any] | None = None, **values: Any) -> bool:
        """Update these fields by one UPDATE that is restricted to the account.

        With `expected`, the row is updated only if it still has those values. Returns
        whether the row was updated.
        """
        row = {"account_id": self.account_id, "pk": self.pk}
        if not update_rows(type(self), row | (expected or {}), values):
            return False
        for name, value in values.items():
            setattr(self, name, value)
        return True

    def reload(self) -> Self:
        """Return the current row from the database, read through its account."""
        rows = type(self)._base_manager.filter(account_id=self.account_id)
        return rows.get(pk=self.pk)


class AccountDeletion(TenantModel):
    """The mark of an account that is being deleted, until its last row is gone.

    It lets the append-only tables give up the rows of this account, and the digests of
    the ledger leave them out.
    """

    not_exported = "the mark of a deletion that has begun"

    started_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "deletions"
        constraints = [models.UniqueConstraint(fields=["account"], name="one_deletion_per_account")]

    def __str__(self) -> str:
        return f"since {self.started_at:%Y-%m-%d %H:%M} UTC"


class Logo(TenantModel):
    """A small image, in a table of its own because each request reads the account."""

    media_type = models.CharField(max_length=32)
    image = models.BinaryField()

    class Meta:
        default_related_name = "logos"
        constraints = [models.UniqueConstraint(fields=["account"], name="one_logo_per_account")]

    def __str__(self) -> str:
        return f"{self.media_type}, {len(self.image):,} bytes"
