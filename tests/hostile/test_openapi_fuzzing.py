"""Schemathesis tests against openapi.json.

Requests that match the document must be accepted, all others rejected. All checks of
Schemathesis are enabled; those that follow an object through several requests
(use_after_free, ensure_resource_availability, object_level_authorization) need its own
runner and do nothing here. Where the contract is more lenient or stricter than JSON
Schema can express, a check is excluded below. Section numbers in comments refer to
docs/api-contract.md.
"""

import json
import re
from contextlib import contextmanager, nullcontext
from itertools import count, islice
from urllib.parse import parse_qsl, urlsplit

import pytest
import schemathesis
from django.db import connection, transaction
from hypothesis import HealthCheck, given, seed, settings
from jsonschema import Draft202012Validator
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.config import (
    GenerationConfig,
    ProjectConfig,
    ProjectsConfig,
    SchemathesisConfig,
)
from schemathesis.core import NOT_SET

from affiliate_site import wsgi
from affiliate_site.env import BASE_DIR
from tests.conftest import ApiClient
from tests.sample_account import SampleAccount
from tests.wsgi_client import keep_connections_open

pytestmark = pytest.mark.integration

STATUSES = {200, 204, 400, 401, 403, 404, 405, 409, 413, 429}
ERROR_KEYS = (
    {"message"},
    {"message", "code"},
    {"message", "message_raw", "property_path"},
)
SUPPRESSED_CHECKS = list(HealthCheck)  # some formats are rare among random texts
STEP = 16  # one case in so many, of each database engine others

# No security parameters: the API key is a real one. No NUL: section 1.2 rejects it in
# any text; tests/affiliate_site/api/test_parsing.py covers this.
GENERATION = GenerationConfig(with_security_parameters=False, allow_x00=False)
PROJECT = ProjectConfig(generation=GENERATION)

load_all_checks()
POSITIVE, NEGATIVE = CHECKS.get_by_names(["positive_data_acceptance", "negative_data_rejection"])


def load_schema(application=None):
    """Load the committed document, with requests sent to `application`."""
    config = SchemathesisConfig(projects=ProjectsConfig(default=PROJECT))
    schema = schemathesis.openapi.from_path(BASE_DIR / "openapi.json", config=config)
    schema.app = application
    return schema


DOCUMENT = json.loads((BASE_DIR / "openapi.json").read_text())
TAGS = sorted(
    {
        tag
        for methods in DOCUMENT["paths"].values()
        for operation in methods.values()
        for tag in operation["tags"]
    }
)
LISTS = [
    path
    for path, methods in DOCUMENT["paths"].items()
    if "Link" in methods.get("get", {}).get("responses", {}).get("200", {}).get("headers", {})
]


# Requests


class RotatingClientApp:
    """The WSGI application; each request comes from another IP address.

    Invalid API keys are rate limited by address (section 1.8).
    """

    def __init__(self):
        self.numbers = count(1)

    def __call__(self, environ, start_response):
        number = next(self.numbers)
        environ["REMOTE_ADDR"] = f"10.0.{number // 250}.{number % 250}"
        with keep_connections_open():
            return wsgi.application(environ, start_response)


class SchemaTester:
    """Sends generated cases with IDs of existing objects and checks the responses."""

    def __init__(self, sample, make_key):
        self.sample = sample
        self.make_key = make_key  # for each case: rate limits apply per key
        self.schema = load_schema(RotatingClientApp())
        self.counter = count(1)

    def send(self, case):
        if next(self.counter) % 4:  # every fourth path keeps its generated IDs
            case.path_parameters |= self.get_path_ids(case.path, case.path_parameters)
        if case.meta.generation.mode.is_positive and next(self.counter) % 4:
            self.put_known_values(case)
        with rollback_deletions() if case.method == "DELETE" else nullcontext():
            response = case.call(headers={"X-Api-Key": self.make_key()})
            assert_valid_response(response)
            case.validate_response(
                response,
                headers={"X-Api-Key": self.make_key()},
                excluded_checks=list(list_excluded_checks(self.schema, case, response)),
            )

    def get_path_ids(self, path, parameters):
        """Return IDs of existing objects by the names of the path parameters."""
        resource = path.split("/")[2]
        row_ids = {
            "affiliates": "affiliate",
            "conversions": "conversion_id",
            "customers": "customer_public_id",
        }
        attributes = {
            "affiliate_id": ("enrolled_affiliate" if resource == "programs" else "affiliate"),
            "customer_id": "customer_public_id",
            "key": "marker",
            "method": "payout_method",
            "program_id": "program",
            "row_id": row_ids.get(resource),
        }
        return {name: getattr(self.sample, attributes.get(name, name)) for name in parameters}

    def operations(self, tag):
        found = self.schema.include(tag=tag).get_all_operations()
        return [result.ok() for result in found]

    def put_known_values(self, case):
        """Replace lookup values by values of existing objects."""
        known = {
            "affiliate_id": "enrolled_affiliate",
            "asset_id": "asset_id",
            "click_id": "click_id",
            "coupon": "coupon",
            "group_id": "group_id",
            "program_id": "program",
            "referral_code": "referral_code",
            "source_id": "source_id",
        }
        for values in (case.query, case.body):
            for name in known.keys() & (values if isinstance(values, dict) else {}):
                values[name] = getattr(self.sample, known[name])


