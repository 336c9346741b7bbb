"""The browser script, what it calls without a key, and a shop to try it."""

from django.urls import path

from affiliate_site.browser.shop import shop
from affiliate_site.browser.views import (
    script,
    track_click,
    track_conversion,
    track_customer,
)

PAGES = [path("tap.js", script), path("demo/", shop)]
CALLS = [
    path("click/", track_click),
    path("conversion/", track_conversion),
    path("customer/", track_customer),
]
