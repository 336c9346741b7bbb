"""Credentials of the staff user in the tests of the back office."""

EMAIL = "owner@harbor.example.org"
PASSWORD = "lamps-at-the-harbor"