@contextmanager
def rollback_deletions():
    """Undo deletions, because later cases need the objects."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


# Exclusions by the contract


def list_excluded_checks(schema, case, response):
    """Yield the checks that do not apply to this response by the contract."""
    if response.status_code == 400 and all(map(is_business_error, response.json()["errors"])):
        yield POSITIVE
    elif response.status_code == 400 and has_huge_number(case.body):
        yield POSITIVE  # 1.2: "not valid JSON"
    if response.status_code == 413:
        yield NEGATIVE  # 1.7: also a rejection, which the check does not know
    if response.status_code == 200 and is_valid_after_normalization(schema, case, response):
        yield NEGATIVE


BUSINESS_ERRORS = re.compile(
    # 2.1.3, 2.2.3, 2.8: one of several tracking parameters is required; it must point
    # to an existing affiliate that may earn commissions.
    r"Missing mandatory parameter\(s\)|Parameter '.*' takes precedence .*"
    r"|Missing tracking parameter value and no customer found .*"
    r"|Unknown .*|Invalid (click|tracking) id|Invalid asset id or source id"
    r"|Affiliate is .*|Program is archived|Cookie expired"
    # 2.1.3, 2.2.3, 2.2.5, 1.7: unique values that are taken.
    r"|Duplicate (customer|conversion)\. .*|To many concurrent attempts .*"
    r"|(Email address|Coupon|Referral code) is already in use"
    # 1.3: digits and zero are checked after rounding to the currency's minor unit.
    r"|This value has too many digits\.|This value should be greater than 0\."
    # 1.7: e-mail addresses of JSON Schema follow RFC 5321, with quotes and brackets.
    r"|This is not a valid email address\."
    # 1.10, 2.4.6, 4: rules that depend on stored data.
    r"|Meta data holds 10 keys at most\.|An affiliate cannot be its own ancestor"
    r"|Customer status cannot change .*|The currency of a conversion cannot change",
    re.DOTALL,
)


def is_business_error(error):
    """Return whether a business rule, not the format of a field, causes the error.

    A missing required field has a property path and is a format error.
    """
    if error["message"] == "Missing mandatory parameter(s)":
        return "property_path" not in error
    return bool(BUSINESS_ERRORS.fullmatch(error["message"]))


def has_huge_number(body):
    """Return whether the body has a number with an exponent beyond 99 (1.2)."""
    if isinstance(body, dict | list):
        return any(map(has_huge_number, body.values() if isinstance(body, dict) else body))
    return isinstance(body, float) and abs(int(f"{body:e}".partition("e")[2])) > 99


def is_valid_after_normalization(schema, case, response):
    """Return whether the request is valid after normalization by 1.2 and 1.3."""
    document, operation = schema.raw_schema, case.operation.definition.raw
    pairs = parse_qsl(urlsplit(response.request.url).query, keep_blank_values=True)
    query = {name: text for name, text in dict(pairs).items() if text}  # the last one counts
    if query.keys() >= {"status", "approved"}:
        del query["approved"]  # 2.3.2: read when `status` is absent
    fits = all(
        Draft202012Validator(parameter["schema"]).is_valid(
            parse_query_value(parameter["schema"], query[parameter["name"]])
        )
        for parameter in operation.get("parameters", [])
        if parameter["in"] == "query" and parameter["name"] in query
    )
    if "requestBody" not in operation:
        return fits
    declared = operation["requestBody"]["content"]["application/json"]["schema"]
    declared = declared | {"components": document["components"]}
    body = None if case.body is NOT_SET else case.body
    read = normalize_body(body)
    if "meta-data" in case.path:  # 2.1.5: the body is meta data, or a value of it
        read = normalize_body({"meta_data": body}).get("meta_data", {})
    return fits and Draft202012Validator(declared).is_valid(read)


def normalize_body(value):
    """Normalize a body as the API reads it.

    Null and objects without values mean not sent, integers are accepted as text, and
    lookup values are trimmed (1.3). Numbers and booleans in meta data are text (1.10).
    `ip`, `referrer` and `landing_page` are never rejected (2.2.3, 2.8). With `details`,
    other keys are ignored (2.4.8). Blank commission types and currencies are not sent,
    and empty lists of meta data are maps (5.5).
    """
    if isinstance(value, list):
        return [normalize_body(item) for item in value]
    if isinstance(value, dict):
        read = {name: normalize_body(item) for name, item in value.items()}
        if read.get("details"):
            read = {name: read.get(name) for name in ("type", "details", "primary")}
        if isinstance(read.get("meta_data"), dict):
            read["meta_data"] = {
                key: json.dumps(item) if isinstance(item, bool | float) else item
                for key, item in read["meta_data"].items()
            }
        return {
            name: item
            for name, item in read.items()
            if item not in (None, {})
            if (name, item) != ("meta_data", [])
            if name not in ("ip", "referrer", "landing_page")
            if name not in ("commission_type", "currency") or item != ""
        }
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip() if isinstance(value, str) else value


def parse_query_value(declared, text):
    """Parse a query value.

    Booleans may be `1` and `0` and have any case (1.3). The same holds for the approval
    of an affiliate, where `null` also means `pending` (2.7.2).
    """
    words = {"true": True, "1": True, "false": False, "0": False}
    if declared.get("type") == "boolean":
        return words.get(text.lower(), text)
    if "pending" in declared.get("enum", []):
        aliases = {"1": "true", "0": "false", "null": "pending"}
        return aliases.get(text.lower(), text.lower())
    if declared.get("type") == "integer" and text.isascii() and text.isdigit():
        return int(text)
    return text


# Responses


def assert_valid_response(response):
    """Assert a documented status, and for errors a documented format or HTML page."""
    status, kind = response.status_code, response.headers.get("content-type", [""])[0]
    assert status in STATUSES
    if status == 429:
        assert kind.startswith("text/plain")
    elif status in (401, 404) and kind.startswith("text/html"):
        assert response.content.startswith(b"<!doctype html>")
    elif status >= 400:
        body = response.json()
        assert set(body) in ({"errors"}, {"message", "code"} | set(body) & {"traceId"})
        assert all(set(entry) in ERROR_KEYS for entry in body.get("errors", []))


def assert_lists_readable(tester):
    """Assert that every page of every list is readable."""
    for path in LISTS:
        ids = tester.get_path_ids(path, re.findall(r"{(\w+)}", path))
        url = path.removeprefix("/1.6").format(**ids)
        while url:
            tester.sample.api.key = tester.make_key()
            response = tester.sample.api.get(url)
            assert response.status_code == 200, url
            following = re.match(r'<[^>]*/1\.6(/[^>]+)>; rel="next"', response["Link"])
            url = following and following[1]


@pytest.fixture
def schema_tester(account, make_key):
    """A tester for an account with one object of each kind."""
    sample = SampleAccount(ApiClient(make_key(account)), account.slug, "aa")
    return SchemaTester(sample, lambda: make_key(account))


@pytest.mark.parametrize("tag", TAGS)
def test_conforms_at_some_boundary_values(schema_tester, subtests, tag):
    for operation in schema_tester.operations(tag):
        with subtests.test(operation.label):
            start = 0 if connection.vendor == "sqlite" else STEP // 2
            for case in islice(list_boundary_values(operation), start, None, STEP):
                schema_tester.send(case)

    assert_lists_readable(schema_tester)


@pytest.mark.slow
@pytest.mark.parametrize("tag", TAGS)
def test_conforms_at_every_boundary_value(schema_tester, subtests, tag):
    for operation in schema_tester.operations(tag):
        with subtests.test(operation.label):
            for case in list_boundary_values(operation):
                schema_tester.send(case)

    assert_lists_readable(schema_tester)


@pytest.mark.slow
@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("start", range(5))
def test_conforms_for_generated_requests(schema_tester, subtests, start, tag):
    for operation in schema_tester.operations(tag):
        for mode in list_generation_modes(operation):

            @seed(start)
            @settings(max_examples=10, database=None, suppress_health_check=SUPPRESSED_CHECKS)
            @given(case=operation.as_strategy(generation_mode=mode))
            def check_generated_case(case):
                schema_tester.send(case)

            with subtests.test(operation.label, mode=mode.value):
                check_generated_case()

    assert_lists_readable(schema_tester)


def list_boundary_values(operation):
    """Return cases at, below and above each bound in the document."""
    return operation.schema.iter_coverage_cases(
        operation, generation_modes=list(GenerationMode), generation_config=GENERATION
    )


def list_generation_modes(operation):
    """Yield the modes; operations that read only a path have no invalid requests."""
    yield GenerationMode.POSITIVE
    if operation.query or operation.headers or operation.body:
        yield GenerationMode.NEGATIVE
