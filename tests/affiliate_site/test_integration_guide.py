"""The snippets of docs/integration.md run as they are printed."""

import json
import re
import shutil
import subprocess
import threading
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import uuid4

import pytest
from django.utils import timezone
from standardwebhooks.webhooks import Webhook

from tests.command_line import PROCESS_SECONDS, ROOT
from tests.concurrency.server import make_key, run_server
from tests.factories.accounts import AccountFactory
from tests.program_scenario import ProgramScenario

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

GUIDE = (ROOT / "docs/integration.md").read_text()
PROGRAMS = {"sh": "sh", "python": "python3", "javascript": "node", "php": "php"}
SUFFIXES = {"sh": "sh", "python": "py", "javascript": "mjs", "php": "php"}
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = '{"id": 1, "name": "Zoë"}'
# A verifier in each language, called with what `{}` holds as a literal.
CALLS = {
    "python": "\nprint(verify({secret!r}, {headers!r}, {body!r}.encode()))\n",
    "javascript": "\nconsole.log(verify({secret!r}, {headers!r}, {body!r}));\n",
    "php": "\necho verify('{secret}', json_decode('{json}', true), '{body}') ? 'True' : 'False';\n",
}


def list_snippets(section: str) -> list[tuple[str, str]]:
    """Return language and text of each snippet of a section."""
    text = re.search(rf"(?ms)^## {section}\..*?(?=^## |\Z)", GUIDE)[0]
    return re.findall(r"(?ms)^```(sh|python|javascript|php)\n(.*?)^```", text)


