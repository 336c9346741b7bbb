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

from accounts import replica
from accounts.errors import NotFound
from accounts.services.accounts import ensure_not_locked
from accounts.services.rate_limits import RateLimit, RateLimitUsage
from affiliate_site.api.access import RateLimitThrottle, add_rate_limit_headers
from affiliate_site.api.filters import AccountFilterBackend, BaseFilterSet
from affiliate_site.api.idempotency import IdempotencyMixin
from affiliate_site.api.input_serializers import InputSerializer, validate_each
from affiliate_site.api.pagination import PAGE_SIZE, LinkHeaderPagination
from affiliate_site.api.parsing import check_content_length
from affiliate_site.api.representations.base import Representation
from affiliate_site.api.representations.pages import load_page


class TenantViewSet(IdempotencyMixin, GenericViewSet):
    """A resource of one account.

    A view set declares the attributes below, from which the OpenAPI document is
    generated too. Dictionaries have action names as keys.
    """

    permission_model: type  # model that the permissions of a role refer to
    throttle_rate: RateLimit | dict[str, RateLimit] | None = None  # counted per action
    serializer_classes: dict[str, type[InputSerializer]] = {}  # of request bodies
    # Serializers of the query, for actions that also have a body.
    query_serializer_classes: dict[str, type[InputSerializer]] = {}
    # The representation of answers; `list` returns a list. A dict is a JSON schema.
    representation: type[Representation] | dict | None = None
    # Representations of actions with another answer; `[X]` is a list of X.
    representations: dict[str, Any] = {}
    # For `render_key`: a compiled query of one row, its key, the error without a row.
    row_query: tuple[Any, str, type[NotFound]]
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

        DRF's method is not called, because it checks permissions before throttles.
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

    def get_representation(self) -> Any:
        """Return the representation of the answer, `[X]` for a list of X, None for no
        body."""
        if self.action in self.representations:
            return self.representations[self.action]
        if self.action == "destroy":
            return None
        return [self.representation] if self.action == "list" else self.representation

    def get_serializer_context(self):
        return {"account": self.account}

    def validate_body(self, **context) -> dict:
        """Return the validated body; `context` is available to its fields."""
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

    def get_row(self, query, not_found_error, **key):
        """Return the row of a compiled query, or raise `not_found_error`."""
        row = query.first(account=self.account, **key)
        if row is None:
            raise not_found_error
        return row

    def render_row(self, row):
        """Render a row that has the columns of the representation."""
        return Response(self.get_representation().represent(row, self.account))

    def render_key(self, value):
        """Render the row with this value of the key in `row_query`."""
        query, key, not_found_error = self.row_query
        return self.render_row(self.get_row(query, not_found_error, **{key: value}))

    def render_instance(self, instance):
        """Render an instance that the request has just stored."""
        representation = self.get_representation()
        return Response(representation.represent_instance(instance, self.account))

    def render_rows(self, rows):
        """Render a list of rows that have the columns of the representation."""
        return Response(self.get_representation()[0].represent_all(rows, self.account))

    def render_response(self, data):
        return Response(data)

    def list_page(self, rows):
        """Render a page of a list; except for payments, a replica may be read."""
        if replica.is_money_model(rows.model):
            return self.render_page(rows)
        return replica.read(lambda alias: self.render_page(rows.using(alias)))

    def render_page(self, rows):
        representation = self.get_representation()[0]
        rows, offset = self.paginate_queryset(self.filter_queryset(rows))  # type: ignore[misc]
        page = load_page(representation, rows, self.account, offset=offset, limit=PAGE_SIZE)
        return self.get_paginated_response(representation.represent_all(page, self.account))

    def render_no_content(self):
        return Response(status=204)
