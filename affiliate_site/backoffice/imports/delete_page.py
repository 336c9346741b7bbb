"""Delete a file that is not imported."""

from affiliate_site.backoffice.form_pages import RemovePage
from tracking.services.table_uploads import lock_table_upload


class DeleteUploadPage(RemovePage):
    """Delete a file before its day is over."""

    name = "delete_file"
    title = button = "Delete"
    permission = "tracking.change_tableupload"
    explanation = "The file is deleted. Nothing of it was imported."
    done_message = "The file was deleted."
    leads_to_list = True

    @classmethod
    def is_offered(cls, upload):
        return upload.table_import_id is None

    def save(self, form, at):
        lock_table_upload(self.account, self.row).delete()
