# cases_image — image files to pixels and back, sizes, colours, boxes: TensorFlow's pixels.
import base64
import struct
import zlib

import numpy as np

from cases import bfloat16, boolean, case, f16, f32, f64, i8, i16, i32, i64, ints, rng, script, u8, u16, values


def picture(height, width, channels, key=0, kind=u8):
    """Something like a photograph: slopes, edges and a little noise."""
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(channels), indexing="ij")
    wave = 96 + 70 * np.sin(x / 5.0 + c) + 50 * np.cos(y / 7.0 - c) + 30 * ((x + y) // 9 % 2)
    most = np.iinfo(kind).max
    noise = rng("picture", height, width, channels, key).uniform(-6, 6, (height, width, channels))
    return (np.clip(wave + noise, 0, 255) / 255 * most).astype(kind)


def scalar(data):
    return np.array(data, object)


# ---------------------------------------- files by hand

def png_chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width, height, depth, color, more=b"", rows=None, interlaced=0, key=0):
    """Rows without filters; random samples. `more` are chunks in front of the pixels."""
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color]
    random = rng("png", width, height, depth, color, key)
    raw = b""
    passes = [(0, 0, 1, 1)]
    if interlaced:
        passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    for top, left, down, right in passes:
        across, lines = -(-(width - left) // right), -(-(height - top) // down)
        for _ in range(lines if across > 0 else 0):
            raw += bytes([0]) + random.bytes((across * channels * depth + 7) // 8)
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + more + png_chunk(b"IDAT", zlib.compress(raw)) + png_chunk(b"IEND", b"")


PALETTE = png_chunk(b"PLTE", bytes(range(0, 240, 5))[:48])
WIDE_PALETTE = png_chunk(b"PLTE", bytes(i * 7 % 256 for i in range(768)))
FILES = {"grey%d" % d: png(9, 5, d, 0) for d in (1, 2, 4, 8, 16)}
FILES.update({"rgb%d" % d: png(9, 5, d, 2) for d in (8, 16)})
FILES.update({"greya%d" % d: png(9, 5, d, 4) for d in (8, 16)})
FILES.update({"rgba%d" % d: png(9, 5, d, 6) for d in (8, 16)})
FILES.update({"palette%d" % d: png(9, 5, d, 3, WIDE_PALETTE if d == 8 else PALETTE[:4] and png_chunk(b"PLTE", bytes(range(3 * 2 ** d))))
              for d in (1, 2, 4, 8)})
FILES["clear_palette"] = png(9, 5, 8, 3, WIDE_PALETTE + png_chunk(b"tRNS", bytes([0, 128, 7])))
FILES["clear_grey"] = png(9, 5, 4, 0, png_chunk(b"tRNS", b"\x00\x03"))
FILES["clear_rgb"] = png(9, 5, 8, 2, png_chunk(b"tRNS", b"\x00\x03\x00\x05\x00\x07"))
FILES["interlaced"] = png(11, 13, 8, 2, interlaced=1)
FILES["interlaced_grey"] = png(5, 3, 2, 0, interlaced=1)
FILES["gamma"] = png(9, 5, 8, 2, png_chunk(b"gAMA", struct.pack(">I", 45455)))
FILES["srgb"] = png(9, 5, 8, 2, png_chunk(b"sRGB", b"\0"))

for name, data in sorted(FILES.items()):
    for channels in (0, 1, 3, 4):
        for kind in ("uint8", "uint16"):
            case("DecodePng", scalar(data), attrs=dict(channels=channels, dtype=kind), label="%s channels=%d %s" % (name, channels, kind))
        case("DecodeImage", scalar(data), attrs=dict(channels=channels, dtype="float"), label="%s channels=%d float" % (name, channels))
    case("DecodeJpeg", scalar(data), label=name)
    case("DecodeGif", scalar(data), label=name)
    case("DecodeBmp", scalar(data), error=True, label=name)
    case("DecodeAndCropJpeg", scalar(data), ints(0, 0, 1, 1), error=True, label=name)
for cut in (0, 4, 8, 20, 33, 40, 60, -13, -5):
    case("DecodePng", scalar(FILES["rgb8"][:cut]), label="cut %d" % cut, error=cut != -13)
case("DecodePng", scalar(FILES["rgb8"].replace(b"IDAT", b"IDAU")), label="bad chunk", error=True)
case("DecodePng", scalar(png(1 << 26, 1 << 20, 8, 2)[:60] if False else FILES["rgb8"][:16] + b"\x7f\xff\xff\xff" + FILES["rgb8"][20:]), label="huge", error=True)
case("DecodePng", np.array([FILES["rgb8"]], object), error=True, label="a vector")
case("DecodePng", scalar(FILES["rgb8"]), attrs=dict(channels=2), error=True, label="channels=2")
case("DecodePng", scalar(b"nothing"), error=True, label="nothing")


def bmp(width, height, depth, offset=54, more=0):
    row = (depth // 8 * width + 3) // 4 * 4
    data = rng("bmp", width, height, depth).bytes(max(0, row) * abs(height) + more)
    head = b"BM" + struct.pack("<IIIIiiHHIIiiII", offset + len(data), 0, offset, 40, width, height, 1, depth, 0, len(data), 0, 0, 0, 0)
    return head[:offset] + bytes(max(0, offset - len(head))) + data


for depth in (8, 24, 32):
    for width in (1, 3, 4, 7):
        for height in (5, -5):
            for channels in (0, 3, 4):
                case("DecodeBmp", scalar(bmp(width, height, depth)), attrs=dict(channels=channels),
                     label="%d by %d, %d bits, channels=%d" % (width, height, depth, channels))
    case("DecodeImage", scalar(bmp(3, 5, depth)), attrs=dict(dtype="float"), label="bmp float %d" % depth)
    case("DecodeImage", scalar(bmp(3, 5, depth)), attrs=dict(dtype="uint16"), label="bmp uint16 %d" % depth)
    case("DecodeBmp", scalar(bmp(3, 5, depth, 138)), label="long header %d" % depth)
    case("DecodeBmp", scalar(bmp(3, 5, depth, more=1)), label="a byte more %d" % depth, error=True)
    case("DecodeBmp", scalar(bmp(3, 5, depth)[:-1]), label="a byte less %d" % depth, error=True)
for label, data in (("16 bits", bmp(3, 5, 16)), ("no width", bmp(0, 5, 24)), ("negative width", bmp(-3, 5, 24)[:80]), ("no height", bmp(3, 0, 24)),
                    ("short", b"BM" + bytes(20)), ("header only", bmp(3, 5, 24)[:54]), ("negative offset", bmp(3, 5, 24)[:10] + b"\xff" * 4 + bmp(3, 5, 24)[14:])):
    case("DecodeBmp", scalar(data), label=label, error=True)
case("DecodeBmp", scalar(bmp(3, 5, 24)), attrs=dict(channels=1), error=True, label="channels=1")
case("DecodePng", scalar(bmp(3, 5, 24)), error=True, label="a bmp")
case("DecodeJpeg", scalar(bmp(3, 5, 24)), error=True, label="a bmp")


def lzw(indices, size):
    """Codes of GIF's LZW; the table is cleared when it is full."""
    clear, out, bits, n_bits = 1 << size, bytearray(), 0, 0
    table, width = {}, size + 1

    def put(code):
        nonlocal bits, n_bits
        bits |= code << n_bits
        n_bits += width
        while n_bits >= 8:
            out.append(bits & 255)
            bits, n_bits = bits >> 8, n_bits - 8

    def reset():
        nonlocal table, width
        table, width = {bytes([i]): i for i in range(clear)}, size + 1

    reset()
    put(clear)
    run = b""
    for index in indices:
        longer = run + bytes([index])
        if longer in table:
            run = longer
            continue
        put(table[run])
        if len(table) + 2 < 4096:
            table[longer] = len(table) + 2
            if len(table) + 2 > 1 << width and width < 12:
                width += 1
        else:
            put(clear)
            reset()
        run = bytes([index])
    put(table[run])
    put(clear + 1)
    if n_bits:
        out.append(bits & 255)
    return bytes(out)


def gif_frame(left, top, width, height, size, own=False, interlaced=False, clear=None, key=0):
    indices = rng("gif", left, top, width, height, size, key).randint(0, 1 << size, width * height)
    if key == "flat":
        indices[:] = 1
    data = lzw(indices.tolist(), max(size, 2))
    out = b""
    if clear is not None:
        out += b"!\xf9\x04\x01\x05\x00" + bytes([clear]) + b"\x00"
    out += b"," + struct.pack("<HHHHB", left, top, width, height, (0x80 | size - 1 if own else 0) | (0x40 if interlaced else 0))
    if own:
        out += bytes((i * 37 + 11) % 256 for i in range(3 << size))
    out += bytes([max(size, 2)])
    for i in range(0, len(data), 255):
        out += bytes([len(data[i:i + 255])]) + data[i:i + 255]
    return out + b"\0"


def gif(width, height, frames, size=3, colors=True):
    head = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80 | size - 1 if colors else 0, 0, 0)
    if colors:
        head += bytes((i * 53 + 7) % 256 for i in range(3 << size))
    return head + b"!\xfe\x05hello\0" + b"".join(frames) + b";"


GIFS = {
    "one": gif(7, 5, [gif_frame(0, 0, 7, 5, 3)]),
    "colors": gif(40, 30, [gif_frame(0, 0, 40, 30, 8)], size=8),
    "long": gif(200, 100, [gif_frame(0, 0, 200, 100, 4)], size=4),
    "flat": gif(300, 200, [gif_frame(0, 0, 300, 200, 2, key="flat")], size=2),
    "two colors": gif(9, 9, [gif_frame(0, 0, 9, 9, 1)], size=1),
    "own colors": gif(7, 5, [gif_frame(0, 0, 7, 5, 3, own=True)], colors=False),
    "interlaced": gif(7, 21, [gif_frame(0, 0, 7, 21, 3, interlaced=True)]),
    "film": gif(7, 5, [gif_frame(0, 0, 7, 5, 3), gif_frame(1, 2, 3, 2, 3, key=1), gif_frame(0, 0, 7, 5, 3, clear=2, key=2)]),
    "clear first": gif(7, 5, [gif_frame(0, 0, 7, 5, 3, clear=1), gif_frame(0, 0, 7, 5, 3, clear=3, key=1)]),
    "small first": gif(7, 5, [gif_frame(1, 1, 3, 2, 3), gif_frame(0, 0, 7, 5, 3, key=1)]),
    "beyond": gif(7, 5, [gif_frame(3, 3, 7, 5, 3)]),
    "larger than the screen": gif(2, 2, [gif_frame(0, 0, 7, 5, 3)]),
}
for name, data in sorted(GIFS.items()):
    many = name in ("film", "clear first", "small first")
    case("DecodeGif", scalar(data), label=name)
    case("DecodePng", scalar(data), label=name, error=many)
    case("DecodeJpeg", scalar(data), label=name, error=many)
    for expand in (False, True):
        for kind in ("uint8", "uint16", "float"):
            case("DecodeImage", scalar(data), attrs=dict(dtype=kind, expand_animations=expand), label="%s %s %s" % (name, kind, expand))
case("DecodeGif", scalar(gif(7, 5, [gif_frame(0, 0, 7, 5, 3)], colors=False)), label="no colors", error=True)
case("DecodeGif", scalar(gif(7, 5, [gif_frame(0, 0, 7, 5, 3)], size=2)), label="too few colors", error=True)
case("DecodeGif", scalar(gif(7, 5, [])), label="no frame", error=True)
case("DecodeImage", scalar(GIFS["one"]), attrs=dict(channels=1), label="channels=1", error=True)
case("DecodeImage", scalar(GIFS["one"]), attrs=dict(channels=4), label="channels=4", error=True)
for cut in (5, 12, 30, 45, -1, -3, -10):
    case("DecodeGif", scalar(GIFS["one"][:cut]), label="cut %d" % cut, error=cut != -1)
    case("DecodeGif", scalar(GIFS["film"][:cut]), label="film cut %d" % cut, error=0 < cut)

# ---------------------------------------- JPEG

CMYK = base64.b64decode(
    "/9j/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYVpQYEpRUk//wAAUCAAHAAkEQxEATREAWREASxEA/8QA"
    "HwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRol"
    "JicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ"
    "2uHi4+Tl5ufo6erx8vP09fb3+Pn6/90ABAAB/9oADgRDAE0AWQBLAAA/AGTJH4dghsrFFbUrhNyswysKZI3ehOQcD2yfQsuJpPtR0fRHaAQPtuLhDtdnU8qp6gAjk9/p"
    "95tstz4iuhHEWt9NX5Utw2N4yDufHBOQDjoO3clIIpJYJda16dnhh+YRpyseSAFRc4GTtH6k9TX/0Jftvif/AKCa/wDgPF/8TS/8IXH/AHVpn23wh/0E1/8AAeX/AOJq"
    "v/wlMf8A0L6/+Bn/ANhX/9k=")
YCCK = base64.b64decode(
    "/9j/7gAOQWRvYmUAZAAAAAAC/9sAQwANCQoLCggNCwoLDg4NDxMgFRMSEhMnHB4XIC4pMTAuKS0sMzpKPjM2RjcsLUBXQUZMTlJTUjI+WmFaUGBKUVJP/9sAQwEODg4T"
    "ERMmFRUmTzUtNU9PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09P/8AAFAgABwAJBAEiAAIRAQMRAQQiAP/EAB8AAAEFAQEBAQEB"
    "AAAAAAAAAAABAgMEBQYHCAkKC//EALUQAAIBAwMCBAMFBQQEAAABfQECAwAEEQUSITFBBhNRYQcicRQygZGhCCNCscEVUtHwJDNicoIJChYXGBkaJSYnKCkqNDU2Nzg5"
    "OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6g4SFhoeIiYqSk5SVlpeYmZqio6Slpqeoqaqys7S1tre4ubrCw8TFxsfIycrS09TV1tfY2drh4uPk5ebn6Onq"
    "8fLz9PX29/j5+v/EAB8BAAMBAQEBAQEBAQEAAAAAAAABAgMEBQYHCAkKC//EALURAAIBAgQEAwQHBQQEAAECdwABAgMRBAUhMQYSQVEHYXETIjKBCBRCkaGxwQkjM1Lw"
    "FWJy0QoWJDThJfEXGBkaJicoKSo1Njc4OTpDREVGR0hJSlNUVVZXWFlaY2RlZmdoaWpzdHV2d3h5eoKDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLD"
    "xMXGx8jJytLT1NXW19jZ2uLj5OXm5+jp6vLz9PX29/j5+v/dAAQAAf/aAA4EAQACEQMRBAAAPwB0KLNE2p6oBKjDMcRGRgjv+B/yekf9sx/88G/77P8AjRRXZg8HDFVK"
    "kJNpQsklp3/yHCEKsFUqRUm77q/3dhIIpJYJda16dnhh+YRpyseSAFRc4GTtH6k9TUH/AAlMf/Qvr/4Gf/YUUV//2Q==")
for name, data in (("cmyk", CMYK), ("ycck", YCCK)):
    for ratio in (1, 2):
        case("DecodeJpeg", scalar(data), attrs=dict(ratio=ratio), label="%s ratio=%d" % (name, ratio))
    case("DecodeJpeg", scalar(data), attrs=dict(channels=1), label=name + " grey", error=name == "cmyk")
    case("DecodeAndCropJpeg", scalar(data), ints(1, 2, 4, 5), label=name)
    case("ExtractJpegShape", scalar(data), label=name)
    for cut in (10, 200, len(data) - 2, len(data) - 30, len(data) - 80):
        for recover in (False, True):
            case("DecodeJpeg", scalar(data[:cut]), attrs=dict(try_recover_truncated=recover, acceptable_fraction=0.1), label="%s cut %d %s" % (name, cut, recover),
                 error=cut <= 200)
for attrs in (dict(ratio=3), dict(channels=4), dict(channels=2), dict(dct_method="FLOAT")):
    case("DecodeJpeg", scalar(CMYK), attrs=attrs, error=True)
case("DecodeAndCropJpeg", scalar(CMYK), ints(1, 2, 7, 5), error=True, label="window too high")
case("DecodeAndCropJpeg", scalar(CMYK), ints(1, 2, 0, 5), error=True, label="window of no rows")
case("DecodeAndCropJpeg", scalar(CMYK), ints(1, 2, 3), error=True, label="window of three")
case("ExtractJpegShape", scalar(b"nothing"), error=True, label="nothing")

SETTINGS = [dict(), dict(quality=50), dict(progressive=True), dict(optimize_size=True), dict(chroma_downsampling=False), dict(quality=100),
            dict(quality=0), dict(density_unit="cm", x_density=72, y_density=100), dict(xmp_metadata="some words"),
            dict(progressive=True, chroma_downsampling=False, quality=75)]
READS = [dict(), dict(dct_method="INTEGER_ACCURATE"), dict(dct_method="INTEGER_FAST"), dict(fancy_upscaling=False), dict(ratio=2), dict(ratio=4),
         dict(ratio=8), dict(channels=1), dict(channels=3), dict(ratio=2, fancy_upscaling=False, dct_method="INTEGER_ACCURATE")]

for settings in SETTINGS:
    for height, width, channels in ((16, 16, 3), (33, 47, 3), (33, 47, 1), (1, 1, 3), (8, 100, 3)):
        @script("EncodeJpeg", label="%dx%dx%d %s" % (height, width, channels, settings))
        def encode_jpeg(tf, settings=settings, size=(height, width, channels)):
            data = tf.raw_ops.EncodeJpeg(image=picture(*size), **settings)
            reads = [tf.raw_ops.DecodeJpeg(contents=data, **read) for read in READS]
            reads += [tf.raw_ops.ExtractJpegShape(contents=data, output_type=kind) for kind in (tf.int32, tf.int64)]
            reads += [tf.raw_ops.DecodeImage(contents=data, dtype=kind) for kind in (tf.uint8, tf.uint16, tf.float32)]
            reads += [tf.raw_ops.DecodeGif(contents=data), tf.raw_ops.DecodePng(contents=data)]
            return [([data] + reads, {}, [])]

for settings in (dict(), dict(progressive=True), dict(chroma_downsampling=False)):
    @script("DecodeAndCropJpeg", label="windows %s" % settings)
    def crops(tf, settings=settings):
        data = tf.raw_ops.EncodeJpeg(image=picture(61, 83, 3), **settings)
        windows = [(0, 0, 61, 83), (0, 0, 1, 1), (60, 82, 1, 1), (5, 17, 20, 30), (16, 16, 16, 16), (13, 40, 48, 43), (1, 0, 60, 83)]
        reads = [tf.raw_ops.DecodeAndCropJpeg(contents=data, crop_window=window, **read) for window in windows
                 for read in (dict(), dict(channels=1), dict(dct_method="INTEGER_ACCURATE"), dict(fancy_upscaling=False))]
        reads += [tf.raw_ops.DecodeAndCropJpeg(contents=data, crop_window=(3, 5, 20, 30), ratio=2)]
        return [(reads, {}, [])]

    for part in (0.3, 0.6, 0.9, 0.99):
        for recover in (False, True):
            @script("DecodeJpeg", label="cut at %g, recover=%s %s" % (part, recover, settings))
            def cut_short(tf, settings=settings, part=part, recover=recover):
                data = tf.raw_ops.EncodeJpeg(image=picture(61, 83, 3), **settings)
                length = tf.cast(tf.cast(tf.strings.length(data), tf.float32) * part, tf.int32)
                data = tf.strings.substr(data, 0, length)
                loose = {"error": True}
                return [([tf.raw_ops.DecodeJpeg(contents=data, try_recover_truncated=recover, acceptable_fraction=least)], {}, [], loose)
                        for least in (0.0, 0.5, 1.0)]

for quality in (0, 50, 95, 100):
    for channels in (1, 3):
        case("EncodeJpegVariableQuality", picture(20, 30, channels), np.array(quality, i32), label="quality=%d channels=%d" % (quality, channels))
case("EncodeJpegVariableQuality", picture(4, 4, 3), np.array(101, i32), error=True)
case("EncodeJpegVariableQuality", picture(4, 4, 2), np.array(10, i32), error=True)
case("EncodeJpeg", picture(4, 4, 2), error=True)
case("EncodeJpeg", picture(4, 4, 3), attrs=dict(format="grayscale"), error=True)
case("EncodeJpeg", picture(4, 4, 1), attrs=dict(format="grayscale"))
case("EncodeJpeg", picture(4, 4, 3), attrs=dict(format="rgb"))
case("EncodeJpeg", picture(4, 4, 3), attrs=dict(quality=101), error=True)
case("EncodeJpeg", picture(4, 4, 3)[0], error=True)
case("EncodeJpeg", picture(0, 4, 3), error=True)

for kind in (u8, u16):
    for channels in (1, 2, 3, 4):
        for shape in ((1, 1), (13, 21), (100, 60)):
            for compression in (-1, 0, 1, 9):
                case("EncodePng", picture(*shape, channels, kind=kind), attrs=dict(compression=compression))
    case("EncodePng", np.stack([picture(5, 6, 3, key, kind) for key in range(4)]).reshape(2, 2, 5, 6, 3))
case("EncodePng", picture(5, 6, 5), error=True)
case("EncodePng", picture(5, 6, 3)[0], error=True)
case("EncodePng", picture(0, 6, 3), error=True)
case("EncodePng", picture(5, 6, 3), attrs=dict(compression=10), error=True)

# ---------------------------------------- sizes

SIZED = [d for d in (i8, u8, i16, u16, i32, i64, f16, f32, f64, bfloat16) if d is not None]
SIZES = [((1, 4, 5, 3), (7, 9)), ((2, 7, 6, 1), (3, 4)), ((1, 1, 1, 2), (3, 1)), ((1, 9, 3, 4), (1, 1)), ((3, 5, 8, 3), (5, 8)),
         ((1, 40, 30, 3), (17, 51)), ((0, 4, 4, 3), (2, 2)), ((1, 6, 6, 3), (12, 3))]
for op in ("ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor", "ResizeArea"):
    ways = [dict(align_corners=False), dict(align_corners=True)]
    if op != "ResizeArea":
        ways.append(dict(half_pixel_centers=True))
    for shape, size in SIZES:
        for attrs in ways:
            for kind in SIZED if shape[1] == 4 else [u8, f32]:
                differentiable = op in ("ResizeBicubic", "ResizeBilinear") and kind in (f32, f64) or op == "ResizeNearestNeighbor" and kind == f32
                case(op, values(kind, shape, -100, 100), ints(*size), attrs=attrs, const=(1,), grad=differentiable and 0 not in shape)
    case(op, values(f32, (1, 4, 4)), ints(2, 2), error=True)
    case(op, values(f32, (1, 4, 4, 1)), ints(0, 2), error=True)
    case(op, values(f32, (1, 4, 4, 1)), ints(-1, 2), error=True)
    case(op, values(f32, (1, 0, 4, 1)), ints(1, 2), error=True)
    case(op, values(f32, (1, 4, 4, 1)), ints(1, 2, 3), error=True)
for op in ("ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor"):
    case(op, values(f32, (1, 4, 4, 1)), ints(2, 2), attrs=dict(align_corners=True, half_pixel_centers=True), error=True)
for kind in (f32, f64):
    for attrs in (dict(), dict(align_corners=True), dict(half_pixel_centers=True)):
        case("ResizeBicubicGrad", values(f32, (2, 7, 5, 3)), values(kind, (2, 4, 6, 3)), attrs=attrs)
        case("ResizeBilinearGrad", values(f32, (2, 7, 5, 3)), values(kind, (2, 4, 6, 3)), attrs=attrs)

KERNELS = ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic")
MOVES = [((2.0, 3.0), (0.0, 0.0)), ((0.5, 0.3), (0.0, 0.0)), ((1.0, 1.0), (1.5, -2.25)), ((1.7, 0.4), (-1.0, 3.0)), ((1.0, 1.0), (100.0, 0.0))]
for kind_name in KERNELS:
    for antialias in (True, False):
        for scale, move in MOVES:
            case("ScaleAndTranslate", values(f32, (2, 9, 7, 3)), ints(6, 11), np.array(scale, f32), np.array(move, f32), const=(1,),
                 attrs=dict(kernel_type=kind_name, antialias=antialias), grad=True)
for kind in SIZED:
    case("ScaleAndTranslate", values(kind, (1, 5, 6, 2), -50, 50), ints(7, 4), np.array([1.4, 0.7], f32), np.array([0.5, 0.25], f32), const=(1,))
case("ScaleAndTranslate", values(f32, (1, 5, 6, 2)), ints(7, 4), np.array([0, 1], f32), np.array([0, 0], f32), const=(1,), error=True)
case("ScaleAndTranslate", values(f32, (1, 5, 6, 2)), ints(7, 4), np.array([1, 1], f32), np.array([0, 0], f32), const=(1,), attrs=dict(kernel_type="none"), error=True)
case("ScaleAndTranslate", values(f32, (1, 5, 6, 2)), ints(7, 4), np.array([1, 1, 1], f32), np.array([0, 0], f32), const=(1,), error=True)
case("ScaleAndTranslateGrad", values(f32, (1, 5, 6, 2)), values(f32, (1, 3, 4, 2)), np.array([1.5, 1.5], f32), np.array([0, 0], f32))

BOXES = np.array([[0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], [-0.3, 0.5, 0.5, 1.4], [0.8, 0.8, 0.2, 0.1], [0.5, 0.5, 0.5, 0.5]], f32)
WHICH = np.array([0, 1, 1, 0, 1], i32)
for method in ("bilinear", "nearest"):
    for size in ((3, 4), (1, 1), (8, 2)):
        for kind in (u8, u16, i8, i16, i32, i64, f16, f32, f64):
            case("CropAndResize", values(kind, (2, 6, 7, 3), -40, 40), BOXES, WHICH, ints(*size), attrs=dict(method=method, extrapolation_value=7.0),
                 const=(3,), grad=kind == f32 and method == "bilinear", tol=2e-4 if kind == f32 else None)
        for kind in ("float32", "float64", "half"):
            case("CropAndResizeGradImage", values(f32, (5,) + size + (3,)), BOXES, WHICH, ints(2, 6, 7, 3), const=(3,), attrs=dict(T=kind, method=method))
for kind in (u8, u16, i8, i16, i32, i64, f16, f32, f64):
    for size in ((3, 4), (1, 1)):
        case("CropAndResizeGradBoxes", values(f32, (5,) + size + (3,)), values(kind, (2, 6, 7, 3), -9, 9), BOXES, WHICH)
case("CropAndResizeGradImage", values(f32, (5, 2, 2, 3)), BOXES, WHICH + 1, ints(2, 6, 7, 3), const=(3,), attrs=dict(T="float32"), error=True)
case("CropAndResizeGradImage", values(f32, (5, 2, 2, 2)), BOXES, WHICH, ints(2, 6, 7, 3), const=(3,), attrs=dict(T="float32"), error=True)
case("CropAndResizeGradBoxes", values(f32, (4, 2, 2, 3)), values(f32, (2, 6, 7, 3)), BOXES, WHICH, error=True)

# ---------------------------------------- colours

for kind in [d for d in (f32, f64, f16, bfloat16) if d is not None]:
    for shape in ((3,), (5, 3), (2, 4, 5, 3), (0, 3), (300, 3)):
        case("RGBToHSV", values(kind, shape, 0, 1), grad=kind in (f32, f64) and 0 not in shape, tol=1e-4 if kind == f32 else None)
        case("HSVToRGB", values(kind, shape, 0, 1))
    case("RGBToHSV", np.array([[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1], [0.5, 0.5, 0.25]]).astype(kind))
    case("HSVToRGB", np.array([[0, 0, 0], [1, 1, 1], [0.5, 0, 1], [1.5, 1, 1], [-0.25, 0.5, 2], [1 / 6, 1, 1]]).astype(kind))
    case("RGBToHSV", values(kind, (5, 4)), error=True)
for shape in ((1, 1, 3), (4, 5, 3), (2, 7, 3, 3), (0, 4, 3), (60, 50, 3)):
    for by in (0.0, 0.1, -0.3, 0.9, -1.0, 2.5):
        case("AdjustHue", values(f32, shape, 0, 1), np.array(by, f32))
        case("AdjustSaturation", values(f32, shape, 0, 1), np.array(by, f32))
for shape in ((1, 1, 3), (4, 5, 3), (2, 7, 3, 3), (3, 2, 5, 1), (0, 4, 3), (61, 50, 4), (2, 3, 5, 300), (129, 1, 2)):
    for by in (0.0, 0.5, 2.0, -1.0):
        case("AdjustContrastv2", values(f32, shape, 0, 1), np.array(by, f32))
for op in ("AdjustHue", "AdjustSaturation", "AdjustContrastv2"):
    case(op, values(f32, (4, 3), 0, 1), np.array(0, f32), error=True)
    case(op, values(f32, (4, 4, 3), 0, 1), np.array([0], f32), error=True)

# ---------------------------------------- boxes

DRAWN = np.stack([np.concatenate([BOXES, [[0.2, 0.3, 0.4, 0.5], [-1, -1, 2, 2], [2, 2, 3, 3], [-0.5, 0, 0.5, 1], [0, 0, 0, 1], [1, 1, 1, 1], [0, 0.1, 0.9, 0.3]]])] * 2).astype(f32)
for kind in (f32, f16):
    for channels in (1, 3, 4):
        case("DrawBoundingBoxes", values(kind, (2, 9, 13, channels)), DRAWN)
        for many in (0, 1, 3):
            case("DrawBoundingBoxesV2", values(kind, (2, 9, 13, channels)), DRAWN, values(f32, (many, 4), 0, 1))
case("DrawBoundingBoxes", values(f32, (2, 9, 13, 2)), DRAWN, error=True)
case("DrawBoundingBoxes", values(f32, (1, 9, 13, 3)), DRAWN, error=True)
case("DrawBoundingBoxesV2", values(f32, (2, 9, 13, 3)), DRAWN, values(f32, (2, 2)), error=True)
case("DrawBoundingBoxesV2", values(f32, (2, 9, 13, 3)), DRAWN, values(f32, (3,)), error=True)

for kind in (u8, i8, i16, i32, i64):
    for height, width in ((100, 120), (1, 1), (7, 90)):
        for seed in range(4):
            for least in (0.0, 0.1, 0.9):
                case("StatelessSampleDistortedBoundingBox", np.array([height, width, 3], kind), BOXES[None, :2], np.array(least, f32), ints(seed, 7))
for attrs in (dict(area_range=[0.5, 0.6]), dict(aspect_ratio_range=[0.2, 5.0]), dict(max_attempts=1), dict(aspect_ratio_range=[50.0, 60.0], max_attempts=3),
              dict(area_range=[1.0, 1.0], aspect_ratio_range=[1.0, 1.0])):
    for seed in range(3):
        case("StatelessSampleDistortedBoundingBox", np.array([480, 640, 3], i32), BOXES[None, :2], np.array(0.3, f32), ints(seed, 3, dtype=i64), attrs=attrs)
        case("StatelessSampleDistortedBoundingBox", np.array([480, 640, 3], i32), np.zeros((1, 0, 4), f32), np.array(0.3, f32), ints(seed, 3),
             attrs=dict(use_image_if_no_bounding_boxes=True, **attrs))
        @script("SampleDistortedBoundingBox", label="%d %s" % (seed, attrs))
        def distorted(tf, seed=seed, attrs=attrs):
            both = [tf.raw_ops.SampleDistortedBoundingBox(image_size=[300, 200, 3], bounding_boxes=BOXES[None, :2], seed=seed + 1, seed2=5, **attrs),
                    tf.raw_ops.SampleDistortedBoundingBoxV2(image_size=np.array([300, 200, 3], i64), bounding_boxes=BOXES[None, :2],
                                                            min_object_covered=0.4, seed=seed, seed2=6, **attrs)]
            return [([x for one in both for x in one], {}, [])] * 4
for attrs in (dict(area_range=[0.5, 1.6]), dict(area_range=[0.0, 1.0]), dict(max_attempts=0), dict(aspect_ratio_range=[1.0]), dict(aspect_ratio_range=[-1.0, 1.0])):
    case("StatelessSampleDistortedBoundingBox", np.array([48, 64, 3], i32), BOXES[None, :2], np.array(0.3, f32), ints(1, 3), attrs=attrs, error=True)
case("StatelessSampleDistortedBoundingBox", np.array([48, 64, 3], i32), BOXES[None], np.array(0.3, f32), ints(1, 3), error=True)
case("StatelessSampleDistortedBoundingBox", np.array([48, 64, 3], i32), np.zeros((1, 0, 4), f32), np.array(0.3, f32), ints(1, 3), error=True)
case("StatelessSampleDistortedBoundingBox", np.array([48, 64], i32), BOXES[None, :2], np.array(0.3, f32), ints(1, 3), error=True)
case("StatelessSampleDistortedBoundingBox", np.array([48, -64, 3], i32), BOXES[None, :2], np.array(0.3, f32), ints(1, 3), error=True)

random = rng("suppression")
CORNERS = np.sort(random.uniform(0, 10, (30, 2, 2)), axis=1).reshape(30, 4).astype(f32)
SCORES = random.uniform(0, 1, 30).astype(f32)
low, high = np.maximum(CORNERS[:, None, :2], CORNERS[None, :, :2]), np.minimum(CORNERS[:, None, 2:], CORNERS[None, :, 2:])
COMMON = np.prod(np.maximum(high - low, 0), axis=2).astype(f32)
for most in (0, 3, 50):
    for overlap in (0.0, 0.3, 0.8, 5.0):
        for least in (-1.0, 0.5):
            case("NonMaxSuppressionWithOverlaps", COMMON, SCORES, np.array(most, i32), np.array(overlap, f32), np.array(least, f32), const=(2,))
            if overlap <= 1:
                thresholds = np.array(overlap, f32), np.array(least, f32)
                case("NonMaxSuppressionV3", CORNERS, SCORES, np.array(most, i32), *thresholds, const=(2,))
                case("NonMaxSuppressionV4", CORNERS, SCORES, np.array(most, i32), *thresholds, const=(2,), attrs=dict(pad_to_max_output_size=True))
                case("NonMaxSuppressionV5", CORNERS, SCORES, np.array(most, i32), *thresholds, np.array(0.4, f32), const=(2,))
                case("CombinedNonMaxSuppression", CORNERS[None, :, None], np.stack([SCORES, SCORES[::-1] * f32.type(0.93)], 1)[None], np.array(max(most, 1), i32), np.array(9, i32), *thresholds,
                     const=(2, 3))
    case("NonMaxSuppression", CORNERS, SCORES, np.array(most, i32), const=(2,))
    case("NonMaxSuppressionV2", CORNERS, SCORES, np.array(most, i32), np.array(0.4, f32), const=(2,))
case("NonMaxSuppressionWithOverlaps", COMMON[:20], SCORES, np.array(3, i32), np.array(0.3, f32), np.array(0, f32), const=(2,), error=True)
case("NonMaxSuppressionWithOverlaps", COMMON, SCORES[:20], np.array(3, i32), np.array(0.3, f32), np.array(0, f32), const=(2,), error=True)

# ---------------------------------------- windows

PLACES = [((0.0, 0.0), (0.0, 0.0)), ((0.3, -0.2), (0.1, 0.6)), ((-1.0, 1.0), (0.9, 0.9)), ((2.0, -3.0), (5.0, 1.0)), ((1.0, 2.0), (3.0, 0.0))]
for op in ("ExtractGlimpse", "ExtractGlimpseV2"):
    for centered in (False, True):
        for normalized in (False, True):
            for place in PLACES:
                for size in ((3, 2), (1, 1), (6, 7), (9, 12), (5, 9)):
                    case(op, values(f32, (2, 6, 7, 3)), ints(*size), np.array(place, f32), const=(1,),
                         attrs=dict(centered=centered, normalized=normalized, uniform_noise=False, noise="zero"))
    case(op, values(f32, (2, 6, 7, 3)), ints(2, 2), np.zeros((2, 2), f32), const=(1,), attrs=dict(noise="pink"), error=True)
    case(op, values(f32, (2, 6, 7, 3)), ints(2, 2), np.zeros((2, 2), f32), const=(1,), attrs=dict(noise="gaussian"), error=True)
    case(op, values(f32, (2, 6, 7, 3)), ints(2, 2), np.zeros((1, 2), f32), const=(1,), error=True)
    case(op, values(f32, (2, 6, 7)), ints(2, 2), np.zeros((2, 2), f32), const=(1,), error=True)

SEEN = np.array([[1, 0, 0, 0, 1, 0, 0, 0], [1.2, 0.1, -0.5, -0.2, 0.9, 1.25, 0.01, -0.02]], f32)
for op in ("ImageProjectiveTransformV2", "ImageProjectiveTransformV3"):
    last = (np.array(3.5, f32),) if op[-1] == "3" else ()
    for fill in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
        for interpolation in ("NEAREST", "BILINEAR"):
            for kind in [d for d in (u8, i32, i64, f16, bfloat16, f32, f64) if d is not None]:
                case(op, values(kind, (2, 5, 6, 3), 0, 90), SEEN, ints(7, 8), *last, const=(2,), attrs=dict(interpolation=interpolation, fill_mode=fill),
                     grad=kind == f32 and interpolation == "BILINEAR" and fill == "CONSTANT")
            for numbers in ([1, 0, 5, 0, 1, -7, 0, 0], [0.3, 0, -3, 0, 0.4, 2, 0, 0], [-1, 0, 4, 0, -1, 5, 0, 0], [3, 0, -20, 0, 3, 30, 0, 0], [1, 0, 0, 0, 1, 0, -0.5, 0]):
                case(op, values(f32, (2, 5, 6, 1)), np.array([numbers], f32), ints(4, 9), *last, const=(2,), attrs=dict(interpolation=interpolation, fill_mode=fill))
            case(op, values(f32, (1, 1, 1, 2)), np.array([[1, 0, -2, 0, 1, 3, 0, 0]], f32), ints(3, 3), *last, const=(2,), attrs=dict(interpolation=interpolation, fill_mode=fill))
    case(op, values(f32, (2, 5, 6, 3)), SEEN[:, :7], ints(7, 8), *last, const=(2,), attrs=dict(interpolation="NEAREST"), error=True)
    case(op, values(f32, (3, 5, 6, 3)), SEEN, ints(7, 8), *last, const=(2,), attrs=dict(interpolation="NEAREST"), error=True)
    case(op, values(f32, (2, 5, 6, 3)), SEEN, ints(0, 8), *last, const=(2,), attrs=dict(interpolation="NEAREST"), error=True)
    case(op, values(f32, (2, 5, 6, 3)), SEEN, ints(7, 8, 9), *last, const=(2,), attrs=dict(interpolation="NEAREST"), error=True)

for padding in ("SAME", "VALID"):
    for size, step, rate in (((3, 3), (1, 1), (1, 1)), ((2, 3), (2, 1), (1, 1)), ((3, 2), (1, 2), (2, 1)), ((1, 1), (3, 3), (1, 1)), ((2, 2), (5, 5), (3, 2))):
        attrs = dict(ksizes=[1, *size, 1], strides=[1, *step, 1], rates=[1, *rate, 1], padding=padding)
        for kind in [d for d in (f32, f64, f16, bfloat16, i8, i16, i32, i64, u8, u16, boolean) if d is not None]:
            case("ExtractImagePatches", values(kind, (2, 7, 6, 3)), attrs=attrs, grad=kind in (f32, f64))
        case("ExtractImagePatches", values(f32, (0, 7, 6, 3)), attrs=attrs)
attrs = dict(ksizes=[1, 3, 3, 1], strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="VALID")
case("ExtractImagePatches", values(f32, (2, 7, 6)), attrs=attrs, error=True)
case("ExtractImagePatches", values(f32, (2, 7, 6, 3)), attrs=dict(attrs, ksizes=[2, 3, 3, 1]), error=True)
case("ExtractImagePatches", values(f32, (2, 7, 6, 3)), attrs=dict(attrs, strides=[1, 0, 1, 1]), error=True)

# ---------------------------------------- pictures in summaries

for channels in (1, 3, 4):
    for most in (1, 2, 5):
        case("ImageSummary", scalar(b"tag"), np.stack([picture(5, 6, channels, key) for key in range(3)]), attrs=dict(max_images=most))
        for kind in (f32, f16, f64):
            for low, high in ((0, 1), (-2, 5), (0, 0), (3, 300), (-1e-8, 1e-9)):
                case("ImageSummary", scalar(b"tag"), values(kind, (3, 5, 6, channels), low, high), attrs=dict(max_images=most))
odd = values(f32, (2, 3, 4, 3), -1, 1)
odd[0, 0, 0, 1], odd[0, 1, 2, 0], odd[1, 2, 3, 2] = np.nan, np.inf, -np.inf
case("ImageSummary", scalar(b"tag"), odd)
case("ImageSummary", scalar(b"tag"), odd * np.nan)
case("ImageSummary", scalar(b"tag"), values(f32, (2, 3, 4, 2)), error=True)
case("ImageSummary", scalar(b"tag"), values(f32, (0, 3, 4, 3)))

# Sound.
for samples, channels, window, stride in [(100, 1, 16, 8), (100, 2, 25, 10), (10, 1, 16, 8), (257, 3, 2, 100), (300, 1, 100, 7)]:
    for squared in (False, True):
        case("AudioSpectrogram", values(f32, (samples, channels), -1, 1), attrs={"window_size": window, "stride": stride, "magnitude_squared": squared}, tol=1e-5)
case("AudioSpectrogram", values(f32, (10, 1)), attrs={"window_size": 1, "stride": 1}, error=True)
for frames, bins, rate, attrs in [(3, 129, 8000, {}), (1, 257, 16000, {"upper_frequency_limit": 7600.0}), (2, 513, 44100, {"lower_frequency_limit": 125.0, "dct_coefficient_count": 20}),
                                  (2, 65, 16000, {"filterbank_channel_count": 20})]:
    case("Mfcc", values(f32, (2, frames, bins), 0, 100), np.array(rate, i32), attrs=attrs, const=(1,), tol=2e-5)
case("Mfcc", values(f32, (1, 2, 129), 0, 1), np.array(0, i32), const=(1,), error=True)
