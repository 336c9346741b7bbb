"""`make run`: migrate, load the demo once, say how to try it, serve.

Everything printed names the port that is really served, so the port is tried first.
"""

import os
import socket
import sys

import django
from django.core.management import call_command

SERVER = ("-m", "gunicorn", "-c", "deploy/gunicorn.conf.py")


def main() -> None:
    """Prepare the database, print the banner, become gunicorn."""
    host = os.environ.get("HOST") or "127.0.0.1"
    port = os.environ.get("PORT") or "8000"
    refuse_taken(host, port)
    address = f"http://{host}:{port}"
    os.environ.setdefault("PUBLIC_URL", address)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "affiliate_site.settings")
    os.environ["BIND"] = f"{host}:{port}"
    if not os.environ.get("DATABASE_URL"):
        os.environ.setdefault("DEMO", "on")
    django.setup()
    call_command("migrate", verbosity=0, interactive=False)
    call_command("collectstatic", verbosity=0, interactive=False)
    print(banner(address), flush=True)  # noqa: T201 - it is what this is for
    os.execv(sys.executable, [sys.executable, *SERVER])  # noqa: S606 - becomes it


def refuse_taken(host: str, port: str) -> None:
    """One line and exit 1 when somebody else listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except (OSError, ValueError, OverflowError) as error:
            sys.exit(f"Cannot serve on {host}:{port}: {error}. Try make run PORT=9000")


def banner(address: str) -> str:
    """What to read first; without a demo account only the addresses."""
    from affiliate_site.demo import demo_at_hand

    demo = demo_at_hand()
    sign_in = f"   {demo.email}   {demo.password}" if demo else ""
    lines = [
        "Affiliate Site is ready",
        f"  API          {address}/1.6/",
        f"  Back office  {address}/admin/{sign_in}",
        f"  Reference    {address}/docs/",
    ]
    if demo is not None:
        lines.insert(2, f"  Key          {demo.key}")
        titles = ("Try", "", "", "")
        lines += [
            f"  {title:<12} {line}"
            for title, line in zip(titles, tries(address, demo), strict=True)
        ]
    return "\n".join(lines)


def tries(address: str, demo) -> list[str]:
    """Four lines that work as they are copied, again and again."""
    curl = f"curl -H 'X-Api-Key: {demo.key}' {address}/1.6"
    code = demo.referral_code
    return [
        f"{curl}/programs/",
        f"""{curl}/clicks/ -d '{{"referral_code": "{code}"}}'""",
        f"""{curl}/conversions/ -d "{{\\"referral_code\\": \\"{code}\\","""
        """ \\"external_id\\": \\"try-$(date +%s)\\", \\"amount\\": 49.90}\"""",
        f"{curl}/conversions/",
    ]


if __name__ == "__main__":
    main()
