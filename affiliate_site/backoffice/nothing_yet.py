"""What a list says while it has no row at all: where its rows come from.

A page may say it itself, by an attribute `empty`.
"""

from django.conf import settings

SCRIPT = f'<script src="{settings.PUBLIC_URL}/tap.js" async></script>'

NOTHING_YET = {
    "tracking.Program": (
        "No program yet. An operator makes one: manage.py create_program ACCOUNT"
        " spring --title Spring --currency EUR"
    ),
    "tracking.Affiliate": (
        "No affiliate yet. Your sign-up form makes one by the API:"
        " POST /1.6/affiliates/."
    ),
    "tracking.Enrolment": (
        "Nobody is in a program yet. Add an affiliate to one by the API:"
        " POST /1.6/programs/PROGRAM/affiliates/."
    ),
    "tracking.AffiliateGroup": (
        "No group yet. Make one by the API: POST /1.6/affiliate-groups/."
    ),
    "tracking.Prospect": (
        "No prospect yet. Keep somebody who may become an affiliate by the API:"
        " POST /1.6/affiliate-prospects/."
    ),
    "tracking.Note": (
        "No note yet. Write one about an affiliate by the API:"
        " POST /1.6/affiliates/AFFILIATE/notes/."
    ),
    "tracking.CustomField": (
        "No custom field yet: affiliates are asked for what every affiliate is."
    ),
    "tracking.Click": (
        "No click yet. Put this into your shop's pages, and call"
        f' tap("create", "ACCOUNT") and tap("detect") after it: {SCRIPT}'
    ),
    "tracking.Customer": (
        'No customer yet. Your shop tells of one: tap("customer", "ID") on a page,'
        " or POST /1.6/customers/."
    ),
    "tracking.Conversion": (
        'No sale yet. Your shop tells of one: tap("conversion", "ORDER", 49.90) on the'
        " page after a purchase, or POST /1.6/conversions/."
    ),
    "payouts.Commission": (
        "No commission yet. The first sale of an affiliate brings the first one."
    ),
    "payouts.LedgerAccount": (
        "Nothing is owed yet. Approve a commission, and its affiliate stands here."
    ),
    "payouts.Payment": (
        "No payment yet. Choose affiliates among the balances, then Pay in full."
    ),
    "payouts.PayoutMethod": (
        "No payout method yet. Say how an affiliate is paid by the API:"
        " PUT /1.6/affiliates/AFFILIATE/payout-methods/paypal/."
    ),
    "payouts.Transfer": (
        "No amount moved yet. The first commission writes the first line."
    ),
    "accounts.ApiKey": "No key yet. An owner adds one; it is shown once.",
    "accounts.WebhookEndpoint": (
        "No webhook yet. An owner adds one, and its receiver is told of each change."
    ),
    "accounts.Delivery": (
        "Nothing was delivered yet. Add a webhook; each change is told to it."
    ),
    "accounts.Event": "Nothing happened yet. Each change writes a line.",
    "accounts.User": (
        "No staff yet. An operator makes a sign-in:"
        " manage.py create_staff owner@example.org --account ACCOUNT"
    ),
}
