"""The pages of the portal, below /partners/<account>/."""

from django.urls import path

from affiliate_site.portal import sign_in, views

app_name = "portal"
urlpatterns = [
    path("", views.home, name="home"),
    path("sign-in/", sign_in.sign_in, name="sign_in"),
    path("sign-in/<str:token>/", sign_in.use_link, name="use_link"),
    path("sign-out/", sign_in.sign_out, name="sign_out"),
    path("password/", sign_in.ask_for_link, name="ask_for_link"),
    path("password/<str:token>/", sign_in.set_password, name="set_password"),
    path("links/", views.links, name="links"),
    path("sales/", views.sales, name="sales"),
    path("sales/<int:sale>/", views.sale, name="sale"),
    path("payments/", views.payments, name="payments"),
    path("statement/", views.statement, name="statement"),
    path("profile/", views.profile, name="profile"),
]
