"""TenantViewSet: the base class of every resource.

The order of checks is that of docs/api-contract.md, section 1.5.
"""

from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.exceptions import (
    MethodNotAllowed,
    NotAuthenticated,
    ValidationError,
)
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from accounts.services.accounts import ensure_not_locked
from accounts.services.rate_limits import RateLimit, RateLimitUsage
from affiliate_site.api.filters import AccountFilterBackend, BaseFilterSet
from affiliate_site.api.idempotency import IdempotencyMixin
from affiliate_site.api.input_serializers import InputSerializer, validate_each
from affiliate_site.api.pagination import LinkHeaderPagination
from affiliate_site.api.parsing import check_content_length
from affiliate_site.api.throttling import RateLimitThrottle, add_rate_limit_headers


class TenantViewSet(IdempotencyMixin, GenericViewSet):
    """A resource of one account.

    A view set declares the attributes below, from which the OpenAPI document is
    generated too. Dictionaries have action names as keys.
    """

    permission_model: type  # model that the permissions of a role refer to
    throttle_rate: RateLimit | dict[str, RateLimit] | None = None  # counted per action
    serializer_classes: dict[str, type[InputSerializer]] = {}  # of request bodies
    # Of the query of an action that also has a body.
    query_serializer_classes: dict[str, type[InputSerializer]] = {}
    response_serializer_class: Any = None  # class or JSON schema; a list has many
    response_serializers: dict = {}  # of actions with another response
    plan_features: dict[str, str] = {}  # 403 unless the plan has the feature
    tracking_actions: tuple[str, ...] = ()  # rejected while the account is locked
    conflict_actions: tuple[str, ...] = ()  # may answer 409, as every POST may

    throttle_classes = (RateLimitThrottle,)
    filter_backends = (AccountFilterBackend,)
    filterset_class: type[BaseFilterSet] | None = BaseFilterSet
    pagination_class: type | None = LinkHeaderPagination

    body: Any  # parsed JSON, once `prepare_request` has run
    usage: RateLimitUsage | None = None  # set once the request is counted

    def initialize_request(self, request, *args, **kwargs):
        """Pass an empty body to the parser, which rejects it; DRF would use `{}`."""
        drf_request = super().initialize_request(request, *args, **kwargs)
        drf_request._stream = request  # noqa: SLF001 - as DRF does
        return drf_request

    def initial(self, request, *args, **kwargs):
        """Check method, key, rate limit, plan and role, and body size, in this order.

        It does not call DRF's method, which checks permissions before throttles.
        """
        if request.method not in self.allowed_methods:
            raise MethodNotAllowed(request.method)
        if request.method == "OPTIONS":
            return
        self.at = timezone.now()
        self.perform_authentication(request)
        self.check_throttles(request)
        self.check_permissions(request)
        if self.has_body() and request.method != "GET":
            check_content_length(request)

    def perform_authentication(self, request):
        if request.auth is None:
            raise NotAuthenticated
        self.account = request.user
        request._request.api_key = request.auth  # noqa: SLF001 - for the log

    def finalize_response(self, request, response, *args, **kwargs):
        response = super().finalize_response(request, response, *args, **kwargs)
        if self.usage is not None:
            add_rate_limit_headers(response, self.usage)
        return response

    @property
    def default_response_headers(self):
        return {}

    def options(self, request, *args, **kwargs):
        """Answer a CORS preflight request; it needs no key."""
        response = HttpResponse(status=204)
        del response["Content-Type"]
        response["Allow"] = ", ".join(self.allowed_methods)
        return response

    def prepare_request(self):
        """Parse the body, outside any transaction."""
        if self.has_body():
            self.body = self.request.data

    def run_action(self, handler):
        """Run the handler; tracking actions need an account that is not locked."""
        if self.action in self.tracking_actions:
            ensure_not_locked(self.account)
        return handler(self.request, *self.args, **self.kwargs)

    def has_body(self) -> bool:
        return self.action in self.serializer_classes

    def get_serializer_class(self):
        return self.serializer_classes.get(self.action)

    def get_response_serializer(self):
        """Return the serializer of the response; None for no body."""
        if self.action in self.response_serializers:
            return self.response_serializers[self.action]
        default = self.response_serializer_class
        if default is None or self.action == "destroy":
            return None
        return default(many=True) if self.action == "list" else default

    def get_serializer_context(self):
        return {"account": self.account}

    def validate_body(self, **context) -> dict:
        """Return the validated body; `context` is passed to its fields."""
        return self.validate_as(self.get_serializer_class(), self.body, **context)

    def validate_body_items(self, **context) -> list[dict]:
        """Return the validated body, one object or an array of them, as a list."""
        if isinstance(self.body, dict):
            return [self.validate_body(**context)]
        return validate_each(self.get_serializer_class(), self.body, **context)

    def validate_body_and_query(self, **context) -> tuple[dict, dict]:
        """Return the validated body and query; raise the errors of both together."""
        parameters = self.request.query_params.items()
        query = {name: value for name, value in parameters if value}  # empty: not sent
        serializers = [
            self.get_serializer_class()(data=self.body, context=context),
            self.query_serializer_classes[self.action](data=query),
        ]
        errors = {
            name: detail
            for serializer in serializers
            if not serializer.is_valid()
            for name, detail in serializer.errors.items()
        }
        if errors:
            raise ValidationError(errors)
        return tuple(serializer.validated_data for serializer in serializers)

    def validate_as(self, serializer_class, data, **context) -> dict:
        context = self.get_serializer_context() | context
        serializer = serializer_class(data=data, context=context)
        serializer.is_valid(raise_exception=True)
        return serializer.validated_data

    def get_row(self, rows, not_found_error, **changed):
        """Return the row for its representation, or raise `not_found_error`.

        `changed` are the values that this request has just written; they replace later
        values of concurrent requests.
        """
        for row in rows.for_representation()[:1]:
            return row | changed
        raise not_found_error

    def render_response(self, data):
        return Response(data)

    def list_page(self, represent, rows, columns="for_representation"):
        """Return a page of a list; `represent` serializes one row."""
        return self.list_page_of_rows(
            lambda page: [represent(row) for row in page], rows, columns
        )

    def list_page_of_rows(self, represent_all, rows, columns="for_representation"):
        """Return a page of a list; `represent_all` serializes all rows of the page.

        `columns` is the name of the queryset method that selects the columns.
        """
        queryset = self.paginate_queryset(self.filter_queryset(rows))
        page = list(getattr(queryset, columns)())
        return self.get_paginated_response(represent_all(page) if page else [])

    def render_no_content(self):
        return Response(status=204)
