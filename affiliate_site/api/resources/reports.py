"""Reports: `/reports/`."""

import re
from dataclasses import replace
from typing import Any, ClassVar

import django_filters
from django.core.exceptions import ValidationError as FormError
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response

from accounts.services.rate_limits import RateLimit
from affiliate_site.api.fields import ApiFieldMixin
from affiliate_site.api.filters import (
    DateFromFilter,
    PageFilter,
    TextFilter,
    convert_form_errors,
)
from affiliate_site.api.input_serializers import InputSerializer
from affiliate_site.api.pagination import render_link_header
from affiliate_site.api.viewsets import TenantViewSet
from payouts.report_columns import COLUMNS
from payouts.services.report_fields import FIELDS
from payouts.services.reports import (
    COMPARISONS,
    FILTERS,
    ReportQuery,
    build_report,
    serialize_report,
)
from payouts.statistics import Period
from tracking.models.conversions import Conversion

REPORT_PAGE_SIZE = 1000
FILTER_PATTERN = re.compile(r"filter\[(.*)\]", re.DOTALL)


ROW_SCHEMA = {
    "type": "object",
    "properties": {"currency": {"type": "string"}},
    "required": ["currency"],
    "additionalProperties": {"type": ["string", "number", "null"]},
}
RATE_SCHEMA = {
    "type": "object",
    "properties": {
        "currency": {"type": "string"},
        "rate": {"type": "number"},
        "set_on": {"type": "string", "format": "date"},
    },
    "required": ["currency", "rate", "set_on"],
}
CONVERTED_PROPERTIES = {
    "currency": {"type": "string"},
    "rates": {"type": "array", "items": RATE_SCHEMA},
    "missing": {"type": "array", "items": {"type": "string"}},
}
REPORT_EXAMPLE = {
    "rows": [
        {
            "affiliate": "minakessler",
            "affiliate_name": "Mina Kessler",
            "currency": "EUR",
            "clicks": 40,
            "revenue": 129.5,
        }
    ],
    "totals": [{"currency": "EUR", "clicks": 40, "revenue": 129.5}],
    "from": "2026-03-01",
    "to": "2026-03-31",
    "limited": None,
}
REPORT_SCHEMA = {
    "type": "object",
    "properties": {
        "rows": {"type": "array", "items": ROW_SCHEMA},
        "totals": {"type": "array", "items": ROW_SCHEMA},
        "from": {"type": "string", "format": "date"},
        "to": {"type": "string", "format": "date"},
        "limited": {"type": ["string", "null"]},
        "converted": {**ROW_SCHEMA, "properties": CONVERTED_PROPERTIES},
    },
    "required": [*REPORT_EXAMPLE],
    "examples": [REPORT_EXAMPLE],
}


class ParameterField(ApiFieldMixin, serializers.Field):
    """A parameter of the query, read as by a filter of a list."""

    def __init__(self, declared: django_filters.Filter, schema: Any = None, **options: Any) -> None:
        super().__init__(**options)
        self.declared = declared
        self.parameter_schema = schema or declared.schema

    @property
    def schema(self):
        return self.parameter_schema

    def to_internal_value(self, data):
        try:
            return self.declared.field.clean(data)
        except FormError as error:
            raise ValidationError(convert_form_errors([error])) from None


class NamesField(ParameterField):
    """Names with commas between them."""

    ignore_blank = True

    def __init__(self, known: list[str], **options: Any) -> None:
        names = "|".join(known)
        schema = {"type": "string", "pattern": f"^({names})(,({names}))*$"}
        super().__init__(TextFilter(), schema, **options)

    def to_internal_value(self, data):
        return [name.strip() for name in super().to_internal_value(data).split(",")]


class ReportFiltersField(ApiFieldMixin, serializers.DictField):
    """Texts by the names of fields: `filter[program]=harbor`."""

    schema: ClassVar = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in FILTERS},
    }

    def to_internal_value(self, data):
        field = TextFilter().field
        try:
            return {name: field.clean(value) for name, value in data.items()}
        except FormError as error:
            raise ValidationError(convert_form_errors([error])) from None


class ReportQuerySerializer(InputSerializer):
    """What a report is to have."""

    rows = NamesField([*FIELDS])
    columns = NamesField([*COLUMNS])
    date_from = ParameterField(DateFromFilter())
    date_to = ParameterField(DateFromFilter())
    filter = ReportFiltersField(required=False)
    compare = ParameterField(
        TextFilter(), {"type": "string", "enum": [*COMPARISONS]}, required=False
    )
    sort = ParameterField(TextFilter(), required=False)
    page = ParameterField(PageFilter(), required=False)

    def normalize_input(self, data):
        """Read `filter[program]` as `program` of the filters."""
        matches = {name: FILTER_PATTERN.fullmatch(name) for name in data}
        filters = {match[1]: data[name] for name, match in matches.items() if match}
        return super().normalize_input({**data, "filter": filters})


class ReportViewSet(TenantViewSet):
    """Reports (docs/api-contract.md, section 2.11)."""

    permission_model = Conversion
    throttle_rate = RateLimit(100, minutes=1)
    query_serializer_classes = {"build": ReportQuerySerializer}
    conflict_actions = ("build",)
    representation = REPORT_SCHEMA
    filterset_class = pagination_class = None

    def build(self, request):
        """Build a report of a period."""
        values = self.validate_as(ReportQuerySerializer, request.query_params.dict())
        report = build_report(
            self.account,
            ReportQuery(
                values["rows"],
                values["columns"],
                Period(values["date_from"], values["date_to"]),
                values.get("filter", {}),
                values.get("sort") or "",
                values.get("compare") or "",
            ),
            at=self.at,
        )
        number = values.get("page", 1)
        start = (number - 1) * REPORT_PAGE_SIZE
        page = replace(report, rows=report.rows[start : start + REPORT_PAGE_SIZE])
        link = render_link_header(request, number, len(report.rows), page_size=REPORT_PAGE_SIZE)
        return Response(serialize_report(page), headers={"Link": link})
