"""Forms of customers: correct, cancel, restore and remove."""

from django import forms

from affiliate_site.api.resources.customers import CustomerUpdateSerializer
from affiliate_site.backoffice.conversions.new_conversion_page import MAX_ID_LENGTH
from affiliate_site.backoffice.fields import MetaDataField
from affiliate_site.backoffice.form_pages import EditPage, FormPage, RemovePage
from affiliate_site.backoffice.forms import ServiceForm
from tracking.errors import DuplicateCustomer
from tracking.models.customers import Customer, CustomerStatus
from tracking.services.customers import (
    cancel_customer,
    delete_customer,
    uncancel_customer,
    update_customer,
)


class CustomerPage(FormPage):
    model = Customer
    done_message = "Customer {row.customer_id} was saved."
    row_argument = ("public_id", "public_id")


class EditCustomerPage(CustomerPage, EditPage):
    service = staticmethod(update_customer)

    class Form(ServiceForm):
        serializer_class = CustomerUpdateSerializer
        error_fields = {DuplicateCustomer: "customer_id"}

        customer_id = forms.CharField(
            label="Customer ID", max_length=MAX_ID_LENGTH, help_text="Your own ID."
        )
        meta_data = MetaDataField()

    def get_row_arguments(self):
        return {"customer": self.row}


class CancelCustomerPage(CustomerPage):
    name = "cancel"
    title = button = "Cancel customer"
    explanation = (
        "The customer counts as canceled until a sale of it is reported. Conversions"
        " and commissions stay. You can undo it."
    )
    service = staticmethod(cancel_customer)

    @classmethod
    def is_offered(cls, customer):
        is_canceled = customer.status == CustomerStatus.CANCELED
        return super().is_offered(customer) and not is_canceled


class RestoreCustomerPage(CustomerPage):
    """Undo a cancellation."""

    name = "restore"
    title = button = "Undo cancellation"
    explanation = "The customer gets back the status that it had before."
    service = staticmethod(uncancel_customer)

    @classmethod
    def is_offered(cls, customer):
        is_canceled = customer.status == CustomerStatus.CANCELED
        return super().is_offered(customer) and is_canceled


class RemoveCustomerPage(CustomerPage, RemovePage):
    explanation = (
        "Your ID of the customer, its metadata, IP address and user agent are erased."
        " Conversions and commissions stay. This cannot be undone."
    )
    service = staticmethod(delete_customer)
    done_message = "Customer {row.public_id} was removed."


CUSTOMER_PAGES = (
    EditCustomerPage,
    CancelCustomerPage,
    RestoreCustomerPage,
    RemoveCustomerPage,
)
