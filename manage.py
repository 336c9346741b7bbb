#!/usr/bin/env python
"""Django's command line: `python manage.py help` lists what operators can do."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "affiliate_site.settings")
    try:
        from accounts.command_line import run_command_line

        run_command_line(sys.argv)
    except KeyboardInterrupt:  # while modules are imported
        sys.exit("CommandError: interrupted")
