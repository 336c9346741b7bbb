"""The pages of the portal, below /partners/<account>/."""

from django.urls import path

from affiliate_site.portal import (
    apply_pages,
    home,
    languages,
    link_pages,
    payment_pages,
    profile_pages,
    program_pages,
    sale_pages,
    sign_in,
)

app_name = "portal"
urlpatterns = [
    path("", home.home, name="home"),
    path("sign-in/", sign_in.sign_in, name="sign_in"),
    path("sign-in/<str:token>/", sign_in.use_link, name="use_link"),
    path("sign-out/", sign_in.sign_out, name="sign_out"),
    path("password/", sign_in.ask_for_link, name="ask_for_link"),
    path("password/<str:token>/", sign_in.set_password, name="set_password"),
    path("links/", link_pages.links, name="links"),
    path("sales/", sale_pages.sales, name="sales"),
    path("sales/<int:sale>/", sale_pages.sale, name="sale"),
    path("payments/", payment_pages.payments, name="payments"),
    path("statement/", payment_pages.statement, name="statement"),
    path("language/", languages.choose, name="set_language"),
    path("profile/", profile_pages.profile, name="profile"),
    path("apply/", apply_pages.apply, name="apply"),
    path("apply/<str:token>/", apply_pages.confirm, name="confirm_application"),
    path("terms/", program_pages.terms, name="terms"),
    path("theme.css", program_pages.theme, name="theme"),
    path("logo/", program_pages.logo, name="logo"),
    # The last one: a program does not hide a page that has its name.
    path("<slug:program>/", program_pages.program, name="program"),
]
