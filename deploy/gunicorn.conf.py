"""gunicorn settings: threads, timeouts, and system checks before the fork."""

import gc
import os
import subprocess
import sys
from pathlib import Path

from gunicorn.glogging import Logger


class RedactingLogger(Logger):
    """gunicorn's log without request data: no keys, addresses or queries."""

    def warning(self, msg, *args, **kwargs):
        if msg.startswith("Invalid request from"):
            msg = "Rejected a request that is not valid HTTP."
        super().warning(msg, *args, **kwargs)

    def exception(self, msg, *args, **kwargs):
        if msg.startswith("Error handling request"):
            msg, args = "Error handling a request", ()
        super().exception(msg, *args, **kwargs)


ROOT = Path(__file__).resolve().parent.parent

wsgi_app = "affiliate_site.wsgi"
chdir = str(ROOT)
bind = os.environ.get("BIND", "127.0.0.1:8000")
# gthread, but threads do not wait for clients; see there. TLS ends at the proxy.
worker_class = "deploy.receiving_worker.ReceivingWorker"
workers = int(os.environ.get("WEB_CONCURRENCY") or 2)
threads = int(os.environ.get("WEB_THREADS") or 4)
timeout = 30  # seconds; also for the arrival of a whole request
graceful_timeout = 30
keepalive = 75  # seconds; longer than the proxy's, or reused connections break
max_requests = 5000
max_requests_jitter = 500
preload_app = True
control_socket_disable = True
logger_class = RedactingLogger
# Only the site itself evaluates proxy headers (TRUSTED_PROXY_COUNT); gunicorn would
# trust every client on this machine.
forwarded_allow_ips = ""
secure_scheme_headers = {}
limit_request_line = 8190
MEMORY = "/dev/shm"  # noqa: S108 - worker files hold a heartbeat, no data
worker_tmp_dir = MEMORY if Path(MEMORY).is_dir() else None


def on_starting(server):
    """Stop if a system check fails. The checks run in a subprocess: workers must not
    inherit an open database connection."""
    check = [sys.executable, str(ROOT / "manage.py"), "check", "--database", "default"]
    if subprocess.run(check, stdout=subprocess.DEVNULL, check=False).returncode:  # noqa: S603
        server.log.error("Startup aborted: see the errors above.")
        sys.exit(1)


def when_ready(server):
    """Exclude preloaded objects from garbage collection: the workers share them."""
    gc.freeze()
