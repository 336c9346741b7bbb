"""Expected API representations that several test modules share."""


def expected_commission(commission, **changed):
    """Return the representation of a pending `commission` as a resource."""
    return {
        "id": commission.pk,
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
        "status": "pending",
        "conversion": {"id": commission.conversion_id},
        "finalization_date": None,
    } | changed
