"""Examples of request bodies, by component name; all values are invented."""

CLICK_ID = "01935c2a-7b1e-7c44-9a63-5e0d1f2b8c97"
ADDRESS_INPUT = {
    "address": "Kaivokatu 12",
    "postal_code": "00100",
    "city": "Helsinki",
    "country": {"code": "FI"},
}
PERSON_INPUT = {
    "firstname": "Nora",
    "lastname": "Weld",
    "email": "nora@leaves.example.org",
    "company": {"name": "Leaves Weekly"},
    "address": ADDRESS_INPUT,
    "meta_data": {"tier": "gold"},
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
    "ClickInput": {
        "referral_code": "n4k2x8p",
        "referrer": "https://leaves.example.org/oolong",
        "landing_page": "https://tea.example.net/?ref=n4k2x8p",
        "meta_data": {"subid1": "may-letter"},
    },
    "CommissionUpdate": {"amount": 7, "comment": "Rounded up", "approved": True},
    "ConversionUpdate": {"amount": 50, "meta_data": {"channel": "phone"}},
    "CustomerUpdate": {"customer_id": "member-2041-b"},
    "CustomerPostbackUpdate": {"customer_id": "member-2041", "status": "canceled"},
    "CustomerInput": CUSTOMER_INPUT,
    "CustomerPostback": CUSTOMER_INPUT,
    "EnrollmentUpdate": {"coupon": "NORA10"},
    "EnrollmentInput": {
        "affiliate": {"id": "noraweld"},
        "approved": True,
        "coupon": "NORA5",
    },
    "AffiliateGroupUpdate": {"title": "Gold partners"},
    "AffiliateGroupInput": {"title": "Gold"},
    "GroupAssignmentInput": {"group_id": "ag_m3Rk7TsYb9Qx4LhC"},
    "NoteUpdate": {"note": "Prefers to be called after noon"},
    "NoteInput": {"note": "Met at the fair in Tampere"},
    "PaymentInput": {"affiliate_id": "noraweld", "amount": 6.45, "currency": "EUR"},
    "ParentInput": {"affiliate_id": "ottolind"},
    "PayoutMethodInput": {"details": {"iban": "FI00 0000 0000"}, "primary": True},
    "AffiliateUpdate": {"email": "nora.weld@leaves.example.org", "company": None},
    "ProspectInput": {**PERSON_INPUT, "program_id": "tea-circle"},
    "ConversionPostbackUpdate": {"external_id": "basket-8821", "status": "disapproved"},
    "ConversionInput": CONVERSION_INPUT,
    "ConversionPostback": {**CONVERSION_INPUT, "status": "approved"},
    "MetaDataValueInput": {"value": "gold"},
}
MAP_EXAMPLES = {
    "string": {"tier": "gold"},
    "number": {"EUR": 6.45},
}  # by type of value


def get_input_example(schema: dict) -> object:
    """Return an example of the schema of a request body or of a map."""
    if "oneOf" in schema:
        return get_input_example(schema["oneOf"][0])
    if "examples" in schema:
        return schema["examples"][0]
    if "additionalProperties" in schema:
        return MAP_EXAMPLES[schema["additionalProperties"]["type"]]
    return EXAMPLES[schema["$ref"].rpartition("/")[2]]
