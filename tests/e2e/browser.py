"""Chromium of Debian: its path, command line flags and timeouts."""

from pathlib import Path

# The shell has no windows and needs half of the CPU time.
CHROMIUM_PATHS = [Path("/usr/bin/chromium-headless-shell"), Path("/usr/bin/chromium")]
CHROMIUM_PATH = next(filter(Path.exists, CHROMIUM_PATHS), CHROMIUM_PATHS[-1])
CHROMIUM_FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
    # Pages are too short-lived for optimizing compilers: a tenth of the CPU time.
    "--js-flags=--no-opt --no-maglev",
    # Its own name, HeadlessChrome, is that of a bot.
    "--user-agent=Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/131.0.0.0",
]
# A busy test machine answers late; only a test that fails waits so long.
TIMEOUT_MS = 60_000


def open_context(browser, **options):
    """Open a browser context, which shares no cookies with others."""
    context = browser.new_context(**options)
    context.set_default_timeout(TIMEOUT_MS)
    return context
