"""image_boxes — tf.image: boxes, crops at random, glimpses, and how much two images differ."""
import numpy as np

from . import dtypes
from .array_ops import concat, reshape, shape as shape_of, zeros
from .constant import constant
from .convert import convert_to_tensor
from .graph import get_seed, name_scope
from .image_ops import convert_image_dtype
from .math_ops import cast, log, reduce_mean, reduce_sum, square
from .ops_apply import apply


def draw_bounding_boxes(images, boxes, name=None, colors=None):
    if colors is None:
        return apply("DrawBoundingBoxes", name, {"images": images, "boxes": boxes})
    return apply("DrawBoundingBoxesV2", name, {"images": images, "boxes": boxes, "colors": colors})


def sample_distorted_bounding_box(image_size, bounding_boxes, seed=None, seed2=None, min_object_covered=0.1,
                                  aspect_ratio_range=None, area_range=None, max_attempts=None,
                                  use_image_if_no_bounding_boxes=None, name=None):
    """(begin, size, box) of a crop at random that has enough of an object in it."""
    first, second = get_seed(seed) if not seed2 else (seed or 0, seed2)
    return apply("SampleDistortedBoundingBoxV2", name, {
        "image_size": image_size, "bounding_boxes": bounding_boxes, "seed": first, "seed2": second,
        "min_object_covered": convert_to_tensor(min_object_covered, dtypes.float32),
        "aspect_ratio_range": list(aspect_ratio_range or (0.75, 1.33)), "area_range": list(area_range or (0.05, 1)),
        "max_attempts": max_attempts or 100, "use_image_if_no_bounding_boxes": bool(use_image_if_no_bounding_boxes)})