def run_snippet(language: str, text: str, directory, **environment: str) -> str:
    """Run a snippet; skip if its language is not installed."""
    program = shutil.which(PROGRAMS[language])
    if program is None:
        pytest.skip(f"{PROGRAMS[language]} is not installed")
    file = directory / f"snippet.{SUFFIXES[language]}"
    file.write_text(text)
    command = [program, "-e", str(file)] if language == "sh" else [program, str(file)]
    process = subprocess.run(  # noqa: S603 - our own snippets
        command,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=PROCESS_SECONDS,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def installation(django_db_setup, django_db_blocker):
    """A server with an account that has a program and an affiliate."""
    with django_db_blocker.unblock(), run_server(workers=1) as server:
        server.wait_until_ready()
        account = AccountFactory(slug=f"guide-{uuid4().hex[:12]}")
        scenario = ProgramScenario(account)
        yield (
            scenario,
            {
                "BASE": f"http://127.0.0.1:{server.port}",
                "KEY": make_key(account),
                "CODE": scenario.mina.code,
                "AFFILIATE": scenario.mina.affiliate.slug,
                "PROGRAM": scenario.program.slug,
            },
        )


SALES = [
    (language, text)
    for section in ("1", "5")
    for language, text in list_snippets(section)
    if "order-" in text and "external_id=order-1" not in text
]


def test_finds_the_snippets():
    assert [language for language, _ in SALES] == [
        "sh", "python", "javascript", "php", "sh",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("language", "text"), SALES, ids=["curl", "python", "javascript", "php", "postback"]
)
def test_reports_a_sale(installation, language, text, tmp_path):
    scenario, environment = installation
    order = re.search(r"order-\d", text)[0]

    output = run_snippet(language, text, tmp_path, **environment)

    conversion = scenario.account.conversions.get(external_id=order)
    (commission,) = conversion.commissions.all()
    assert (conversion.amount, commission.amount) == (Decimal("49.9"), Decimal("4.99"))
    assert conversion.affiliate.slug in output
    assert "4.99" in output


def test_refunds_a_sale(installation, tmp_path):
    scenario, environment = installation
    if not scenario.account.conversions.filter(external_id="order-1"):
        scenario.create_conversion("49.90", external_id="order-1")
    (text,) = [text for _, text in list_snippets("1") if "?external_id=order-1" in text]
    lower, remove = text.rsplit("\n", 2)[0], text

    run_snippet("sh", lower, tmp_path, **environment)
    amounts = scenario.account.conversions.values_list("amount", "commissions__amount").filter(
        external_id="order-1"
    )
    assert list(amounts) == [(20, 2)]

    run_snippet("sh", remove, tmp_path, **environment)
    conversions = scenario.account.conversions.filter(external_id="order-1")
    assert all(conversion.deleted_at for conversion in conversions)


def find_snippet(section: str, text: str) -> tuple[str, str]:
    """Return the one snippet of a section with a text."""
    (snippet,) = [found for found in list_snippets(section) if text in found[1]]
    return snippet


def test_reports_a_subscription_by_postbacks(installation, tmp_path):
    scenario, environment = installation

    run_snippet(*find_snippet("5", "renewal-6"), tmp_path, **environment)

    conversion = scenario.account.conversions.get(external_id="renewal-6")
    amounts = conversion.commissions.order_by("id").values_list("amount", flat=True)
    assert list(amounts) == [2, Decimal("2.99")]
    assert conversion.customer.meta_data == {"plan": "pro"}
    assert conversion.customer.status == "canceled"


def test_pays_once(installation, tmp_path):
    scenario, environment = installation

    output = run_snippet(*find_snippet("7", "payout-2026-11"), tmp_path, **environment)

    payment = scenario.account.payments.get()
    assert payment.amount == 2
    assert output.count(payment.public_id) == 2


@pytest.mark.parametrize("code", [None, "unknown"])
def test_posts_again(installation, code, tmp_path):
    scenario, environment = installation
    language, text = find_snippet("7", 'Idempotency-Key": str')
    if code is None:
        click = run_snippet(language, text, tmp_path, **environment).strip()
        assert scenario.account.clicks.filter(public_id=click).exists()
        return

    with pytest.raises(AssertionError, match="Unknown referral code"):
        run_snippet(language, text, tmp_path, **environment | {"CODE": code})


class FailingServer(ThreadingHTTPServer):
    """Answers with the given statuses, one request after the other."""

    def __init__(self, *statuses) -> None:
        super().__init__(("127.0.0.1", 0), FailingHandler)
        self.statuses, self.keys = list(statuses), []


class FailingHandler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.keys.append(self.headers["Idempotency-Key"])
        self.send_response(self.server.statuses.pop(0))
        self.send_header("X-RateLimit-Reset", str(int(time.time())))
        self.end_headers()
        self.wfile.write(b'{"id": "a-click"}')

    def log_message(self, *args):
        """Log nothing."""


def test_posts_again_with_the_same_key(tmp_path):
    language, text = find_snippet("7", 'Idempotency-Key": str')
    with FailingServer(429, 503, 200) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        base = f"http://127.0.0.1:{server.server_address[1]}"
        output = run_snippet(
            language,
            text.replace("2**attempt", "0"),
            tmp_path,
            BASE=base,
            KEY="key",
            CODE="code",
        )
        server.shutdown()
        thread.join()

    assert output == "a-click\n"
    assert len(server.keys) == 3
    assert len(set(server.keys)) == 1


def test_reads_all_pages(installation, tmp_path):
    scenario, environment = installation
    for number in range(30):
        scenario.create_conversion("10.10", external_id=f"page-{number}")
    pending = scenario.account.commissions.not_deleted().filter(status="pending")

    output = run_snippet(*find_snippet("7", "read_all"), tmp_path, **environment)

    assert Decimal(output) == sum(commission.amount for commission in pending)
    assert pending.count() > 25


def test_worked_attributions_of_the_guide(api, account):
    """The cases of section 3, in their order."""
    scenario = ProgramScenario(account)
    mina = scenario.mina
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    now = timezone.now()

    def click(affiliate, days):
        return str(scenario.create_click(affiliate, at=now - timedelta(days=days)).public_id)

    def sell(order, **parameters):
        body = {"external_id": order, "amount": 10} | parameters
        answer = api.post("/conversions/", body).json()
        if "errors" in answer:
            return answer["errors"][0]["message"]
        return answer["affiliate"]["id"]

    click(mina, 3)
    assert sell("1", click_id=click(odette, 1)) == odette.affiliate.slug
    assert sell("2", click_id=click(odette, 1), coupon=mina.coupon) == mina.affiliate.slug
    sell("3", customer_id="cu", referral_code=mina.code)
    assert sell("4", customer_id="cu", referral_code=odette.code) == mina.affiliate.slug
    assert sell("5", click_id=click(mina, 44)) == mina.affiliate.slug
    assert sell("6", click_id=click(mina, 46)) == "Cookie expired"
    assert sell("7", referral_code="unknown") == "Unknown referral code"


def test_worked_numbers_of_the_guide():
    """Amount, rate and result of the rows that are one percentage of one amount."""
    rows = re.findall(r"\| ([\d.]+) % \| ([\d.]+) EUR \| .*?([\d.]+) EUR \|", GUIDE)

    assert len(rows) == 2
    for rate, amount, result in rows:
        exact = Decimal(amount) * Decimal(rate) / 100
        assert exact.quantize(Decimal("0.01"), "ROUND_HALF_UP") == Decimal(result)


@pytest.mark.parametrize(("language", "text"), list_snippets("6"), ids=lambda v: v[:6])
def test_verifies_a_webhook(language, text, tmp_path):
    now = int(time.time())  # verifiers refuse what is older than five minutes
    signature = Webhook(SECRET).sign("evt_1", datetime.fromtimestamp(now, UTC), BODY)
    headers = {
        "webhook-id": "evt_1",
        "webhook-timestamp": str(now),
        "webhook-signature": f"v1,bm90IG1pbmU= {signature}",
    }

    def ask(body=BODY, secret=SECRET, **changed):
        values = headers | changed
        call = CALLS[language].format(
            secret=secret, headers=values, json=json.dumps(values), body=body
        )
        return run_snippet(language, text + call, tmp_path).strip().capitalize()

    old = {"webhook-timestamp": str(now - 400)}
    assert ask() == "True"
    assert ask(body=BODY.replace("1", "2")) == "False"
    assert ask(secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx") == "False"
    assert ask(**old) == "False"
