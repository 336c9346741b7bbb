"""Benchmarks; importing this package sets up Django."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()