def non_max_suppression(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"), name=None):
    """The numbers of the boxes that stay, best first."""
    with name_scope(name, "non_max_suppression"):
        return apply("NonMaxSuppressionV3", None, {
            "boxes": boxes, "scores": scores, "max_output_size": max_output_size,
            "iou_threshold": convert_to_tensor(iou_threshold, dtypes.float32),
            "score_threshold": convert_to_tensor(score_threshold, dtypes.float32)})


def non_max_suppression_with_scores(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"),
                                    soft_nms_sigma=0.0, name=None):
    found = apply("NonMaxSuppressionV5", name, {
        "boxes": boxes, "scores": scores, "max_output_size": max_output_size,
        "iou_threshold": convert_to_tensor(iou_threshold, dtypes.float32),
        "score_threshold": convert_to_tensor(score_threshold, dtypes.float32),
        "soft_nms_sigma": convert_to_tensor(soft_nms_sigma, dtypes.float32), "pad_to_max_output_size": False})
    return found[0], found[1]


def non_max_suppression_padded(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"),
                               pad_to_max_output_size=False, name=None):
    return apply("NonMaxSuppressionV4", name, {
        "boxes": boxes, "scores": scores, "max_output_size": max_output_size,
        "iou_threshold": convert_to_tensor(iou_threshold, dtypes.float32),
        "score_threshold": convert_to_tensor(score_threshold, dtypes.float32),
        "pad_to_max_output_size": pad_to_max_output_size})


def non_max_suppression_overlaps(overlaps, scores, max_output_size, overlap_threshold=0.5,
                                 score_threshold=float("-inf"), name=None):
    return apply("NonMaxSuppressionWithOverlaps", name, {
        "overlaps": overlaps, "scores": scores, "max_output_size": max_output_size,
        "overlap_threshold": convert_to_tensor(overlap_threshold, dtypes.float32),
        "score_threshold": convert_to_tensor(score_threshold, dtypes.float32)})


def combined_non_max_suppression(boxes, scores, max_output_size_per_class, max_total_size, iou_threshold=0.5,
                                 score_threshold=float("-inf"), pad_per_class=False, clip_boxes=True, name=None):
    return apply("CombinedNonMaxSuppression", name, {
        "boxes": boxes, "scores": scores, "max_output_size_per_class": max_output_size_per_class,
        "max_total_size": max_total_size, "iou_threshold": convert_to_tensor(iou_threshold, dtypes.float32),
        "score_threshold": convert_to_tensor(score_threshold, dtypes.float32), "pad_per_class": pad_per_class,
        "clip_boxes": clip_boxes})


def crop_and_resize(image, boxes, box_ind=None, crop_size=None, method="bilinear", extrapolation_value=0, name=None,
                    box_indices=None):
    return apply("CropAndResize", name, {
        "image": image, "boxes": boxes, "box_ind": box_indices if box_ind is None else box_ind, "crop_size": crop_size,
        "method": method, "extrapolation_value": extrapolation_value})


def extract_glimpse(input, size, offsets, centered=True, normalized=True, uniform_noise=True, name=None):
    return apply("ExtractGlimpse", name, {"input": input, "size": size, "offsets": offsets, "centered": centered,
                                          "normalized": normalized, "uniform_noise": uniform_noise})


def extract_patches(images, sizes, strides, rates, padding, name=None):
    return apply("ExtractImagePatches", name, {"images": images, "ksizes": sizes, "strides": strides, "rates": rates,
                                               "padding": padding})


extract_image_patches = extract_patches


# ---------------------------------------- measures

def total_variation(images, name=None):
    """The sum of the differences of neighbouring pixels."""
    with name_scope(name, "total_variation"):
        images = convert_to_tensor(images)
        n = images.shape.ndims
        if n not in (3, 4):
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        first = [slice(None)] * (n - 3)
        down = images[tuple(first + [slice(1, None), slice(None)])] - images[tuple(first + [slice(None, -1), slice(None)])]
        right = images[tuple(first + [slice(None), slice(1, None)])] - images[tuple(first + [slice(None), slice(None, -1)])]
        axes = None if n == 3 else [1, 2, 3]
        return reduce_sum(abs(down), axis=axes) + reduce_sum(abs(right), axis=axes)


def psnr(a, b, max_val, name=None):
    """Signal to noise, in decibels."""
    with name_scope(name, "PSNR", [a, b]):
        top = convert_image_dtype(cast(max_val, convert_to_tensor(a).dtype), dtypes.float32)
        a, b = convert_image_dtype(a, dtypes.float32), convert_image_dtype(b, dtypes.float32)
        error = reduce_mean(apply("SquaredDifference", None, {"x": a, "y": b}), [-3, -2, -1])
        return 20 * log(top) / np.float32(np.log(10.0)) - np.float32(10 / np.log(10)) * log(error)


def _window(size, sigma):
    """Weights of a square window, of a normal distribution, summing to one."""
    at = np.arange(size, dtype=np.float32) - (size - 1) / 2.0
    g = -0.5 * np.square(at) / np.square(sigma)
    g = (g.reshape(1, -1) + g.reshape(-1, 1)).ravel()
    g = np.exp(g - g.max())
    return (g / g.sum()).reshape(size, size, 1, 1).astype(np.float32)


def _ssim(x, y, max_val, filter_size, filter_sigma, k1, k2):
    """(similarity, contrast part) of each channel, averaged over positions."""
    c1, c2 = square(k1 * max_val), square(k2 * max_val)
    shape = shape_of(x)
    channels = x.shape.dims[-1].value
    window = constant(np.tile(_window(filter_size, filter_sigma), [1, 1, channels, 1]))

    def mean(v):
        flat = reshape(v, concat([[-1], shape[-3:]], 0))
        done = apply("DepthwiseConv2dNative", None, {"input": flat, "filter": window, "strides": [1, 1, 1, 1],
                                                     "padding": "VALID"})
        return reshape(done, concat([shape[:-3], shape_of(done)[1:]], 0))
    mx, my = mean(x), mean(y)
    product, squares = mx * my * 2.0, square(mx) + square(my)
    luminance = (product + c1) / (squares + c1)
    contrast = (mean(x * y) * 2.0 - product + c2) / (mean(square(x) + square(y)) - squares + c2)
    return reduce_mean(luminance * contrast, [-3, -2]), reduce_mean(contrast, [-3, -2])


def ssim(img1, img2, max_val, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03):
    """Structural similarity."""
    with name_scope(None, "SSIM", [img1, img2]):
        kind = convert_to_tensor(img1).dtype
        top = convert_image_dtype(cast(max_val, kind), dtypes.float32)
        x, y = convert_image_dtype(img1, dtypes.float32), convert_image_dtype(img2, dtypes.float32)
        return reduce_mean(_ssim(x, y, top, filter_size, filter_sigma, k1, k2)[0], [-1])


def image_gradients(image):
    """(down, right): differences of neighbouring pixels, zero in the last row and column."""
    image = convert_to_tensor(image)
    if image.shape.ndims != 4:
        raise ValueError("image_gradients expects a 4D tensor [batch_size, h, w, d], not %s." % image.shape)
    n, h, w, d = [shape_of(image)[i] for i in range(4)]
    from .array_ops import stack
    down = concat([image[:, 1:] - image[:, :-1], zeros(stack([n, 1, w, d]), image.dtype)], 1)
    right = concat([image[:, :, 1:] - image[:, :, :-1], zeros(stack([n, h, 1, d]), image.dtype)], 2)
    return reshape(down, shape_of(image)), reshape(right, shape_of(image))


def sobel_edges(image):
    """The edges down and to the right, as the last dimension."""
    image = convert_to_tensor(image)
    channels = image.shape.dims[-1].value
    kernels = np.array([[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]], np.float32)
    kernels = np.tile(np.expand_dims(np.transpose(kernels, (1, 2, 0)), -2), [1, 1, channels, 1])
    padded = apply("MirrorPad", None, {"input": image, "paddings": [[0, 0], [1, 1], [1, 1], [0, 0]], "mode": "REFLECT"})
    found = apply("DepthwiseConv2dNative", None, {"input": padded, "filter": constant(kernels), "strides": [1, 1, 1, 1],
                                                  "padding": "VALID"})
    return reshape(found, concat([shape_of(image), [2]], 0))
