"""URLs of the browser script, its tracking endpoints and the demo shop."""

from django.urls import path

from affiliate_site.browser.demo_shop import demo_shop
from affiliate_site.browser.views import (
    serve_script,
    track_click,
    track_conversion,
    track_customer,
)

PAGE_URLS = [path("tap.js", serve_script), path("demo/", demo_shop)]
TRACKING_URLS = [
    path("click/", track_click),
    path("conversion/", track_conversion),
    path("customer/", track_customer),
]
