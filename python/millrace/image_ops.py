"""image_ops — tf.image: decoding, sizes, flips, colours, boxes, measures. Images are [h, w, c] or [n, h, w, c]."""
import functools

from . import dtypes
from .array_ops import concat, expand_dims, identity, pad, reverse, shape as shape_of, slice as slice_, squeeze, stack, \
    tile, transpose
from .constant import constant, constant_value
from .control_flow import cond
from .convert import convert_to_tensor
from .graph import Tensor, name_scope
from .math_ops import (cast, maximum, minimum, reduce_mean, round as round_, saturate_cast, sqrt, square, tensordot)
from .ops_apply import apply
from .random_ops import random_uniform


class ResizeMethod:
    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = range(4)


class ResizeMethodV2:
    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = "bilinear", "nearest", "bicubic", "area"
    LANCZOS3, LANCZOS5, GAUSSIAN, MITCHELLCUBIC = "lanczos3", "lanczos5", "gaussian", "mitchellcubic"


# ---------------------------------------- files

def decode_jpeg(contents, channels=0, ratio=1, fancy_upscaling=True, try_recover_truncated=False,
                acceptable_fraction=1, dct_method="", name=None):
    return apply("DecodeJpeg", name, {"contents": contents, "channels": channels or 0, "ratio": ratio,
                                      "fancy_upscaling": fancy_upscaling, "dct_method": dct_method,
                                      "try_recover_truncated": try_recover_truncated,
                                      "acceptable_fraction": acceptable_fraction})


def decode_and_crop_jpeg(contents, crop_window, channels=0, ratio=1, fancy_upscaling=True, try_recover_truncated=False,
                         acceptable_fraction=1, dct_method="", name=None):
    return apply("DecodeAndCropJpeg", name, {
        "contents": contents, "crop_window": crop_window, "channels": channels or 0, "ratio": ratio,
        "fancy_upscaling": fancy_upscaling, "dct_method": dct_method, "try_recover_truncated": try_recover_truncated,
        "acceptable_fraction": acceptable_fraction})


def decode_png(contents, channels=0, dtype=dtypes.uint8, name=None):
    return apply("DecodePng", name, {"contents": contents, "channels": channels or 0, "dtype": dtype})


def decode_gif(contents, name=None):
    return apply("DecodeGif", name, {"contents": contents})


def decode_bmp(contents, channels=0, name=None):
    return apply("DecodeBmp", name, {"contents": contents, "channels": channels or 0})


def decode_image(contents, channels=None, dtype=dtypes.uint8, name=None, expand_animations=True):
    """An image of any of the four kinds."""
    return apply("DecodeImage", name, {"contents": contents, "channels": channels or 0, "dtype": dtypes.as_dtype(dtype),
                                       "expand_animations": expand_animations})


def is_jpeg(contents, name=None):
    with name_scope(name, "is_jpeg"):
        start = apply("Substr", None, {"input": contents, "pos": 0, "len": 3})
        return apply("Equal", name, {"x": start, "y": constant(b"\xff\xd8\xff")})


def encode_jpeg(image, format="", quality=95, progressive=False, optimize_size=False, chroma_downsampling=True,
                density_unit="in", x_density=300, y_density=300, xmp_metadata="", name=None):
    return apply("EncodeJpeg", name, {
        "image": image, "format": format, "quality": quality, "progressive": progressive, "optimize_size": optimize_size,
        "chroma_downsampling": chroma_downsampling, "density_unit": density_unit, "x_density": x_density,
        "y_density": y_density, "xmp_metadata": xmp_metadata})


def encode_png(image, compression=-1, name=None):
    return apply("EncodePng", name, {"image": image, "compression": compression})


def extract_jpeg_shape(contents, output_type=dtypes.int32, name=None):
    return apply("ExtractJpegShape", name, {"contents": contents, "output_type": output_type})


# ---------------------------------------- one image or many

def _batched(function):
    """Makes a function of [n, h, w, c] take [h, w, c] too."""
    @functools.wraps(function)
    def either(image, *args, **kwargs):
        image = convert_to_tensor(image, name="image")
        n = image.shape.ndims
        if n is not None and n not in (3, 4):
            raise ValueError("'image' must have either 3 or 4 dimensions.")
        if n == 3:
            return squeeze(function(expand_dims(image, 0), *args, **kwargs), [0])
        return function(image, *args, **kwargs)
    return either


