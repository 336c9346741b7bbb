"""What the API shows of rows that several tests compare whole."""


def shown_commission(commission, **changed):
    """A pending commission of `commission`, standing alone."""
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
