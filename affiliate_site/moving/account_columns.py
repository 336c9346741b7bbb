"""What a file of an account holds: the tables, their columns, what is left out and why.

A new model or column must be declared here: `test_account_columns.py` finds it.
"""

# Columns by table, without `id` and `account`.
EXPORTED = {
    "accounts.Account": (
        "slug name uses_payouts pending_as_null uses_webhooks require_signatures"
        " max_browser_amount customer_email_keys default_currency"
        " default_auto_approve_affiliates default_auto_approve_commissions link_color"
        " require_second_factor visitor_data_days click_days clicks_pruned_until"
        " locked_at time_zone onboarding_dismissed_at reconciled_at discrepancy_count"
        " created_at"
    ),
    "accounts.ApiKey": "digest prefix name role created_at last_used_at revoked_at",
    "accounts.AuditLogEntry": "kind subject details actor trace_id created_at",
    "accounts.Delivery": (
        "endpoint event message_id url body created_at due_at attempts attempted_at"
        " delivered_at status response_body error"
    ),
    "accounts.IdempotencyKey": "key fingerprint status body created_at",
    "accounts.Logo": "media_type image",
    "accounts.SavedView": "user list name query created_at",
    "accounts.User": (
        "password last_login email log_id role is_active is_superuser created_at"
        " password_reset_at password_reset_by"
    ),
    "accounts.WebhookEndpoint": (
        "public_id url events affiliate method failing_since backoff_until"
        " disabled_at disabled_because created_at"
    ),
    "tracking.Affiliate": (
        "firstname lastname email email_folded company_name company_description"
        " address address_two postal_code city state country meta_data created_at"
        " promoted_at deleted_at slug log_id password custom_fields parent group"
        " promotion_method language bounced_email notices invited_at signed_in_at"
        " deletion_asked_at"
    ),
    "tracking.AffiliateGroup": "public_id title hold_days created_at",
    "tracking.Asset": "program hex",
    "tracking.AttributionRecord": "customer conversion engine inputs outcome",
    "tracking.Click": (
        "public_id enrollment prospect program affiliate referrer landing_page"
        " user_agent ip sub_id meta_data dedup_key created_at"
    ),
    "tracking.Connection": ("public_id kind name program mode settings caught_up_until created_at"),
    "tracking.Conversion": (
        "external_id program affiliate customer click amount currency tracking_source"
        " meta_data warnings user_agent ip claim_status is_amount_claimed is_contested"
        " disputed_at created_at deleted_at"
    ),
    "tracking.ConversionAttempt": "origin external_id failed_at message affiliate",
    "tracking.ConversionClaim": (
        "conversion tracking_id program affiliate click amount currency line_items"
        " attribution is_original confirmed_at decided_at created_at"
    ),
    "tracking.Coupon": "code enrollment",
    "tracking.Creative": (
        "program title kind text file_name media_type width height created_at archived_at"
    ),
    "tracking.CustomField": "slug title type required options",
    "tracking.Customer": (
        "public_id customer_id program affiliate click status initial_status"
        " is_confirmed is_contested meta_data email_folded warnings user_agent ip"
        " created_at deleted_at"
    ),
    "tracking.Enrollment": (
        "program affiliate approved promoted_by_claim code_chosen_at applied_at"
    ),
    "tracking.FailedPageCall": ("day reason page count first_at last_at last_order_id last_amount"),
    "tracking.FormerExternalId": "conversion external_id",
    "tracking.FormerIdDigest": "digest",
    "tracking.ImportedObject": ("source kind source_id local_id fingerprint created_at"),
    "tracking.LateChange": "day",
    "tracking.Mail": (
        "affiliate kind about recipient subject text created_at due_at attempts sent_at error"
    ),
    "tracking.Note": "public_id affiliate note created_at",
    "tracking.PortalSettings": (
        "is_on is_open welcome_text sender_name contact_email order_ids"
        " shows_comments shows_recruit_sales payout_day"
    ),
    "tracking.PortalTerms": "version text translations created_at",
    "tracking.Program": (
        "slug title currency cookie_time landing_page shop_hosts link_parameters"
        " program_group auto_approve_affiliates auto_approve_commissions"
        " auto_approve_browser_sales trust_browser_customers hold_days recurring"
        " recurring_cap recurring_period_days archived_at created_at"
    ),
    "tracking.Prospect": (
        "firstname lastname email email_folded company_name company_description"
        " address address_two postal_code city state country meta_data created_at"
        " promoted_at deleted_at public_id program group custom_fields signup_source"
        " affiliate promotion_method"
    ),
    "tracking.PrunedClickCount": (
        "quarter program affiliate prospect landing_page referrer_host sub_id clicks"
    ),
    "tracking.Question": (
        "public_id affiliate order_id day answer_given text conversion state"
        " created_at answered_at answered_by answer is_answer_new"
    ),
    "tracking.ReferralCode": "code enrollment prospect",
    "tracking.ReferralCodeAlias": "code enrollment",
    "tracking.TableImport": (
        "public_id kind file_name actor created known not_stored settings created_at undone_at"
    ),
    "tracking.SearchSuffix": "suffix affiliate",
    "tracking.ShopCustomer": "connection key facts",
    "tracking.ShopEvent": (
        "connection key kind body is_claim occurred_at created_at state result order"
        " customer_key due_at attempts"
    ),
    "tracking.ShopOrder": (
        "connection label name customer_key facts settings conversion is_adopted lines"
        " held removed_at reason created_at"
    ),
    "tracking.ShopReference": "connection reference order",
    "tracking.Source": "affiliate prospect hex",
    "tracking.TermsAcceptance": "affiliate terms language accepted_at",
    "tracking.Visitor": "tracking_id click created_at",
    "payouts.Bonus": (
        "program public_id title goal_type goal period kind value created_at ended_at granted_until"
    ),
    "payouts.Commission": (
        "conversion affiliate kind is_extra commission_type name currency sub_amount"
        " amount rate_kind rate calculation status comment created_at finalized_at"
        " deleted_at base_commission payment bonus period_start goal_missed_at due_at"
    ),
    "payouts.CommissionType": "program identifier title kind value is_default mlm",
    "payouts.Correction": "conversion reason actor created_at",
    "payouts.Document": (
        "kind year number label affiliate payment corrects issued_on first_day"
        " last_day currency net vat total tax_withheld opening vat_rate"
        " sentence issuer supplier created_at"
    ),
    "payouts.DocumentSequence": "year last_number",
    "payouts.GroupRate": "commission_type group kind value",
    "payouts.LedgerAccount": "currency kind affiliate balance",
    "payouts.Level": "program level title kind value",
    "payouts.Payment": (
        "public_id affiliate amount tax_withheld currency created_at canceled_at"
        " cancel_reason"
        " payout_kind payout_details"
    ),
    "payouts.PaymentAllocation": "payment commission",
    "payouts.PayoutFile": ("run format message_id currency payments control_sum created_at"),
    "payouts.PayoutLine": (
        "run affiliate currency amount tax_withheld method commission_count"
        " fingerprint state reason note receiver payment bank_reference"
        " bank_reason answered_on settled_on debits"
    ),
    "payouts.PayoutMethod": ("affiliate kind details is_primary details_changed_at on_hold_reason"),
    "payouts.PayoutMinimum": "affiliate currency amount",
    "payouts.PayoutRun": (
        "public_id state due_before basis note created_by created_at confirmed_by"
        " confirmed_at exported_at payer"
    ),
    "payouts.PayoutSettings": (
        "payer_name payer_iban payer_bic payer_street payer_building"
        " payer_postal_code payer_city payer_country requires_second_person"
        " documents_from document_prefix requires_documents payer_vat_id"
        " mails_payments mail_subject mail_text"
    ),
    "payouts.Refund": (
        "conversion external_id amount currency is_full lines reason actor created_at canceled_at"
    ),
    "payouts.TaxData": (
        "affiliate is_business is_small_business country vat_id tax_number legal_name"
        " consented_on changed_at"
    ),
    "payouts.TaxRule": (
        "is_business is_small_business country rate sentence required_number withholding_rate"
    ),
    "payouts.Transfer": (
        "currency kind debit credit amount commission sequence_number payment"
        " reversal_of actor created_at"
    ),
    "payouts.WithheldBalance": "affiliate currency reason created_by created_at",
}

