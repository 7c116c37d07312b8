#!/usr/bin/env python3
"""Makes tests/golden/pictures: odd picture files, and what Pillow reads in them.

    python3 tests/golden/pictures.py tests/golden/pictures

Needs Pillow (PyPI); stored with 13.0.0. NAME.jpg or NAME.png is the file, NAME.rgb its pixels as
convert("RGB") gives them (24 x 16, rows of RGB). *.bad are files that must be refused, and have no
pixels. tests/unit/trainer/data/codec/test_pictures.c reads them.
"""
import io
import pathlib
import struct
import sys
import zlib

from PIL import Image

WIDTH, HEIGHT = 24, 16


def ground(mode, phase=0):
    """Makes a picture that is smooth in each channel, so that chroma subsampling and the inverse
    DCT cause only small differences."""
    image = Image.new(mode, (WIDTH, HEIGHT))
    count = len(image.getbands())
    image.putdata([
        tuple((x * (3 + c) + y * (7 - c) + 40 * c + phase) % 256 for c in range(count))
        if count > 1 else (x * 5 + y * 3 + phase) % 256
        for y in range(HEIGHT) for x in range(WIDTH)])
    return image


def jpeg(image, **options):
    out = io.BytesIO()
    image.save(out, "JPEG", quality=90, **options)
    return out.getvalue()


def segments(data):
    """Yields (marker, bytes) of each marker segment up to the scan, which is the last one."""
    yield 0xD8, data[:2]
    at = 2
    while True:
        marker = data[at + 1]
        if marker == 0xDA:
            yield marker, data[at:]
            return
        size = 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
        yield marker, data[at:at + size]
        at += size


def without(data, marker):
    return b"".join(part for found, part in segments(data) if found != marker)


def adobe(data, transform):
    """Returns the file with an Adobe marker for TRANSFORM (0: CMYK, 2: YCCK)."""
    mark = b"\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00" + bytes([transform])
    plain = without(data, 0xEE)
    return plain[:2] + mark + plain[2:]


def chunk(kind, data):
    return (struct.pack(">I", len(data)) + kind + data +
            struct.pack(">I", zlib.crc32(kind + data)))


def png(image, gamma=None, interlace=False, **options):
    out = io.BytesIO()
    image.save(out, "PNG", **options)
    data = out.getvalue()
    head = 8 + 12 + 13
    extra = chunk(b"gAMA", struct.pack(">I", gamma)) if gamma else b""
    return data[:head] + extra + data[head:]


def deep():
    """Makes a PNG with 16 bits per channel, of which Pillow takes the high bytes."""
    rows = b"".join(b"\x00" + b"".join(
        struct.pack(">3H", x * 2700, y * 4000, (x + y) * 1500) for x in range(WIDTH))
        for y in range(HEIGHT))
    head = struct.pack(">2I5B", WIDTH, HEIGHT, 16, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) +
            chunk(b"IEND", b""))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    plain = jpeg(ground("RGB"), subsampling=0)
    cmyk = jpeg(ground("CMYK"), subsampling=0)
    files = {
        "cmyk_adobe.jpg": adobe(cmyk, 0),
        "cmyk_bare.jpg": without(cmyk, 0xEE),
        "ycck.jpg": adobe(cmyk, 2),
        "no_huffman_tables.jpg": without(plain, 0xC4),
        "optimized.jpg": jpeg(ground("RGB", 90), subsampling=0, optimize=True),
        "progressive.jpg": jpeg(ground("RGB", 50), subsampling=0, progressive=True),
        "plain.jpg": plain,
        "gray.jpg": jpeg(ground("L")),
        "gama_rgb.png": png(ground("RGB"), gamma=100000),
        "gama_rgba.png": png(ground("RGBA"), gamma=22222),
        "gama_gray.png": png(ground("L"), gamma=100000),
        "gray_alpha.png": png(ground("LA")),
        "palette.png": png(ground("RGB").quantize(16), transparency=3),
        "one_bit.png": png(ground("L").convert("1")),
        "deep.png": deep(),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
        pixels = Image.open(io.BytesIO(data)).convert("RGB").tobytes()
        (folder / name).with_suffix(".rgb").write_bytes(pixels)
    (folder / "no_quantization_tables.bad").write_bytes(without(plain, 0xDB))
    return 0


if __name__ == "__main__":
    sys.exit(main())
