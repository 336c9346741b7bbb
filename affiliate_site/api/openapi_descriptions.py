"""What the OpenAPI document says about each property, parameter, tag and webhook.

A text belongs to a name, wherever the name occurs; `Schema.name` takes precedence over
`name`. `tests/affiliate_site/api/test_schema.py` finds names without a text.
"""

from copy import deepcopy
from datetime import timedelta
from typing import Any

from accounts.models.webhooks import TEST_EVENT, WEBHOOK_EVENTS
from accounts.services.deliveries import RETRY_DELAYS
from payouts.models.payments import PayoutMethodKind
from payouts.services.watches import WATCHES

INFO = {
    "description": (
        "Affiliates, clicks, customers, conversions, commissions and payments of an"
        " affiliate program. All operations need an API key in the header"
        " `X-Api-Key`. A property without a value is `null` and is never left out."
        " Times are UTC, amounts are exact decimals. Paths end with a slash."
    ),
    "license": {"name": "MIT", "identifier": "MIT"},
    "contact": {"name": "The operators of this installation"},
}

TAGS = {
    "affiliate-groups": "Groups of affiliates, with commission rates of their own.",
    "affiliate-prospects": (
        "People who want to be affiliates; the first customer or sale that they refer"
        " makes them one."
    ),
    "affiliates": "Affiliates, with their groups, parents, notes and payout methods.",
    "balances": (
        "What is owed to affiliates: opening balances and approved commissions, less payments."
    ),
    "clicks": "Visits through the links of affiliates.",
    "commissions": "What affiliates earn for conversions; staff or clients decide.",
    "conversions": "Sales, each attributed to one affiliate.",
    "customers": "Buyers, each attributed to one affiliate permanently.",
    "payments": "Payments to affiliates. They cover approved commissions.",
    "postbacks": "Conversions and customers, reported by a GET or a POST.",
    "programs": "Programs with their rates, and the affiliates in them.",
    "reports": "What affiliates brought and cost in a period, by one or two fields.",
    "webhooks": ("Requests that the service sends. Standard Webhooks verifiers accept them."),
}

RESPONSES = {"200": "The request was carried out", "204": "Done; there is no content"}

HEADERS = {
    "Link": ("The other pages: `first`, `prev`, `next` and `last`, as far as there are any"),
    "X-RateLimit-Limit": "How many requests one window allows",
    "X-RateLimit-Remaining": "How many requests are left in this window",
    "X-RateLimit-Reset": "When the window ends, in seconds since 1970",
}

TIME = "UTC, ISO 8601 with offset."
AMOUNT = "An exact decimal, with at most the decimals of the currency."
METHODS = ", ".join(f"`{kind}`" for kind in PayoutMethodKind.values)
PAYOUT_METHOD = f"The payout method: {METHODS}."
RETRY_HOURS = round(sum(RETRY_DELAYS, timedelta()) / timedelta(hours=1))
DELIVERY = (
    "The body is the object as the API showed it after the change, of a deleted one"
    " before it. Answer with a status of 2xx within 10 seconds;"
    f" otherwise it is sent again, for {RETRY_HOURS} hours. The order is not"
    " guaranteed."
)
TEST_DELIVERY = "Sent once, when an owner asks for it."

