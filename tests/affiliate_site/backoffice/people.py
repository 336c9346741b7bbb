"""Who signs in, in the tests of the back office."""

EMAIL = "owner@harbor.example.org"
PASSWORD = "lamps-at-the-harbor"
