"""Examples of the OpenAPI document, by component name; all values are invented."""

PROGRAM_SUMMARY = {"id": "tea-circle", "title": "Tea Circle", "currency": "EUR"}
AFFILIATE_SUMMARY = {"id": "noraweld", "firstname": "Nora", "lastname": "Weld"}
CUSTOMER_SUMMARY = {
    "id": "cu_Tq4mR8sLx2Vb7NcD",
    "customer_id": "member-2041",
    "status": "paying",
}
CLICK_ID = "01935c2a-7b1e-7c44-9a63-5e0d1f2b8c97"
CLICK_SUMMARY = {
    "created_at": "2026-05-06T18:20:11+00:00",
    "referrer": "https://leaves.example.org/oolong",
    "landing_page": "https://tea.example.net/?ref=n4k2x8p",
}
ADDRESS = {
    "address": "Kaivokatu 12",
    "address_two": None,
    "postal_code": "00100",
    "city": "Helsinki",
    "state": None,
    "country": {"code": "FI", "name": "Finland"},
}
ADDRESS_INPUT = {
    "address": "Kaivokatu 12",
    "postal_code": "00100",
    "city": "Helsinki",
    "country": {"code": "FI"},
}
REFERRAL_LINK = {
    "link": "https://tea.example.net/?ref=n4k2x8p",
    "asset_id": "3-5fd01a",
    "source_id": "41-9c27be",
}
AFFILIATE = {
    **AFFILIATE_SUMMARY,
    "email": "nora@leaves.example.org",
    "company": {"name": "Leaves Weekly", "description": None},
    "address": ADDRESS,
    "meta_data": {"tier": "gold"},
    "parent_id": None,
    "created_at": "2026-05-01T07:30:00+00:00",
    "affiliate_group_id": None,
    "promoted_at": None,
    "promotion_method": None,
    "custom_fields": {"website": "https://leaves.example.org"},
}
PERSON_INPUT = {
    "firstname": "Nora",
    "lastname": "Weld",
    "email": "nora@leaves.example.org",
    "company": {"name": "Leaves Weekly"},
    "address": ADDRESS_INPUT,
    "meta_data": {"tier": "gold"},
}
PROGRAM = {
    **PROGRAM_SUMMARY,
    "currency_symbol": "€",
    "cookie_time": 45,
    "default_landing_page_url": "https://tea.example.net/",
    "recurring": True,
    "recurring_cap": None,
    "recurring_period_days": None,
    "program_category": None,
}
ENROLLMENT = {
    "approved": True,
    "coupon": "NORA5",
    "applied_at": "2026-05-01T07:45:00+00:00",
}
NESTED_COMMISSION = {
    "id": 391,
    "conversion_sub_amount": 64.5,
    "amount": 6.45,
    "commission_type": "standard",
    "approved": True,
    "affiliate": AFFILIATE_SUMMARY,
    "kind": "regular",
    "currency": "EUR",
    "created_at": "2026-05-07T10:02:45+00:00",
    "payout": {"id": "pa_Hd5kW9zQe3Yt6MrA"},
    "comment": None,
    "final": None,
    "commission_name": "Standard",
}
CONVERSION_INPUT = {
    "external_id": "basket-8821",
    "click_id": CLICK_ID,
    "customer_id": "member-2041",
    "amount": 64.5,
    "meta_data": {"channel": "web"},
}
CUSTOMER_INPUT = {
    "customer_id": "member-2041",
    "coupon": "NORA5",
    "status": "trial",
    "meta_data": {"plan": "monthly"},
}

