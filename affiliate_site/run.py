"""`make run`: migrate, load the demo once, say how to try it, serve.

Everything printed names the port that is really served, so the port is tried first.
"""

import os
import socket
import sys

import django
from django.core.management import call_command

DEPLOY = "deploy/gunicorn.conf.py"


def main() -> None:
    """Prepare the database, print the banner, become gunicorn."""
    host = os.environ.get("HOST") or "127.0.0.1"
    port = os.environ.get("PORT") or "8000"
    refuse_taken(host, port)
    address = f"http://{host}:{port}"
    os.environ.setdefault("PUBLIC_URL", address)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "affiliate_site.settings")
    os.environ["BIND"] = f"{host}:{port}"
    django.setup()
    call_command("migrate", verbosity=0, interactive=False)
    call_command("collectstatic", verbosity=0, interactive=False)

    from affiliate_site.demo import demo_at_hand

    print(banner(address, demo_at_hand()), flush=True)  # noqa: T201 - its purpose
    os.execv(sys.executable, [sys.executable, "-m", "gunicorn", "-c", DEPLOY])  # noqa: S606


def refuse_taken(host: str, port: str) -> None:
    """One line and exit 1 when somebody else listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except (OSError, ValueError, OverflowError) as error:
            sys.exit(f"Cannot serve on {host}:{port}: {error}. Try make run PORT=9000")


def banner(address: str, demo: dict[str, str] | None) -> str:
    """What to read first; without a demo account only the addresses."""
    lines = [
        "Affiliate Site is ready",
        f"  API          {address}/1.6/",
        f"  Reference    {address}/docs/",
    ]
    if demo is None:
        return "\n".join(lines)
    lines.insert(2, f"  Key          {demo['key']}")
    curl = f"curl -H 'X-Api-Key: {demo['key']}' {address}/1.6"
    code = demo["referral_code"]
    sale = (
        rf'"{{\"referral_code\": \"{code}\",'
        r" \"external_id\": \"try-$(date +%s)\", \"amount\": 49.90}" + '"'
    )
    tries = [
        f"{curl}/programs/",
        f"""{curl}/clicks/ -d '{{"referral_code": "{code}"}}'""",
        f"{curl}/conversions/ -d {sale}",
        f"{curl}/conversions/",
    ]
    for number, line in enumerate(tries):
        lines.append(f"  {'Try' if number == 0 else '':<12} {line}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
