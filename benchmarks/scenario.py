"""Fill the database of a run with two equal accounts; print their `Scenario`s.

`python -m benchmarks.scenario ROWS` runs in a process of its own, with DATABASE_URL.
The service gets the account `service`; the servers that it is compared with write no
balances, so they get the account `comparison`.
"""

import json
import sys
from dataclasses import asdict
from itertools import islice

from django.core.management import call_command
from django.db import connection
from django.utils import timezone

import benchmarks.django_setup  # noqa: F401 - before models are imported
from accounts.models.accounts import Account
from accounts.models.api_keys import Role
from accounts.services.api_keys import create_api_key
from benchmarks.growth_data import create_filled_account
from benchmarks.operations import Scenario
from tracking.services.affiliates import PersonData
from tracking.services.prospects import ProspectData, create_prospect

SLUGS = ("service", "comparison")
KEY_COUNT = 48  # GETs are limited per key
PROSPECT_COUNT = 60
CUSTOMER_COUNT = 200


def main() -> None:
    """Create the tables and both accounts."""
    call_command("migrate", verbosity=0, interactive=False)
    rows = int(sys.argv[1])
    accounts = [create_filled_account(slug, conversion_count=rows) for slug in SLUGS]
    scenarios = {account.slug: asdict(create_scenario(account)) for account in accounts}
    analyze_tables()
    json.dump(scenarios, sys.stdout)


def create_scenario(account: Account) -> Scenario:
    """Add prospects and keys to a filled account."""
    at = timezone.now()
    for number in range(PROSPECT_COUNT):
        person = PersonData("Pia", f"Reed{number}", email=f"p{number}@e.example")
        create_prospect(account, data=ProspectData(program_id="lamps", person=person), at=at)
    keys = [
        create_api_key(account, name=f"{number}", role=Role.OWNER, at=at)[1]
        for number in range(KEY_COUNT)
    ]
    codes = account.referral_codes.filter(enrollment__isnull=False).order_by("pk")
    customers = account.customers.order_by("-pk").values_list("public_id", flat=True)
    return Scenario(
        account_id=account.pk,
        slug=account.slug,
        keys=keys,
        referral_codes=list(codes.values_list("code", flat=True)),
        customer_ids=list(islice(customers.iterator(), CUSTOMER_COUNT)),
        commission_id=account.commissions.latest("pk").pk,
    )


def analyze_tables() -> None:
    """Update the statistics of the query planner, as the database does over time."""
    vacuum = "VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE"
    with connection.cursor() as cursor:
        cursor.execute(vacuum)


if __name__ == "__main__":
    main()
