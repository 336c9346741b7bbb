"""gunicorn settings: threads, timeouts, and the checks before the start."""

import gc
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from itertools import count
from pathlib import Path
from time import monotonic

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from gunicorn.glogging import Logger
from gunicorn.http.errors import InvalidHeader, ParseException

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
EXIT_CONFIGURATION = 78  # with which systemd does not start it again
MAX_REST_BYTES = 32 << 20  # of a body that was refused
MAX_REST_SECONDS = 5
CHUNK_BYTES = 64 << 10

try:
    from affiliate_site import env
    from affiliate_site.operations.logs import create_formatter
except ImproperlyConfigured as error:
    sys.stderr.write(f"Startup refused: {error}\n")
    sys.exit(EXIT_CONFIGURATION)


class RedactingLogger(Logger):
    """gunicorn's log without request data: no keys, addresses or queries."""

    def setup(self, cfg):
        super().setup(cfg)
        if env.LOG_FORMAT == "json":
            logging.captureWarnings(capture=True)
            for handler in self.error_log.handlers:
                handler.setFormatter(create_formatter(console=False))

    def warning(self, msg, *args, **kwargs):
        if msg.startswith("Invalid request from"):
            msg = "Rejected a request that is not valid HTTP."
        super().warning(msg, *args, **kwargs)

    def exception(self, msg, *args, **kwargs):
        if msg.startswith("Error handling request"):
            msg, args = "Error handling a request", ()
        super().exception(msg, *args, **kwargs)


wsgi_app = "affiliate_site.wsgi"
chdir = str(ROOT)
bind = os.environ.get("BIND", "127.0.0.1:8000")
# Threads wait for slow clients: that is for the proxy, where TLS ends, too.
worker_class = "gthread"
workers = env.WEB_CONCURRENCY
threads = env.WEB_THREADS
timeout = 30  # seconds
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


# The processes count requests in files of their own, for one answer of /metrics.
metrics_directory = None
if env.METRICS_TOKEN and "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
    metrics_directory = tempfile.mkdtemp(prefix="affiliate-site-metrics-", dir=worker_tmp_dir)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = metrics_directory


def on_starting(server):
    """Log the database, or refuse to start with one line for each check that fails. The
    checks run in a subprocess: workers must not inherit an open database connection."""
    command = [sys.executable, str(ROOT / "manage.py"), "doctor", "--startup", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    try:
        checks = json.loads(done.stdout)["checks"]
    except ValueError:
        checks = []
        server.log.error("Startup refused: %s", done.stderr.strip())
    for check in checks:
        if check["status"] == "failure":
            server.log.error("Startup refused: %(name)s: %(detail)s -> %(advice)s", check)
        elif check["name"] == "database":
            server.log.info("Database: %(detail)s", check)
    if done.returncode:
        sys.exit(1)


def on_reload(server):
    """HUP replaces the workers by forks of a process with the code of the start."""
    server.log.warning("HUP loads neither new code nor new settings: restart the service instead.")


def when_ready(server):
    """Render the API reference, which takes a second, before somebody waits for it.
    Exclude preloaded objects from garbage collection: the workers share them."""
    from affiliate_site.reference import render_reference

    render_reference()
    gc.freeze()


def pre_fork(server, worker):
    """Give the worker the lowest free number. The successor of a worker continues its
    counts: with files of its own, they would become more with each one."""
    taken = {other.number for other in server.WORKERS.values()}
    worker.number = next(number for number in count() if number not in taken)


def post_fork(server, worker):
    """Name the files of the worker's counts (affiliate_site/operations/metrics.py)."""
    os.environ["METRICS_PROCESS"] = str(worker.number)


def pre_request(worker, req):
    """Refuse a request without `Host` as HTTP/1.1 demands it, and close the connection
    after the answer to a body that the site does not receive."""
    fields = dict(req.headers)
    if "HOST" not in fields and req.version >= (1, 1):
        raise InvalidHeader("HOST", req=req)
    length = int(fields.get("CONTENT-LENGTH", 0))
    if "TRANSFER-ENCODING" in fields or length > settings.RECEIVED_BODY_MAX_SIZE:
        req.force_close()


def post_request(worker, req, environ, resp):
    """Receive the rest of a body that was refused, within limits: a connection that is
    closed while bytes arrive is reset, and its client never reads the answer."""
    client = environ.get("gunicorn.socket")
    # Chunks cost time to read, however small they are.
    has_length = "CONTENT_LENGTH" in environ
    if client is None or not has_length or not req.should_close():
        return
    received, deadline = 0, monotonic() + MAX_REST_SECONDS
    with suppress(OSError, ParseException):
        while received < MAX_REST_BYTES and (left := deadline - monotonic()) > 0:
            client.settimeout(left)
            data = req.body.read(CHUNK_BYTES)
            if not data:
                break
            received += len(data)


def on_exit(server):
    """Remove the counts, unless the operator has chosen their directory."""
    if metrics_directory:
        shutil.rmtree(metrics_directory, ignore_errors=True)
