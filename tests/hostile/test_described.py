"""The OpenAPI document taken at its word: what fits it is taken, the rest is refused.

Every check of Schemathesis is on; those that follow an object through several requests
(use_after_free, ensure_resource_availability, object_level_authorization) need its own
runner and have nothing to say here. Where this API is by contract more lenient, or
stricter, than JSON Schema can say, a case is excused below, with the section.
"""

import json
import re
from contextlib import contextmanager, nullcontext
from itertools import count, islice
from urllib.parse import parse_qsl, urlsplit

import pytest
import schemathesis
from django.db import transaction
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
from affiliate_site.env import ROOT
from tests.conftest import Api
from tests.wire import connections_kept
from tests.world import World

STATUSES = {200, 204, 400, 401, 403, 404, 405, 409, 413, 429}
ENTRIES = (
    {"message"},
    {"message", "code"},
    {"message", "message_raw", "property_path"},
)
RARE = list(HealthCheck)  # some forms are rare among random texts
THINNED = 4  # of so many border cases, one

# No security parameters: the key is a real one. No NUL: contract 1.2 refuses it in any
# text, which tests/affiliate_site/api/test_parsing.py holds.
GENERATION = GenerationConfig(with_security_parameters=False, allow_x00=False)
PROJECT = ProjectConfig(generation=GENERATION)

load_all_checks()
POSITIVE, NEGATIVE = CHECKS.get_by_names(
    ["positive_data_acceptance", "negative_data_rejection"]
)


def described(application=None):
    """The committed document, asked of the application."""
    config = SchemathesisConfig(projects=ProjectsConfig(default=PROJECT))
    schema = schemathesis.openapi.from_path(ROOT / "openapi.json", config=config)
    schema.app = application
    return schema


DOCUMENT = json.loads((ROOT / "openapi.json").read_text())
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
    if "Link"
    in methods.get("get", {}).get("responses", {}).get("200", {}).get("headers", {})
]


# What is asked


class Visitors:
    """The site as WSGI sees it; every request comes from another address, since wrong
    keys are counted by address (contract 1.8)."""

    def __init__(self):
        self.numbers = count(1)

    def __call__(self, environ, start_response):
        number = next(self.numbers)
        environ["REMOTE_ADDR"] = f"10.0.{number // 250}.{number % 250}"
        with connections_kept():
            return wsgi.application(environ, start_response)


class Asker:
    """Sends cases about a world in which real ids exist, and judges the answers."""

    def __init__(self, world, new_key):
        self.world = world
        self.new_key = new_key  # for every case: limits are counted by key
        self.schema = described(Visitors())
        self.asked = count(1)

    def ask(self, case):
        if next(self.asked) % 4:  # every fourth path stays as it was made up
            case.path_parameters |= self.ids_of(case.path, case.path_parameters)
        if case.meta.generation.mode.is_positive and next(self.asked) % 4:
            self.put_known_values(case)
        with undone() if case.method == "DELETE" else nullcontext():
            response = case.call(headers={"X-Api-Key": self.new_key()})
            assert_shaped(response)
            case.validate_response(
                response,
                headers={"X-Api-Key": self.new_key()},
                excluded_checks=list(excused(self.schema, case, response)),
            )

    def ids_of(self, path, parameters):
        """Real ids, by the names that they have in a path."""
        things = path.split("/")[2]
        names = {
            "affiliate_id": "member" if things == "programs" else "affiliate",
            "row_id": things.removesuffix("s"),
            "method": "payout_details",
            "key": "mark",
        }
        return {
            name: getattr(self.world, names.get(name, name.removesuffix("_id")))
            for name in parameters
        }

    def operations(self, tag):
        found = self.schema.include(tag=tag).get_all_operations()
        return [result.ok() for result in found]

    def put_known_values(self, case):
        """What is looked up by a value finds something."""
        world = self.world
        known = {
            "affiliate_id": "member",
            "asset_id": "asset",
            "click_id": "click",
            "coupon": "coupon",
            "group_id": "group",
            "program_id": "program",
            "referral_code": "code",
            "source_id": "source",
        }
        for said in (case.query, case.body):
            for name in known.keys() & (said if isinstance(said, dict) else {}):
                said[name] = getattr(world, known[name])


