"""Take the screenshots in `docs/`: pages of the demo in desktop and phone width.

Run by `make screenshots`, with a temporary database.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from cryptography.fernet import Fernet
from playwright.sync_api import sync_playwright

from tests.e2e.browser import CHROMIUM_FLAGS, CHROMIUM_PATH

ROOT = Path(__file__).parents[2]
SCREENSHOTS_DIR = ROOT / "docs" / "screenshots"
WIDTHS = {"desk": 1280, "phone": 390}
# Each page and the widths at which the documents show it.
PAGES = {
    "dashboard": ("", ("desk", "phone")),
    "program": ("tracking/program/1/change/", ("desk",)),
    "affiliates": ("tracking/affiliate/", ("phone",)),
    "affiliate": ("tracking/affiliate/1/change/", ("desk",)),
    "conversion": ("tracking/conversion/5/change/", ("desk",)),
    "correction": ("tracking/conversion/5/edit/", ("desk",)),
    "commissions": ("payouts/commission/", ("desk", "phone")),
    "balances": ("payouts/ledgeraccount/", ("desk",)),
    "audit-log": ("accounts/auditlogentry/", ("desk",)),
}
# The same of the portal, where an affiliate of the demo is signed in.
PORTAL_PAGES = {
    "portal": ("", ("phone",)),
    "portal-links": ("links/", ("phone",)),
    "portal-figures": ("figures/", ("desk",)),
}


def load_demo(folder: str) -> None:
    """Create the demo in an empty database; its credentials are saved in `folder`."""
    import django

    django.setup()
    from django.core.management import call_command

    from affiliate_site.demo import loading

    loading.VAR_DIR = Path(folder)
    loading.CREDENTIALS_FILE = loading.VAR_DIR / "demo.json"
    call_command("migrate", verbosity=0)
    call_command("load_demo")
    call_command("check_ledger", "--note")


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.create_server(("127.0.0.1", 0)) as listener,
    ):
        env = os.environ | {
            "DATABASE_URL": f"sqlite:///{folder}/demo.sqlite3",
            "SECRET_KEY": "screenshots-need-no-real-secret",
            "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
            "BIND": f"fd://{listener.fileno()}",
            "DJANGO_SETTINGS_MODULE": "affiliate_site.settings",
        }
        load_command = [sys.executable, "-m", "tests.e2e.screenshots", folder]
        subprocess.run(load_command, cwd=ROOT, env=env, check=True)  # noqa: S603 - this module
        demo = json.loads((Path(folder) / "demo.json").read_text())
        listener.listen(64)
        with subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "-c", "deploy/gunicorn.conf.py"],
            cwd=ROOT,
            env=env,
            pass_fds=[listener.fileno()],
        ) as server:
            try:
                take_screenshots(f"http://127.0.0.1:{listener.getsockname()[1]}/", demo)
            finally:
                server.terminate()


def take_screenshots(url: str, demo: dict[str, str]) -> None:
    """Sign in as staff and as an affiliate, and take a screenshot of each page."""
    dashboard_url = f"{url}admin/"
    portal_url = f"{url}partners/{demo['account']}/"
    SCREENSHOTS_DIR.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM_PATH, args=CHROMIUM_FLAGS)
        page = browser.new_page()
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.goto(dashboard_url)
        page.fill("#id_account", demo["account"])
        page.fill("#id_username", demo["email"])
        page.fill("#id_password", demo["password"])
        page.click("button[type=submit]")
        page.wait_for_url(dashboard_url)
        photograph(page, dashboard_url, PAGES)
        page.goto(f"{portal_url}sign-in/")
        page.fill("[name=email]", demo["affiliate_email"])
        page.fill("[name=password]", demo["affiliate_password"])
        page.click("main button")
        page.wait_for_url(portal_url)
        photograph(page, portal_url, PORTAL_PAGES)
        browser.close()


def photograph(page, url: str, pages: dict[str, tuple[str, tuple[str, ...]]]) -> None:
    """Take a screenshot of each page at each of its widths."""
    for title, (path, widths) in pages.items():
        for width in widths:
            page.set_viewport_size({"width": WIDTHS[width], "height": 844})
            page.goto(url + path)
            page.wait_for_load_state("networkidle")
            page.screenshot(path=SCREENSHOTS_DIR / f"{title}-{width}.png")


if __name__ == "__main__":
    load_demo(*sys.argv[1:]) if sys.argv[1:] else main()
