"""Accounts that move in from another server, or out to one."""