@contextmanager
def undone():
    """What was deleted stands again: the world outlives its cases."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


# What the contract excuses


def excused(schema, case, response):
    """The checks whose idea does not fit this one answer, by contract."""
    if response.status_code == 400 and all(map(is_business, response.json()["errors"])):
        yield POSITIVE
    elif response.status_code == 400 and holds_a_monster(case.body):
        yield POSITIVE  # 1.2: "not valid JSON"
    if response.status_code == 413:
        yield NEGATIVE  # 1.7: a refusal as well, which the check does not know
    if response.status_code == 200 and is_read_as_valid(schema, case, response):
        yield NEGATIVE


BUSINESS = re.compile(
    # 2.1.3, 2.2.3, 2.8: who earned has to be said, by one field of several; it has to
    # be known, and to be allowed to earn.
    r"Missing mandatory parameter\(s\)|Parameter '.*' takes precedence .*"
    r"|Missing tracking parameter value and no customer found .*"
    r"|Unknown .*|Invalid (click|tracking) id|Invalid asset id or source id"
    r"|Affiliate is .*|Program is archived|Cookie expired"
    # 2.1.3, 2.2.3, 2.2.5, 1.7: what is unique is taken.
    r"|Duplicate (customer|conversion)\. .*|To many concurrent attempts .*"
    r"|(Email address|Coupon|Referral code) is already in use"
    # 1.3: digits and nought are counted after rounding to the currency's minor unit.
    r"|This value has too many digits\.|This value should be greater than 0\."
    # 1.7: JSON Schema's addresses are those of RFC 5321, with quotes and brackets.
    r"|This is not a valid email address\."
    # 1.10, 2.4.6, 4: what depends on what is there already.
    r"|Meta data holds 10 keys at most\.|An affiliate cannot be its own ancestor"
    r"|Customer status cannot change .*|The currency of a conversion cannot change",
    re.DOTALL,
)


def is_business(error):
    """Does it refuse what is said, not how it is spelled? A missing field that is
    required tells its path, and is no business."""
    if error["message"] == "Missing mandatory parameter(s)":
        return "property_path" not in error
    return bool(BUSINESS.fullmatch(error["message"]))


def holds_a_monster(body):
    """A number whose exponent is beyond 99 (contract 1.2)."""
    if isinstance(body, dict | list):
        return any(
            map(holds_a_monster, body.values() if isinstance(body, dict) else body)
        )
    return isinstance(body, float) and abs(int(f"{body:e}".partition("e")[2])) > 99


def is_read_as_valid(schema, case, response):
    """Does the request fit, once it is read as contract 1.2 and 1.3 say?"""
    document, operation = schema.raw_schema, case.operation.definition.raw
    said = parse_qsl(urlsplit(response.request.url).query, keep_blank_values=True)
    asked = {name: text for name, text in dict(said).items() if text}  # the last one
    if asked.keys() >= {"status", "approved"}:
        del asked["approved"]  # 2.3.2: read when `status` is absent
    fits = all(
        Draft202012Validator(parameter["schema"]).is_valid(
            from_text(parameter["schema"], asked[parameter["name"]])
        )
        for parameter in operation.get("parameters", [])
        if parameter["in"] == "query" and parameter["name"] in asked
    )
    if "requestBody" not in operation:
        return fits
    declared = operation["requestBody"]["content"]["application/json"]["schema"]
    declared = declared | {"components": document["components"]}
    read = as_read(document, declared, None if case.body is NOT_SET else case.body)
    return fits and Draft202012Validator(declared).is_valid(read)


def from_text(declared, text):
    """A query value: booleans are `1` and `0` too, any case (1.3), and so are the
    decisions about an affiliate, `pending` being `null` too (2.7.2)."""
    words = {"true": True, "1": True, "false": False, "0": False}
    if declared.get("type") == "boolean":
        return words.get(text.lower(), text)
    if "pending" in declared.get("enum", []):
        aliases = {"1": "true", "0": "false", "null": "pending"}
        return aliases.get(text.lower(), text.lower())
    if declared.get("type") == "integer" and text.isascii() and text.isdigit():
        return int(text)
    return text


def as_read(document, declared, value):
    """A body as it is read: null is not sent, an integer is taken as its digits, outer
    white space does not count where something is looked up (1.3); in meta data numbers
    and booleans are text (1.10); hearsay is never refused (2.2.3, 2.8); beside
    `details` nothing else is a detail (2.4.8)."""
    while "$ref" in declared:
        named = declared["$ref"].rpartition("/")[2]
        declared = document["components"]["schemas"][named]
    if "oneOf" in declared:
        options = (as_read(document, option, value) for option in declared["oneOf"])
        whole = declared | {"components": document["components"]}
        fits = Draft202012Validator(whole).is_valid
        return next((read for read in options if fits(read)), value)
    if isinstance(value, list) and "items" in declared:
        return [as_read(document, declared["items"], item) for item in value]
    if isinstance(value, dict):
        if "details" in declared.get("properties", {}) and value.get("details"):
            value = {key: value[key] for key in declared["properties"] if key in value}
        return {
            name: as_read(document, of, item)
            for name, item in value.items()
            for of in [declared_at(declared, name)]
            if item is not None or is_nullable(of)
            if not is_hollow(document, of, item)
            if name not in ("ip", "referrer", "landing_page")
        }
    if "string" in declared.get("type", ()) and isinstance(value, int):
        return str(value)
    return value.strip() if isinstance(value, str) else value


def is_hollow(document, declared, value):
    """An object in which nothing is said, which is no object (1.3)."""
    if not isinstance(value, dict):
        return False
    named = declared.get("oneOf", [declared])[0].get("$ref", "").rpartition("/")[2]
    known = document["components"]["schemas"].get(named, {}).get("properties")
    return bool(known) and all(value.get(name) is None for name in known)


def is_nullable(declared):
    return "null" in declared.get("type", ()) or {"type": "null"} in declared.get(
        "oneOf", []
    )


def declared_at(declared, name):
    return declared.get("properties", {}).get(
        name, declared.get("additionalProperties", {})
    )


# What is answered


def assert_shaped(response):
    """P13: a status of the contract; an error in one of its two shapes, or its page."""
    status, kind = response.status_code, response.headers.get("content-type", [""])[0]
    assert status in STATUSES
    if status == 429:
        assert kind.startswith("text/plain")
    elif status in (401, 404) and kind.startswith("text/html"):
        assert response.content.startswith(b"<!doctype html>")
    elif status >= 400:
        body = response.json()
        assert set(body) in ({"errors"}, {"message", "code"} | set(body) & {"traceId"})
        assert all(set(entry) in ENTRIES for entry in body.get("errors", []))


def assert_still_reads(asker):
    """No row is poisoned: every page of every list is still there."""
    for path in LISTS:
        ids = asker.ids_of(path, re.findall(r"{(\w+)}", path))
        url = path.removeprefix("/1.6").format(**ids)
        while url:
            asker.world.api.key = asker.new_key()
            response = asker.world.api.get(url)
            assert response.status_code == 200, url
            following = re.match(r'<[^>]*/1\.6(/[^>]+)>; rel="next"', response["Link"])
            url = following and following[1]


@pytest.fixture
def asker(account, key_for):
    """About an account with one of everything."""
    world = World(Api(key_for(account)), account.slug, "aa")
    return Asker(world, lambda: key_for(account))


@pytest.mark.parametrize("tag", TAGS)
def test_keeps_its_word_at_some_borders(asker, subtests, tag):
    for operation in asker.operations(tag):
        with subtests.test(operation.label):
            for case in islice(borders(operation), None, None, THINNED):
                asker.ask(case)

    assert_still_reads(asker)


@pytest.mark.slow
@pytest.mark.parametrize("tag", TAGS)
def test_keeps_its_word_at_every_border(asker, subtests, tag):
    for operation in asker.operations(tag):
        with subtests.test(operation.label):
            for case in borders(operation):
                asker.ask(case)

    assert_still_reads(asker)


@pytest.mark.slow
@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("start", range(5))
def test_keeps_its_word_whatever_comes(asker, subtests, start, tag):
    for operation in asker.operations(tag):
        for mode in modes_of(operation):

            @seed(start)
            @settings(max_examples=10, database=None, suppress_health_check=RARE)
            @given(case=operation.as_strategy(generation_mode=mode))
            def whatever_comes(case):
                asker.ask(case)

            with subtests.test(operation.label, mode=mode.value):
                whatever_comes()

    assert_still_reads(asker)


def borders(operation):
    """Values at, below and above every bound that the document names."""
    return operation.schema.iter_coverage_cases(
        operation, generation_modes=list(GenerationMode), generation_config=GENERATION
    )


def modes_of(operation):
    """Nothing can be wrong where nothing but a path is read: any text is one."""
    yield GenerationMode.POSITIVE
    if operation.query or operation.headers or operation.body:
        yield GenerationMode.NEGATIVE
