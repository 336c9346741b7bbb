"""The faces of the site; health is answered before any path is looked up."""

from django.contrib import admin
from django.http import HttpResponse
from django.urls import include, path
from drf_spectacular.views import SpectacularSwaggerSplitView

from affiliate_site import door
from affiliate_site.browser.urls import CALLS, PAGES
from affiliate_site.env import ROOT

handler400 = door.bad_request
handler404 = door.not_found
handler500 = door.failed


@door.only("GET", "HEAD")
def openapi(request):
    """The committed description of the API."""
    return HttpResponse(
        (ROOT / "openapi.json").read_bytes(), content_type="application/json"
    )


reference = door.only("GET", "HEAD")(
    SpectacularSwaggerSplitView.as_view(
        url="/openapi.json", authentication_classes=[], permission_classes=[]
    )
)

urlpatterns = [
    path("1.6/", include("affiliate_site.api.urls")),
    path("1.7/pb/", include("affiliate_site.postbacks.urls")),
    path("track/", include(CALLS)),
    *PAGES,
    path("admin/", admin.site.urls),
    path("docs/", reference),
    path("openapi.json", openapi),
]
