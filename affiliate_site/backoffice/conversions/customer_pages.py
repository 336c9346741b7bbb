"""Forms of customers: correct, cancel, restore and remove."""

from django import forms

from affiliate_site.api.resources.customers import CustomerUpdateSerializer
from affiliate_site.backoffice.conversions.new_conversion_page import MAX_ID_LENGTH
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.forms import MetaDataField, ServiceForm
from tracking.errors import DuplicateCustomer
from tracking.models.customers import CustomerStatus
from tracking.services.customers import (
    cancel_customer,
    delete_customer,
    uncancel_customer,
    update_customer,
)


class CustomerForm(ServiceForm):
    """What can be corrected about a customer."""

    serializer_class = CustomerUpdateSerializer
    error_fields = {DuplicateCustomer: "customer_id"}

    customer_id = forms.CharField(
        label="Customer ID", max_length=MAX_ID_LENGTH, help_text="Your own ID."
    )
    meta_data = MetaDataField()


class CustomerPage(FormPage):
    """A page of a customer that is not removed."""

    permission = "tracking.change_customer"
    done_message = "Customer {row.customer_id} was saved."

    @classmethod
    def is_offered(cls, customer):
        return customer.deleted_at is None


class EditCustomerPage(CustomerPage):
    """Correct the ID or the metadata."""

    name = "edit"
    title = "Edit"
    form_class = CustomerForm

    def get_unlocked_initial(self, customer):
        return {"customer_id": customer.customer_id, "meta_data": customer.meta_data}

    def save(self, form, at):
        return update_customer(
            self.account,
            customer=self.row,
            customer_id=form.validated.get("customer_id"),
            meta_data=form.validated.get("meta_data"),
            at=at,
        )


class CancelCustomerPage(CustomerPage):
    """Cancel a customer."""

    name = "cancel"
    title = button = "Cancel customer"
    explanation = (
        "The customer counts as canceled until a sale of it is reported. Conversions"
        " and commissions stay. You can undo it."
    )

    @classmethod
    def is_offered(cls, customer):
        is_canceled = customer.status == CustomerStatus.CANCELED
        return super().is_offered(customer) and not is_canceled

    def save(self, form, at):
        return cancel_customer(self.account, public_id=self.row.public_id, at=at)


class RestoreCustomerPage(CustomerPage):
    """Undo a cancellation."""

    name = "restore"
    title = button = "Undo cancellation"
    explanation = "The customer gets back the status that it had before."

    @classmethod
    def is_offered(cls, customer):
        is_canceled = customer.status == CustomerStatus.CANCELED
        return super().is_offered(customer) and is_canceled

    def save(self, form, at):
        return uncancel_customer(self.account, public_id=self.row.public_id, at=at)


class RemoveCustomerPage(CustomerPage):
    """Remove a customer."""

    name = "remove"
    title = "Remove"
    button = "Remove customer"
    permission = "tracking.delete_customer"
    is_dangerous = True
    explanation = (
        "Your ID of the customer, its metadata, IP address and user agent are erased."
        " Conversions and commissions stay. This cannot be undone."
    )
    done_message = "Customer {row.public_id} was removed."

    def save(self, form, at):
        delete_customer(self.account, public_id=self.row.public_id, at=at)


CUSTOMER_PAGES = (
    EditCustomerPage,
    CancelCustomerPage,
    RestoreCustomerPage,
    RemoveCustomerPage,
)
