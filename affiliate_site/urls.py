"""URL configuration; the health checks are served by middleware.py."""

from django.conf import settings
from django.contrib import admin
from django.http import HttpResponse
from django.shortcuts import redirect
from django.templatetags.static import static
from django.urls import include, path

from affiliate_site import http_errors
from affiliate_site.browser import views as browser
from affiliate_site.browser.short_links import follow_short_link
from affiliate_site.creative_images import serve_image
from affiliate_site.demo.shop import demo_shop
from affiliate_site.env import BASE_DIR
from affiliate_site.guide import show_guide
from affiliate_site.postbacks.views import (
    ConversionPostbackViewSet,
    CustomerPostbackViewSet,
)
from affiliate_site.reference import show_reference
from affiliate_site.shops.views import receive_event
from tracking.services.portal_settings import find_account_of_host

handler400 = http_errors.bad_request
handler403 = http_errors.forbidden
handler404 = http_errors.not_found
handler500 = http_errors.server_error


@http_errors.allow_methods("GET", "HEAD")
def home(request):
    """Lead browsers to the portal of the host, else to the sign-in of staff."""
    if account := find_account_of_host(request.get_host().lower()):
        return redirect("portal:home", account=account.slug)
    if http_errors.accepts_page(request):
        return redirect("admin:index")
    return http_errors.not_found(request)


@http_errors.allow_methods("GET", "HEAD")
def favicon(request):
    """Lead browsers that look for an icon at its traditional address to it."""
    return redirect(static("backoffice/favicon.svg"))


@http_errors.allow_methods("GET", "HEAD")
def openapi(request):
    """Serve the committed OpenAPI document."""
    return HttpResponse((BASE_DIR / "openapi.json").read_bytes(), content_type="application/json")


CREATE: dict = {"get": "create", "post": "create"}
UPDATE: dict = {"get": "follow_up", "post": "follow_up"}
POSTBACKS = [
    path("con/c/", ConversionPostbackViewSet.as_view(CREATE)),
    path("con/u/", ConversionPostbackViewSet.as_view(UPDATE)),
    path("cus/c/", CustomerPostbackViewSet.as_view(CREATE)),
    path("cus/u/", CustomerPostbackViewSet.as_view(UPDATE)),
]

urlpatterns = [
    path("", home),
    path("favicon.ico", favicon),
    path("1.6/", include("affiliate_site.api.urls")),
    path("1.7/pb/", include(POSTBACKS)),
    path("track/click/", browser.track_click),
    path("track/handover/", browser.answer_handover),
    path("track/conversion/", browser.track_conversion),
    path("track/customer/", browser.track_customer),
    path("r/<slug:account>/<str:code>/", follow_short_link),
    path("in/<str:connection_id>/", receive_event),
    path("tap.js", browser.serve_script),
    path("creatives/<slug:account>/<str:name>", serve_image),
    path("demo/", demo_shop),
    path("admin/", admin.site.urls),
    path("partners/<slug:account>/", include("affiliate_site.portal.urls")),
    path("docs/", show_reference),
    path("docs/guide/", show_guide),
    path("docs/guide/<slug:page>/", show_guide),
    path("openapi.json", openapi),
]
if getattr(settings, "ANYMAIL", {}).get("WEBHOOK_SECRET"):
    urlpatterns.append(path("anymail/", include("anymail.urls")))  # bounces
