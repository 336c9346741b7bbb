"""Pages with a form that calls one service: they create, edit or act on an object."""

import hashlib
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, transaction
from django.db.models import Model
from django.http import Http404
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.generic.edit import FormView

from accounts.db_compat import is_temporary
from accounts.errors import DomainError
from affiliate_site.backoffice.actions import DATABASE_TIMEOUT_MESSAGE, get_title
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.theme import get_object_url
from affiliate_site.roles import get_permission_name

CHANGED_MEANWHILE = (
    "Somebody changed this while the page was open: {changes}. What you entered is"
    " still here; check it and save again."
)
NOT_COMPARED = (
    "Nothing was saved: the page had not shown the present values. {changes}. What you"
    " entered is still here; check it and save again."
)
MAX_VALUES = 200  # of a form


class FormPage(FormView):
    """A form at `/admin/<app>/<model>/<pk>/<name>/`, or at `…/add/` without an object.

    Subclasses declare the attributes below; what a fixed text cannot say, they return
    from the methods of the same names. A form that no other page has is their class
    `Form`. `save` calls the service. A `DomainError` appears beside the field of its
    path, and the entries stay. If an initial value was changed since the page was
    opened, or its version is missing, nothing is saved.
    """

    template_name = "admin/form_page.html"
    form_class = ServiceForm
    model_admin: Any = None
    model: type[Model] | None = None  # what it adds, edits or removes
    noun = ""  # that texts have for `{noun}`, by default the name of the model
    name = "edit"  # last part of the URL
    title = ""
    button = "Save"
    permission = ""  # such as "tracking.change_program", by default for `action` on `model`
    action = "change"
    service: Any = None  # a staticmethod
    row_argument = ("pk", "pk")  # that names the object: its name, and an attribute
    locks_account = False  # True: the service locks the account before the object
    explanation = ""  # shown above the form
    # Formats with `row`, and the message after saving also with `page` and `result`.
    subject = ""  # empty: what the object's page calls it
    done_message = "{page.title}: done."
    is_dangerous = False
    has_button = True  # beside others at the top of the object's page
    is_sent_by_button: Any = False  # True: nothing to enter, so that button sends the form
    leave_button = "Cancel"
    has_effect = False  # True: the page answers what its values would change
    leads_to_list = False  # after saving, instead of to the page of the object
    is_atomic = True  # False: the service reads a snapshot before its own transaction

    row: Any = None

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.form_class = cls.__dict__.get("Form", cls.form_class)
        if cls.model is not None:
            noun = cls.noun or str(cls.model._meta.verbose_name)
            for name in ("title", "button", "done_message"):
                if "{noun}" in (text := getattr(cls, name)):
                    setattr(cls, name, text.replace("{noun}", noun))

    @classmethod
    def is_offered(cls, row) -> bool:
        """Whether the object's page leads here: by default until it is removed."""
        return getattr(row, "deleted_at", None) is None

    @classmethod
    def is_allowed(cls, user) -> bool:
        return user.has_perm(cls.permission or get_permission_name(cls.action, cls.model))

    def get_explanation(self) -> str:
        """What the user should know before saving."""
        return self.explanation

    def list_alerts(self) -> list[str]:
        """What the user must not overlook, above the form."""
        return []

    def list_sections(self) -> list[Any]:
        """`Section`s to read before the button is pressed."""
        return []

    def get_subject(self) -> str:
        """What the page is about, in its heading."""
        title = get_title(self.model_admin, self.row)
        return self.subject.format(row=self.row) or title

    def get_row_arguments(self) -> dict[str, Any]:
        """The arguments of the service that name the object."""
        name, attribute = self.row_argument
        return {name: getattr(self.row, attribute)} if self.row else {}

    def get_values(self, form) -> dict[str, Any]:
        """The arguments of the service with the values of the form."""
        return form.values

    def call_service(self, form, at: datetime, **arguments) -> Any:
        values = self.get_row_arguments() | self.get_values(form) | arguments
        return self.service(self.account, **values, at=at)

    def save(self, form, at: datetime) -> Any:
        """Call the service; a page without an object shows the result, a new one."""
        return self.call_service(form, at)

    def perform(self, form, at: datetime) -> Any:
        """What a valid form does, in a transaction if `is_atomic`; `respond` gets the
        result."""
        return self.save(form, at)

    def get_done_message(self, result) -> str:
        """The message after saving."""
        return self.done_message.format(page=self, row=self.row, result=result)

    def list_warnings(self, result) -> list[str]:
        """What to look at after saving."""
        return []

    def get_list_url(self) -> str:
        """The list of objects."""
        opts = self.model_admin.opts
        return reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist")

    def get_back_url(self) -> str:
        """The page that a button leads back to: that of the object, or the list."""
        return get_object_url(self.row) if self.row else self.get_list_url()

    def get_done_url(self, result) -> str:
        """The page to show after saving: that of the object, or the list."""
        if self.leads_to_list:
            return self.get_list_url()
        return self.get_back_url() if self.row else get_object_url(result)

    def get_unlocked_initial(self, row) -> dict[str, Any]:
        """The present values of the fields, read from the object."""
        return {}

    def dispatch(self, request, *args, **kwargs):
        if not self.is_allowed(request.user):
            raise PermissionDenied
        self.account = request.user.account
        if "object_id" in kwargs:
            self.row = self.model_admin.get_object(request, kwargs["object_id"])
            if self.row is None:
                raise Http404
            self.account = self.row.account
            if not self.is_offered(self.row):
                self.report_not_offered()
                return redirect(self.get_back_url())
        elif self.account is None:
            raise PermissionDenied("operators have no account")
        return super().dispatch(request, *args, **kwargs)

    def report_not_offered(self) -> None:
        """Say why the page of the object is shown instead."""
        text = f"{self.title}: not possible in this state."
        messages.error(self.request, text)

    def get_initial(self):
        values = self.get_unlocked_initial(self.row) if self.row else {}
        return super().get_initial() | values

    def get_form_kwargs(self):
        return super().get_form_kwargs() | {"account": self.account, "row": self.row}

    def form_valid(self, form):
        """Call the service; show its refusal in the form."""
        try:
            with transaction.atomic() if self.is_atomic else nullcontext():
                conflict = self.find_conflict(form)
                if not conflict:
                    result = self.perform(form, timezone.now())
        except DomainError as error:
            form.add_domain_error(error)
            return self.form_invalid(form)
        except OperationalError as error:
            if not is_temporary(error):
                raise
            form.add_error(None, DATABASE_TIMEOUT_MESSAGE)
            return self.form_invalid(form)
        if conflict:
            form.add_error(None, conflict)
            return self.form_invalid(form)
        return self.respond(form, result)

    def respond(self, form, result):
        """Answer a form that was saved."""
        messages.success(self.request, self.get_done_message(result))
        for warning in self.list_warnings(result):
            messages.warning(self.request, warning)
        for label, reading in form.list_readings():
            messages.info(self.request, f"{label}: {reading}.")
        return redirect(self.get_done_url(result))

    def find_conflict(self, form) -> str:
        """Lock the object; say which values changed since the page was opened.

        A page without values compares nothing: its service locks what it needs.
        """
        has_values = type(self).get_unlocked_initial != FormPage.get_unlocked_initial
        if self.row is None or not has_values:
            return ""
        if not self.get_unlocked_initial(self.row):  # whatever the request says
            return ""
        if self.locks_account:
            self.account.lock_row()
        present = self.get_unlocked_initial(self.lock_row(timezone.now()))
        seen = read_version(form.data.get("version", ""))
        changed = {
            name: present.get(name)
            for name in sorted(present.keys() | (seen.keys() & form.fields.keys()))
            if name not in present or seen.get(name) != digest_value(form, name, present[name])
        }
        for name, value in changed.items():
            # Else saving again would undo the change.
            if name in form.fields and seen.get(name) == digest_entry(form, name):
                form.set_entry(name, value)
        if not changed:
            return ""
        text = NOT_COMPARED if seen.keys().isdisjoint(present) else CHANGED_MEANWHILE
        changes = [
            f"{form.get_label(name)} is now {describe_value(value)}"
            for name, value in changed.items()
        ]
        return text.format(changes="; ".join(changes))

    def lock_row(self, at: datetime) -> Any:
        """Lock the object, as it is now.

        Overridden where the service locks other rows before it: the order of locks
        (docs/architecture.md, section 3) prevents deadlocks.
        """
        rows = type(self.row)._base_manager.select_for_update(no_key=True)
        row = rows.filter(pk=self.row.pk).first()
        if row is None:
            raise Http404  # deleted meanwhile
        return row

    def get_context_data(self, **kwargs):
        context = super().get_context_data(**kwargs)
        form, opts = context["form"], self.model_admin.opts
        shown = self.get_unlocked_initial(self.row) if self.row else {}
        admin_form = form.get_admin_form(self.model_admin)
        self.request.current_app = self.model_admin.admin_site.name
        return {
            **self.model_admin.admin_site.each_context(self.request),
            **context,
            "title": self.title,
            "opts": opts,
            "original": self.row and TitledObject(self.row, get_title(self.model_admin, self.row)),
            "adminform": admin_form,
            "has_file_field": form.is_multipart(),
            "errors": form.errors,
            "media": self.model_admin.media + admin_form.media,
            "inline_admin_formsets": [],
            "version": calculate_version(form, shown) if shown else "",
            "page": self,
            "back_url": self.get_back_url(),
        }


