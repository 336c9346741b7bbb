#!/usr/bin/env python
"""Django's command line: `python manage.py help` lists what operators can do."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "affiliate_site.settings")
    execute_from_command_line(sys.argv)