def _extents(image):
    """(height, width) of [..., h, w, c]: numbers where they are known."""
    known, dynamic = image.shape, None
    out = []
    for i in (-3, -2):
        if known.ndims is not None and known.dims[i].value is not None:
            out.append(known.dims[i].value)
        else:
            dynamic = shape_of(image) if dynamic is None else dynamic
            out.append(dynamic[i])
    return out


def _static(value):
    if isinstance(value, Tensor) or hasattr(value, "_as_graph_tensor"):
        return constant_value(convert_to_tensor(value))
    return int(value)


# ---------------------------------------- sizes

def _scaled_extents(image, size, preserve):
    size = convert_to_tensor(size, dtypes.int32, name="size")
    if size.shape.ndims is not None and size.shape.as_list() != [2]:
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    if not preserve:
        return size
    height, width = [cast(v, dtypes.float32) for v in _extents(image)]
    scale = minimum(cast(size[0], dtypes.float32) / height, cast(size[1], dtypes.float32) / width)
    found = stack([cast(round_(scale * height), dtypes.int32), cast(round_(scale * width), dtypes.int32)])
    value = constant_value(found)
    return found if value is None else constant(value)


def _resized(op, images, size, align_corners, half_pixel_centers, name=None):
    values = {"images": images, "size": size, "align_corners": align_corners}
    if op != "ResizeArea":
        values["half_pixel_centers"] = half_pixel_centers
    return apply(op, name, values)


_RESIZE = {0: "ResizeBilinear", 1: "ResizeNearestNeighbor", 2: "ResizeBicubic", 3: "ResizeArea",
           "bilinear": "ResizeBilinear", "nearest": "ResizeNearestNeighbor", "bicubic": "ResizeBicubic",
           "area": "ResizeArea"}


def _set_size(result, size, images):
    value = constant_value(size)
    if value is not None and result.shape.ndims is not None:
        result.set_shape([images.shape.dims[0].value if images.shape.ndims == 4 else None, int(value[0]), int(value[1]),
                          images.shape.dims[-1].value])
    return result


def resize_images(images, size, method=ResizeMethod.BILINEAR, align_corners=False, preserve_aspect_ratio=False,
                  name=None):
    """Images of another size, floats but for NEAREST_NEIGHBOR; unchanged where the size is the same."""
    with name_scope(name, "resize", [images, size]):
        images = convert_to_tensor(images, name="images")
        if images.shape.ndims is None:
            raise ValueError("'images' contains no shape.")
        if images.shape.ndims not in (3, 4):
            raise ValueError("'images' must have either 3 or 4 dimensions.")
        single = images.shape.ndims == 3
        images = expand_dims(images, 0) if single else images
        size = _scaled_extents(images, size, preserve_aspect_ratio)
        wanted = constant_value(size)
        known = images.shape.as_list()[1:3]
        if wanted is not None and list(wanted) == known:
            result = images
        else:
            if callable(method):
                result = method(images, size)
            else:
                if method not in _RESIZE:
                    raise ValueError("Resize method is not implemented.")
                result = _resized(_RESIZE[method], images, size, align_corners, False)
            result = _set_size(result, size, images)
        return squeeze(result, [0]) if single else result


def resize_images_v2(images, size, method=ResizeMethodV2.BILINEAR, preserve_aspect_ratio=False, antialias=False,
                     name=None):
    """The same by TensorFlow 2's rule: pixels have their centers at halves."""
    with name_scope(name, "resize", [images, size]):
        images = convert_to_tensor(images, name="images")
        single = images.shape.ndims == 3
        images = expand_dims(images, 0) if single else images
        size = _scaled_extents(images, size, preserve_aspect_ratio)
        op = _RESIZE.get(method)
        if antialias or op in (None, "ResizeBicubic"):
            kernel = {"bilinear": "triangle", "bicubic": "keyscubic"}.get(method, method)
            height, width = _extents(images)
            scale = cast(size, dtypes.float32) / cast(stack([height, width]), dtypes.float32)
            result = apply("ScaleAndTranslate", None, {
                "images": images, "size": size, "scale": scale, "translation": constant([0.0, 0.0]),
                "kernel_type": kernel, "antialias": antialias})
        else:
            result = _resized(op, images, size, False, op != "ResizeArea")
        result = _set_size(result, size, images)
        return squeeze(result, [0]) if single else result


