"""Readers of what banks, PayPal and Wise answer: pain.002, camt and lists."""
