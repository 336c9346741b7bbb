"""An affiliate's own export has every field of the profile."""

from accounts.exact_json import serialize_exact_json
from affiliate_site.privacy.person_export import export_own_data
from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory
from tracking.models.affiliates import Affiliate

# Not of the affiliate: secrets, what staff decide, and what follows from other columns.
OTHERS = {
    *("id", "account", "password", "email_folded", "parent", "group", "meta_data"),
    *("log_id", "promoted_at", "deleted_at", "under_review_since"),
}


def test_has_every_column_of_an_affiliate(account):
    affiliate = AffiliateFactory(account=account)
    names = {field.name for field in Affiliate._meta.fields} - OTHERS
    texts = {
        field.name: f"mark-{field.name}"[: field.max_length]
        for field in Affiliate._meta.fields
        if field.name in names and field.get_internal_type() == "CharField"
    }
    texts |= {"language": "de", "country": "SI", "promotion_method": "blog"}
    texts |= dict.fromkeys(("email", "bounced_email"), "mark@notes.example.org")
    values = {"notices": ["mark-notice"], "custom_fields": {"size": "mark-size"}}
    days = ("created_at", "invited_at", "signed_in_at", "deletion_asked_at")
    row = Affiliate.objects.filter(pk=affiliate.pk)
    row.update(**texts, **values, **dict.fromkeys(days, NOW))
    affiliate.refresh_from_db()

    exported = export_own_data(affiliate, at=NOW)

    assert names == {*texts, *values, *days}
    written = serialize_exact_json(exported).decode()
    sought = {*texts.values(), "mark-notice", "mark-size"}
    assert {text for text in sought if f'"{text}"' not in written} == set()
    assert set(days) <= set(exported)