resize = resize_images


def _resize_op(op):
    def function(images, size, align_corners=False, name=None, half_pixel_centers=False):
        return _resized(op, images, size, align_corners, half_pixel_centers, name)
    return function


resize_bilinear, resize_nearest_neighbor = _resize_op("ResizeBilinear"), _resize_op("ResizeNearestNeighbor")
resize_bicubic = _resize_op("ResizeBicubic")


def resize_area(images, size, align_corners=False, name=None):
    return apply("ResizeArea", name, {"images": images, "size": size, "align_corners": align_corners})


@_batched
def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """Zeros around an image."""
    height, width = _extents(image)
    below, right = target_height - offset_height - height, target_width - offset_width - width
    for value, name in ((offset_height, "offset_height"), (offset_width, "offset_width"), (right, "width"),
                        (below, "height")):
        if isinstance(value, int) and value < 0:
            raise ValueError("%s must be %s target - offset" % (name, "<=") if name in ("width", "height") else
                             "%s must be >= 0" % name)
    padded = pad(image, stack([stack([0, 0]), stack([offset_height, below]), stack([offset_width, right]),
                               stack([0, 0])]))
    padded.set_shape([image.shape.dims[0].value if image.shape.ndims else None, _static(target_height),
                      _static(target_width), image.shape.dims[3].value if image.shape.ndims else None])
    return padded


@_batched
def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """A part of an image."""
    height, width = _extents(image)
    for bad, text in ((offset_width, "offset_width must be >= 0."), (offset_height, "offset_height must be >= 0.")):
        if isinstance(bad, int) and bad < 0:
            raise ValueError(text)
    for have, offset, target, text in ((width, offset_width, target_width, "width"),
                                       (height, offset_height, target_height, "height")):
        if all(isinstance(v, int) for v in (have, offset, target)) and have < offset + target:
            raise ValueError("%s must be >= target + offset." % text)
    cropped = slice_(image, stack([0, offset_height, offset_width, 0]), stack([-1, target_height, target_width, -1]))
    cropped.set_shape([image.shape.dims[0].value if image.shape.ndims else None, _static(target_height),
                       _static(target_width), image.shape.dims[3].value if image.shape.ndims else None])
    return cropped


