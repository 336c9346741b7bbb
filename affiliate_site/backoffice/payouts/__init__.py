"""Balances, payments, payout runs and the ledger."""
