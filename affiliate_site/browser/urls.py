"""The browser script, and what it calls without a key."""

from django.urls import path

from affiliate_site.browser.views import (
    script,
    track_click,
    track_conversion,
    track_customer,
)

SCRIPT = [path("tap.js", script)]
CALLS = [
    path("click/", track_click),
    path("conversion/", track_conversion),
    path("customer/", track_customer),
]
