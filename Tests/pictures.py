"""Pictures for tests, made when they are needed."""

import io
import struct
import zlib

from PIL import Image


def halves(width=80, height=40):
    """Left red, right blue: shows which side is up."""
    image = Image.new("RGB", (width, height), (220, 20, 20))
    image.paste((20, 20, 220), (width // 2, 0, width, height))
    return image


def jpeg(image=None, orientation=None, gps=False, comment=None):
    exif = Image.Exif()
    if orientation:
        exif[0x0112] = orientation
    if gps:
        exif[0x010F] = "Camera maker"
        place = exif.get_ifd(0x8825)
        place[1], place[2] = "N", (35.0, 39.0, 31.0)
        place[3], place[4] = "E", (139.0, 44.0, 43.0)
    out = io.BytesIO()
    (image or halves()).save(out, "JPEG", quality=92, exif=exif, comment=comment or b"")
    return out.getvalue()


def encoded(kind, image=None, **options):
    out = io.BytesIO()
    (image or halves()).save(out, kind, **options)
    return out.getvalue()


def opened(data):
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def is_reddish(pixel):
    return pixel[0] > 150 and pixel[2] < 100


def is_bluish(pixel):
    return pixel[2] > 150 and pixel[0] < 100


def png_bomb(width, height):
    """A PNG of a few kilobytes that unpacks to width × height pixels of RGBA."""

    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    packer = zlib.compressobj(9)
    row = b"\0" * (1 + width * 4)
    rows = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def jpeg_that_claims(width, height):
    """A small JPEG whose frame header says that it is very large."""
    data = bytearray(jpeg())
    at = data.find(b"\xff\xc0")
    data[at + 5:at + 9] = struct.pack(">HH", height, width)
    return bytes(data)
