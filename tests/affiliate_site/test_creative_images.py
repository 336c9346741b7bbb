"""Images of creatives: nothing of an upload but its pixels is ever served."""

import struct
import zlib
from io import BytesIO

import pytest
from django.test import Client
from PIL import Image, PngImagePlugin

from accounts.errors import InvalidSetting
from affiliate_site.creative_images import (
    MAX_BYTES,
    MAX_PIXELS,
    MAX_SIDE,
    build_image_url,
    delete_image,
    encode_image,
    store_image,
)

HTML = b"<html><script>alert(1)</script></html>"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
GIF_OF_65535 = b"GIF89a\xff\xff\xff\xff\x80\x00\x00\x00\x00\x00\xff\xff\xff" + (
    b",\x00\x00\x00\x00\xff\xff\xff\xff\x00\x02\x02D\x01\x00;"
)


def make_image(kind="PNG", size=(8, 4), mode="RGB", **options):
    file = BytesIO()
    Image.new(mode, size, "red").save(file, format=kind, **options)
    return file.getvalue()


def make_animation(kind):
    frames = [Image.new("RGB", (4, 4), color) for color in ("red", "blue")]
    file = BytesIO()
    frames[0].save(file, format=kind, save_all=True, append_images=frames[1:])
    return file.getvalue()


def make_png_bomb(side):
    """A PNG of a few kilobytes whose pixels fill gigabytes."""

    def chunk(kind, data):
        crc = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + crc

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(10_000_000), 9)
    start = b"\x89PNG\r\n\x1a\n"
    return start + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("kind", "ending", "media_kind"),
    [
        ("PNG", "png", "PNG"),
        ("JPEG", "jpg", "JPEG"),
        ("WEBP", "webp", "WEBP"),
        ("GIF", "png", "PNG"),
    ],
)
def test_writes_images_anew(kind, ending, media_kind):
    encoded = encode_image(make_image(kind))
    assert (encoded.ending, encoded.width, encoded.height) == (ending, 8, 4)
    assert Image.open(BytesIO(encoded.content)).format == media_kind


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "LA", "CMYK"])
def test_takes_all_colors(mode):
    kind = "JPEG" if mode == "CMYK" else "PNG"
    with Image.open(BytesIO(encode_image(make_image(kind, mode=mode)).content)) as image:
        assert image.mode == ("RGBA" if "A" in mode else "RGB")


def test_keeps_transparency():
    data = make_image(mode="RGBA", size=(2, 2))
    with Image.open(BytesIO(data)) as image:
        image.putpixel((0, 0), (0, 0, 0, 0))
        file = BytesIO()
        image.save(file, format="PNG")
    with Image.open(BytesIO(encode_image(file.getvalue()).content)) as image:
        assert image.getpixel((0, 0)) == (0, 0, 0, 0)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_drops_everything_but_the_pixels(kind):
    exif = Image.Exif()
    exif[0x010E] = "zz-secret"  # a description
    exif[0x0112] = 6  # turned to the right
    notes = PngImagePlugin.PngInfo()
    notes.add_text("zz-secret", HTML.decode())
    options = {
        "PNG": {"exif": exif, "pnginfo": notes, "icc_profile": b"zz-secret"},
        "JPEG": {"exif": exif, "comment": HTML, "icc_profile": b"zz-secret"},
        "WEBP": {"exif": exif, "xmp": HTML, "icc_profile": b"zz-secret"},
        "GIF": {"comment": HTML},
    }[kind]
    data = make_image(kind, **options) + HTML + b"zz-secret"
    assert b"zz-secret" in data

    encoded = encode_image(data)

    assert b"zz-secret" not in encoded.content
    assert b"script" not in encoded.content
    expected = (8, 4) if kind == "GIF" else (4, 8)
    assert (encoded.width, encoded.height) == expected


@pytest.fixture
def lenient(monkeypatch):
    """The process has made a PDF before."""
    monkeypatch.setattr("PIL.ImageFile.LOAD_TRUNCATED_IMAGES", True)


