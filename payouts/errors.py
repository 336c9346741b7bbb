"""Refusals of payouts, each spelled as the specification or the contract spells it."""
