"""What the browser script calls, without a key."""

from django.urls import path

from affiliate_site.browser.views import track_click, track_conversion, track_customer

urlpatterns = [
    path("click/", track_click),
    path("conversion/", track_conversion),
    path("customer/", track_customer),
]