@pytest.mark.usefixtures("lenient")
@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (SVG, "a PNG, JPEG, GIF or WebP; an SVG can hold scripts: export it as PNG"),
        (b"\n<?xml version='1.0'?>" + SVG, "an SVG can hold scripts"),
        (HTML, "a PNG, JPEG, GIF or WebP that is not damaged"),
        (b"GIF89a" + HTML, "that is not damaged"),
        (b"", "that is not damaged"),
        (make_image()[:-30], "that is not damaged"),
        (make_image("BMP"), "a PNG, JPEG, GIF or WebP that is not damaged"),
        (make_image("TIFF"), "a PNG, JPEG, GIF or WebP that is not damaged"),
        (make_image("ICO", size=(16, 16)), "that is not damaged"),
        (make_image(size=(MAX_SIDE + 1, 1)), "at most 4096 pixels wide and high"),
        (make_png_bomb(30_000), "at most 4096 pixels wide and high"),
        (make_png_bomb(8000), "at most 4096 pixels wide and high"),
        (GIF_OF_65535, "at most 4096 pixels wide and high"),
        (make_animation("GIF"), "one picture: animations are not accepted"),
        (make_animation("WEBP"), "one picture: animations are not accepted"),
        (make_animation("PNG"), "one picture: animations are not accepted"),
        (make_image() + bytes(MAX_BYTES), "at most 2 MB"),
        (bytes(5 * 1024 * 1024), "at most 2 MB"),
    ],
)
def test_refuses_what_is_no_plain_image(data, rule):
    with pytest.raises(InvalidSetting) as refused:
        encode_image(data)
    assert refused.value.text.startswith("The image must be ")
    assert rule in refused.value.text


TOO_MANY = (2500, MAX_PIXELS // 2500 + 1)
NOT_DECODED = {
    "png": make_image(size=TOO_MANY),
    "jpeg": make_image("JPEG", TOO_MANY, progressive=True),
    "gif": make_image("GIF", TOO_MANY, mode="P"),
    "webp": make_image("WEBP", TOO_MANY, lossless=True),
    "wide": make_image(size=(MAX_SIDE + 1, 1)),
    "bomb": make_png_bomb(8000),
    **{f"animated {kind}": make_animation(kind) for kind in ("GIF", "WEBP", "PNG")},
}


@pytest.mark.parametrize("name", NOT_DECODED)
def test_what_the_header_refuses_is_not_decoded(monkeypatch, name):
    """A pixel of an image that is decoded and written takes up to 40 bytes."""

    def decode(*arguments, **options):
        raise AssertionError("decoded")

    monkeypatch.setattr("affiliate_site.creative_images.copy_pixels", decode)
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load_prepare", decode)
    monkeypatch.setattr("PIL.WebPImagePlugin.WebPImageFile.load", decode)
    with pytest.raises(InvalidSetting) as refused:
        encode_image(NOT_DECODED[name])
    is_animated = name.startswith("animated")
    rule = "animations are not accepted" if is_animated else "5 million pixels in all"
    assert rule in refused.value.text


@pytest.mark.parametrize("size", [(2500, MAX_PIXELS // 2500), (MAX_SIDE, 1)])
def test_takes_the_largest_image(size):
    encoded = encode_image(make_image(size=size))
    assert (encoded.width, encoded.height) == size


def test_serves_images_safely(account):
    name = store_image(account, encode_image(make_image("GIF")))
    url = build_image_url(account, name)
    response = Client().get(url)
    assert response.status_code == 200
    expected = {
        "Content-Type": "image/png",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Cache-Control": "public, max-age=31536000, immutable",
        "Content-Disposition": "inline",
        "Content-Length": str(len(response.content)),
    }
    assert {name: response[name] for name in expected} == expected
    assert Client().head(url).content == b""
    assert Client().post(url).status_code == 405
    delete_image(account, name)
    assert Client().get(url).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "harbor/" + "a" * 32 + ".png",
        "harbor/../../settings.py",
        "harbor/..%2f..%2fdb.sqlite3",
        "../creatives/a.png",
        "harbor/" + "a" * 32 + ".svg",
        "harbor/" + "a" * 32 + ".png.part",
        "harbor/",
    ],
)
def test_serves_no_other_files(account, path):
    assert Client().get(f"/creatives/{path}").status_code == 404


def test_limits_what_is_stored():
    """Lossless WebP repeats noise in a few bytes, which JPEG and PNG cannot."""
    tile = Image.effect_noise((128, 128), 200).convert("RGB")
    image = Image.new("RGB", (2048, 2048))
    for x in range(0, 2048, 128):
        for y in range(0, 2048, 128):
            image.paste(tile, (x, y))
    file = BytesIO()
    image.save(file, format="WEBP", lossless=True, method=0)
    assert file.tell() < MAX_BYTES // 10

    with pytest.raises(InvalidSetting) as error:
        encode_image(file.getvalue())

    assert "at most 2 MB after it is saved again" in error.value.text
    assert "use fewer pixels or a JPEG" in error.value.text
