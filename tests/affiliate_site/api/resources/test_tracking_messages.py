"""Error messages of tracking for customers and clicks, byte for byte.

The API 1.6 specification defines them.
"""

from dataclasses import dataclass
from datetime import timedelta

import pytest

from tests.conftest import NOW
from tests.factories.tracking import ClickFactory, CustomerFactory, EnrollmentFactory
from tracking.services.programs import archive_program

pytestmark = pytest.mark.usefixtures("frozen_time")

CUSTOMERS, CLICKS = "/customers/", "/clicks/"


def blank(name):
    return f"Parameter '{name}' takes precedence for tracking, but no value was passed"


def duplicate(customer_id):
    return (
        "Duplicate customer. There is already a customer for Customer id"
        f" '{customer_id}'"
    )


def invalid_status(value):
    return f"Invalid status '{value}'. Valid are 'new', 'trial', 'lead'"


MISSING = "Missing mandatory parameter(s)"
LOCKED = "Advertiser account locked"
NO_JSON = "Request body was not valid JSON"
NOT_APPROVED = "Affiliate is not approved for this program"
CODE = {"referral_code": "qv7kd2p"}


@dataclass
class MessageCase:
    """One case: a request and the expected message."""

    id: str
    path: str
    body: object
    message: str
    failure: str = ""  # the name of a method of `FailureScenario`


def customers(name, parameter, message, failure=""):
    """Return the case of a new customer with this tracking parameter."""
    body = {"customer_id": "acct-55120"} | parameter
    return MessageCase(f"customers-{name}", CUSTOMERS, body, message, failure)


def clicks(name, body, message, failure=""):
    return MessageCase(f"clicks-{name}", CLICKS, body, message, failure)


NO_PAIR = {"asset_id": "999999-000000", "source_id": "999999-000000"}
NO_CLICK = {"click_id": "5b0f6f1e-98c4-4c0e-9f0a-3c1f0d2b7a61"}
HARBOR = {"asset_id": "{asset}", "source_id": "{source}"}
NOT_ENROLLED = {"asset_id": "{asset}", "source_id": "{not_enrolled_source}"}

