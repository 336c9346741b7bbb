"""The pages of the portal, below /partners/<account>/."""

from django.urls import path

from affiliate_site.portal import (
    account_pages,
    creative_pages,
    figures,
    home,
    languages,
    link_pages,
    notice_pages,
    payment_pages,
    payout_method_pages,
    postback_pages,
    profile_pages,
    question_pages,
    recruit_pages,
    sale_pages,
    second_factor_pages,
    sign_in,
    tax_pages,
)

app_name = "portal"
urlpatterns = [
    path("", home.home, name="home"),
    path("sign-in/", sign_in.sign_in, name="sign_in"),
    path("sign-in/<str:token>/", sign_in.use_link, name="use_link"),
    path("sign-in/code/<str:token>/", second_factor_pages.code, name="enter_code"),
    path("second-factor/", second_factor_pages.second_factor, name="second_factor"),
    path("sign-out/", sign_in.sign_out, name="sign_out"),
    path("password/", sign_in.ask_for_link, name="ask_for_link"),
    path("password/<str:token>/", sign_in.set_password, name="set_password"),
    path("view/<str:token>/", sign_in.view_as, name="view_as"),
    path("links/", link_pages.links, name="links"),
    path("links/qr/", link_pages.qr_code, name="qr_code"),
    path("creatives/", creative_pages.creatives, name="creatives"),
    path("sales/", sale_pages.sales, name="sales"),
    path("sales/<int:sale>/", sale_pages.sale, name="sale"),
    path("figures/", figures.figures, name="figures"),
    path("payments/", payment_pages.payments, name="payments"),
    path(
        "payout-methods/<str:kind>/", payout_method_pages.set_method, name="set_method"
    ),
    path(
        "payout-methods/<str:kind>/primary/",
        payout_method_pages.make_primary,
        name="primary_method",
    ),
    path(
        "payout-methods/<str:kind>/remove/",
        payout_method_pages.remove_method,
        name="remove_method",
    ),
    path("documents/<int:document>/", payment_pages.document, name="document"),
    path("statement/", payment_pages.statement, name="statement"),
    path("recruits/", recruit_pages.recruits, name="recruits"),
    path("missing/", question_pages.missing, name="missing"),
    path("questions/", question_pages.questions, name="questions"),
    path("questions/ask/", question_pages.ask, name="ask"),
    path("language/", languages.choose, name="set_language"),
    path("profile/", profile_pages.profile, name="profile"),
    path("profile/edit/", profile_pages.edit_profile, name="edit_profile"),
    path("profile/email/", profile_pages.change_email, name="change_email"),
    path("profile/taxes/", tax_pages.tax_data, name="tax_data"),
    path("profile/mails/", notice_pages.notices, name="notices"),
    path("profile/data/", account_pages.own_data, name="own_data"),
    path("profile/delete/", account_pages.delete, name="delete"),
    path("profile/postbacks/", postback_pages.postbacks, name="postbacks"),
    path(
        "profile/postbacks/<str:postback>/remove/",
        postback_pages.remove_postback,
        name="remove_postback",
    ),
    path("email/<str:token>/", profile_pages.confirm_email, name="confirm_email"),
]
