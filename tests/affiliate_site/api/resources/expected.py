"""Expected API representations that several test modules share."""

HOME = {
    "address": "Pristaniška 4",
    "address_two": None,
    "postal_code": "6000",
    "city": "Koper",
    "state": None,
    "country": {"code": "SI", "name": "Slovenia"},
}


def expected_affiliate(**changed):
    """Return Mina as `ProgramScenario` creates her."""
    return {
        "id": "minakessler",
        "firstname": "Mina",
        "lastname": "Kessler",
        "email": "mina@notes.example.org",
        "company": None,
        "address": None,
        "meta_data": {},
        "parent_id": None,
        "created_at": "2026-03-02T08:00:00+00:00",
        "affiliate_group_id": None,
        "promoted_at": None,
        "promotion_method": None,
        "custom_fields": {},
    } | changed


def expected_nested_commission(number, **changed):
    """Return a pending commission of 20 EUR, Mina's, as nested in a conversion."""
    return {
        "id": number,
        "conversion_sub_amount": 200,
        "amount": 20,
        "commission_type": "standard",
        "approved": False,
        "affiliate": {"id": "minakessler", "firstname": "Mina", "lastname": "Kessler"},
        "kind": "regular",
        "currency": "EUR",
        "created_at": "2026-03-04T09:15:27+00:00",
        "payout": None,
        "comment": None,
        "final": None,
        "commission_name": "Standard",
    } | changed


def expected_commission(commission, **changed):
    """Return the representation of a pending `commission` as a resource."""
    return expected_nested_commission(commission.pk) | {
        "status": "pending",
        "conversion": {"id": commission.conversion_id},
        "finalization_date": None,
        **changed,
    }


def expected_conversion(scenario, sale, **changed):
    """Return a conversion of 200 EUR by Mina's coupon."""
    return {
        "id": sale.pk,
        "external_id": None,
        "amount": 200,
        "click": None,
        "commissions": [expected_nested_commission(number) for number in list_commission_ids(sale)],
        "program": scenario.reference,
        "affiliate": scenario.mina.reference,
        "customer": None,
        "meta_data": {},
        "created_at": "2026-03-04T09:15:27+00:00",
        "warnings": None,
        "affiliate_meta_data": None,
        "tracking_source": "coupon",
    } | changed


def list_commission_ids(sale):
    rows = sale.account.commissions.filter(conversion=sale)
    return list(rows.order_by("id").values_list("id", flat=True))