# The schema of the body by the beginning of the event; the first match counts.
ENROLLMENT_EVENT_SCHEMA = {
    "description": "An affiliate in a program, with the program.",
    "allOf": [
        {"$ref": "#/components/schemas/Enrollment"},
        {
            "type": "object",
            "properties": {"program": {"$ref": "#/components/schemas/ProgramSummary"}},
            "required": ["program"],
        },
    ],
}
ENROLLMENT_BODY = {"$ref": "#/components/schemas/EnrollmentEvent"}
TEST_EVENT_SCHEMA = {
    "type": "object",
    "properties": {
        "test": {"type": "boolean"},
        "message": {"type": "string"},
        "webhook": {"type": "string"},
        "created_at": {"type": "string", "format": "date-time"},
    },
    "required": ["test", "message", "webhook", "created_at"],
}
ALERT_SCHEMA = {
    "type": "object",
    "description": "What a watch found in the numbers of the account.",
    "properties": {
        "id": {"type": "integer", "description": "The ID of the alert, a number."},
        "watch": {"type": "string", "enum": list(WATCHES), "description": "Which watch."},
        "title": {"type": "string", "description": "What the back office calls the watch."},
        "text": {"type": "string", "description": "What was found, with the figures; English."},
        "affiliate": {
            "oneOf": [{"$ref": "#/components/schemas/AffiliateSummary"}, {"type": "null"}],
            "description": "The affiliate that it is about; null if it is about none.",
        },
        "created_at": {"type": "string", "format": "date-time"},
    },
    "required": ["id", "watch", "title", "text", "affiliate", "created_at"],
}
WEBHOOK_SCHEMAS = {
    "Alert": ALERT_SCHEMA,
    "EnrollmentEvent": ENROLLMENT_EVENT_SCHEMA,
    "TestEvent": TEST_EVENT_SCHEMA,
}
WEBHOOK_BODIES = {
    "affiliate.added_to_program": ENROLLMENT_BODY,
    "affiliate.approved": ENROLLMENT_BODY,
    "affiliate.disapproved": ENROLLMENT_BODY,
    "affiliate.": {"$ref": "#/components/schemas/Affiliate"},
    "affiliate_prospect.": {"$ref": "#/components/schemas/Prospect"},
    "customer.": {"$ref": "#/components/schemas/Customer"},
    "conversion.": {"$ref": "#/components/schemas/Conversion"},
    "commission.": {"$ref": "#/components/schemas/Commission"},
    "payment.": {"$ref": "#/components/schemas/Payment"},
    "alert.": {"$ref": "#/components/schemas/Alert"},
    "webhook.": {"$ref": "#/components/schemas/TestEvent"},
}
WEBHOOK_HEADERS = {
    "webhook-id": "The ID of the event, the same in all attempts.",
    "webhook-timestamp": "When this attempt was made, in seconds since 1970.",
    "webhook-signature": (
        "`v1,` and the base64 of the HMAC-SHA256 of `id.timestamp.body`; two signatures"
        " for a day after the secret was changed."
    ),
    "webhook-event": "The event.",
}

