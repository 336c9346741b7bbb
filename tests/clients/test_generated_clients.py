"""Clients that tools generate from the OpenAPI document work with the service.

The tools are no packages of this project; CONTRIBUTING.md says how to install them.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from uuid import uuid4

import pytest
from django.utils import timezone
from standardwebhooks import Webhook

from accounts.models.webhooks import Delivery
from accounts.services.webhooks import create_webhook
from affiliate_site.webhooks.sending import build_headers
from tests.command_line import ROOT
from tests.concurrency.server import make_key, run_server
from tests.factories.accounts import AccountFactory
from tests.program_scenario import ProgramScenario

pytestmark = [pytest.mark.slow, pytest.mark.engine_independent]

TYPESCRIPT = """
import type { paths, components } from "./api";

type Sale = paths["/1.6/conversions/"]["post"];
export const body: Sale["requestBody"]["content"]["application/json"] = {
  external_id: "order-1", amount: "49.90", referral_code: "hana7",
};
export function read(answer: Sale["responses"][200]["content"]["application/json"]) {
  const affiliate: string | null = answer.affiliate.id;  // null in a dry run
  const customer: string | undefined = answer.customer?.customer_id;
  const amounts: number[] = answer.commissions.map((row) => row.amount);
  return [affiliate, customer, ...amounts];
}
export const status: components["schemas"]["Commission"]["status"] = "approved";
// @ts-expect-error: there is no such status
export const wrong: components["schemas"]["Commission"]["status"] = "accepted";
// @ts-expect-error: a missing property
export const customer: components["schemas"]["CustomerInput"] = { status: "new" };
"""


def find_tool(name: str, variable: str = "") -> str:
    """Return the path of a tool; skip the test if it is not installed."""
    folders = f"{ROOT / 'node_modules/.bin'}:{os.environ['PATH']}"
    tool = os.environ.get(variable) or shutil.which(name, path=folders)
    if tool is None:
        pytest.skip(f"{name} is not installed: CONTRIBUTING.md, section Tests")
    return tool


def run(*command, **options) -> str:
    process = subprocess.run(  # noqa: S603 - tools and our own programs
        command, capture_output=True, text=True, check=False, timeout=300, **options
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A function that runs a Python program with the generated client."""
    generator = find_tool("openapi-generator-cli", "OPENAPI_GENERATOR")
    folder = tmp_path_factory.mktemp("client")
    run(
        *(generator, "generate", "-i", str(ROOT / "openapi.json"), "-g", "python"),
        *("-o", str(folder), "--package-name", "affiliate_client"),
    )

    def run_client(task, text="", **environment):
        return run(
            str(Path(generator).with_name("python")),
            str(Path(__file__).with_name("generated_client.py")),
            task,
            input=text,
            env={"PYTHONPATH": str(folder), "BASE": "", "KEY": "", "CODE": ""} | environment,
        )

    return run_client


@pytest.fixture
def scenario(committed_db):
    return ProgramScenario(AccountFactory(slug=f"client-{uuid4().hex[:12]}"))


def get_body_models() -> dict[str, str]:
    """The name of the model of each webhook event."""
    webhooks = json.loads((ROOT / "openapi.json").read_text())["webhooks"]
    names = {}
    for event, methods in webhooks.items():
        body = methods["post"]["requestBody"]["content"]["application/json"]
        names[event] = body["schema"]["$ref"].rpartition("/")[2]
    return names


def test_python_client(client, scenario):
    account = scenario.account
    for number in range(24):
        scenario.create_conversion("10", external_id=f"earlier-{number}")
    webhook = create_webhook(
        account, url="https://hooks.example.net/", events=[], at=timezone.now()
    )
    scenario.create_enrolled_affiliate("Odette", "Varga")
    with run_server(workers=1) as server:
        server.wait_until_ready()
        output = client(
            "call",
            BASE=f"http://127.0.0.1:{server.port}",
            KEY=make_key(account),
            CODE=scenario.mina.code,
        )

    assert json.loads(output) == {
        "amount": "249.9",
        "commissions": [20, 4.99],
        "created_at": True,
        "campaign": {"campaign": "spring"},
        "replayed": 1,
        "updated": {"shop": "de"},
        "status": "approved",
        "pages": [25, 1],
        "errors": [
            [
                400,
                "Duplicate conversion. There is already a conversion for External id 'generated-1'",
            ],
            [404, "Conversion not found"],
            [401, "Authentication Failed."],
        ],
    }
    deliveries = Delivery.objects.filter(endpoint=webhook).select_related("event")
    body_models = get_body_models()
    assert {delivery.event.kind for delivery in deliveries} >= {
        *("affiliate.created", "affiliate.added_to_program", "customer.created"),
        *("conversion.created", "conversion.updated"),
        *("commission.created", "commission.updated"),
    }
    for delivery in deliveries:
        headers = dict(build_headers(delivery, at=timezone.now()))
        Webhook(webhook.secret).verify(bytes(delivery.body), headers)
    client(
        "parse",
        "\n".join(
            json.dumps([body_models[delivery.event.kind], delivery.body.decode()])
            for delivery in deliveries
        ),
    )


def test_typescript_types(tmp_path):
    generator, compiler = find_tool("openapi-typescript"), find_tool("tsc")
    run(generator, str(ROOT / "openapi.json"), "-o", str(tmp_path / "api.ts"))
    (tmp_path / "shop.ts").write_text(TYPESCRIPT)

    run(compiler, "--noEmit", "--strict", "--target", "es2022", "shop.ts", cwd=tmp_path)