@_batched
def resize_image_with_crop_or_pad(image, target_height, target_width):
    """The middle of an image, or the image with zeros around."""
    low = lambda a, b: min(a, b) if isinstance(a, int) and isinstance(b, int) else minimum(a, b)
    high = lambda a, b: max(a, b) if isinstance(a, int) and isinstance(b, int) else maximum(a, b)
    height, width = _extents(image)
    down, right = target_height - height, target_width - width
    cropped = crop_to_bounding_box(image, high(-down // 2, 0), high(-right // 2, 0), low(target_height, height),
                                   low(target_width, width))
    result = pad_to_bounding_box(cropped, high(down // 2, 0), high(right // 2, 0), target_height, target_width)
    result.set_shape([None, _static(target_height), _static(target_width), None])
    return result


resize_with_crop_or_pad = resize_image_with_crop_or_pad


def resize_image_with_pad(image, target_height, target_width, method=ResizeMethod.BILINEAR, align_corners=False):
    """The whole image in its proportions, with zeros around."""
    resized = resize_images(image, [target_height, target_width], method, align_corners, True)
    return cast(resize_image_with_crop_or_pad(resized, target_height, target_width), resized.dtype)


def resize_with_pad(image, target_height, target_width, method=ResizeMethodV2.BILINEAR, antialias=False):
    resized = resize_images_v2(image, [target_height, target_width], method, True, antialias)
    return resize_image_with_crop_or_pad(resized, target_height, target_width)


def central_crop(image, central_fraction):
    """The middle part of an image."""
    if not 0.0 < central_fraction <= 1.0:
        raise ValueError("central_fraction must be within (0, 1]")
    if central_fraction == 1.0:
        return image
    image = convert_to_tensor(image)
    height, width = _extents(image)

    def part(n):
        if isinstance(n, int):
            start = int((n - n * central_fraction) / 2)
            return start, n - start * 2
        n64 = cast(n, dtypes.float64)
        start = cast((n64 - n64 * central_fraction) / 2, dtypes.int32)
        return start, n - start * 2
    (top, h), (left, w) = part(height), part(width)
    return crop_to_bounding_box(image, top, left, h, w)


# ---------------------------------------- flips

def _axes(image, which):
    image = convert_to_tensor(image, name="image")
    return image, [len(image.shape.as_list()) - (2 if which == "w" else 3)] if image.shape.ndims is not None else [
        1 if which == "w" else 0]


def flip_left_right(image):
    image, axes = _axes(image, "w")
    return reverse(image, axes)


def flip_up_down(image):
    image, axes = _axes(image, "h")
    return reverse(image, axes)


def _random_flip(flip, default):
    def function(image, seed=None):
        with name_scope(None, default, [image]):
            image = convert_to_tensor(image, name="image")
            if image.shape.ndims == 4:
                n = shape_of(image)[0]
                chance = random_uniform(stack([n, 1, 1, 1]), seed=seed)
                kept = cast(round_(chance), image.dtype) if image.dtype.is_floating else cast(chance < 0.5, image.dtype)
                return kept * image + (1 - kept) * flip(image)
            result = cond(random_uniform([], 0, 1.0, seed=seed) < 0.5, lambda: flip(image), lambda: image)
            result.set_shape(image.shape)
            return result
    return function


random_flip_left_right = _random_flip(flip_left_right, "random_flip_left_right")
random_flip_up_down = _random_flip(flip_up_down, "random_flip_up_down")


@_batched
def transpose_image(image, name=None):
    return transpose(image, [0, 2, 1, 3], name=name or "transpose_image")


def rot90(image, k=1, name=None):
    """Turned counter-clockwise k times by a right angle."""
    with name_scope(name, "rot90", [image, k]):
        image = convert_to_tensor(image)
        turns = [lambda i: i, lambda i: transpose_image(flip_left_right(i)), lambda i: flip_left_right(flip_up_down(i)),
                 lambda i: flip_left_right(transpose_image(i))]
        if isinstance(k, int):
            return turns[k % 4](image)
        from .control_flow import case
        k = convert_to_tensor(k, dtypes.int32) % 4
        equal = lambda n: apply("Equal", None, {"x": k, "y": constant(n)})
        return case([(equal(n), lambda n=n: turns[n](image)) for n in (1, 2, 3)], default=lambda: identity(image))


# ---------------------------------------- colours

def convert_image_dtype(image, dtype, saturate=False, name=None):
    """The image in another type: floats are in [0, 1], integers fill their range."""
    image = convert_to_tensor(image, name="image")
    dtype = dtypes.as_dtype(dtype)
    if dtype == image.dtype:
        return identity(image, name=name)
    with name_scope(name, "convert_image", [image]):
        turn = saturate_cast if saturate else cast
        if image.dtype.is_integer and dtype.is_integer:
            have, want = image.dtype.max, dtype.max
            if have > want:
                scale = (have + 1) // (want + 1)
                return turn(apply("FloorDiv", None, {"x": image, "y": constant(scale, image.dtype)}), dtype)
            return (saturate_cast if saturate else cast)(image, dtype) * constant((want + 1) // (have + 1), dtype)
        if image.dtype.is_floating and dtype.is_floating:
            return cast(image, dtype)
        if image.dtype.is_integer:
            return cast(image, dtype) * constant(1.0 / image.dtype.max, dtype)
        return turn(image * constant(dtype.max + 0.5, image.dtype), dtype)


def rgb_to_grayscale(images, name=None):
    with name_scope(name, "rgb_to_grayscale", [images]):
        images = convert_to_tensor(images, name="images")
        kind = images.dtype
        weights = constant([0.2989, 0.5870, 0.1140], dtypes.float32)
        gray = expand_dims(tensordot(convert_image_dtype(images, dtypes.float32), weights, [[-1], [-1]]), -1)
        return convert_image_dtype(gray, kind)


def grayscale_to_rgb(images, name=None):
    with name_scope(name, "grayscale_to_rgb", [images]):
        images = convert_to_tensor(images, name="images")
        times = concat([apply("Fill", None, {"dims": expand_dims(apply("Rank", None, {"input": images}) - 1, 0),
                                             "value": constant(1)}), [3]], 0)
        result = tile(images, times)
        if images.shape.ndims is not None:
            result.set_shape(images.shape[:-1].concatenate(3))
        return result


def _in_floats(images, name, default, function):
    """Computes in float32 of [0, 1] and goes back to the image's type."""
    with name_scope(name, default, [images]):
        images = convert_to_tensor(images, name="images")
        kind = images.dtype
        floats = identity(images) if kind in (dtypes.float16, dtypes.float32) else convert_image_dtype(
            images, dtypes.float32)
        return convert_image_dtype(function(floats), kind, saturate=True)


def adjust_brightness(image, delta):
    return _in_floats(image, None, "adjust_brightness", lambda x: x + cast(convert_to_tensor(delta), x.dtype))


def adjust_contrast(images, contrast_factor):
    factor = convert_to_tensor(contrast_factor, dtypes.float32)
    return _in_floats(images, None, "adjust_contrast", lambda x: apply("AdjustContrastv2", None, {
        "images": x, "contrast_factor": factor}))


def adjust_hue(image, delta, name=None):
    return _in_floats(image, name, "adjust_hue", lambda x: apply("AdjustHue", None, {"images": x, "delta": delta}))


def adjust_saturation(image, saturation_factor, name=None):
    return _in_floats(image, name, "adjust_saturation", lambda x: apply("AdjustSaturation", None, {
        "images": x, "scale": saturation_factor}))


def adjust_gamma(image, gamma=1, gain=1):
    if isinstance(gamma, (int, float)) and gamma < 0:
        raise ValueError("Gamma should be a non-negative real number.")
    return _in_floats(image, None, "adjust_gamma", lambda x: cast(gain, x.dtype) * x ** cast(gamma, x.dtype))


def adjust_jpeg_quality(image, jpeg_quality, name=None):
    with name_scope(name, "adjust_jpeg_quality", [image]):
        kind = convert_to_tensor(image).dtype
        coded = apply("EncodeJpegVariableQuality", None, {"images": convert_image_dtype(image, dtypes.uint8, True),
                                                          "quality": convert_to_tensor(jpeg_quality, dtypes.int32)})
        return convert_image_dtype(decode_jpeg(coded), kind, saturate=True)


def random_brightness(image, max_delta, seed=None):
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image, lower, upper, seed=None):
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


def random_hue(image, max_delta, seed=None):
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_saturation(image, lower, upper, seed=None):
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return adjust_saturation(image, random_uniform([], lower, upper, seed=seed))


def random_jpeg_quality(image, min_jpeg_quality, max_jpeg_quality, seed=None):
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    return adjust_jpeg_quality(image, random_uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed,
                                                     dtype=dtypes.int32))


def per_image_standardization(image):
    """Of mean 0 and variance 1; the deviation is at least 1 / sqrt(elements)."""
    with name_scope(None, "per_image_standardization", [image]):
        image = cast(convert_to_tensor(image, name="image"), dtypes.float32)
        axes = [-1, -2, -3]
        count = cast(apply("Prod", None, {"input": shape_of(image)[-3:], "reduction_indices": constant([0])}),
                     dtypes.float32)
        mean = reduce_mean(image, axis=axes, keepdims=True)
        spread = sqrt(reduce_mean(square(image - mean), axis=axes, keepdims=True))
        return (image - mean) / maximum(spread, apply("Rsqrt", None, {"x": count}))


per_image_whitening = per_image_standardization
_YIQ = [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]]
_FROM_YIQ = [[1.0, 1.0, 1.0], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
_YUV = [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]]
_FROM_YUV = [[1.0, 1.0, 1.0], [0.0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0.0]]


def _by_matrix(matrix):
    def function(images):
        images = convert_to_tensor(images, name="images")
        return tensordot(images, convert_to_tensor(matrix, images.dtype), [[images.shape.ndims - 1], [0]])
    return function


rgb_to_yiq, yiq_to_rgb, rgb_to_yuv, yuv_to_rgb = [_by_matrix(m) for m in (_YIQ, _FROM_YIQ, _YUV, _FROM_YUV)]


def rgb_to_hsv(images, name=None):
    return apply("RGBToHSV", name, {"images": images})


def hsv_to_rgb(images, name=None):
    return apply("HSVToRGB", name, {"images": images})
