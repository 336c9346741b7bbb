"""`make run`: migrate, load the demo once, print example commands, serve.

The output contains the port, so the port is checked first.
"""

import os
import socket
import sys

import django
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command

GUNICORN_ARGUMENTS = ("-m", "gunicorn", "-c", "deploy/gunicorn.conf.py")


def main() -> None:
    """Prepare the database, print the banner, replace the process by gunicorn."""
    host = os.environ.get("HOST") or "127.0.0.1"
    port = os.environ.get("PORT") or "8000"
    ensure_port_free(host, port)
    address = f"http://{host}:{port}"
    os.environ.setdefault("PUBLIC_URL", address)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "affiliate_site.settings")
    os.environ["BIND"] = f"{host}:{port}"
    os.environ.setdefault("MAKE_KEYS", "on")
    if not os.environ.get("DATABASE_URL"):
        os.environ.setdefault("DEMO", "on")
    try:
        django.setup()
    except ImproperlyConfigured as error:
        sys.exit(f"Cannot serve: {error}")
    call_command("migrate", verbosity=0, interactive=False)
    call_command("collectstatic", verbosity=0, interactive=False)
    print(render_banner(address), flush=True)  # noqa: T201 - console output
    os.execv(sys.executable, [sys.executable, *GUNICORN_ARGUMENTS])  # noqa: S606 - no shell


def ensure_port_free(host: str, port: str) -> None:
    """Exit with code 1 and one line if the port is in use or invalid."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except (OSError, ValueError, OverflowError) as error:
            sys.exit(f"Cannot serve on {host}:{port}: {error}. Try make run PORT=9000")


def render_banner(address: str) -> str:
    """Return the addresses, and with a demo account its credentials and examples."""
    # After Django is set up.
    from affiliate_site.demo.loading import get_or_load_demo  # noqa: PLC0415

    demo = get_or_load_demo()
    sign_in = f"login/?account={demo.account}   {demo.email}   {demo.password}" if demo else ""
    lines = [
        "Affiliate Site is ready",
        f"  API          {address}/1.6/",
        f"  Back office  {address}/admin/{sign_in}",
        f"  Reference    {address}/docs/",
        f"  Guide        {address}/docs/guide/",
    ]
    if demo is not None:
        if demo.finance_email:
            finance = f"{demo.finance_email}   {demo.finance_password}"
            lines.insert(3, f"   as finance  {finance}")
        if demo.affiliate_email:
            affiliate = f"{demo.affiliate_email}   {demo.affiliate_password}"
            url = f"{address}/partners/{demo.account}/"
            lines.insert(4, f"  Affiliates   {url}   {affiliate}")
        lines.insert(2, f"  Key          {demo.key}")
        titles = ("Try", "", "", "")
        lines += [
            f"  {title:<12} {line}"
            for title, line in zip(titles, render_examples(address, demo), strict=True)
        ]
    return "\n".join(lines)


def render_examples(address: str, demo) -> list[str]:
    """Return four curl commands that work when they are pasted, repeatedly."""
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
