import json
from pathlib import Path

from django.core.management.base import BaseCommand
from drf_spectacular.generators import SchemaGenerator


class Command(BaseCommand):
    help = "Write the OpenAPI document; the output is deterministic."

    def add_arguments(self, parser):
        parser.add_argument("file", metavar="FILE", nargs="?")
        parser.add_argument(
            "--json",
            action="store_true",
            help="accepted for consistency: the output is always JSON",
        )

    def handle(self, *, file, **options):
        document = render_openapi_document()
        if file:
            Path(file).write_text(document)
        else:
            self.stdout.write(document, ending="")


def render_openapi_document() -> str:
    """Return the OpenAPI document as text."""
    document = SchemaGenerator().get_schema(request=None, public=True)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
