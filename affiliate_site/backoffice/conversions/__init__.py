"""Conversions, commissions, claims, clicks, customers, failed page calls."""