EXAMPLES: dict[str, object] = {
    "CommissionInput": {"conversion_sub_amount": 12.5, "comment": "Renewal in June"},
    "AffiliateInput": PERSON_INPUT,
    "Affiliate": AFFILIATE,
    "AffiliateBalances": {"affiliate_id": "noraweld", "balances": {"EUR": 6.45}},
    "Bonus": {
        "id": "bo_c8Vn2JfLq5Xw1ZpK",
        "title": "Ten in a month",
        "name": "Ten in a month",
        "goal_type": "conversions",
        "goal": 10,
        "period": "month",
        "type": "fixed",
        "amount": 25,
        "currency": "EUR",
    },
    "CreatedClick": {"id": CLICK_ID},
    "ClickInput": {
        "referral_code": "n4k2x8p",
        "referrer": "https://leaves.example.org/oolong",
        "landing_page": "https://tea.example.net/?ref=n4k2x8p",
        "meta_data": {"subid1": "may-letter"},
    },
    "Click": {
        "id": CLICK_ID,
        "created_at": "2026-05-06T18:20:11+00:00",
        "meta_data": {"subid1": "may-letter"},
        "details": {
            "referrer": "https://leaves.example.org/oolong",
            "landing_page": "https://tea.example.net/?ref=n4k2x8p",
            "browser": "Firefox 131",
            "os": "Linux",
            "platform": "Linux",
            "device": None,
        },
        "geolocation": None,
        "affiliate": AFFILIATE_SUMMARY,
        "program": PROGRAM_SUMMARY,
    },
    "CommissionUpdate": {"amount": 7, "comment": "Rounded up", "approved": True},
    "Commission": {
        **NESTED_COMMISSION,
        "status": "approved",
        "conversion": {"id": 207},
        "finalization_date": None,
    },
    "CommissionType": {
        "title": "Standard",
        "identifier": "standard",
        "commission_value": 10,
        "type": "percentage",
        "is_default": True,
        "mlm": True,
        "affiliate_group_overrides": [
            {
                "affiliate_group_id": "ag_m3Rk7TsYb9Qx4LhC",
                "type": "percentage",
                "commission_value": 12.5,
            }
        ],
    },
    "ConversionUpdate": {"amount": 50, "meta_data": {"channel": "phone"}},
    "Conversion": {
        "id": 207,
        "external_id": "basket-8821",
        "amount": 64.5,
        "click": CLICK_SUMMARY,
        "commissions": [NESTED_COMMISSION],
        "program": PROGRAM_SUMMARY,
        "affiliate": AFFILIATE_SUMMARY,
        "customer": CUSTOMER_SUMMARY,
        "meta_data": {"channel": "web"},
        "created_at": "2026-05-07T10:02:45+00:00",
        "warnings": None,
        "affiliate_meta_data": {"subid1": "may-letter"},
        "tracking_source": "click",
    },
    "CustomField": {
        "id": "website",
        "key": "website",
        "title": "Website",
        "name": "Website",
        "type": "url",
        "required": False,
        "options": None,
    },
    "CustomerUpdate": {"customer_id": "member-2041-b"},
    "CustomerPostbackUpdate": {"customer_id": "member-2041", "status": "canceled"},
    "CustomerInput": CUSTOMER_INPUT,
    "Customer": {
        **CUSTOMER_SUMMARY,
        "created_at": "2026-05-06T19:00:00+00:00",
        "click": CLICK_SUMMARY,
        "program": PROGRAM_SUMMARY,
        "affiliate": AFFILIATE_SUMMARY,
        "affiliate_meta_data": {"subid1": "may-letter"},
        "meta_data": {"plan": "monthly"},
        "warnings": None,
    },
    "CustomerPostback": CUSTOMER_INPUT,
    "EnrollmentUpdate": {"coupon": "NORA10"},
    "EnrollmentInput": {
        "affiliate": {"id": "noraweld"},
        "approved": True,
        "coupon": "NORA5",
    },
    "Enrollment": {**AFFILIATE, "referral_link": REFERRAL_LINK, **ENROLLMENT},
    "AffiliateGroupUpdate": {"title": "Gold partners"},
    "AffiliateGroupInput": {"title": "Gold"},
    "GroupAssignmentInput": {"group_id": "ag_m3Rk7TsYb9Qx4LhC"},
    "AffiliateGroup": {
        "id": "ag_m3Rk7TsYb9Qx4LhC",
        "title": "Gold",
        "affiliate_count": 4,
    },
    "Level": {
        "level": 2,
        "title": "Parents",
        "identifier": "level-2",
        "type": "percentage",
        "commission_value": 3,
        "percentage": 3,
    },
    "EnrolledProgram": {
        **PROGRAM,
        "program": PROGRAM_SUMMARY,
        **ENROLLMENT,
        "referral_link": REFERRAL_LINK,
    },
    "CreatedAffiliate": {**AFFILIATE, "password": "k8Jw3TzQ5mXr9BvN"},
    "NoteUpdate": {"note": "Prefers to be called after noon"},
    "NoteInput": {"note": "Met at the fair in Tampere"},
    "Note": {
        "id": "no_z6Yq1GdSf8Kx3WvB",
        "note": "Met at the fair in Tampere",
        "created_at": "2026-05-02T09:15:00+00:00",
    },
    "PaymentInput": {"affiliate_id": "noraweld", "amount": 6.45, "currency": "EUR"},
    "ParentInput": {"affiliate_id": "ottolind"},
    "Payment": {
        "id": "pa_Hd5kW9zQe3Yt6MrA",
        "created_at": "2026-06-01T06:00:00+00:00",
        "affiliate": AFFILIATE_SUMMARY,
        "amount": 6.45,
        "currency": "EUR",
    },
    "PayoutMethodInput": {"details": {"iban": "FI00 0000 0000"}, "primary": True},
    "PayoutMethod": {
        "id": "bank",
        "type": "bank",
        "title": "Bank account",
        "details": {"iban": "FI00 0000 0000"},
        "primary": True,
    },
    "AffiliateUpdate": {"email": "nora.weld@leaves.example.org", "company": None},
    "Program": PROGRAM,
    "ProspectInput": {**PERSON_INPUT, "program_id": "tea-circle"},
    "Prospect": {
        "id": "ap_x2Lp9RcVm4Tj7HsG",
        "firstname": "Ines",
        "lastname": "Sorel",
        "email": "ines@cups.example.org",
        "company": None,
        "address": None,
        "signup_source": "api",
        "referral_link": REFERRAL_LINK,
        "created_at": "2026-05-03T12:00:00+00:00",
        "promoted_at": None,
        "promotion_method": None,
    },
    "ConversionPostbackUpdate": {"external_id": "basket-8821", "status": "disapproved"},
    "ConversionInput": CONVERSION_INPUT,
    "ConversionPostback": {**CONVERSION_INPUT, "status": "approved"},
    "MetaDataValueInput": {"value": "gold"},
    "MetaDataValue": {"value": "gold"},
}
MAP_EXAMPLES = {
    "string": {"tier": "gold"},
    "number": {"EUR": 6.45},
}  # by type of value


def find_example(schema: dict):
    """Return an example of a schema, or None."""
    if "oneOf" in schema:
        return find_example(schema["oneOf"][0])
    if schema.get("type") == "array":
        return [find_example(schema["items"])]
    if "additionalProperties" in schema:
        return MAP_EXAMPLES[schema["additionalProperties"]["type"]]
    return EXAMPLES.get(schema.get("$ref", "").rpartition("/")[2])
