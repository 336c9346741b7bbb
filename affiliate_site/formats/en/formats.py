"""How the back office writes times, which are UTC: they sort as they read."""

DATETIME_FORMAT = "Y-m-d H:i"
DATE_FORMAT = "Y-m-d"
