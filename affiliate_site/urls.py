"""URL configuration; the health checks are served by middleware.py."""

from django.contrib import admin
from django.http import HttpResponse
from django.shortcuts import redirect
from django.templatetags.static import static
from django.urls import include, path
from drf_spectacular.views import SpectacularSwaggerSplitView

from affiliate_site import http_errors
from affiliate_site.browser.urls import PAGE_URLS, TRACKING_URLS
from affiliate_site.env import BASE_DIR
from affiliate_site.guide import show_guide

handler400 = http_errors.bad_request
handler403 = http_errors.forbidden
handler404 = http_errors.not_found
handler500 = http_errors.server_error


@http_errors.allow_methods("GET", "HEAD")
def home(request):
    """Lead browsers to the back office, which asks them to sign in."""
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
    return HttpResponse(
        (BASE_DIR / "openapi.json").read_bytes(), content_type="application/json"
    )


api_docs = http_errors.allow_methods("GET", "HEAD")(
    SpectacularSwaggerSplitView.as_view(
        url="/openapi.json", authentication_classes=[], permission_classes=[]
    )
)

urlpatterns = [
    path("", home),
    path("favicon.ico", favicon),
    path("1.6/", include("affiliate_site.api.urls")),
    path("1.7/pb/", include("affiliate_site.postbacks.urls")),
    path("track/", include(TRACKING_URLS)),
    *PAGE_URLS,
    path("admin/", admin.site.urls),
    path("docs/", api_docs),
    path("docs/guide/", show_guide),
    path("docs/guide/<slug:page>/", show_guide),
    path("openapi.json", openapi),
]
