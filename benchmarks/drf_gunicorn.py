"""The service's gunicorn settings without what it does at the start, which needs its
own Django settings.
"""

from pathlib import Path
from runpy import run_path

SETTINGS = run_path(str(Path("deploy/gunicorn.conf.py").resolve()))

globals().update(
    {name: value for name, value in SETTINGS.items() if name not in ("on_starting", "when_ready")}
)
