from argparse import ArgumentTypeError
from datetime import date, datetime, time

from accounts.commands import AccountCommand, parse_day
from affiliate_site.management.connection_secrets import read_secret
from affiliate_site.shops.catching_up import catch_up
from tracking.services.connections import get_connection, set_source_key


class Command(AccountCommand):
    help = (
        "Read what was missed from the shop itself: events of Stripe, orders of"
        " WooCommerce and Shopify. Goes on where the last run ended; what was stored"
        " before is not stored again."
    )
    arguments = {"connection": "the connection's ID"}

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument(
            "--since",
            metavar="DAY",
            type=parse_recent_day,
            help="read from this day on, such as 2026-11-30",
        )
        parser.add_argument(
            "--key-file",
            metavar="FILE",
            help="set the key that reads from the shop; - reads standard input",
        )
        parser.add_argument("--shop-url", metavar="URL", help="set the address of the shop")

    def run_for_account(
        self,
        account,
        *,
        at,
        connection="",
        since=None,
        key_file=None,
        shop_url="",
        **options,
    ):
        if key_file or shop_url:
            set_source_key(
                account,
                connection_id=connection,
                key=read_secret(key_file),
                shop_url=shop_url or "",
                at=at,
            )
        start = since and datetime.combine(since, time(), account.zone)
        result = catch_up(get_connection(account, connection), at=at, since=start)
        self.write_result(
            f"Read {result.read} from {result.since:%Y-%m-%d %H:%M} UTC on,"
            f" of which {result.new} are new.",
            connection=connection,
            since=result.since,
            until=result.until,
            read=result.read,
            new=result.new,
        )


def parse_recent_day(text: str) -> date:
    """Parse a day that shops of today can know, since 2000."""
    day = parse_day(text)
    if day.year < 2000:
        raise ArgumentTypeError(f"{text!r} is not a day like 2026-11-30")
    return day
