"""gunicorn for Affiliate Site: threads, time limits, and a check before forking."""

import gc
import os
import subprocess
import sys
from pathlib import Path

from gunicorn.glogging import Logger


class Discreet(Logger):
    """gunicorn's own log, without what a caller sent: no key, no address, no query."""

    def warning(self, msg, *args, **kwargs):
        if msg.startswith("Invalid request from"):
            msg = "A request was refused: it is not HTTP."
        super().warning(msg, *args, **kwargs)

    def exception(self, msg, *args, **kwargs):
        if msg.startswith("Error handling request"):
            msg, args = "Error handling a request", ()
        super().exception(msg, *args, **kwargs)


ROOT = Path(__file__).resolve().parent.parent

wsgi_app = "affiliate_site.wsgi"
chdir = str(ROOT)
bind = os.environ.get("BIND", "127.0.0.1:8000")
worker_class = "gthread"
workers = int(os.environ.get("WEB_CONCURRENCY") or 2)
threads = int(os.environ.get("WEB_THREADS") or 4)
timeout = 30
graceful_timeout = 30
keepalive = 75  # longer than the proxy's: else reused connections break
max_requests = 5000
max_requests_jitter = 500
preload_app = True
control_socket_disable = True
logger_class = Discreet
# What a proxy says of address and scheme is believed by the site's own settings alone
# (TRUSTED_PROXY_COUNT); gunicorn would believe anybody on this machine.
forwarded_allow_ips = ""
secure_scheme_headers = {}
limit_request_line = 8190
MEMORY = "/dev/shm"  # noqa: S108 - worker files hold a heartbeat, no data
worker_tmp_dir = MEMORY if Path(MEMORY).is_dir() else None


def on_starting(server):
    """Refuse to start on what is unsafe. In a subprocess: a connection opened before
    the fork would be dead for parent and children."""
    check = [sys.executable, str(ROOT / "manage.py"), "check", "--database", "default"]
    if subprocess.run(check, stdout=subprocess.DEVNULL, check=False).returncode:  # noqa: S603
        server.log.error("The start is refused: see the lines above.")
        sys.exit(1)


def when_ready(server):
    """What was loaded before the fork is shared by the workers and not collected."""
    gc.freeze()
