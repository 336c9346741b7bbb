"""Names of model fields on the screens, where that of the column says too little.

They are set when the back office starts, not on the models: the columns keep the names
of the specification, and a label needs no migration.
"""

from django.apps import apps

FIELD_LABELS = {
    "address_two": "address, second line",
    "applied_at": "applied",
    "approved": "approval",
    "archived_at": "archived",
    "attempted_at": "last attempt",
    "auto_approve_affiliates": "approve affiliates automatically",
    "auto_approve_browser_sales": "approve sales reported by pages like others",
    "auto_approve_commissions": "approve commissions automatically",
    "backoff_until": "paused until",
    "base_commission": "follows commission",
    "canceled_at": "canceled",
    "company_name": "company",
    "confirmed_at": "confirmed",
    "cookie_time": "cookie lifetime in days",
    "customer_id": "customer ID",
    "decided_at": "decided",
    "deleted_at": "removed",
    "delivered_at": "delivered",
    "disabled_at": "disabled",
    "disabled_because": "reason",
    "due_at": "next attempt",
    "email": "e-mail",
    "endpoint": "webhook",
    "external_id": "order ID",
    "failing_since": "failing since",
    "finalized_at": "final since",
    "first_at": "first",
    "firstname": "first name",
    "ip": "IP address",
    "is_active": "active",
    "is_confirmed": "confirmed",
    "is_original": "reported first",
    "is_primary": "primary",
    "last_at": "last",
    "last_login": "last sign-in",
    "last_used_at": "last used",
    "lastname": "last name",
    "meta_data": "metadata",
    "mlm": "pays parents",
    "promoted_at": "became affiliate",
    "promotion_method": "became affiliate by",
    "recurring_cap": "rewarded conversions per customer",
    "recurring_period_days": "rewarded days per customer",
    "reversal_of": "reverses",
    "revoked_at": "revoked",
    "signup_source": "sign-up source",
    "sub_amount": "line item amount",
    "trace_id": "trace ID",
    "tracking_id": "tracking ID",
    "tracking_source": "attributed by",
    "trust_browser_customers": "trust customers named by pages",
    "user_agent": "browser",
}


def set_field_labels() -> None:
    """Set the labels of all fields that the back office shows, and an odd plural."""
    for app in ("accounts", "tracking", "payouts"):
        for model in apps.get_app_config(app).get_models():
            for field in model._meta.fields:
                if field.name in FIELD_LABELS:
                    field.verbose_name = FIELD_LABELS[field.name]
    apps.get_model("payouts", "Bonus")._meta.verbose_name_plural = "bonuses"
