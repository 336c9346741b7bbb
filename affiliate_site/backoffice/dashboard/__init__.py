"""The dashboard and the checklist of a new account."""
