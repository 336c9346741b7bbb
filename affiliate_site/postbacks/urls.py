"""The four paths of server-to-server postbacks 1.7."""

from django.urls import path

from affiliate_site.postbacks.views import (
    ConversionPostbackViewSet,
    CustomerPostbackViewSet,
)

CREATE: dict = {"get": "create", "post": "create"}
UPDATE: dict = {"get": "follow_up", "post": "follow_up"}

urlpatterns = [
    path("con/c/", ConversionPostbackViewSet.as_view(CREATE)),
    path("con/u/", ConversionPostbackViewSet.as_view(UPDATE)),
    path("cus/c/", CustomerPostbackViewSet.as_view(CREATE)),
    path("cus/u/", CustomerPostbackViewSet.as_view(UPDATE)),
]
