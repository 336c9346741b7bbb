"""A what-if beside live changes."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

from django.db import connection

from payouts.services.commissions import disapprove_commission
from payouts.services.what_if import calculate_what_if
from payouts.statistics import Period
from tests.program_scenario import CONVERSION_CREATED_AT as AT


def test_reads_one_snapshot(scenario):
    """What is stored after the beginning counts neither before nor after."""
    account, program = scenario.account, scenario.program.slug
    sales = [scenario.create_conversion("100") for _ in range(3)]
    rate = {"kind": "percentage", "value": 20}
    changes = {"programs": {program: {"rates": {"standard": rate}}}}

    def change(number):
        assert number == 3
        with ThreadPoolExecutor(1) as pool:
            pool.submit(change_elsewhere).result()

    def change_elsewhere():
        try:
            scenario.create_conversion("100")
            pk = scenario.get_commission(sales[0]).pk
            disapprove_commission(account, commission_id=pk, at=AT)
        finally:
            connection.close()

    def calculate(**options):
        period = Period(AT.date(), AT.date())
        result = calculate_what_if(account, period=period, changes=changes, **options)
        [sums] = result.totals.values()
        return result.sales, sums.before, sums.after

    assert calculate(begin=change) == (3, Decimal(30), Decimal(60))
    assert calculate() == (4, Decimal(30), Decimal(60))
