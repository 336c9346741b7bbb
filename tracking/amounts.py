"""AmountField: exact decimals stored as BIGINT, identical on SQLite and PostgreSQL."""

from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Aggregate
from django.db.models.sql.compiler import SQLCompiler

from accounts.decimals import parse_decimal

SCALE = 4
MAX_SCALED_AMOUNT = 2**63 - 1
SUM_SPLIT_BASE = 10**9
SCALING_CONTEXT = Context(prec=200)  # no digit is lost before validation

if TYPE_CHECKING:
    DecimalFieldBase = models.Field[Decimal, Decimal]
else:
    DecimalFieldBase = models.Field


class AmountField(DecimalFieldBase):
    """An amount in 1/10,000 of a currency's major unit.

    Sums, filters and check constraints are exact. Because it is not an integer field,
    Django rejects arithmetic between columns unless `output_field` is given.
    DecimalField is not used because it is a float column on SQLite.
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
            raise ValidationError("An amount cannot be a float.")
        if isinstance(value, str):
            try:
                return parse_decimal(value)
            except ValueError as error:
                raise ValidationError(str(error)) from None
        return Decimal(value)

    def get_prep_value(self, value: Any) -> int | None:
        value = super().get_prep_value(value)
        if value is None:
            return None
        amount = self.to_python(value)
        if amount is None:
            return None
        scaled = amount.scaleb(SCALE, SCALING_CONTEXT)
        stored = scaled.scaleb(-SCALE, SCALING_CONTEXT)
        if scaled != scaled.to_integral_value() or amount != stored:
            raise ValidationError(f"{amount} has more than {SCALE} decimals.")
        if abs(scaled) > MAX_SCALED_AMOUNT:
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
    """The sum of amounts of any size.

    SQLite's SUM fails beyond 64 bits, so its high and low digits are summed separately
    and combined by the converter.
    """

    function = "SUM"
    name = "ExactSum"
    output_field = AmountField()

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> Any:
        templates = (
            f"SUM(%(expressions)s / {SUM_SPLIT_BASE})",
            f"SUM(%(expressions)s %%%% {SUM_SPLIT_BASE})",
        )
        parts = []
        for template in templates:
            part = self.copy()
            part.template = template
            parts.append(part.as_sql(compiler, connection))
        (high, values), (low, same_values) = parts
        return f"({high} || ' ' || {low})", [*values, *same_values]

    def get_db_converters(self, connection: BaseDatabaseWrapper) -> list[Any]:
        return [_convert_sum]


def _convert_sum(value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Decimal | None:
    if value is None:
        return None
    if isinstance(value, str):
        high, low = value.split()
        value = int(high) * SUM_SPLIT_BASE + int(low)
    return Decimal(int(value)).scaleb(-SCALE)
