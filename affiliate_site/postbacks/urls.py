"""The four paths of postbacks 1.7."""

from django.urls import path

from affiliate_site.postbacks.views import ConversionPostback, CustomerPostback

CREATE: dict = {"get": "create", "post": "create"}
UPDATE: dict = {"get": "follow_up", "post": "follow_up"}

urlpatterns = [
    path("con/c/", ConversionPostback.as_view(CREATE)),
    path("con/u/", ConversionPostback.as_view(UPDATE)),
    path("cus/c/", CustomerPostback.as_view(CREATE)),
    path("cus/u/", CustomerPostback.as_view(UPDATE)),
]