CASES = [
    # Advertiser account locked
    customers("locked", CODE, LOCKED, "locked"),
    customers("locked-before-missing", {"customer_id": None}, LOCKED, "locked"),
    clicks("locked", CODE, LOCKED, "locked"),
    clicks("locked-before-missing", {}, LOCKED, "locked"),
    # Missing mandatory parameter(s)
    MessageCase("customers-empty", CUSTOMERS, {}, MISSING),
    MessageCase("customers-no-customer-id", CUSTOMERS, CODE, MISSING),
    customers("null-customer-id", {"customer_id": None} | CODE, MISSING),
    customers("empty-customer-id", {"customer_id": ""} | CODE, MISSING),
    customers("blank-customer-id", {"customer_id": " \t\u00a0"} | CODE, MISSING),
    customers(
        "blank-customer-id-before-types", {"customer_id": " ", "ip": []}, MISSING
    ),
    customers("no-parameter", {}, MISSING),
    customers("null-parameters", {"referral_code": None, "coupon": None}, MISSING),
    customers("asset-only", {"asset_id": "{asset}"}, MISSING),
    customers("source-only", {"source_id": "{source}"}, MISSING),
    customers("asset-with-null", {"asset_id": "{asset}", "source_id": None}, MISSING),
    customers("blank-asset-only", {"asset_id": ""}, MISSING),
    customers("group-only", {"program_group": "lamps"}, MISSING),
    customers("no-parameter-before-status", {"status": "odd"}, MISSING),
    clicks("empty", {}, MISSING),
    clicks("null-code", {"referral_code": None}, MISSING),
    clicks("empty-code", {"referral_code": ""}, MISSING),
    clicks("blank-code", {"referral_code": " \t"}, MISSING),
    clicks("asset-only", {"asset_id": "{asset}"}, MISSING),
    clicks("source-only", {"source_id": "{source}"}, MISSING),
    clicks("blank-half", {"asset_id": "{asset}", "source_id": " "}, MISSING),
    clicks("other-parameters", {"coupon": "ODETTE10"} | NO_CLICK, MISSING),
    clicks("missing-before-types", {"referrer": [], "meta_data": []}, MISSING),
    # Parameter '<name>' takes precedence for tracking, but no value was passed
    customers("blank-coupon", CODE | {"coupon": ""}, blank("coupon")),
    customers("spaces-for-coupon", CODE | {"coupon": " \t\n"}, blank("coupon")),
    customers(
        "blank-code",
        {"click_id": "{click}", "referral_code": ""},
        blank("referral_code"),
    ),
    customers("blank-click", HARBOR | {"click_id": ""}, blank("click_id")),
    customers("blank-click-object", {"click": {"id": ""}}, blank("click_id")),
    customers(
        "blank-asset", {"asset_id": "", "source_id": "{source}"}, blank("asset_id")
    ),
    customers(
        "blank-source", {"asset_id": "{asset}", "source_id": ""}, blank("source_id")
    ),
    customers("blank-pair", {"asset_id": "", "source_id": ""}, blank("asset_id")),
    customers("blank-tracking-id", {"tracking_id": ""}, blank("tracking_id")),
    customers("blank-visitor-id", {"visitor_id": " "}, blank("tracking_id")),
    customers("blank-before-status", {"coupon": "", "status": "odd"}, blank("coupon")),
    # Invalid status '<value>'. Valid are 'new', 'trial', 'lead'
    customers("invalid-status", CODE | {"status": "odd"}, invalid_status("odd")),
    customers("paying", CODE | {"status": "paying"}, invalid_status("paying")),
    customers("canceled", CODE | {"status": "canceled"}, invalid_status("canceled")),
    customers(
        "status-in-capitals", CODE | {"status": "Trial"}, invalid_status("Trial")
    ),
    customers("blank-status", CODE | {"status": ""}, invalid_status("")),
    customers("quoted-status", CODE | {"status": "'{0}\""}, invalid_status("'{0}\"")),
    customers("status-of-digits", CODE | {"status": 7}, invalid_status("7")),
    customers(
        "status-before-duplicate", CODE | {"status": "x"}, invalid_status("x"), "taken"
    ),
    # Duplicate customer. There is already a customer for Customer id '<customer_id>'
    customers("duplicate", CODE, duplicate("acct-55120"), "taken"),
    customers(
        "duplicate-before-unknown",
        {"referral_code": "unknown"},
        duplicate("acct-55120"),
        "taken",
    ),
    customers(
        "duplicate-with-special-characters",
        {"customer_id": " {0}'ž🛶\"\u0301 "} | CODE,
        duplicate(" {0}'ž🛶\"\u0301 "),
        "taken_with_special_characters",
    ),
    customers(
        "duplicate-of-digits",
        {"customer_id": 55120} | CODE,
        duplicate("55120"),
        "taken_by_digits",
    ),
    # Unknown …, Invalid …
    customers("unknown-coupon", {"coupon": "unknown"}, "Unknown coupon code"),
    customers("coupon-in-another-case", {"coupon": "odette10"}, "Unknown coupon code"),
    customers("unknown-code", {"referral_code": "no"}, "Unknown referral code"),
    customers(
        "code-in-another-case", {"referral_code": "QV7KD2P"}, "Unknown referral code"
    ),
    customers("unknown-click", NO_CLICK, "Invalid click id"),
    customers("invalid-click", {"click_id": "1"}, "Invalid click id"),
    customers("unknown-pair", NO_PAIR, "Invalid asset id or source id"),
    customers(
        "invalid-pair",
        {"asset_id": "4", "source_id": "77"},
        "Invalid asset id or source id",
    ),
    customers(
        "unknown-source",
        {"asset_id": "{asset}", "source_id": "999999-000000"},
        "Invalid asset id or source id",
    ),
    customers("unknown-visitor", {"tracking_id": "0" * 32}, "Invalid tracking id"),
    customers(
        "coupon-of-another-account",
        {"coupon": "zz-marker-coupon"},
        "Unknown coupon code",
    ),
    customers(
        "code-of-another-account",
        {"referral_code": "zz-marker-code"},
        "Unknown referral code",
    ),
    customers(
        "click-of-another-account", {"click_id": "{foreign_click}"}, "Invalid click id"
    ),
    customers(
        "pair-of-another-account",
        {"asset_id": "{foreign_asset}", "source_id": "{foreign_source}"},
        "Invalid asset id or source id",
    ),
    customers(
        "another-group", CODE | {"program_group": "books"}, "Unknown referral code"
    ),
    customers(
        "no-fallback-to-other-parameter",
        {"coupon": "unknown"} | CODE,
        "Unknown coupon code",
    ),
    customers("unknown-before-deleted", NO_CLICK, "Invalid click id", "deleted"),
    clicks("unknown-code", {"referral_code": "no"}, "Unknown referral code"),
    clicks("code-of-digits", {"referral_code": 7}, "Unknown referral code"),
    clicks("code-of-zero", {"referral_code": 0}, "Unknown referral code"),
    clicks("unknown-pair", NO_PAIR, "Invalid asset id or source id"),
    clicks(
        "code-of-another-account",
        {"referral_code": "zz-marker-code"},
        "Unknown referral code",
    ),
    clicks(
        "pair-of-another-account",
        {"asset_id": "{foreign_asset}", "source_id": "{foreign_source}"},
        "Invalid asset id or source id",
    ),
    clicks(
        "code-before-pair", {"referral_code": "no"} | HARBOR, "Unknown referral code"
    ),
    # Affiliate is deleted
    customers(
        "deleted-coupon", {"coupon": "ODETTE10"}, "Affiliate is deleted", "deleted"
    ),
    customers("deleted-code", CODE, "Affiliate is deleted", "deleted"),
    customers(
        "deleted-click", {"click_id": "{click}"}, "Affiliate is deleted", "deleted"
    ),
    customers("deleted-pair", HARBOR, "Affiliate is deleted", "deleted"),
    customers(
        "deleted-before-all",
        CODE,
        "Affiliate is deleted",
        "deleted_pending_and_archived",
    ),
    clicks("deleted-code", CODE, "Affiliate is deleted", "deleted"),
    clicks("deleted-pair", HARBOR, "Affiliate is deleted", "deleted"),
    clicks(
        "deleted-before-all",
        CODE,
        "Affiliate is deleted",
        "deleted_pending_and_archived",
    ),
    # Affiliate is not approved for this program
    customers("pending-coupon", {"coupon": "ODETTE10"}, NOT_APPROVED, "pending"),
    customers("pending-code", CODE, NOT_APPROVED, "pending"),
    customers("pending-click", {"click_id": "{click}"}, NOT_APPROVED, "pending"),
    customers("pending-pair", HARBOR, NOT_APPROVED, "pending"),
    customers("disapproved-code", CODE, NOT_APPROVED, "disapproved"),
    customers("not-enrolled-pair", NOT_ENROLLED, NOT_APPROVED),
    customers("pending-before-archived", CODE, NOT_APPROVED, "pending_and_archived"),
    clicks("pending-code", CODE, NOT_APPROVED, "pending"),
    clicks("disapproved-pair", HARBOR, NOT_APPROVED, "disapproved"),
    clicks("not-enrolled-pair", NOT_ENROLLED, NOT_APPROVED),
    clicks("pending-before-archived", CODE, NOT_APPROVED, "pending_and_archived"),
    # Program is archived
    customers(
        "archived-coupon", {"coupon": "ODETTE10"}, "Program is archived", "archived"
    ),
    customers("archived-code", CODE, "Program is archived", "archived"),
    customers("archived-pair", HARBOR, "Program is archived", "archived"),
    customers(
        "archived-before-expired",
        {"click_id": "{old_click}"},
        "Program is archived",
        "archived",
    ),
    clicks("archived-code", CODE, "Program is archived", "archived"),
    clicks("archived-pair", HARBOR, "Program is archived", "archived"),
    # Cookie expired
    customers("expired", {"click_id": "{old_click}"}, "Cookie expired"),
    customers("expired-object", {"click": {"id": "{old_click}"}}, "Cookie expired"),
    # Request body was not valid JSON
    MessageCase("customers-empty-body", CUSTOMERS, "", NO_JSON),
    MessageCase("customers-text", CUSTOMERS, "customer_id=acct-55120", NO_JSON),
    MessageCase("customers-array", CUSTOMERS, "[]", NO_JSON),
    MessageCase("customers-null", CUSTOMERS, "null", NO_JSON),
    MessageCase("customers-json-before-locked", CUSTOMERS, "[]", NO_JSON, "locked"),
    MessageCase("clicks-empty-body", CLICKS, "", NO_JSON),
    MessageCase("clicks-array", CLICKS, '[{"referral_code": "qv7kd2p"}]', NO_JSON),
    MessageCase("clicks-json-before-locked", CLICKS, "", NO_JSON, "locked"),
]


