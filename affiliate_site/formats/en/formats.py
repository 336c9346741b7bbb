"""Date formats of the back office: in the account's time zone, which they name."""

DATETIME_FORMAT = "Y-m-d H:i T"  # 2026-11-21 00:54 CET
DATE_FORMAT = "Y-m-d"