COUNTED = "counts of other rows; made again when somebody looks"
# Tables of an account, and columns of exported tables.
LEFT_OUT = {
    "accounts.AccountDeletion": "the mark of a deletion that has begun",
    "accounts.DailyRowCount": COUNTED,
    "accounts.StaleDay": COUNTED,
    "payouts.DailyLandingPageClicks": COUNTED,
    "payouts.DailyStats": COUNTED,
    "accounts.Invitation": "one-time links",
    "accounts.SigningSecret": "secrets",
    "tracking.PortalApplication": "one-time links",
    "tracking.PortalLink": "one-time links",
    "tracking.PortalSecondFactor": "second-factor secrets",
    "tracking.PortalSession": "sessions",
    "tracking.PortalSettings.host": "a file owns no name of a host",
    "tracking.TableUpload": "files that wait a day for their import",
    "accounts.Account.plan": "named by the first line of the file",
    "accounts.User.recovery_codes": "second-factor secrets",
    "accounts.WebhookEndpoint.secret": "a secret; the import makes a new one",
    "accounts.WebhookEndpoint.old_secret": "a secret",
    "accounts.WebhookEndpoint.old_secret_until": "of the old secret",
    "tracking.Connection.secrets": "secrets",
    "tracking.Connection.source_key": "a secret",
    "tracking.Connection.refused_count": "of the secret that is not moved",
    "tracking.Connection.refused_since": "of the secret that is not moved",
    "tracking.RefusedRequest": "of the secret that is not moved",
    "payouts.PayoutMethod.blind_index": "depends on the keys; calculated again",
}

# Tables that belong to no account.
OF_THE_SITE = {
    "accounts.CommandRun": "when commands ran",
    "accounts.Plan": "found by its name",
    "accounts.RateWindow": "counters that may be lost",
    "payouts.LedgerDigest": "covers all accounts, see docs/reliability.md, section 3",
    "admin.LogEntry": "not written",
    "auth.Group": "not used",
    "auth.Group_permissions": "not used",
    "auth.Permission": "Django's own",
    "contenttypes.ContentType": "Django's own",
    "sessions.Session": "sessions",
    "otp_totp.TOTPDevice": "second-factor secrets",
}

# Columns whose values must differ among all accounts.
UNIQUE_IN_SITE = {
    "accounts.ApiKey": "digest",
    "tracking.Connection": "public_id",
}
