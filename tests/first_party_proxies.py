"""The proxies of `integrations/first-party`, in front of a shop and of the service."""

import json
import os
import shutil
import socket
import subprocess
import threading
from contextlib import contextmanager, suppress

import pytest

from tests.command_line import ROOT

FOLDER = ROOT / "integrations" / "first-party"
SERVICE = "https://aff.example.net"
START_SECONDS = 60
NGINX = """daemon off; worker_processes 1; pid {directory}/pid; {user}
error_log {directory}/error.log;
events {{}}
http {{
  access_log off;
  set_real_ip_from 127.0.0.1; real_ip_header X-Test-Address;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u;
  scgi_temp_path {directory}/s;
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass {shop}; }}
{snippet}
  }}
}}
"""
CADDY = """{{
	admin off
	auto_https off
}}
http://:{port} {{
	bind 127.0.0.1
{snippet}
	reverse_proxy {shop}
}}
"""
NODE = """
import * as snippet from {module};
process.env.AFFILIATE_PROXY_KEY = {key};
const {{ path, method, body, headers }} = JSON.parse({call});
const request = new Request("https://shop.example" + path, {{ method, body, headers }});
const handler = snippet.default.fetch || snippet.default;
const response = await handler(request, process.env);
console.log(JSON.stringify([response.status, await response.text()]));
"""


def read_snippet(name: str, *, service: str, key: str) -> str:
    """The file as a shop uses it, with this service and key."""
    text = (FOLDER / name).read_text()
    assert SERVICE in text
    return text.replace(SERVICE, service).replace("PROXY_KEY", key)


def read_worker(name: str, *, service: str) -> str:
    """The same for files that read the key from the environment."""
    text = (FOLDER / name).read_text()
    assert SERVICE in text
    return text.replace(SERVICE, service)


def build_command(name: str, directory, **values) -> list[str]:
    """Write the configuration of nginx or Caddy; return the command that runs it."""
    if name == "nginx.conf":
        values["user"] = "user root;" if os.geteuid() == 0 else ""
        path = directory / "nginx.conf"
        path.write_text(NGINX.format(directory=directory, **values))
        return ["nginx", "-c", str(path), "-e", f"{directory}/error.log"]
    path = directory / "Caddyfile"
    path.write_text(CADDY.format(**values))
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(path)]


@contextmanager
def run_first_party(name: str, directory, *, service: str, shop: str, key: str):
    """Run nginx or Caddy before the shop and the service, and yield its port."""
    if shutil.which(name.removesuffix(".conf").replace("Caddyfile", "caddy")) is None:
        pytest.skip(f"the proxy of {name} is not installed")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    snippet = read_snippet(name, service=service, key=key)
    program, *arguments = build_command(name, directory, port=port, shop=shop, snippet=snippet)
    with subprocess.Popen(  # noqa: S603 - our own command
        [shutil.which(program), *arguments],
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(directory)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            wait_for_port(port, process)
            yield port
        finally:
            process.terminate()


def wait_for_port(port: int, process) -> None:
    """Return once the proxy accepts connections."""
    for _ in range(START_SECONDS * 20):
        assert process.poll() is None, "the proxy has ended"
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        threading.Event().wait(0.05)
    raise AssertionError("the proxy does not answer")


def run_worker(name: str, directory, *, service: str, key: str, **call):
    """Let Node.js handle a call by the worker; return its status and text."""
    if shutil.which("node") is None:
        pytest.skip("Node.js is not installed")
    module, script = directory / "snippet.mjs", directory / "call.mjs"
    module.write_text(read_worker(name, service=service))
    quoted = {"module": "./snippet.mjs", "key": key, "call": json.dumps(call)}
    script.write_text(NODE.format(**{name: json.dumps(text) for name, text in quoted.items()}))
    done = subprocess.run(  # noqa: S603 - our own command
        [shutil.which("node"), str(script)],
        capture_output=True,
        text=True,
        check=True,
        timeout=START_SECONDS,
    )
    return json.loads(done.stdout)