DESCRIPTIONS = {
    # References and identity
    "id": "The ID that the service has given to the object.",
    "AffiliateReferenceInput.id": "The affiliate's ID.",
    "AffiliateSummary.id": "The affiliate's ID.",
    "Conversion.id": "The ID of the conversion, a number.",
    "ConversionReference.id": "The ID of the conversion, a number.",
    "NewConversion.id": "The ID of the conversion, a number; null in a dry run.",
    "Commission.id": "The ID of the commission, a number.",
    "NewCommission.id": "The ID of the commission, a number; null in a dry run.",
    "NewAffiliateSummary.id": "The affiliate's ID; null of one that a dry run promotes.",
    "NewCustomerSummary.id": "The customer's ID; null of one that a dry run creates.",
    "NestedCommission.id": "The ID of the commission, a number.",
    "PayoutMethod.id": PAYOUT_METHOD,
    "CustomField.id": "The ID of the field, which is its key in `custom_fields`.",
    "affiliate": "The affiliate.",
    "affiliate_id": "The ID of an affiliate.",
    "affiliate_group_id": "The ID of the affiliate's group, or null.",
    "path.group_id": "The ID of an affiliate group; it begins with `ag_`.",
    "group_id": "The ID of an affiliate group; `affiliate_group_id` is the same.",
    "parent_id": "The ID of the affiliate who earns level commissions, or null.",
    "via": "The ID or a referral code of the parent.",
    "program": "The program.",
    "program_id": "The ID of a program.",
    "customer": "The customer; null if there is none or it was deleted.",
    "customer_id": "The caller's own ID of the customer, for example of its shop.",
    "path.customer_id": "The ID of a customer; it begins with `cu_`.",
    "conversion": "The conversion that the commission belongs to; null for a bonus.",
    "conversion_id": "The ID of a conversion.",
    "commission_id": "The ID of a commission.",
    "payment_id": "The ID of a payment; it begins with `pa_`.",
    "prospect_id": "The ID of a prospect; it begins with `ap_`.",
    "note_id": "The ID of a note; it begins with `no_`.",
    "row_id": "The ID of the object that the meta data belongs to.",
    "external_id": "The caller's ID of the sale, for example the order number; unique.",
    "identifier": "The identifier of the commission type within the program.",
    # People
    "firstname": "The first name.",
    "lastname": "The last name.",
    "email": "The e-mail address, or null.",
    "password": "The password; an answer has it only once, after the creation.",
    "company": "The company, or null.",
    "address": "The postal address, or null.",
    "Address.address": "Street and number.",
    "AddressInput.address": "Street and number.",
    "address_two": "The second line of the address, or null.",
    "postal_code": "The postal code.",
    "city": "The city.",
    "state": "The state or region, or null.",
    "country": "The country.",
    "AddressInput.country": "The country; its code alone is accepted too.",
    "code": "The country code, ISO 3166-1 alpha-2.",
    "HttpError.code": "The HTTP status.",
    "Error.code": "Which state forbids the operation; only with status 409.",
    "name": "The name.",
    "Country.name": "The English name of the country.",
    "Company.description": "What the company does, or null.",
    "description": "What the company does, or null.",
    "custom_fields": "The values of the custom fields, by their IDs.",
    "meta_data": "Up to 10 texts of the caller, by key.",
    "affiliate_meta_data": "The sub-values of the affiliate's link, or null.",
    "promoted_at": f"When the prospect became an affiliate, or null. {TIME}",
    "promotion_method": "What promoted the prospect: `customer`, `conversion`.",
    "signup_source": "Where the prospect comes from, for example `api`.",
    "applied_at": f"When the affiliate applied or was added to the program. {TIME}",
    "created_at": f"When it was created. {TIME}",
    # Programs and rates
    "title": "The title that people see.",
    "cookie_time": "For how many days a click earns commissions.",
    "currency": "The currency, ISO 4217.",
    "currency_symbol": "The symbol of the currency.",
    "default_landing_page_url": "Where links lead that name no page, or null.",
    "recurring": "Whether every sale of a customer earns, not only the first.",
    "recurring_cap": "How many sales of a customer earn commissions, or null for all.",
    "recurring_period_days": "For how many days a customer earns commissions, or null.",
    "program_category": "Always null in this version.",
    "commission_type": (
        "The commission type: an identifier of the program, `level-2` and so on, or `bonus`."
    ),
    "commission_value": "The rate: 10 stands for 10 % or for 10 units of the currency.",
    "commission_name": "The title of the commission type.",
    "type": "`percentage` or `fixed`.",
    "CustomField.type": "The kind of input: `text`, `select` and so on.",
    "is_default": "Whether it is used when a conversion names no commission type.",
    "mlm": "Whether commissions of this type earn level commissions.",
    "affiliate_group_overrides": "The rates of groups that replace this one.",
    "level": "The level: 2 is the parent, 3 the parent's parent.",
    "percentage": "The percentage; null for a fixed amount.",
    "goal_type": "What the goal counts: `conversions` or `conversion_amount`.",
    "goal": "The number or the amount that is to be reached.",
    "period": "`week`, `month`, `quarter`, `year` or `all_time`.",
    "affiliate_count": "How many affiliates the group has.",
    "required": "Whether sign-up forms demand a value.",
    "options": "The choices of a select field, else null.",
    # Tracking
    "click": "The click that led to it, or null.",
    "click_id": "The ID of a click.",
    "referral_code": "The code of an affiliate in a program, `ref` in a link.",
    "referral_link": "The affiliate's link.",
    "link": "The link with the referral code.",
    "coupon": "The affiliate's coupon in a program, or null.",
    "asset_id": "The ID of an asset, which stands for the program.",
    "source_id": "The ID of a source, which stands for the affiliate.",
    "tracking_id": "The ID that the browser script has stored for a visit.",
    "program_group": "Only programs of this program group are considered.",
    "tracking_source": (
        "What decided the attribution: `customer`, `coupon`, `referral_code`, `click`,"
        " `asset_source`, `tracking_id`, or `manual` if staff chose."
    ),
    "warnings": "Reasons to look at it before approval, or null.",
    "referrer": "The page that the visitor came from, or null.",
    "landing_page": "The first page that the visitor saw, or null.",
    "user_agent": "The user agent of the visitor's browser.",
    "ip": "The visitor's IP address.",
    "browser": "The visitor's browser, or null.",
    "os": "The visitor's operating system, or null.",
    "platform": "The family of the operating system, or null.",
    "device": "The visitor's device, or null.",
    "geolocation": "Always null in this version.",
    "override_max_cookie_time": "Whether a click is accepted that is too old.",
    "dry_run": (
        "Whether nothing is stored. The answer is the conversion as it would be, with null"
        " for each new ID, and with `explanation`: `conversion`, `attribution` and"
        " `commissions`."
    ),
    # Money
    "amount": f"The amount. {AMOUNT}",
    "conversion_sub_amount": (
        f"The part of the conversion's amount that it is calculated of. {AMOUNT}"
    ),
    "sub_amount": f"The amount of this line item. {AMOUNT}",
    "commissions": "The commissions of the conversion.",
    "ConversionInput.commissions": "The line items; they replace `amount`.",
    "ConversionPostback.commissions": "The line items; they replace `amount`.",
    "approved": "true: approved; false: not approved; null: waits for a decision.",
    "EnrollmentInput.approved": "Absent: what the program does; null: pending.",
    "status": "The status.",
    "Customer.status": "`new`, `trial`, `lead`, `paying` or `canceled`.",
    "CustomerSummary.status": "`new`, `trial`, `lead`, `paying` or `canceled`.",
    "CustomerInput.status": "`new`, `trial` or `lead`.",
    "Commission.status": "`pending`, `approved` or `disapproved`.",
    "ConversionPostback.status": "Decides about all commissions.",
    "ConversionPostbackUpdate.status": "Decides about all commissions.",
    "kind": "`regular`, `level` or `bonus`.",
    "comment": "A comment, or null.",
    "final": "true if the decision cannot change any more, else null.",
    "finalization_date": f"Since when the decision is final, or null. {TIME}",
    "payout": "The payment that covers the commission, or null.",
    "recalculate_commissions": "Whether the commissions follow the new amount.",
    "balances": "What is owed, by currency.",
    "details": "The details of the payout method, by name.",
    "primary": "Whether payments go to this method.",
    "method": PAYOUT_METHOD,
    # Reports
    "rows": "What the rows are by: one or two fields, with a comma between them.",
    "columns": "The columns, with commas between them.",
    "filter": (
        "`filter[program]=harbor`: only these, by the ID of an object; an empty value finds"
        " what has none."
    ),
    "compare": (
        "Adds each column as `NAME_before`, of the period before or of the same days a year before."
    ),
    "sort": "A field or column, with a minus for the largest first.",
    "date_from": "The first day, in the account's time zone.",
    "date_to": "The last day.",
    "page": "The page of 1,000 rows, starting at 1; the totals are of all rows.",
    # Notes and meta data
    "note": "The text of the note.",
    "key": "The key within the meta data.",
    "value": "The value, a text.",
    # Webhooks
    "test": "Always true.",
    "webhook": "The ID of the webhook.",
    "TestEvent.message": "What the event is for.",
    # Errors
    "errors": "What is wrong, one entry for each finding.",
    "message": "What is wrong and what to change.",
    "message_raw": "The message with placeholders.",
    "property_path": "The field in question.",
    "traceId": "Identifies the request in the log of the service.",
}


