"""The pages of creatives, the banners and texts of programs."""

from django import forms
from django.contrib import admin
from django.utils.html import format_html

from accounts.errors import InvalidSetting
from accounts.services.notifications import can_send_mail
from affiliate_site import creative_images
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.fields import MULTI_LINE, ProgramField
from affiliate_site.backoffice.form_pages import AddPage, ArchivePage, UnarchivePage
from affiliate_site.backoffice.formatters import format_datetime
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.lists.columns import ARCHIVE_STATUS, PROGRAM_TITLE, get_archive_label
from affiliate_site.backoffice.lists.state_filters import ArchivedFilter
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.object_pages import (
    Details,
    ObjectPageMixin,
    Section,
)
from affiliate_site.columns import Column
from tracking.models.creatives import Creative
from tracking.services.creatives import (
    MAX_TEXT_LENGTH,
    StoredImage,
    archive_creative,
    create_creative,
    unarchive_creative,
)
from tracking.services.portal_settings import build_portal_url, get_portal_settings


class NewCreativeForm(ServiceForm):
    program = ProgramField()
    title = forms.CharField(help_text="Affiliates see it; it describes the image.")
    image = forms.FileField(
        required=False,
        help_text=(
            f"A PNG, JPEG, GIF or WebP of {creative_images.MAX_BYTES >> 20} MB or less,"
            f" not animated, {creative_images.SIZE_RULE}."
        ),
    )
    text = forms.CharField(
        required=False,
        max_length=MAX_TEXT_LENGTH,
        widget=MULTI_LINE({"rows": 4}),
        help_text="Instead of an image: text that affiliates copy with their link.",
    )
    announce = forms.BooleanField(label="Tell the program's affiliates by e-mail", required=False)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if not can_send_mail() or not get_portal_settings(self.account).is_on:
            del self.fields["announce"]

    def clean_image(self):
        """The image as it will be stored; None without a file."""
        file = self.cleaned_data["image"]
        if not file:
            return None
        try:
            return creative_images.encode_image(file.read(creative_images.MAX_BYTES + 1))
        except InvalidSetting as error:
            raise forms.ValidationError(error.text) from None


class AddCreativePage(AddPage):
    model = Creative
    form_class = NewCreativeForm
    done_message = "The creative {result.title} was added."

    def save(self, form, at):
        values = form.values
        encoded, image = values["image"], None
        if encoded:
            name = creative_images.store_image(self.account, encoded)
            media_type = creative_images.MEDIA_TYPES[encoded.ending]
            image = StoredImage(name, media_type, encoded.width, encoded.height)
        url = build_portal_url(self.account, "creatives/")
        try:
            return create_creative(
                self.account,
                program_id=values["program"].slug,
                title=values["title"],
                text=values["text"],
                image=image,
                announced_url=url if values.get("announce") else "",
                at=at,
            )
        except Exception:
            if image:
                creative_images.delete_image(self.account, image.file_name)
            raise


class ArchiveCreativePage(ArchivePage):
    model = Creative
    explanation = (
        "Affiliates no longer find it. Where they use the image already, it stays. You"
        " can unarchive it."
    )
    row_argument = ("creative_id", "pk")
    service = staticmethod(archive_creative)


class UnarchiveCreativePage(UnarchivePage):
    model = Creative
    explanation = "Affiliates find it again."
    row_argument = ("creative_id", "pk")
    service = staticmethod(unarchive_creative)


@admin.register(Creative)
class CreativeAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    """Creatives of the account's programs."""

    menu = (MenuEntry("Affiliates", 20, "image"),)
    empty_state = (
        "No creatives yet. Choose “Add creative” to give affiliates a banner or a text"
        " to publish with their link."
    )
    columns = (
        "title",
        Column("Preview", lambda row: render(row), is_exported=False),
        PROGRAM_TITLE,
        "kind",
        Column("Size", lambda row: format_size(row)),
        ARCHIVE_STATUS,
        Column(name="archived_at", is_listed=False),
    )
    list_filter = ("kind", ArchivedFilter)
    list_select_related = ("account",)
    ordering = ("-id",)
    add_page = AddCreativePage
    row_pages = (ArchiveCreativePage, UnarchiveCreativePage)
    title_field = "title"

    def get_details(self, request, row):
        facts = (
            ("Program", row.program.title),
            ("Size", format_size(row)),
            ("Added", format_datetime(row.created_at)),
            ("Content", render(row, height=240)),
        )
        sections = [Section("Creative", facts=facts)]
        return Details(row.title, labels=[get_archive_label(row)], sections=sections)


def format_size(creative: Creative) -> str:
    """`468 x 60`; empty for a text."""
    return f"{creative.width} x {creative.height}" if creative.width else ""


def render(creative: Creative, *, height: int = 40) -> str:
    """The image, at most this high, or the text."""
    if not creative.file_name:
        return creative.text[:200]
    return format_html(
        '<img src="{}" alt="{}" height="{}" loading="lazy" class="creative">',
        creative_images.build_image_url(creative.account, creative.file_name),
        creative.title,
        min(height, creative.height or height),
    )
