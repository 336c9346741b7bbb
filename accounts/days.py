"""UTC days, and when one is over for good."""

from datetime import timedelta

A_DAY = timedelta(days=1)
# No request that began on a day still runs this long after its end.
CLOSING_DELAY = timedelta(hours=1)
