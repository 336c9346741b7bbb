"""Measured side by side, in one run; importing this sets Django up."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()
