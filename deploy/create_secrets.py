"""Create the secrets of compose.yaml in a directory, once: database_password,
database_url and secret_key. Files that exist are kept."""

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


def create(path: Path, value: str) -> str:
    """Return the content of the file, which gets `value` if it does not exist."""
    if not path.exists():
        path.write_text(value)
        # The users of two images read it; nothing else mounts the volume.
        path.chmod(0o444)
    return path.read_text()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
