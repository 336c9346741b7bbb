"""Images of creatives: checked and re-encoded, stored as files, and served.

What staff upload is never served: Pillow decodes it and writes a new file, which has
the pixels only. So there is no second file type in it, no place, and no script.
"""

import os
import re
import secrets
from io import BytesIO
from typing import Any, NamedTuple

from django.conf import settings
from django.http import HttpResponse
from PIL import Image, ImageFile, ImageOps

from accounts.errors import InvalidSetting
from accounts.models.accounts import Account
from affiliate_site import http_errors

PREFIX = "/creatives/"
MAX_BYTES = 2 * 1024 * 1024
MAX_SIDE = 4096  # pixels
MAX_PIXELS = 5_000_000  # in all; each takes memory while the image is written
SIZE_RULE = (
    f"at most {MAX_SIDE} pixels wide and high, and of {MAX_PIXELS // 10**6} million pixels in all"
)
MEDIA_TYPES = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp"}
# What is accepted, and as what it is stored: the ending and Pillow's name.
FORMATS = {
    "PNG": ("png", "PNG"),
    "JPEG": ("jpg", "JPEG"),
    "WEBP": ("webp", "WEBP"),
    "GIF": ("png", "PNG"),
}
FILE_NAME = re.compile(r"[0-9a-f]{32}\.(png|jpg|webp)")
SVG = re.compile(rb"<\s*(\?xml|!doctype\s+svg|svg)", re.IGNORECASE)
CACHE_CONTROL = "public, max-age=31536000, immutable"  # a name has one content
CONTENT_SECURITY_POLICY = "default-src 'none'; sandbox"
SAVE_OPTIONS: dict[str, dict[str, Any]] = {
    "PNG": {"optimize": True},
    "JPEG": {"quality": 88, "optimize": True},
    "WEBP": {"quality": 88},
}


class EncodedImage(NamedTuple):
    """The content of a file, its ending, and the size in pixels."""

    content: bytes
    ending: str
    width: int
    height: int


def encode_image(data: bytes) -> EncodedImage:
    """Decode an image and write it anew; raise `InvalidSetting` if it is refused.

    The size is checked before the pixels are decoded: a small file can be a huge image.
    """
    if len(data) > MAX_BYTES:
        raise refuse(f"at most {MAX_BYTES // 1024**2} MB")
    # Importing WeasyPrint sets it for the whole process.
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    try:
        with Image.open(BytesIO(data), formats=tuple(FORMATS)) as image:
            ending, name = FORMATS[str(image.format)]
            if max(image.size) > MAX_SIDE or image.width * image.height > MAX_PIXELS:
                raise refuse(SIZE_RULE)
            if getattr(image, "is_animated", False):
                raise refuse("one picture: animations are not accepted")
            pixels = copy_pixels(image, has_alpha=name != "JPEG")
    except InvalidSetting:
        raise
    except Image.DecompressionBombError as error:
        raise refuse(SIZE_RULE) from error
    except Exception as error:  # decoders raise errors of any kind
        if SVG.search(data[:1024]):
            raise refuse(
                "a PNG, JPEG, GIF or WebP; an SVG can hold scripts: export it as PNG"
            ) from error
        raise refuse("a PNG, JPEG, GIF or WebP that is not damaged") from error
    content = encode_pixels(pixels, name)
    return EncodedImage(content, ending, *pixels.size)


def encode_pixels(pixels: Image.Image, name: str) -> bytes:
    """Return the file to store; a lossless one of 19 kB can become one of 11 MB."""
    file = BytesIO()
    pixels.save(file, format=name, **SAVE_OPTIONS[name])
    if file.tell() > MAX_BYTES:
        raise refuse(
            f"at most {MAX_BYTES // 1024**2} MB after it is saved again, and has"
            f" {file.tell() / 1024**2:.1f} MB: use fewer pixels or a JPEG"
        )
    return file.getvalue()


def refuse(rule: str) -> InvalidSetting:
    """Return the error of an image that breaks a rule."""
    return InvalidSetting(setting="The image", rule=rule, path="image")


def copy_pixels(image: Image.Image, *, has_alpha: bool) -> Image.Image:
    """Return the pixels, turned upright, without anything else of the file."""
    is_transparent = has_alpha and image.has_transparency_data
    pixels = image.convert("RGBA" if is_transparent else "RGB")
    ImageOps.exif_transpose(pixels, in_place=True)
    pixels.info.clear()
    return pixels


def store_image(account: Account, image: EncodedImage) -> str:
    """Write the file of an account's image; return its name, a random ID."""
    name = f"{secrets.token_hex(16)}.{image.ending}"
    _write_image(account.slug, name, image.content)
    return name


def _write_image(slug: str, name: str, content: bytes) -> None:
    directory = settings.CREATIVES_DIR / slug
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = directory / f"{name}.part"
    with part.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.rename(directory / name)


def read_image(account: Account, name: str) -> bytes | None:
    """Return the content of an image as it is stored; None if the file is missing."""
    path = settings.CREATIVES_DIR / account.slug / name
    return path.read_bytes() if path.is_file() else None


def restore_image(account: Account, name: str, content: bytes) -> None:
    """Decode and write an image of another installation, under its name there.

    Raises `InvalidSetting` unless it is an image of the type that the name says.
    """
    image = encode_image(content)
    if not FILE_NAME.fullmatch(name) or not name.endswith(f".{image.ending}"):
        raise refuse("named at random, with the ending of its type")
    _write_image(account.slug, name, image.content)


def delete_image(account: Account, name: str) -> None:
    """Remove the file of an image that is not used."""
    (settings.CREATIVES_DIR / account.slug / name).unlink(missing_ok=True)


def build_image_url(account: Account, name: str) -> str:
    """Return the path of an image; it needs no sign-in."""
    return f"{PREFIX}{account.slug}/{name}"


@http_errors.allow_methods("GET", "HEAD")
def serve_image(request, account: str, name: str) -> HttpResponse:
    """Serve an image, also on the pages of affiliates; archived ones, too."""
    path = settings.CREATIVES_DIR / account / name
    if not FILE_NAME.fullmatch(name) or not path.is_file():
        return http_errors.not_found(request)
    media_type = MEDIA_TYPES[name.rpartition(".")[2]]
    response = send_image(path.read_bytes(), media_type, CACHE_CONTROL)
    response["Cross-Origin-Resource-Policy"] = "cross-origin"
    response["Content-Disposition"] = "inline"
    return response


def send_image(content: bytes, media_type: str, cache_control: str) -> HttpResponse:
    """Return a stored file of a fixed type; the browser runs nothing that is in it."""
    headers = {"Cache-Control": cache_control}
    response: Any = HttpResponse(content, content_type=media_type, headers=headers)
    response.is_sandboxed = True  # `ResponseHeadersMiddleware` sets the policy
    return response
