"""Date formats of the back office: UTC, in an order that sorts as text."""

DATETIME_FORMAT = "Y-m-d H:i T"  # 2026-11-20 23:54 UTC
DATE_FORMAT = "Y-m-d"
