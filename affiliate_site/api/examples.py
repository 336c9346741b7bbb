"""Examples for the OpenAPI document: one story, told with invented values.

By the name of a shape or an input; a test holds that each fits its declaration.
"""

PROGRAM_REF = {"id": "tea-circle", "title": "Tea Circle", "currency": "EUR"}
AFFILIATE_REF = {"id": "noraweld", "firstname": "Nora", "lastname": "Weld"}
CUSTOMER_REF = {
    "id": "cu_Tq4mR8sLx2Vb7NcD",
    "customer_id": "member-2041",
    "status": "paying",
}
CLICK_ID = "01935c2a-7b1e-7c44-9a63-5e0d1f2b8c97"
CLICK_REF = {
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
ADDRESS_SENT = {
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
    **AFFILIATE_REF,
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
PERSON = {
    "firstname": "Nora",
    "lastname": "Weld",
    "email": "nora@leaves.example.org",
    "company": {"name": "Leaves Weekly"},
    "address": ADDRESS_SENT,
    "meta_data": {"tier": "gold"},
}
PROGRAM = {
    **PROGRAM_REF,
    "currency_symbol": "€",
    "cookie_time": 45,
    "default_landing_page_url": "https://tea.example.net/",
    "recurring": True,
    "recurring_cap": None,
    "recurring_period_days": None,
    "program_category": None,
}
MEMBERSHIP = {
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
    "affiliate": AFFILIATE_REF,
    "kind": "regular",
    "currency": "EUR",
    "created_at": "2026-05-07T10:02:45+00:00",
    "payout": {"id": "pa_Hd5kW9zQe3Yt6MrA"},
    "comment": None,
    "final": None,
    "commission_name": "Standard",
}
SALE = {
    "external_id": "basket-8821",
    "click_id": CLICK_ID,
    "customer_id": "member-2041",
    "amount": 64.5,
    "meta_data": {"channel": "web"},
}
REGISTRATION = {
    "customer_id": "member-2041",
    "coupon": "NORA5",
    "status": "trial",
    "meta_data": {"plan": "monthly"},
}

EXAMPLES: dict[str, object] = {
    "AddedInput": {"conversion_sub_amount": 12.5, "comment": "Renewal in June"},
    "AffiliateInput": PERSON,
    "AffiliateShape": AFFILIATE,
    "BalancesShape": {"affiliate_id": "noraweld", "balances": {"EUR": 6.45}},
    "BonusShape": {
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
    "ClickIdShape": {"id": CLICK_ID},
    "ClickInput": {
        "referral_code": "n4k2x8p",
        "referrer": "https://leaves.example.org/oolong",
        "landing_page": "https://tea.example.net/?ref=n4k2x8p",
        "meta_data": {"subid1": "may-letter"},
    },
    "ClickShape": {
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
        "affiliate": AFFILIATE_REF,
        "program": PROGRAM_REF,
    },
    "CommissionChange": {"amount": 7, "comment": "Rounded up", "approved": True},
    "CommissionShape": {
        **NESTED_COMMISSION,
        "status": "approved",
        "conversion": {"id": 207},
        "finalization_date": None,
    },
    "CommissionTypeShape": {
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
    "ConversionChange": {"amount": 50, "meta_data": {"channel": "phone"}},
    "ConversionShape": {
        "id": 207,
        "external_id": "basket-8821",
        "amount": 64.5,
        "click": CLICK_REF,
        "commissions": [NESTED_COMMISSION],
        "program": PROGRAM_REF,
        "affiliate": AFFILIATE_REF,
        "customer": CUSTOMER_REF,
        "meta_data": {"channel": "web"},
        "created_at": "2026-05-07T10:02:45+00:00",
        "warnings": None,
        "affiliate_meta_data": {"subid1": "may-letter"},
        "tracking_source": "click",
    },
    "CustomFieldShape": {
        "id": "website",
        "key": "website",
        "title": "Website",
        "name": "Website",
        "type": "url",
        "required": False,
        "options": None,
    },
    "CustomerChange": {"customer_id": "member-2041-b"},
    "CustomerFollowUp": {"customer_id": "member-2041", "status": "canceled"},
    "CustomerInput": REGISTRATION,
    "CustomerShape": {
        **CUSTOMER_REF,
        "created_at": "2026-05-06T19:00:00+00:00",
        "click": CLICK_REF,
        "program": PROGRAM_REF,
        "affiliate": AFFILIATE_REF,
        "affiliate_meta_data": {"subid1": "may-letter"},
        "meta_data": {"plan": "monthly"},
        "warnings": None,
    },
    "CustomerTold": REGISTRATION,
    "EnrolmentChange": {"coupon": "NORA10"},
    "EnrolmentInput": {
        "affiliate": {"id": "noraweld"},
        "approved": True,
        "coupon": "NORA5",
    },
    "EnrolmentShape": {**AFFILIATE, "referral_link": REFERRAL_LINK, **MEMBERSHIP},
    "GroupChange": {"title": "Gold partners"},
    "GroupInput": {"title": "Gold"},
    "GroupRefInput": {"group_id": "ag_m3Rk7TsYb9Qx4LhC"},
    "GroupShape": {
        "id": "ag_m3Rk7TsYb9Qx4LhC",
        "title": "Gold",
        "affiliate_count": 4,
    },
    "LevelShape": {
        "level": 2,
        "title": "Parents",
        "identifier": "level-2",
        "type": "percentage",
        "commission_value": 3,
        "percentage": 3,
    },
    "MembershipShape": {
        **PROGRAM,
        "program": PROGRAM_REF,
        **MEMBERSHIP,
        "referral_link": REFERRAL_LINK,
    },
    "NewAffiliateShape": {**AFFILIATE, "password": "k8Jw3TzQ5mXr9BvN"},
    "NoteChange": {"note": "Prefers to be called after noon"},
    "NoteInput": {"note": "Met at the fair in Tampere"},
    "NoteShape": {
        "id": "no_z6Yq1GdSf8Kx3WvB",
        "note": "Met at the fair in Tampere",
        "created_at": "2026-05-02T09:15:00+00:00",
    },
    "OrderInput": {"affiliate_id": "noraweld", "amount": 6.45, "currency": "EUR"},
    "ParentInput": {"affiliate_id": "ottolind"},
    "PaymentShape": {
        "id": "pa_Hd5kW9zQe3Yt6MrA",
        "created_at": "2026-06-01T06:00:00+00:00",
        "affiliate": AFFILIATE_REF,
        "amount": 6.45,
        "currency": "EUR",
    },
    "PayoutMethodInput": {"details": {"iban": "FI00 0000 0000"}, "primary": True},
    "PayoutMethodShape": {
        "id": "bank",
        "type": "bank",
        "title": "Bank account",
        "details": {"iban": "FI00 0000 0000"},
        "primary": True,
    },
    "PersonChange": {"email": "nora.weld@leaves.example.org", "company": None},
    "ProgramShape": PROGRAM,
    "ProspectInput": {**PERSON, "program_id": "tea-circle"},
    "ProspectShape": {
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
    "SaleFollowUp": {"external_id": "basket-8821", "status": "disapproved"},
    "SaleInput": SALE,
    "SaleTold": {**SALE, "status": "approved"},
    "ValueInput": {"value": "gold"},
    "ValueShape": {"value": "gold"},
}
MAPS = {"string": {"tier": "gold"}, "number": {"EUR": 6.45}}  # of any keys


def example_of(schema: dict):
    """An example of what a schema describes; None where there is none."""
    if "oneOf" in schema:
        return example_of(schema["oneOf"][0])
    if schema.get("type") == "array":
        return [example_of(schema["items"])]
    if "additionalProperties" in schema:
        return MAPS[schema["additionalProperties"]["type"]]
    return EXAMPLES.get(schema.get("$ref", "").rpartition("/")[2])
