"""Each door that needs no sign-in has a bound: of bytes, objects, calls and rows."""

import json
import re
from pathlib import Path

import pytest
from django.apps import apps
from django.test import Client
from django.urls import include, path
from django.urls.resolvers import URLResolver
from django.utils import timezone

from accounts.models.api_keys import RateWindow, Role
from accounts.services.staff import create_staff_user
from affiliate_site import middleware, urls
from affiliate_site.throttling import (
    BROWSER_CALLS,
    NETWORKS_PER_48,
    SIGN_INS,
    count_sign_in_attempt,
)
from tests.conftest import NOW
from tests.hostile.doors import (
    DOORS,
    NOT_COUNTED,
    SIGNED_IN_DOORS,
    WRONG_KEYS,
)
from tests.portal_links import create_portal_link
from tests.wsgi_client import send_request
from tracking.models.portal import LinkPurpose
from tracking.services.portal_access import set_portal_password
from tracking.services.portal_settings import update_portal_settings

pytestmark = [
    pytest.mark.usefixtures("shared_scenario"),
    pytest.mark.urls("tests.hostile.test_doors"),
]
# With the addresses for reports of bounces, which a deployment may switch on.
urlpatterns = [*urls.urlpatterns, path("anymail/", include("anymail.urls"))]

CALLS = 150
FEW_CALLS = 40  # above the limits of forms
ACCEPTED_CALLS = 30
PASSWORD = "harbor-lamps-12"
EMAIL = "olga@harbor.example.org"
FORM = "application/x-www-form-urlencoded"
BY_NAME = {door.name: door for door in DOORS}


@pytest.fixture(autouse=True)
def at_one_moment(time_machine):
    time_machine.move_to(NOW, tick=False)