class FailureScenario:
    """Odette in Harbor's program; each method causes one failure."""

    def __init__(self, account, odette):
        self.account, self.odette = account, odette

    def locked(self):
        self.account.locked_at = NOW
        self.account.save()

    def taken(self, customer_id="acct-55120"):
        CustomerFactory(
            account=self.account, enrollment=self.odette, customer_id=customer_id
        )

    def taken_with_special_characters(self):
        self.taken(" {0}'ž🛶\"\u0301 ")

    def taken_by_digits(self):
        self.taken("55120")

    def deleted(self):
        self.odette.affiliate.update_row(deleted_at=NOW)

    def pending(self):
        self.odette.update_row(approved=None)

    def disapproved(self):
        self.odette.update_row(approved=False)

    def archived(self):
        archive_program(self.account, slug=self.odette.program.slug, at=NOW)

    def pending_and_archived(self):
        self.pending()
        self.archived()

    def deleted_pending_and_archived(self):
        self.deleted()
        self.pending_and_archived()


@pytest.fixture
def names(
    account,
    other_account,
    odette,
    second_affiliate,
    foreign_enrollment,
    click,
    asset_pair,
):
    """The values of the placeholders in the cases."""
    not_enrolled = EnrollmentFactory(account=account).affiliate
    old_click = ClickFactory(
        account=account,
        enrollment=odette,
        created_at=NOW - timedelta(days=45, microseconds=1),
    )
    foreign_click = ClickFactory(account=other_account, enrollment=foreign_enrollment)
    return {
        "{asset}": asset_pair["asset_id"],
        "{source}": asset_pair["source_id"],
        "{not_enrolled_source}": str(account.sources.get(affiliate=not_enrolled)),
        "{click}": str(click),
        "{old_click}": str(old_click),
        "{foreign_click}": str(foreign_click),
        "{foreign_asset}": str(other_account.assets.get()),
        "{foreign_source}": str(other_account.sources.get()),
    }


