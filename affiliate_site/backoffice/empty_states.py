"""Texts of lists that have no rows: how the first row is created."""

from django.conf import settings

TRACKING_SCRIPT_TAG = f'<script src="{settings.PUBLIC_URL}/tap.js" async></script>'

EMPTY_STATES = {
    "tracking.Program": (
        "No programs yet. An operator creates one with: manage.py create_program"
        " ACCOUNT spring --title Spring --currency EUR"
    ),
    "tracking.Affiliate": (
        "No affiliates yet. Create one through the API: POST /1.6/affiliates/."
    ),
    "tracking.Enrollment": (
        "No program affiliates yet. Add an affiliate to a program through the API:"
        " POST /1.6/programs/PROGRAM/affiliates/."
    ),
    "tracking.AffiliateGroup": (
        "No affiliate groups yet. Create one through the API:"
        " POST /1.6/affiliate-groups/."
    ),
    "tracking.Prospect": (
        "No prospects yet. Create one through the API: POST /1.6/affiliate-prospects/."
    ),
    "tracking.Note": (
        "No notes yet. Add a note about an affiliate through the API:"
        " POST /1.6/affiliates/AFFILIATE/notes/."
    ),
    "tracking.CustomField": (
        "No custom fields yet. Affiliates have the standard fields only."
    ),
    "tracking.Click": (
        "No clicks yet. Add the tracking script to your shop's pages, then call"
        f' tap("create", "ACCOUNT") and tap("detect"): {TRACKING_SCRIPT_TAG}'
    ),
    "tracking.FailedPageCall": (
        "No failed page calls. Calls of the tracking script that cannot be stored are"
        " listed here for 90 days."
    ),
    "tracking.Customer": (
        'No customers yet. Your shop registers one with tap("customer", "ID")'
        " or POST /1.6/customers/."
    ),
    "tracking.Conversion": (
        'No conversions yet. Your shop records one with tap("conversion", "ORDER",'
        " 49.90) on the order confirmation page, or POST /1.6/conversions/."
    ),
    "payouts.Commission": (
        "No commissions yet. They are created with the first conversion of an"
        " affiliate."
    ),
    "payouts.LedgerAccount": (
        "No balances due. Approve a commission to add its amount to the balance of"
        " the affiliate."
    ),
    "payouts.Payment": (
        "No payments yet. Select affiliates under Balances and choose “Pay balance"
        " in full”."
    ),
    "payouts.PayoutMethod": (
        "No payout methods yet. Set one through the API:"
        " PUT /1.6/affiliates/AFFILIATE/payout-methods/paypal/."
    ),
    "payouts.Transfer": (
        "No ledger entries yet. The first commission creates the first entry."
    ),
    "tracking.ConversionClaim": (
        "No contested claims. One appears here when two visitors report the same"
        " external ID."
    ),
    "accounts.SigningSecret": (
        "No signing secrets yet. An owner creates one to sign what the shop's pages"
        " report; it is shown only once."
    ),
    "accounts.ApiKey": "No API keys yet. An owner creates one; it is shown only once.",
    "accounts.WebhookEndpoint": (
        "No webhooks yet. An owner adds one to receive events."
    ),
    "accounts.Delivery": "No deliveries yet. Add a webhook to receive events.",
    "accounts.AuditLogEntry": "No audit log entries yet. Each change adds one.",
    "accounts.Invitation": (
        "No invitations yet. An owner sends one under Staff, if the operator has set up"
        " e-mail (EMAIL_URL)."
    ),
    "accounts.User": (
        "No staff users yet. An operator creates one with:"
        " manage.py create_staff owner@example.org --account ACCOUNT"
    ),
}
