"""Texts of lists that have no rows: what the list shows, and how the first row comes.

The page adds the button of the list, if the user may use it.
"""

from django.conf import settings

TRACKING_SCRIPT_TAG = f'<script src="{settings.PUBLIC_URL}/tap.js" async></script>'

EMPTY_STATES = {
    "tracking.Program": (
        "No programs yet. A program holds the rules by which affiliates earn. Choose"
        " “Add program” to create the first one."
    ),
    "tracking.Creative": (
        "No creatives yet. Choose “Add creative” to give affiliates a banner or a text"
        " to publish with their link."
    ),
    "tracking.Affiliate": (
        "No affiliates yet. Choose “Add affiliate” to create one, then add it to a program."
    ),
    "tracking.Enrollment": (
        "No program affiliates yet. Choose “Add program affiliate” to add an affiliate"
        " to a program: it gets a link and can have a coupon."
    ),
    "tracking.AffiliateGroup": (
        "No affiliate groups yet. Choose “Add affiliate group” to give some affiliates"
        " rates of their own."
    ),
    "tracking.Prospect": (
        "No prospects yet. Choose “Add prospect” for a person who may become an"
        " affiliate: the first sale through their link makes them one."
    ),
    "tracking.Note": (
        "No notes yet. Choose “Add note” to write down what your team should know about"
        " an affiliate."
    ),
    "tracking.Question": (
        "No questions yet. Affiliates can ask in the portal why a sale is missing, or"
        " about a sale that they see."
    ),
    "tracking.CustomField": (
        "No custom fields yet. Choose “Add custom field” to ask affiliates a question of your own."
    ),
    "tracking.Click": (
        "No clicks yet. Add the tracking script to your shop's pages, then call"
        f' tap("create", "ACCOUNT") and tap("detect"): {TRACKING_SCRIPT_TAG} The'
        " dashboard has the code to copy."
    ),
    "tracking.FailedPageCall": (
        "No failed page calls. Calls of the tracking script that cannot be stored are"
        " listed here for 90 days."
    ),
    "tracking.Customer": (
        'No customers yet. Your shop registers one with tap("customer", "ID") or'
        " through the API, and a sale with a customer ID does so, too."
    ),
    "tracking.Conversion": (
        'No conversions yet. Your shop records one with tap("conversion", "ORDER",'
        " 49.90) on the page after a purchase, or through the API. Choose “Add"
        " conversion” for a sale that was missed."
    ),
    "payouts.CommissionType": (
        "No commission types yet. A program has its first one from the beginning."
    ),
    "payouts.GroupRate": (
        "No group rates yet. Set one on the page of a program to pay a group otherwise."
    ),
    "payouts.Level": ("No levels yet. Add them on the page of a program to pay parents, too."),
    "payouts.Bonus": ("No bonuses yet. Add one on the page of a program to reward a goal."),
    "payouts.Commission": (
        "No commissions yet. They are created with the first conversion of an affiliate."
    ),
    "payouts.LedgerAccount": (
        "No balances due. Approve a commission to add its amount to the balance of the affiliate."
    ),
    "payouts.Payment": (
        "No payments yet. Select affiliates under Balances and choose “Pay balance in full”."
    ),
    "payouts.PayoutRun": (
        "No payout runs yet. Choose “Add payout run” to draft the payments of all that is due."
    ),
    "payouts.PayoutLine": ("No lines of payout runs yet. A payout run has one for each balance."),
    "payouts.PayoutMinimum": (
        "No minimums yet: payout runs pay any amount. Choose “Add payout minimum” to"
        " let small amounts wait for the next run."
    ),
    "payouts.Document": (
        "No documents yet. Switch self-billing on in its settings, then each settled"
        " payment gets a document, if the affiliate's data for it are complete."
    ),
    "payouts.TaxRule": (
        "No tax rules yet. Choose “Add tax rule” to say which VAT applies to businesses"
        " and private persons of a country."
    ),
    "payouts.PayoutMethod": (
        "No payout methods yet. Choose “Add payout method” to record how an affiliate is paid."
    ),
    "payouts.Transfer": ("No ledger entries yet. The first commission creates the first entry."),
    "tracking.ConversionClaim": (
        "No contested claims. One appears here when two visitors report the same order ID."
    ),
    "accounts.SigningSecret": (
        "No signing secrets yet. An owner chooses “Add signing secret” to sign what"
        " the shop's pages report; it is shown only once."
    ),
    "accounts.ApiKey": ("No API keys yet. An owner chooses “Add API key”; it is shown only once."),
    "tracking.Connection": (
        "No shops yet. A connected shop reports its sales, renewals, refunds and"
        " disputes by itself, without code. An owner chooses “Connect a shop”; it takes"
        " five minutes."
    ),
    "tracking.ShopEvent": (
        "No events yet. What a connected shop sends is listed here for 30 days, with what it did."
    ),
    "tracking.TableImport": (
        "No imports yet. An owner chooses “Import a table” to move in from another"
        " system with its CSV or Excel files: affiliates, customers, sales, payments or"
        " opening balances."
    ),
    "tracking.TableUpload": (
        "No files wait for their import. A file is here from its upload until it is"
        " imported, at most a day."
    ),
    "accounts.WebhookEndpoint": (
        "No webhooks yet. An owner chooses “Add webhook” to receive events."
    ),
    "accounts.Delivery": ("No deliveries yet. Each event that a webhook subscribes to adds one."),
    "accounts.AuditLogEntry": "No audit log entries yet. Each change adds one.",
    "accounts.Invitation": (
        "No invitations yet. An owner sends one under Staff. Without e-mail on this"
        " installation there are none: ask your operator."
    ),
    "accounts.User": (
        "No staff users yet. An owner chooses “Add staff user” for each person of the team."
    ),
}
