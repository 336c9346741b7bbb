"""JSON, whatever `Accept` says; decimals leave digit by digit."""

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer

from accounts.exact_json import exact_json


class ExactJSON(BaseRenderer):
    """The one renderer."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(self, data, accepted_media_type=None, renderer_context=None):
        return b"" if data is None else exact_json(data)


class AlwaysJSON(BaseContentNegotiation):
    """There is no 406 and no 415."""

    def select_parser(self, request, parsers):
        return parsers[0]

    def select_renderer(self, request, renderers, format_suffix=None):
        return renderers[0], renderers[0].media_type
