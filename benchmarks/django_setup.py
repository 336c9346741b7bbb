"""Set up Django with the tests' settings, before models are imported."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()
