"""A service that tests kill: gunicorn and a webhook worker on a database of its own."""

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from tests.command_line import ROOT

TIMEOUT_SECONDS = 120  # an upper limit for slow machines
COUPON = "CHAOS"


def build_environment(database_url: str) -> dict[str, str]:
    """Return the environment of processes that use the database."""
    return os.environ | {
        "DATABASE_URL": database_url,
        "DJANGO_SETTINGS_MODULE": "affiliate_site.settings",
        "SECRET_KEY": secrets.token_hex(32),
    }


def create_program(manage) -> str:
    """Create an account with a program by commands; return an API key."""
    manage("create_account", "acme", "--name", "Acme")
    manage(
        *("create_program", "acme", "shop", "--title", "Shop"),
        *("--currency", "EUR", "--commission-percent", "10"),
    )
    return manage("create_api_key", "acme", "--role", "owner").strip()


def enroll_affiliate(service: "Service", key: str) -> None:
    """Create an affiliate with a coupon in the program."""
    headers = {"X-Api-Key": key}
    person = {"firstname": "Mina", "lastname": "Kessler"}
    status, answer = service.request("POST", "/1.6/affiliates/", person, **headers)
    assert status == 200, answer
    enrollment = {
        "affiliate": {"id": json.loads(answer)["id"]},
        "approved": True,
        "coupon": COUPON,
    }
    status, answer = service.request(
        "POST", "/1.6/programs/shop/affiliates/", enrollment, **headers
    )
    assert status == 200, answer


def assert_unavailable(status, body):
    answer = json.loads(body)
    assert (status, list(answer)) == (503, ["message", "code", "traceId"]), body
    assert (answer["message"], answer["code"]) == ("Service Unavailable", 503)


class Service:
    """gunicorn with the shipped settings, on a socket that outlives it as with systemd;
    on demand a webhook worker."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.listen(256)
        self.port = self.listener.getsockname()[1]
        self.environment = environment | {
            "BIND": f"fd://{self.listener.fileno()}",
            "WEB_CONCURRENCY": "2",
            "WEB_THREADS": "4",
            "LOG_LEVEL": "ERROR",
        }
        self.webhook_worker: subprocess.Popen | None = None
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "gunicorn", "-c", "deploy/gunicorn.conf.py"]
        self.gunicorn = subprocess.Popen(  # noqa: S603 - our own command
            command,
            cwd=ROOT,
            env=self.environment,
            pass_fds=[self.listener.fileno()],
            stderr=subprocess.DEVNULL,
        )

    def start_webhook_worker(self) -> None:
        command = [sys.executable, "-m", "tests.concurrency.webhook_worker"]
        self.webhook_worker = subprocess.Popen(  # noqa: S603 - our own command
            command,
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def list_workers(self) -> list[int]:
        pid = self.gunicorn.pid
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]

    def stop(self) -> None:
        processes = [self.gunicorn, *filter(None, [self.webhook_worker])]
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(TIMEOUT_SECONDS)
        self.listener.close()

    def request(self, method, path, body=None, **headers):
        """Return status and body of a request on a new connection; None, None if the
        connection breaks."""
        http = HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_SECONDS)
        try:
            http.request(method, path, body and json.dumps(body), headers)
            response = http.getresponse()
            return response.status, response.read()
        except (OSError, HTTPException):
            return None, None
        finally:
            http.close()

    def post_sale(self, key: str, name: str, *, with_external_id: bool):
        """Post a sale of a customer of its own; return status and body."""
        sale = {"coupon": COUPON, "customer_id": name, "amount": "49.90"}
        headers = {"X-Api-Key": key}
        if with_external_id:
            sale["external_id"] = name
        else:
            headers["Idempotency-Key"] = name
        return self.request("POST", "/1.6/conversions/", sale, **headers)

    def wait_until_ready(self) -> float:
        """Return the seconds until `/readyz` says so."""
        return wait_until(lambda: self.request("GET", "/readyz")[0] == 200)


def wait_until(is_met) -> float:
    """Return the seconds until a condition is met."""
    started = time.monotonic()
    while not is_met():
        assert time.monotonic() - started < TIMEOUT_SECONDS
        time.sleep(0.02)
    return time.monotonic() - started
