import json
from pathlib import Path

from django.core.management.base import BaseCommand
from drf_spectacular.generators import SchemaGenerator


class Command(BaseCommand):
    help = "Write the OpenAPI document of this release: the same bytes every time."

    def add_arguments(self, parser):
        parser.add_argument("file", metavar="FILE", nargs="?")
        parser.add_argument("--json", action="store_true", help="it always is JSON")

    def handle(self, *, file, **options):
        document = described()
        if file:
            Path(file).write_text(document)
        else:
            self.stdout.write(document, ending="")


def described() -> str:
    """The OpenAPI document as text."""
    document = SchemaGenerator().get_schema(request=None, public=True)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
