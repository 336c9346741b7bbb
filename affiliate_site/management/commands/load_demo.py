from functools import partial

from django.conf import settings

from accounts.commands import JsonCommand
from affiliate_site.demo.loading import load_demo


class Command(JsonCommand):
    help = (
        "Load a realistic demo account of 120 days that end today; if it exists, print its"
        " credentials again. Sales worth explaining: order-contested,"
        " order-coupon-beats-click, order-known-customer-before-click, order-cap-reached,"
        " order-own-purchase."
    )

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument(
            "--scale",
            type=parse_scale,
            default=1,
            metavar="N",
            help="multiplies affiliates, clicks and conversions",
        )

    def run(self, *, at, scale=1, **options):
        progress = partial(self.track, description="Days")
        demo = load_demo(scale=scale, at=at, progress=progress)
        self.write_result(
            f"{demo.account}\n{demo.key}\n{demo.email} {demo.password}\n"
            f"{demo.finance_email} {demo.finance_password}\n"
            f"{demo.affiliate_email} {demo.affiliate_password}",
            account=demo.account,
            key=demo.key,
            admin_url=f"{settings.PUBLIC_URL}/admin/",
            email=demo.email,
            password=demo.password,
            finance_email=demo.finance_email,
            finance_password=demo.finance_password,
            affiliate_email=demo.affiliate_email,
            affiliate_password=demo.affiliate_password,
        )


def parse_scale(text: str) -> int:
    """Parse a whole number, 1 or more."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number
