"""Renders JSON with exact decimals, regardless of `Accept`."""

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer

from accounts.exact_json import serialize_exact_json


class ExactJSONRenderer(BaseRenderer):
    """Renders responses with `serialize_exact_json`."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(self, data, accepted_media_type=None, renderer_context=None):
        return b"" if data is None else serialize_exact_json(data)


class JSONContentNegotiation(BaseContentNegotiation):
    """Always selects the only parser and renderer: no 406 and no 415."""

    def select_parser(self, request, parsers):
        return parsers[0]

    def select_renderer(self, request, renderers, format_suffix=None):
        return renderers[0], renderers[0].media_type
