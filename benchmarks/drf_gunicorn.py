"""The service's gunicorn settings without its checks before the start, which are about
its own Django settings.
"""

from pathlib import Path
from runpy import run_path

SETTINGS = run_path(str(Path("deploy/gunicorn.conf.py").resolve()))

globals().update(
    {name: value for name, value in SETTINGS.items() if name != "on_starting"}
)