@pytest.fixture(autouse=True)
def open_doors(scenario, at_one_moment, settings):
    """A portal that takes applications, an affiliate and a user with a password."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = "mail.example.org"
    settings.ANYMAIL = {"WEBHOOK_SECRET": "a:b"}
    account, at = scenario.account, timezone.now()
    changes = {"is_on": True, "is_open": True}
    update_portal_settings(account, changes=changes, at=at)
    mina = scenario.mina.affiliate
    token = create_portal_link(mina, purpose=LinkPurpose.SET_PASSWORD, at=at)
    set_portal_password(account, token, password=PASSWORD, at=at)
    create_staff_user(account, email=EMAIL, role=Role.OWNER, password=PASSWORD, at=at)
    scenario.visitor = click_on_link(Client(), scenario, "page").json()["vid"]


def post_json(client, path, body):
    return client.post(path, json.dumps(body), content_type="application/json")


def read_page(client, scenario, name):
    return client.get(f"/docs/guide/{name}/")


def use_wrong_key(client, scenario, name):
    headers = {"X-Api-Key": name, "Idempotency-Key": name}
    return client.post("/1.6/conversions/", headers=headers)


def use_wrong_postback(client, scenario, name):
    return client.get(f"/1.7/pb/con/c/?api_key={name}&external_id={name}")


def click(client, scenario, name):
    body = {"account": scenario.account.slug, "referral_code": name, "vid": name}
    return post_json(client, "/track/click/", body | {"landing_page": name})


def click_somewhere(client, scenario, name):
    return post_json(client, "/track/click/", {"account": name, "referral_code": name})


def click_on_link(client, scenario, name):
    body = {"account": scenario.account.slug, "referral_code": scenario.mina.code}
    page = f"https://shop.example.net/{name}"
    return post_json(client, "/track/click/", body | {"landing_page": page})


def ask_for_handover(client, scenario, name):
    body = {"account": scenario.account.slug, "vid": name, "hosts": [name]}
    return post_json(client, "/track/handover/", body)


def report_sale(client, scenario, name):
    body = {"account": scenario.account.slug, "external_id": name, "amount": 5}
    return post_json(client, "/track/conversion/", body | {"vid": name})


def report_sale_of_mina(client, scenario, name):
    body = {"account": scenario.account.slug, "external_id": name, "amount": 5}
    body |= {"vid": scenario.visitor}
    return post_json(client, "/track/conversion/", body)


def report_customer(client, scenario, name):
    body = {"account": scenario.account.slug, "customer_id": name, "vid": name}
    return post_json(client, "/track/customer/", body)


def report_customer_of_mina(client, scenario, name):
    body = {"account": scenario.account.slug, "customer_id": name}
    return post_json(client, "/track/customer/", body | {"vid": scenario.visitor})


def follow_link(client, scenario, name, agent="Mozilla/5.0 Firefox"):
    address = f"/r/{scenario.account.slug}/{name}/"
    return client.get(address, headers={"User-Agent": agent})


def follow_link_of_mina(client, scenario, name):
    return follow_link(client, scenario, scenario.mina.code, f"Mozilla/5.0 Firefox {name}")


def use_wrong_connection(client, scenario, name):
    return post_json(client, f"/in/{name}/", {"id": name})


def report_bounce(client, scenario, name):
    return post_json(client, "/anymail/postmark/tracking/", {"Email": name})


def sign_in(client, scenario, name):
    return client.post("/admin/login/", {"username": f"{name}@x.test", "password": "x"})


def sign_in_as_staff(client, scenario, name):
    form = {"account": scenario.account.slug, "username": EMAIL, "password": PASSWORD}
    return client.post("/admin/login/", form)


def accept_invitation(client, scenario, name):
    return client.post("/admin/invitation/", {"token": name, "password": name})


def build_portal_path(scenario, page=""):
    return f"/partners/{scenario.account.slug}/{page}"


def read_portal(client, scenario, name):
    return client.get(build_portal_path(scenario, f"{name}/"))


def choose_language(client, scenario, name):
    form = {"language": name, "page": name}
    return client.post(build_portal_path(scenario, "language/"), form)


def sign_in_at_portal(client, scenario, name):
    form = {"email": f"{name}@x.test", "password": name}
    return client.post(build_portal_path(scenario, "sign-in/"), form)


def enter_code(client, scenario, name):
    page = build_portal_path(scenario, f"sign-in/code/{name}/")
    return client.post(page, {"code": "123456"})


def sign_in_as_mina(client, scenario, name):
    form = {"email": scenario.mina.affiliate.email, "password": PASSWORD}
    return client.post(build_portal_path(scenario, "sign-in/"), form)


def ask_for_link(client, scenario, name):
    form = {"email": f"{name}@x.test"}
    return client.post(build_portal_path(scenario, "password/"), form)


def set_password(client, scenario, name):
    form = {"password": PASSWORD, "repeated": PASSWORD}
    return client.post(build_portal_path(scenario, f"password/{name}/"), form)


def use_link(client, scenario, name):
    return client.post(build_portal_path(scenario, f"sign-in/{name}/"), {"a": "b"})


def confirm_email(client, scenario, name):
    return client.post(build_portal_path(scenario, f"email/{name}/"), {"a": "b"})


def confirm_application(client, scenario, name):
    return client.post(build_portal_path(scenario, f"apply/{name}/"), {"a": "b"})


def apply(client, scenario, name):
    form = {
        "program": scenario.program.slug,
        "firstname": "Nora",
        "lastname": name,
        "email": f"{name}@weld.example.org",
        "country": "DE",
    }
    return client.post(build_portal_path(scenario, "apply/"), form)


# What strangers send, with a name that they invent.
REFUSED = {
    "Pages to read: `/`, `/docs/`, `/demo/`, `/tap.js`, images, `/healthz`": [read_page],
    "API and postbacks without a valid key": [use_wrong_key, use_wrong_postback],
    "`/track/click/`": [click, click_somewhere],
    "`/track/customer/`": [report_customer],
    "`/track/handover/`": [ask_for_handover],
    "`/track/conversion/`": [report_sale],
    "Short links `/r/`": [follow_link],
    "Events of shops `/in/`": [use_wrong_connection],
    "Bounces `/anymail/`": [report_bounce],
    "Office: sign in, sign out": [sign_in],
    "Office: invitation": [accept_invitation],
    "Portal: pages to read, logo, color, view of staff": [read_portal],
    "Portal: language": [choose_language],
    "Portal: sign in, code, sign out": [sign_in_at_portal, enter_code],
    "Portal: ask for a link": [ask_for_link],
    "Portal: links in mails, to set a password": [set_password],
    "Portal: other links in mails": [use_link, confirm_email, confirm_application],
    "Portal: apply": [apply],
}
ACCEPTED = {
    "`/track/click/`": click_on_link,
    "`/track/customer/`": report_customer_of_mina,
    "`/track/conversion/`": report_sale_of_mina,
    "Short links `/r/`": follow_link_of_mina,
    "Office: sign in, sign out": sign_in_as_staff,
    "Portal: sign in, code, sign out": sign_in_as_mina,
    "Portal: ask for a link": ask_for_link,
    "Portal: apply": apply,
}
REFUSALS = [(name, send) for name, calls in REFUSED.items() for send in calls]
COUNTERS = 6  # of the client, its name, and of what a page may store in a day


def test_each_door_is_tried():
    assert set(REFUSED) == set(BY_NAME)
    assert set(ACCEPTED) == {door.name for door in DOORS if door.accepted_rows}


# Routes


def walk_routes(patterns, prefix=""):
    for each in patterns:
        route = f"{prefix}{each.pattern}"
        if isinstance(each, URLResolver):
            yield from walk_routes(each.url_patterns, route)
        else:
            yield route


def list_routes():
    health = [view.removeprefix("/") for view in middleware.HEALTH_VIEWS]
    return [*walk_routes(urlpatterns), *health]


def covers(pattern, route):
    if pattern.endswith("*"):
        return route.startswith(pattern[:-1])
    return route == pattern


def fill(route, scenario):
    """A path of the route."""
    route = route.replace("<slug:account>", scenario.account.slug)
    route = route.replace("<slug:program>", scenario.program.slug)
    route = re.sub(r"\(\?P.*", "unknown/", route)
    return "/" + re.sub(r"<[^>]*>", "1", route)


def needs_sign_in(path, scenario):
    """Whether the page leads everybody to the sign-in, however it is asked."""
    client = Client(raise_request_exception=False)
    sign_ins = ("/admin/login/?next=", build_portal_path(scenario, "sign-in/"))
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        response = client.generic(method, path, content_type=FORM)
        target = response.headers.get("Location", "")
        if response.status_code != 405 and not target.startswith(sign_ins):
            return False
    return True


def test_each_route_needs_a_sign_in_or_is_a_door(scenario):
    patterns = [pattern for door in DOORS for pattern in door.routes]
    routes = list_routes()
    rest = [it for it in routes if not any(covers(each, it) for each in patterns)]
    assert len(rest) > 300  # pages of office and portal
    assert [it for it in rest if not needs_sign_in(fill(it, scenario), scenario)] == []
    assert [each for each in patterns if not any(covers(each, route) for route in routes)] == []


def test_each_route_has_one_door():
    for route in list_routes():
        doors = [
            door.name for door in DOORS if any(covers(pattern, route) for pattern in door.routes)
        ]
        assert len(doors) <= 1, (route, doors)


# Bytes and objects


def send_body(client, call, scenario, body):
    """Send a body where a call goes, instead of its own."""
    request = call(client, scenario, "nobody").wsgi_request
    kind = request.headers.get("Content-Type", "")
    kind = "application/json" if "json" in kind else FORM
    return client.post(request.path, body, content_type=kind)


def build_client():
    return Client(REMOTE_ADDR="203.0.113.9", raise_request_exception=False)


SIZES = [
    (name, send, most, status) for name, send in REFUSALS for most, status in BY_NAME[name].size
]


@pytest.mark.parametrize(("name", "send", "most", "status"), SIZES)
def test_refuses_a_body_that_is_a_byte_too_long(scenario, name, send, most, status):
    build = {FORM: b"a=", "application/json": b'{"a":"'}
    client = build_client()
    if name.startswith("Bounces"):
        client.defaults["HTTP_AUTHORIZATION"] = "Basic YTpi"
    for start in build.values():
        body = start + b"x" * (most + 1 - len(start))
        assert send_body(client, send, scenario, body).status_code == status


@pytest.mark.parametrize(("name", "send"), REFUSALS)
def test_what_reads_no_body_answers_the_same_to_any(scenario, name, send):
    if BY_NAME[name].size:
        return
    client = build_client()
    answers = {
        send_body(client, send, scenario, body).status_code
        for body in (b"a=b", b"a=" + b"x" * 2**20, b"&".join([b"a=b"] * 1001))
    }
    assert len(answers) == 1
    assert answers <= {200, 401, 405}


FORMS = [(name, send) for name, send in REFUSALS if "fields" in BY_NAME[name].objects]


@pytest.mark.parametrize(("name", "send"), FORMS)
def test_refuses_a_form_of_too_many_fields(scenario, name, send):
    fields = b"&".join([b"a=b"] * 1001)
    response = send_body(build_client(), send, scenario, fields)
    assert response.status_code == 400


MULTIPART = "multipart/form-data; boundary=bb"


@pytest.mark.parametrize(("name", "send"), FORMS)
def test_no_form_chooses_a_codec(scenario, name, send):
    """Of those that Python has, some are quadratic, some compress and some raise."""
    client = build_client()
    path = send(client, scenario, "nobody").wsgi_request.path
    part = b'--bb\r\nContent-Disposition: form-data; name="a"\r\n\r\n'
    bodies = {FORM: b"a=", MULTIPART: part}
    for kind, start in bodies.items():
        body = start + b"-" + b"ya" * 250_000 + b"\r\n--bb--\r\n"
        for charset in ("punycode", "idna", "bz2", "hex", "undefined", "latin1", "x"):
            content_type = f"{kind}; charset={charset}"
            answer = client.generic("POST", path, body, content_type=content_type)
            assert answer.status_code == 400, charset
        for charset in ("UTF-8", "us-ascii", '"utf8"'):
            content_type = f"{kind}; charset={charset}"
            answer = client.generic("POST", path, b"", content_type=content_type)
            assert answer.status_code != 400, charset


@pytest.mark.parametrize(("name", "send"), REFUSALS)
def test_no_query_is_read_in_another_codec(scenario, name, send):
    client = build_client()
    path = send(client, scenario, "nobody").wsgi_request.path
    for charset in ("punycode", "bz2", "undefined"):
        kind = f"text/plain; charset={charset}"
        answer = client.generic("GET", f"{path}?a=%41&next=%FF", content_type=kind)
        assert answer.status_code < 500, charset


@pytest.mark.parametrize("charset", ["nope''x", "undefined''x"])
def test_refuses_parameters_in_an_unknown_codec(charset):
    for address, status in {"/admin/login/": 400, "/1.6/conversions/": 401}.items():
        kind = f"{FORM}; charset*={charset}"
        answer = send_request("POST", address, body=b"a=b", CONTENT_TYPE=kind)
        assert answer.status == status


@pytest.mark.parametrize(
    ("name", "send"),
    [(name, send) for name, send in REFUSALS if "depth 32" in BY_NAME[name].objects],
)
@pytest.mark.parametrize(
    "body", ['{"a":' + "[" * 32 + "]" * 32 + "}", '{"account":"a","account":"b"}']
)
def test_refuses_deep_objects_and_repeated_keys(scenario, name, send, body):
    assert send_body(build_client(), send, scenario, body).status_code == 400


def test_takes_100_commissions_of_a_sale(scenario):
    for number in (100, 101):
        body = {
            "account": scenario.account.slug,
            "external_id": f"o-{number}",
            "vid": scenario.visitor,
            "commissions": [{"sub_amount": "1.00"}] * number,
        }
        before = count_rows()
        post_json(build_client(), "/track/conversion/", body)
        stored = scenario.account.conversions.filter(external_id=f"o-{number}")
        assert stored.exists() == (number == 100)
        assert count_rows() - before <= COUNTERS + (7 + 5 * 100) * stored.count()


@pytest.mark.parametrize(("name", "send"), REFUSALS)
def test_refuses_a_query_of_too_many_parameters(scenario, name, send):
    client = build_client()
    address = send(client, scenario, "nobody").wsgi_request.path
    assert client.get(f"{address}?{'&' * 1000}").status_code == 400


# Rows


def count_rows():
    return sum(model._base_manager.count() for model in apps.get_models())


@pytest.mark.parametrize(("name", "send"), REFUSALS)
def test_invented_names_leave_few_rows(scenario, name, send):
    """A client over its limit leaves none."""
    door, client, before = BY_NAME[name], build_client(), count_rows()
    for number in range(CALLS if "120 a minute" in door.calls else FEW_CALLS):
        response = send(client, scenario, f"nobody-{number}")
        assert response.wsgi_request.resolver_match, "the door has another address"
        assert response.status_code < 500
    if door.calls not in (NOT_COUNTED, WRONG_KEYS):
        assert response.status_code == 429
    left = count_rows() - before
    assert left <= door.refused_rows
    for number in range(10):
        send(client, scenario, f"other-{number}")
    assert count_rows() - before == left


@pytest.mark.parametrize(("name", "send"), ACCEPTED.items())
def test_what_is_accepted_leaves_as_many_rows_as_the_table_says(scenario, name, send):
    before = count_rows() - RateWindow.objects.count()
    for number in range(ACCEPTED_CALLS):
        # Each call has a client of its own, so that none is over its limit.
        client = Client(REMOTE_ADDR=f"198.51.100.{number}")
        response = send(client, scenario, f"somebody-{number}")
        assert response.status_code in (200, 204, 302), response.content
    rows = count_rows() - RateWindow.objects.count() - before
    assert ACCEPTED_CALLS <= rows <= ACCEPTED_CALLS * BY_NAME[name].accepted_rows


def test_a_network_names_few_counters(rf):
    before = RateWindow.objects.count()
    for number in range(1500):
        address = f"2001:db8:1:{number:x}::1"
        request = rf.post("/", REMOTE_ADDR=address)
        count_sign_in_attempt(request, f"{number}@x.test")
    most = SIGN_INS.per_48.max_requests
    # Those of networks, the /48, and two for each name within the limit of the /48.
    left = RateWindow.objects.count() - before
    assert left <= NETWORKS_PER_48 + 1 + 2 * most
    assert BROWSER_CALLS.per_48.max_requests > most


# Doors behind a sign-in


def test_the_tests_of_other_doors_exist():
    folder = Path(__file__).parents[1]
    for *_, test in SIGNED_IN_DOORS:
        assert (folder / test).exists()
