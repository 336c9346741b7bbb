"""Compare how long page calls take with known and with unknown values.

    DATABASE_URL=postgres://… make bench-page-calls

Answers to pages are alike for known and unknown accounts, codes, coupons, visitors and
customers; their duration should be, too (docs/tracking-trust.md). Each pair of calls
alternates in one run of a throwaway database; the ratio is that of the medians.
"""

import argparse
import json
import statistics
from collections.abc import Callable
from itertools import count
from time import perf_counter

from django.db import connection
from django.test import Client
from django.test.utils import override_settings
from django.utils import timezone

import benchmarks.django_setup  # noqa: F401 - before models are imported
from accounts.services.accounts import create_account
from payouts.services.programs import ProgramSettings, create_program
from tracking.services.affiliates import AffiliatePassword, PersonData, create_affiliate
from tracking.services.enrollments import EnrollmentData, create_enrollment

ROUNDS = 200
numbers = count()


def main() -> None:
    """Create an account with an affiliate, and print the ratio of each pair."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page_calls")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    database_name = connection.creation.create_test_db(verbosity=0, serialize=False)
    try:
        measure_and_print(*create_affiliate_with_links(), rounds)
    finally:
        connection.creation.destroy_test_db(database_name, verbosity=0)


def create_affiliate_with_links() -> tuple[str, str]:
    """Create an approved affiliate; return its referral code and coupon."""
    at = timezone.now()
    account = create_account(
        slug="harbor",
        name="Harbor",
        plan="enterprise",
        uses_payouts=False,
        pending_as_null=False,
        at=at,
    )
    settings = ProgramSettings(title="Partners", currency="EUR")
    program = create_program(account, slug="partners", settings=settings, at=at)
    affiliate = create_affiliate(
        account,
        data=PersonData("Ada", "Stone"),
        password=AffiliatePassword(hashed="!"),
        at=at,
    )
    data = EnrollmentData(affiliate_id=affiliate.slug, approved=True, coupon="ADA")
    enrollment = create_enrollment(account, program=program, data=data, at=at)
    return account.referral_codes.get(enrollment=enrollment).code, "ADA"


def measure_and_print(code: str, coupon: str, rounds: int) -> None:
    """Print a line per pair: medians of the known and the unknown call, the ratio."""
    clicks = {"referral_code": code}
    sale = {"coupons": coupon, "amount": 10}
    pairs: dict[str, tuple[str, dict, dict]] = {
        "click: code": ("click", clicks, clicks | {"referral_code": "unknown"}),
        "click: account": ("click", clicks, clicks | {"account": "unknown"}),
        "conversion: coupon": ("conversion", sale, sale | {"coupons": "unknown"}),
        "conversion: account": ("conversion", sale, sale | {"account": "unknown"}),
        "customer: coupon": (
            "customer",
            {"coupons": coupon},
            {"coupons": "unknown"},
        ),
    }
    print(f"{'call':24}{'known ms':>10}{'unknown ms':>12}{'ratio':>7}")
    for name, (call, known, unknown) in pairs.items():
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(rounds):
            for values, measured in zip((known, unknown), times, strict=True):
                measured.append(measure(call, values))
        first, second = map(statistics.median, times)
        print(f"{name:24}{first:10.1f}{second:12.1f}{second / first:7.2f}")


def measure(call: str, values: dict) -> float:
    """Send one call with new ids, from a new address; return milliseconds."""
    number = next(numbers)
    body = {"account": "harbor", "external_id": f"o-{number}"} | values
    body |= {"customer_id": f"c-{number}"} if call == "customer" else {}
    address = f"203.{number // 65536 % 256}.{number // 256 % 256}.{number % 256}"
    send: Callable = Client(REMOTE_ADDR=address).post
    data = json.dumps(body)
    started = perf_counter()
    response = send(f"/track/{call}/", data, content_type="text/plain")
    duration = (perf_counter() - started) * 1000
    if response.status_code not in (200, 204):
        raise RuntimeError(f"/track/{call}/ answered {response.status_code}")
    return duration


if __name__ == "__main__":
    with override_settings(ALLOWED_HOSTS=["*"]):
        main()
