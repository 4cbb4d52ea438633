"""image — contrib.image: projective transforms."""
from .. import dtypes
from ..array_ops import shape as shape_of
from ..convert import convert_to_tensor
from ..graph import name_scope
from ..ops_apply import apply


def transform(images, transforms, interpolation="NEAREST", output_shape=None, name=None):
    """Images whose point (x, y) is that of ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), k = c0 x + c1 y + 1."""
    with name_scope(name, "transform", [images, transforms]):
        images, transforms = convert_to_tensor(images), convert_to_tensor(transforms, dtypes.float32)
        from ..array_ops import expand_dims, reshape, squeeze
        n = images.shape.ndims
        if n is None:
            raise TypeError("images should have statically known rank")
        batch = {2: lambda: expand_dims(expand_dims(images, 0), -1), 3: lambda: expand_dims(images, 0),
                 4: lambda: images}.get(n)
        if batch is None:
            raise TypeError("Images should have rank between 2 and 4.")
        whole = batch()
        transforms = reshape(transforms, [-1, 8]) if transforms.shape.ndims == 1 else transforms
        size = shape_of(whole)[1:3] if output_shape is None else convert_to_tensor(output_shape, dtypes.int32)
        found = apply("ImageProjectiveTransformV2", None, {"images": whole, "transforms": transforms, "output_shape": size,
                                                           "interpolation": interpolation.upper()})
        return found if n == 4 else squeeze(found, [0]) if n == 3 else squeeze(found, [0, 3])


def matrices_to_flat_transforms(transform_matrices):
    from ..array_ops import reshape
    flat = reshape(convert_to_tensor(transform_matrices, dtypes.float32), [-1, 9])
    return (flat / flat[:, 8:9])[:, :8]


def angles_to_projective_transforms(angles, image_height, image_width, name=None):
    """The transforms that turn images about their middle."""
    from ..array_ops import concat, expand_dims, zeros
    from ..math_ops import cast
    angles = convert_to_tensor(angles, dtypes.float32)
    angles = expand_dims(angles, 0) if angles.shape.ndims == 0 else angles
    cos, sin = apply("Cos", None, {"x": angles}), apply("Sin", None, {"x": angles})
    h, w = cast(image_height, dtypes.float32) - 1, cast(image_width, dtypes.float32) - 1
    x, y = (w - (cos * w - sin * h)) / 2.0, (h - (sin * w + cos * h)) / 2.0
    column = lambda v: expand_dims(v, 1)
    return concat([column(cos), column(-sin), column(x), column(sin), column(cos), column(y),
                   zeros([shape_of(angles)[0], 2])], 1)


def rotate(images, angles, interpolation="NEAREST", name=None):
    """Turned counter-clockwise by angles."""
    images = convert_to_tensor(images)
    h = shape_of(images)[0 if images.shape.ndims < 4 else 1]
    w = shape_of(images)[1 if images.shape.ndims < 4 else 2]
    return transform(images, angles_to_projective_transforms(angles, h, w), interpolation, name=name)


def translate(images, translations, interpolation="NEAREST", name=None):
    from ..array_ops import concat, expand_dims, ones, zeros
    t = convert_to_tensor(translations, dtypes.float32)
    t = expand_dims(t, 0) if t.shape.ndims == 1 else t
    n = shape_of(t)[0]
    return transform(images, concat([ones([n, 1]), zeros([n, 1]), -t[:, :1], zeros([n, 1]), ones([n, 1]), -t[:, 1:],
                                     zeros([n, 2])], 1), interpolation, name=name)


def compose_transforms(*transforms):
    from ..math_ops import matmul
    from ..array_ops import concat, ones, reshape

    def matrix(flat):
        flat = reshape(convert_to_tensor(flat, dtypes.float32), [-1, 8])
        return reshape(concat([flat, ones([shape_of(flat)[0], 1])], 1), [-1, 3, 3])
    total = matrix(transforms[0])
    for one in transforms[1:]:
        total = matmul(total, matrix(one))
    return matrices_to_flat_transforms(total)
