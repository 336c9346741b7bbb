"""Chromium of Debian and its command line flags."""

from pathlib import Path

CHROMIUM_PATH = Path("/usr/bin/chromium")
CHROMIUM_FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
