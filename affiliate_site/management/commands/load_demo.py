from functools import partial

from django.conf import settings
from rich.console import Console
from rich.progress import track

from accounts.commands import TellingCommand
from affiliate_site.demo import load


class Command(TellingCommand):
    help = "Load a believable demo account; loaded already: print the same again."

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument(
            "--scale",
            type=scale,
            default=1,
            metavar="N",
            help="multiplies affiliates, clicks and sales",
        )

    def work(self, *, at, scale, **options):
        bar = partial(
            track, description="Sales", console=Console(stderr=True), transient=True
        )
        demo = load(scale=scale, at=at, progress=bar)
        self.tell(
            f"{demo.account}\n{demo.key}\n{demo.email} {demo.password}",
            account=demo.account,
            key=demo.key,
            admin_url=f"{settings.PUBLIC_URL}/admin/",
            email=demo.email,
            password=demo.password,
        )


def scale(text: str) -> int:
    """A whole number, 1 or more."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number
