"""The kinds of events in the audit log, each with its sentence for people."""

import re

# What the actor did: `{}` is the subject, other names are details of the entry. An
# update is described by the fields that its details name, if they name any.
EVENT_SENTENCES = {
    "account.created": "created the account",
    "account.customer_email_keys_changed": "changed where customers' e-mails are",
    "account.locked": "locked the account",
    "account.onboarding_dismissed": "hid the checklist of the account",
    "account.page_tracking_changed": "changed what pages may report",
    "account.plan_changed": "changed the plan of the account",
    "account.settings_changed": "changed the settings of the account",
    "account.unlocked": "unlocked the account",
    "affiliate.added_to_group": "put {} into the group {group}",
    "affiliate.added_to_program": "added {} to program {program}: {approved}",
    "affiliate.approved": "approved {} for program {program}",
    "affiliate.created": "created {}",
    "affiliate.deleted": "removed {}",
    "affiliate.disapproved": "disapproved {} for program {program}",
    "affiliate.erased": "erased {}",
    "affiliate.updated": "changed {}",
    "affiliate_group.created": "created {}",
    "affiliate_group.deleted": "removed {}",
    "affiliate_group.updated": "changed {}",
    "affiliate_prospect.created": "created {}",
    "affiliate_prospect.deleted": "removed {}",
    "affiliate_prospect.erased": "erased {}",
    "affiliate_prospect.promoted": "made {} an affiliate",
    "api_key.created": "created {}",
    "api_key.revoked": "revoked {}",
    "bonus.created": "created {}",
    "bonus.ended": "ended {}",
    "bonus.updated": "changed {}",
    "commission.created": "created {}",
    "commission.goal_met": "found the goal of {} met again",
    "commission.goal_missed": "found the goal of {} no longer met",
    "commission.updated": "changed {}",
    "commission_type.created": "created {}",
    "commission_type.deleted": "removed {}",
    "commission_type.made_default": "made {} the default",
    "commission_type.updated": "changed {}",
    "conversion.amount_confirmed": "confirmed the amount of {}",
    "conversion.confirmed": "confirmed {}",
    "conversion.contested": "reported {} too, which is now contested",
    "conversion.created": "created {}",
    "conversion.deleted": "removed {}",
    "conversion.reattributed": "attributed {} to another affiliate",
    "conversion.refunded": "refunded {refunded} of {}",
    "conversion.updated": "changed {}",
    "custom_field.created": "created {}",
    "custom_field.deleted": "removed {}",
    "custom_field.updated": "changed {}",
    "customer.confirmed": "confirmed {}",
    "customer.created": "created {}",
    "customer.deleted": "removed {}",
    "customer.erased": "erased {}",
    "customer.updated": "changed {}",
    "enrollment.reset_to_pending": "set {} back to pending in program {program}",
    "enrollment.updated": "changed {}",
    "group_rate.created": "created {}",
    "group_rate.deleted": "removed {}",
    "group_rate.updated": "changed {}",
    "invitation.accepted": "accepted an invitation",
    "invitation.created": "invited staff",
    "invitation.revoked": "revoked an invitation",
    "level.created": "created {}",
    "level.deleted": "removed {}",
    "level.updated": "changed {}",
    "note.created": "created {}",
    "note.deleted": "removed {}",
    "note.updated": "changed {}",
    "payment.canceled": "canceled {}",
    "payment.created": "paid {}",
    "payout_balance.topped_up": "topped up the payout balance by {amount} {currency}",
    "payout_method.released": "ended the hold of the payout method {method} of {}",
    "payout_method.set": "set the payout method {method} of {}",
    "program.archived": "archived {}",
    "program.created": "created {}",
    "program.unarchived": "unarchived {}",
    "program.updated": "changed {}",
    "signing_secret.created": "created {}",
    "signing_secret.revoked": "revoked {}",
    "staff.activated": "reactivated staff user {user_id}",
    "staff.created": "created staff user {user_id}",
    "staff.deactivated": "deactivated staff user {user_id}",
    "staff.password_changed": "changed the own password of {user_id}",
    "staff.password_reset": "reset the password of {user_id}",
    "staff.role_changed": "changed the role of {user_id}",
    "staff.second_factor_added": "enabled two-factor authentication of {user_id}",
    "staff.second_factor_code_used": "used a recovery code of {user_id}",
    "staff.second_factor_codes_created": "renewed the recovery codes of {user_id}",
    "staff.second_factor_removed": "disabled two-factor authentication of {user_id}",
    "webhook.created": "created {}",
    "webhook.disabled": "disabled {}",
    "webhook.enabled": "enabled {}",
    "webhook.secret_rotated": "rotated the secret of {}",
    "webhook.test": "sent a test event to {}",
    "webhook.updated": "changed {}",
}
# Where the sentence of one event does not say what all of its kind have in common.
SUMMARIES = {
    "affiliate.added_to_program": "added an affiliate to a program",
    "commission.updated": "approved, disapproved or changed a commission",
    "enrollment.updated": "changed a program affiliate",
    "payment.created": "paid an affiliate",
    "payout_balance.topped_up": "topped up the payout balance",
}
DETAIL_PATTERN = re.compile(r"\{\w+\}")


def summarize_kind(kind: str) -> str:
    """What all events of a kind say: `approved an affiliate for program …`."""
    if kind in SUMMARIES:
        return SUMMARIES[kind]
    subject = kind.partition(".")[0].replace("_", " ").replace("api", "API")
    if subject in ("enrollment", "payout method"):
        subject = "affiliate"
    article = "an" if subject[0] in "aeiAEI" else "a"
    text = EVENT_SENTENCES[kind].replace("{}", f"{article} {subject}")
    return DETAIL_PATTERN.sub("…", text)
