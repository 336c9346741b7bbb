"""The pictures in `docs/`: ten pages of the demo, at a desk and on a phone.

`make screenshots`; a database of its own, gone when it is done.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.e2e.browser import CHROMIUM, FLAGS

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "screenshots"
WIDTHS = {"desk": 1280, "phone": 390}
PAGES = {
    "dashboard": "",
    "programs": "tracking/program/",
    "affiliates": "tracking/affiliate/",
    "memberships": "tracking/enrolment/",
    "clicks": "tracking/click/",
    "customers": "tracking/customer/",
    "conversion": "tracking/conversion/5/change/",
    "commissions": "payouts/commission/",
    "balances": "payouts/ledgeraccount/",
    "diary": "accounts/event/",
}


def load(folder: str) -> None:
    """Make the demo in an empty database; its sign-in is kept in this folder."""
    import django

    django.setup()
    from django.core.management import call_command

    from affiliate_site import demo

    demo.VAR = Path(folder)
    demo.KEPT = demo.VAR / "demo.json"
    call_command("migrate", verbosity=0)
    call_command("load_demo")
    call_command("check_ledger", "--note")


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.create_server(("127.0.0.1", 0)) as door,
    ):
        env = os.environ | {
            "DATABASE_URL": f"sqlite:///{folder}/demo.sqlite3",
            "SECRET_KEY": "pictures-need-no-secret-that-is-kept",
            "BIND": f"fd://{door.fileno()}",
            "DJANGO_SETTINGS_MODULE": "affiliate_site.settings",
        }
        loading = [sys.executable, "-m", "tests.e2e.screenshots", folder]
        subprocess.run(loading, cwd=ROOT, env=env, check=True)  # noqa: S603 - ourselves
        demo = json.loads((Path(folder) / "demo.json").read_text())
        door.listen(64)
        with subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "-c", "deploy/gunicorn.conf.py"],
            cwd=ROOT,
            env=env,
            pass_fds=[door.fileno()],
        ) as server:
            try:
                take(f"http://127.0.0.1:{door.getsockname()[1]}/admin/", demo)
            finally:
                server.terminate()


def take(home: str, demo: dict[str, str]) -> None:
    """Sign in, and take each page at each width."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        page.goto(home)
        page.fill("#id_username", demo["email"])
        page.fill("#id_password", demo["password"])
        page.click("button[type=submit]")
        page.wait_for_url(home)
        for name, width in WIDTHS.items():
            page.set_viewport_size({"width": width, "height": 844})
            for title, path in PAGES.items():
                page.goto(home + path)
                page.wait_for_load_state("networkidle")
                page.screenshot(path=PICTURES / f"{title}-{name}.png")
        browser.close()


if __name__ == "__main__":
    load(*sys.argv[1:]) if sys.argv[1:] else main()