def describe_document(result: dict[str, Any], *_: Any, **__: Any) -> dict[str, Any]:
    """Add the texts, servers, tags and webhooks; a hook of drf-spectacular."""
    result["info"] |= INFO
    result["servers"] = [{"url": "/", "description": "This installation"}]
    operations = [
        operation for methods in result["paths"].values() for operation in methods.values()
    ]
    tags = sorted({tag for operation in operations for tag in operation["tags"]})
    result["tags"] = [{"name": tag, "description": TAGS[tag]} for tag in [*tags, "webhooks"]]
    for operation in operations:
        describe_operation(operation)
    result["components"]["schemas"] |= deepcopy(WEBHOOK_SCHEMAS)
    for schema_name, schema in result["components"]["schemas"].items():
        for name, value in schema.get("properties", {}).items():
            add_description(value, get_description(schema_name, name))
    result["webhooks"] = build_webhooks()
    return result


def describe_operation(operation: dict[str, Any]) -> None:
    """Add the texts of parameters, responses and headers."""
    for parameter in operation.get("parameters", []):
        name = parameter["name"].partition("[")[0]
        add_description(parameter, get_description(parameter["in"], name))
    for status, response in operation["responses"].items():
        if "$ref" not in response:
            response["description"] = RESPONSES[status]
        for name, header in response.get("headers", {}).items():
            header["description"] = HEADERS[name]


def get_description(schema: str, name: str) -> str | None:
    """Return the text of a property or parameter, None if there is none."""
    return DESCRIPTIONS.get(f"{schema}.{name}", DESCRIPTIONS.get(name))


def add_description(target: dict[str, Any], text: str | None) -> None:
    """Add the text unless the declaration has one of its own."""
    if text and not target.get("description"):
        target["description"] = text


def build_webhooks() -> dict[str, Any]:
    """Return the requests that the service sends, by event."""
    return {event: {"post": build_webhook(event)} for event in (*WEBHOOK_EVENTS, TEST_EVENT)}


def build_webhook(event: str) -> dict[str, Any]:
    """Return the operation of one event."""
    schema = next(
        schema for beginning, schema in WEBHOOK_BODIES.items() if event.startswith(beginning)
    )
    return {
        "operationId": event.replace(".", "_"),
        "summary": event,
        "description": TEST_DELIVERY if event == TEST_EVENT else DELIVERY,
        "tags": ["webhooks"],
        "security": [],
        "parameters": [
            {
                "in": "header",
                "name": name,
                "description": text,
                "required": True,
                "schema": {"type": "string"},
            }
            for name, text in WEBHOOK_HEADERS.items()
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        },
        "responses": {"200": {"description": "The event was received"}},
    }