class SettingsPage(FormPage):
    """Settings of the own account, at an address without an object."""

    template_name = "admin/account_settings.html"
    url_name = ""  # such as "account_settings"
    done_message = "The settings were saved."

    def dispatch(self, request, *args, **kwargs):
        self.row = request.user.account
        return super().dispatch(request, *args, **kwargs)

    def get_back_url(self):
        return reverse(f"admin:{self.url_name}")

    def get_context_data(self, **kwargs):
        """Leave out the links to a list of accounts, which staff have not."""
        context = super().get_context_data(**kwargs)
        title = {"content_title": self.title, "opts": None, "original": None}
        return context | title | {"back_url": reverse("admin:index")}


class AddPage(FormPage):
    title = button = "Add {noun}"
    action = "add"
    done_message = "The {noun} {result.title} was created."


class EditPage(FormPage):
    """Changes columns of the object that have the names of the fields."""

    title = "Edit"
    done_message = "The {noun} was saved."

    def get_unlocked_initial(self, row):
        names = self.get_form_class().base_fields
        return {name: getattr(row, name) for name in names}


class RemovePage(FormPage):
    name = "remove"
    title = "Remove"
    button = "Remove {noun}"
    action = "delete"
    done_message = "The {noun} was removed."
    is_dangerous = True


