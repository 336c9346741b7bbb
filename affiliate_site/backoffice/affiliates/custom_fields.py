"""The pages of custom fields, the questions that affiliates answer."""

from django import forms
from django.contrib import admin

from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin, display
from affiliate_site.backoffice.fields import LinesField, NewIdField
from affiliate_site.backoffice.form_pages import AddPage, EditPage, RemovePage
from affiliate_site.backoffice.formatters import EMPTY_VALUE
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.object_pages import ObjectPageMixin
from tracking.models.affiliates import CustomField, FieldType
from tracking.services.custom_fields import (
    create_custom_field,
    delete_custom_field,
    update_custom_field,
)

TYPE_CHOICES: tuple[tuple[str, str], ...] = (
    (FieldType.TEXT, "One line of text"),
    (FieldType.TEXTAREA, "Several lines of text"),
    (FieldType.SELECT, "One of several options"),
    (FieldType.MULTISELECT, "Any of several options"),
    (FieldType.CHECKBOX, "Checkbox"),
    (FieldType.URL, "Web address"),
)


class CustomFieldForm(ServiceForm):
    title = forms.CharField(help_text="The question, such as “Your website”.")
    options = LinesField(required=False, help_text="For choices: one per line.")
    required = forms.BooleanField(
        required=False,
        help_text="Sign-up forms ask for it; the API accepts affiliates without it.",
    )


class AddCustomFieldPage(AddPage):
    model = CustomField
    service = staticmethod(create_custom_field)

    class Form(CustomFieldForm):
        slug = NewIdField()
        type = forms.ChoiceField(choices=TYPE_CHOICES)

        field_order = ("title", "slug", "type", "options", "required")


class EditCustomFieldPage(EditPage):
    model = CustomField
    explanation = "Answers that affiliates have given already stay as they are."
    form_class = CustomFieldForm
    service = staticmethod(update_custom_field)
    done_message = "The custom field {result.title} was saved."

    def get_values(self, form):
        return {"changes": form.values}


class RemoveCustomFieldPage(RemovePage):
    model = CustomField
    button = "Remove"
    explanation = "The field is no longer asked for. Answers that affiliates have given are kept."
    service = staticmethod(delete_custom_field)
    leads_to_list = True


@admin.register(CustomField)
class CustomFieldAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    menu = (MenuEntry("Affiliates", 100, "dynamic_form"),)
    empty_state = (
        "No custom fields yet. Choose “Add custom field” to ask affiliates a question of your own."
    )
    columns = ("title", "slug", "type_title", "required")
    fields = readonly_fields = ("title", "slug", "type_title", "choices", "required")
    ordering = ("id",)
    add_page = AddCustomFieldPage
    row_pages = (EditCustomFieldPage, RemoveCustomFieldPage)

    @display(description="Type", ordering="type")
    def type_title(self, field):
        return dict(TYPE_CHOICES).get(field.type, field.type)

    @display(description="Options")
    def choices(self, field):
        return ", ".join(map(str, field.options or ())) or EMPTY_VALUE
