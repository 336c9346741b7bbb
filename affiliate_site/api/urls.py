"""Every path of the API, in the order of the contract's index."""

from django.urls import path

from affiliate_site.api.resources.programs import ProgramViewSet

urlpatterns = [
    path("programs/", ProgramViewSet.as_view({"get": "list"})),
    path("programs/<str:program_id>/", ProgramViewSet.as_view({"get": "retrieve"})),
]