class ArchivePage(FormPage):
    name = "archive"
    title = button = "Archive"
    done_message = "The {noun} is archived."

    @classmethod
    def is_offered(cls, row):
        return row.archived_at is None


class UnarchivePage(FormPage):
    name = "unarchive"
    title = button = "Unarchive"
    done_message = "The {noun} is active again."

    @classmethod
    def is_offered(cls, row):
        return row.archived_at is not None


class TitledObject:
    """An object that breadcrumbs show as this text; it may have a title of its own."""

    def __init__(self, row, breadcrumb: str):
        self.row, self.breadcrumb = row, breadcrumb

    def __getattr__(self, name: str):
        return getattr(self.row, name)

    def __str__(self) -> str:
        return self.breadcrumb


def calculate_version(form, values: dict[str, Any]) -> str:
    return urlencode({name: digest_value(form, name, value) for name, value in values.items()})


def read_version(text: str) -> dict[str, str]:
    """The digests by name; empty if it is none of `calculate_version`."""
    try:
        return dict(parse_qsl(text, strict_parsing=True, max_num_fields=MAX_VALUES))
    except ValueError:
        return {}


def describe_value(value: Any) -> str:
    """A value in words, as a sentence has it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        value = [f"{name}: {text}" for name, text in value.items()]
    if isinstance(value, list | tuple | set):
        value = ", ".join(map(str, value))
    return str("" if value is None else value).strip() or "empty"


def digest_value(form, name: str, value: Any) -> str:
    if name in form.fields:
        value = form.fields[name].prepare_value(value)
    return digest_text(value)


def digest_entry(form, name: str) -> str:
    """A digest of what was sent in a field: that of a value that was not touched."""
    return digest_text(form[name].value())


def digest_text(value: Any) -> str:
    """A digest of a value or entry, whatever the type, order and line ends are."""
    if isinstance(value, list | tuple | set):
        text = "\n".join(sorted(map(str, value)))
    else:
        text = "" if value is None or value is False else str(value)
    text = "\n".join(text.split("\r\n")).strip()
    return hashlib.sha256(text.encode()).hexdigest()[:8]
