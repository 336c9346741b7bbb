"""Create the secrets of compose.yaml in a directory, once: database_password,
database_url, secret_key and encryption_keys. Files that exist are kept."""

import base64
import os
import secrets
import sys
from pathlib import Path


def main(directory: Path) -> None:
    """Write the files that are missing."""
    password = create(directory / "database_password", secrets.token_urlsafe(32))
    create(
        directory / "database_url",
        f"postgres://affiliate_site:{password}@database:5432/affiliate_site",
    )
    create(directory / "secret_key", secrets.token_urlsafe(50))
    encryption_key = base64.b64encode(secrets.token_bytes(32)).decode()
    create(directory / "encryption_keys", encryption_key)


def create(path: Path, value: str) -> str:
    """Return the content of the file, which gets `value` if it does not exist.

    It appears whole: a process that is killed leaves no empty password.
    """
    if not path.exists():
        partial = path.with_name(f"{path.name}.partial")
        partial.unlink(missing_ok=True)
        with partial.open("w") as file:
            file.write(value)
            file.flush()
            os.fsync(file.fileno())
        # The users of two images read it; nothing else mounts the volume.
        partial.chmod(0o444)
        partial.replace(path)
    return path.read_text()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
