"""AmountField: exact decimals over BIGINT, the same on both engines."""

from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Aggregate
from django.db.models.sql.compiler import SQLCompiler

SCALE = 4
MOST = 2**63 - 1
HALF = 10**9
ROOM = Context(prec=200)  # no digit is lost before it is refused

if TYPE_CHECKING:
    DecimalColumn = models.Field[Decimal, Decimal]
else:
    DecimalColumn = models.Field


class AmountField(DecimalColumn):
    """An amount in 1/10,000 of a currency's major unit.

    A plain field with a column type of its own, not an integer field: sums, filters
    and checks are exact, while arithmetic of columns is refused until its type is
    named. A DecimalField is a float column on SQLite.
    """

    description = "An exact amount with four decimals"

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "bigint"

    def get_internal_type(self) -> str:
        return "AmountField"

    def from_db_value(
        self, value: Any, expression: Any, connection: BaseDatabaseWrapper
    ) -> Decimal | None:
        return None if value is None else Decimal(int(value)).scaleb(-SCALE)

    def to_python(self, value: Any) -> Decimal | None:
        if value is None or isinstance(value, Decimal):
            return value
        if isinstance(value, float):
            raise ValidationError("An amount is never a float.")
        return Decimal(value)

    def get_prep_value(self, value: Any) -> int | None:
        value = super().get_prep_value(value)
        if value is None:
            return None
        amount = self.to_python(value)
        if amount is None:
            return None
        scaled = amount.scaleb(SCALE, ROOM)
        kept = scaled.scaleb(-SCALE, ROOM)
        if scaled != scaled.to_integral_value() or amount != kept:
            raise ValidationError(f"{amount} has more than {SCALE} decimals.")
        if abs(scaled) > MOST:
            raise ValidationError(f"{amount} does not fit its column.")
        return int(scaled)

    def get_db_prep_value(
        self,
        value: Any,
        connection: BaseDatabaseWrapper,
        prepared: bool = False,  # noqa: FBT001, FBT002 - Django's own signature
    ) -> Any:
        return value if prepared else self.get_prep_value(value)


class ExactSum(Aggregate):
    """The sum of amounts, however large: SQLite's own fails beyond 64 bits.

    There the high and the low digits are summed apart, and put together here.
    """

    function = "SUM"
    name = "ExactSum"
    output_field = AmountField()

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> Any:
        halves = (
            f"SUM(%(expressions)s / {HALF}) || ' ' || SUM(%(expressions)s %%%% {HALF})"
        )
        sql, values = self.as_sql(compiler, connection, template=f"({halves})")
        return sql, [*values, *values]

    def get_db_converters(self, connection: BaseDatabaseWrapper) -> list[Any]:
        return [_whole]


def _whole(
    value: Any, expression: Any, connection: BaseDatabaseWrapper
) -> Decimal | None:
    if value is None:
        return None
    if isinstance(value, str):
        high, low = value.split()
        value = int(high) * HALF + int(low)
    return Decimal(int(value)).scaleb(-SCALE)
