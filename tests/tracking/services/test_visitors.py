"""Coupons that pages report: exact first, else in any case."""

import pytest
from django.db import connection

from tests.program_scenario import ProgramScenario
from tracking.models import Coupon
from tracking.services.visitors import find_first_coupon

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def set_coupons(scenario):
    """Give affiliates these coupons, one each."""

    def set_codes(*codes):
        for number, code in enumerate(codes):
            affiliate = scenario.create_enrolled_affiliate(f"A{number}", "Varga")
            scenario.account.coupons.filter(enrollment=affiliate.enrollment).update(code=code)

    return set_codes


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        (["Lamp10"], "Lamp10"),
        (["LAMP10"], "LAMP10"),
        (["lamp10"], None),  # two differ from it in case only
        (["spring"], "SPRING"),
        (["sPRING", "Lamp10"], "SPRING"),
        (["nobody", "lamp10", "Lamp10"], "Lamp10"),
        (["ÉTÉ"], "ÉTÉ"),
        (["SPRING "], None),
        (["SPRIN"], None),
        (["SPR%NG", "SPR_NG", ""], None),
        ([], None),
    ],
)
def test_finds_the_first_coupon(account, set_coupons, sent, found):
    set_coupons("Lamp10", "LAMP10", "SPRING", "ÉTÉ")

    assert find_first_coupon(account, sent) == found


def test_finds_no_coupon_of_another_account(account, set_coupons, other_account):
    set_coupons("SPRING")
    foreign = ProgramScenario(other_account, prefix="zz-marker-", email=None)
    other_account.coupons.filter(enrollment=foreign.mina.enrollment).update(code="Spring")

    assert find_first_coupon(account, ["spring"]) == "SPRING"
    assert find_first_coupon(other_account, ["spring"]) == "Spring"


@pytest.mark.parametrize("sent", [["spring"], ["SPRING"], ["nobody"]])
def test_takes_one_query_for_known_and_unknown_coupons(account, set_coupons, capture_queries, sent):
    set_coupons("SPRING")

    with capture_queries() as queries:
        find_first_coupon(account, sent)

    assert len(queries) == 1


def test_looks_coupons_up_by_an_index(account, set_coupons, capture_queries):
    set_coupons(*(f"SPRING{number}" for number in range(30)))
    with capture_queries() as queries:
        find_first_coupon(account, ["spring"])
    prefix = "EXPLAIN QUERY PLAN " if connection.vendor == "sqlite" else "EXPLAIN "

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Without statistics, all indexes that begin with the account cost the
            # same.
            cursor.execute(f"ANALYZE {Coupon._meta.db_table}")
            cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(prefix + queries[0]["sql"])
        plan = " ".join(str(row) for row in cursor.fetchall())

    assert "coupons_by_lowered_code" in plan
    # PostgreSQL may take either index for the code itself: a few coupons cost the same.
    assert "Seq Scan" not in plan
    assert connection.vendor == "postgresql" or "(account_id=? AND code=?)" in plan