def fill_placeholders(body, names):
    if isinstance(body, dict):
        return {key: fill_placeholders(value, names) for key, value in body.items()}
    return names.get(body, body) if isinstance(body, str) else body


@pytest.mark.engine_independent
@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_rejects_with_the_specified_message(api, account, odette, names, case):
    if case.failure:
        getattr(FailureScenario(account, odette), case.failure)()
    before = account.customers.count(), account.clicks.count()

    response = api.post(case.path, fill_placeholders(case.body, names))

    assert response.status_code == 400
    assert response["Content-Type"] == "application/json"
    assert response.json() == {"errors": [{"message": case.message}]}
    assert (account.customers.count(), account.clicks.count()) == before
    assert account.attribution_records.count() == 0


@pytest.mark.parametrize("path", [CUSTOMERS, CLICKS])
def test_sends_special_characters_of_a_message_unchanged(api, odette, path):
    body = {"customer_id": "ž🛶", "referral_code": "qv7kd2p"}
    for _ in range(2):
        response = api.post(path, body)

    expected = "Customer id 'ž🛶'".encode()
    assert (expected in response.content) == (path == CUSTOMERS)


def test_locked_account_allows_everything_except_tracking(
    api, locked_account, odette, click
):
    customer = CustomerFactory(
        account=locked_account, enrollment=odette, customer_id="acct-55120"
    )
    one = f"/customers/{customer.public_id}/"
    affiliates = "/programs/harbor-lamp-partners/affiliates/"
    calls = [
        ("GET", "/customers/", None, 200),
        ("GET", one, None, 200),
        ("PATCH", one, {"customer_id": "acct-9"}, 200),
        ("DELETE", f"{one}status/", None, 200),
        ("PUT", f"{one}status/", None, 200),
        ("PUT", f"{one}meta-data/", {"plan": "basic"}, 200),
        ("PUT", f"{one}meta-data/plan/", {"value": "pro"}, 200),
        ("DELETE", f"{one}meta-data/plan/", None, 204),
        ("DELETE", one, None, 204),
        ("GET", "/clicks/", None, 200),
        ("GET", f"/clicks/{click}/", None, 200),
        ("POST", "/affiliates/", {"firstname": "Mina", "lastname": "Kessler"}, 200),
        ("POST", affiliates, {"affiliate": {"id": "minakessler"}}, 200),
        ("PUT", f"{affiliates}minakessler/approved/", None, 200),
        ("GET", "/programs/", None, 200),
    ]

    responses = [api.request(method, path, body) for method, path, body, _ in calls]

    assert [response.status_code for response in responses] == [
        status for *_, status in calls
    ]
