"""images — tf.image: files, sizes, flips, colours, boxes, measures."""

import numpy as np


def main(tf):
    out = {}
    rng = np.random.RandomState(1)
    u8 = rng.randint(0, 256, (8, 6, 3)).astype(np.uint8)
    f = rng.rand(2, 8, 6, 3).astype(np.float32)
    f = tf.constant(f)
    I = tf.image
    s = tf.Session()
    r = s.run
    out["png"] = r(I.decode_png(I.encode_png(u8)))
    j = I.encode_jpeg(u8, quality=90)
    out["jpegshape"] = [r(I.extract_jpeg_shape(j)), r(I.is_jpeg(j)), r(I.decode_image(I.encode_png(u8)))]
    for m in range(4):
        out["rs%d" % m] = r(I.resize_images(f, [5, 7], method=m))
    out["rsp"] = r(I.resize_images(u8, [16, 16], preserve_aspect_ratio=True))
    out["same"] = r(I.resize_images(u8, [8, 6]))
    out["v2"] = r(I.resize(f, [5, 7]))
    out["pad"] = r(I.pad_to_bounding_box(u8, 1, 2, 12, 10))
    out["crop"] = r(I.crop_to_bounding_box(f, 1, 2, 4, 3))
    out["cp"] = r(I.resize_image_with_crop_or_pad(u8, 5, 9))
    out["cc"] = r(I.central_crop(u8, 0.5))
    out["wp"] = r(I.resize_image_with_pad(f, 12, 12)) if hasattr(I, "resize_image_with_pad") else 0
    out["flips"] = r([I.flip_left_right(u8), I.flip_up_down(f), I.transpose_image(u8), I.rot90(u8, 3), I.rot90(f, 2)])
    out["dt"] = r(
        [
            I.convert_image_dtype(u8, tf.float32),
            I.convert_image_dtype(f, tf.uint8),
            I.convert_image_dtype(u8, tf.int16),
            I.convert_image_dtype(f, tf.uint8, saturate=True),
        ]
    )
    out["gray"] = r([I.rgb_to_grayscale(u8), I.rgb_to_grayscale(f), I.grayscale_to_rgb(tf.constant(u8[:, :, :1]))])
    out["adj"] = r(
        [
            I.adjust_brightness(u8, 0.2),
            I.adjust_contrast(u8, 1.7),
            I.adjust_hue(f, 0.1),
            I.adjust_saturation(u8, 1.5),
            I.adjust_gamma(f, 2.0),
            I.adjust_brightness(f, 0.2),
        ]
    )
    out["std"] = r([I.per_image_standardization(u8), I.per_image_standardization(f)])
    out["tv"] = r([I.total_variation(f), I.total_variation(tf.cast(u8, tf.float32))])
    out["psnr"] = r(I.psnr(f, f + 0.1, 1.0))
    g = tf.constant(rng.rand(2, 16, 16, 3).astype(np.float32))
    out["ssim"] = r(I.ssim(g, g * 0.9, 1.0))
    out["hsv"] = r([I.rgb_to_hsv(f), I.hsv_to_rgb(f), I.rgb_to_yiq(f), I.yuv_to_rgb(f)])
    b = np.array([[0, 0, 1, 1], [0, 0, 0.9, 0.9], [0, 0, 0.3, 0.3]], np.float32)
    out["nms"] = r(I.non_max_suppression(b, [0.5, 0.9, 0.3], 3))
    out["cr"] = r(I.crop_and_resize(f, b[:2], [0, 1], [3, 3]))
    out["db"] = r(I.draw_bounding_boxes(f, b[None, :2].repeat(2, 0) * 0.5 + 0.1))
    out["grad"] = r(I.image_gradients(f))
    out["sobel"] = r(I.sobel_edges(f))
    out["patch"] = r(I.extract_image_patches(f, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"))
    x = I.random_flip_left_right(u8)
    out["shape"] = [
        str(x.shape),
        str(I.resize_images(tf.placeholder(tf.float32, [None, None, 3]), [4, 5]).shape),
        str(I.random_flip_left_right(tf.placeholder(tf.float32, [4, 4, 3])).shape),
    ]
    t = I.random_brightness(f, 0.1)
    out["rb"] = r(t).shape
    try:
        I.resize_images(f, [5])
    except ValueError as e:
        out["err"] = str(e)[:40]
    return out
