"""Balances, payments, bulk payouts and the ledger."""
