"""TenantViewSet: an endpoint is: read, one call, answer."""

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.exceptions import (
    MethodNotAllowed,
    NotAuthenticated,
    ValidationError,
)
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from accounts.services.accounts import refuse_locked
from affiliate_site.api.filters import ListFilter
from affiliate_site.api.idempotency import Once
from affiliate_site.api.inputs import each_of
from affiliate_site.api.limits import Limited
from affiliate_site.api.pagination import PAGE_SIZE, count_rows, link_header
from affiliate_site.api.parsing import read_json, refuse_large


class TenantViewSet(Once, Limited, ViewSet):
    """A resource of one account.

    Declares, per action: `reads` (the shape of the body), `query` (of the query of
    a write), `filters` (of a list), `answers` (the shape of the answer, in a list
    for a list, None for nothing), `conflicts` (it can answer 409), `features` (of
    the plan), `tracks` (refused while the account is locked), `arrays` (the body may
    be an array, of so many at most). The OpenAPI document is made of the same words.
    """

    thing: type  # the model whose permissions are asked for
    reads: dict = {}
    query: dict = {}
    filters: dict = {}
    answers: dict = {}
    conflicts: tuple = ()
    features: dict = {}
    tracks: tuple = ()
    arrays: dict = {}
    acts: dict = {}  # the permission asked for, where the method does not say it

    def initialize_request(self, request, *args, **kwargs):
        """Keep Django's own request too: DRF hides it behind its wrapper."""
        self.plain_request = request
        return super().initialize_request(request, *args, **kwargs)

    def initial(self, request, *args, **kwargs):
        """What the door asks, in order: method, key, limit, plan and role, size."""
        if request.method not in self.allowed_methods:
            raise MethodNotAllowed(request.method)
        if request.method == "OPTIONS":
            return
        self.at = timezone.now()
        if request.auth is None:
            raise NotAuthenticated
        self.account = request.user
        self.plain_request.api_key = request.auth
        self.check_throttles(request)
        self.check_permissions(request)
        if self.reads_body():
            refuse_large(request)

    def reads_body(self):
        """Does this operation read what was sent, whatever it holds?"""
        return self.action in self.reads

    def take_in(self):
        """The body is JSON; `prepare` does what must not happen in a transaction."""
        if self.reads_body():
            or_array = self.action in self.arrays
            self.body = read_json(self.plain_request, or_array=or_array)
            self.prepare()

    def prepare(self):
        """Before any transaction opens."""

    def perform(self):
        """The account is not locked, where that matters; then the handler."""
        if self.action in self.tracks:
            refuse_locked(self.account)
        handler = getattr(self, self.request.method.lower())
        return handler(self.request, *self.args, **self.kwargs)

    def options(self, request, *args, **kwargs):
        """No key, no list of fields: what a browser asks before it calls."""
        response = HttpResponse(status=204)
        del response["Content-Type"]
        response["Allow"] = ", ".join(self.allowed_methods)
        return response

    @property
    def default_response_headers(self):
        return {}

    def read(self, **context) -> dict:
        """The body, as its declaration reads it; `context` is for its fields."""
        return self.read_as(self.reads[self.action], self.body, **context)

    def read_each(self, **context) -> list[dict]:
        """The body, one object or an array of them."""
        declared = self.reads[self.action]
        if isinstance(self.body, dict):
            return [self.read_as(declared, self.body, **context)]
        return each_of(declared, self.body, most=self.arrays[self.action], **context)

    def read_with_query(self, **context) -> tuple[dict, dict]:
        """Body and query of a write; every flaw of both is told at once."""
        query = self.request.query_params.items()
        sent = {name: value for name, value in query if value}  # empty: not sent
        readers = [
            self.reads[self.action](data=self.body, context=context),
            self.query[self.action](data=sent),
        ]
        flaws = {
            name: detail
            for reader in readers
            if not reader.is_valid()
            for name, detail in reader.errors.items()
        }
        if flaws:
            raise ValidationError(flaws)
        said, asked = (reader.validated_data for reader in readers)
        return said, asked

    def read_as(self, declaration, data, **context) -> dict:
        reader = declaration(data=data, context={"account": self.account, **context})
        reader.is_valid(raise_exception=True)
        return reader.validated_data

    def found(self, rows, missing, **done):
        """The one shown row, or the refusal that names what is missing.

        `done` holds what this request has just made of it, whatever others did since.
        """
        for row in rows.as_shown()[:1]:
            return row | done
        raise missing

    def answer(self, data):
        return Response(data)

    def page(self, shape, rows, columns="as_shown"):
        """The page asked for, each row by itself."""

        def shape_all(shown):
            return [shape(row) for row in shown]

        return self.page_of_all(shape_all, rows, columns)

    def page_of_all(self, shape_all, rows, columns="as_shown"):
        """The page asked for, of the rows that the list's filters let pass; `columns`
        names the method of the set that chooses what a shape reads."""
        asked = self.filters.get(self.action, ListFilter)
        rows, number = asked(
            self.request.query_params, queryset=rows, account=self.account
        ).narrowed()
        total = count_rows(rows)
        first = (number - 1) * PAGE_SIZE
        cut = rows.cut(self.account, first=first, length=PAGE_SIZE)
        shown = getattr(cut, columns)()
        response = Response(shape_all(list(shown)) if first < total else [])
        response["Link"] = link_header(self.request, number, total)
        return response

    def nothing(self):
        return Response(status=204)
