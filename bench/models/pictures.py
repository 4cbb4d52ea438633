# pictures — models of pictures and volumes: classifiers, detectors, what makes pictures of pictures.
import tensorflow as tf
from zoo import below, model, normal, pixels, uniform

K = tf.keras
L = tf.keras.layers
APPS = tf.keras.applications


def cut(network, layer):
    """The network up to a layer: the tiny form of those whose depth is not to be had smaller."""
    return K.Model(network.inputs, L.GlobalAveragePooling2D()(network.get_layer(layer).output))


def conv(x, channels, size=3, stride=1, activation="relu", norm=True, dilation=1):
    x = L.Conv2D(channels, size, stride, "same", use_bias=not norm, dilation_rate=dilation)(x)
    x = L.BatchNormalization()(x) if norm else x
    return L.Activation(activation)(x) if activation else x


@model()
def mobilenet_1(tiny):
    n = 32 if tiny else 160
    return APPS.MobileNet((n, n, 3), alpha=0.25 if tiny else 1.0, weights=None), {"x": normal(1, n, n, 3)}


@model()
def mobilenet_2(tiny):
    n = 32 if tiny else 160
    return APPS.MobileNetV2((n, n, 3), alpha=0.35 if tiny else 1.0, weights=None), {"x": normal(1, n, n, 3)}


@model()
def mobilenet_3(tiny):
    n = 32 if tiny else 160
    net = APPS.MobileNetV3Small((n, n, 3), minimalistic=False, weights=None, dropout_rate=0)
    return net, {"x": pixels(1, n, n, 3)}


@model()
def efficientnet(tiny):
    n = 32 if tiny else 128
    net = APPS.EfficientNetB0(input_shape=(n, n, 3), weights=None)
    return cut(net, "block3b_add") if tiny else net, {"x": pixels(1, n, n, 3)}


@model()
def resnet(tiny):
    n = 32 if tiny else 160
    net = APPS.ResNet50V2(input_shape=(n, n, 3), weights=None, classes=10)
    return cut(net, "conv2_block3_out") if tiny else net, {"x": normal(1, n, n, 3)}


@model()
def densenet(tiny):
    n = 32 if tiny else 128
    net = APPS.DenseNet121(input_shape=(n, n, 3), weights=None)
    return cut(net, "pool3_pool") if tiny else net, {"x": normal(1, n, n, 3)}


@model()
def inception(tiny):
    n = 80 if tiny else 150
    net = APPS.InceptionV3(input_shape=(n, n, 3), weights=None, classes=10)
    return cut(net, "mixed0") if tiny else net, {"x": normal(1, n, n, 3)}


@model()
def xception(tiny):
    n = 72 if tiny else 128
    net = APPS.Xception(input_shape=(n, n, 3), weights=None, classes=10)
    return cut(net, "add") if tiny else net, {"x": normal(1, n, n, 3)}


@model()
def nasnet(tiny):
    n = 32 if tiny else 128
    net = APPS.NASNetMobile((n, n, 3), weights=None)
    return cut(net, "activation_30") if tiny else net, {"x": normal(1, n, n, 3)}


@model()
def convnext(tiny):
    n = 32 if tiny else 96
    net = APPS.ConvNeXtTiny(input_shape=(n, n, 3), weights=None, classes=10)
    return cut(net, "convnext_tiny_stage_1_block_1_identity") if tiny else net, {"x": pixels(1, n, n, 3)}


@model()
def vit(tiny):
    n, width, layers = (32, 32, 2) if tiny else (128, 192, 6)
    x = K.Input((n, n, 3), batch_size=1)
    y = L.Conv2D(width, 16, 16)(x)
    y = L.Reshape((-1, width))(y)
    y = y + K.Variable(normal(1, (n // 16) ** 2, width) * 0.02)
    for _ in range(layers):
        z = L.LayerNormalization(epsilon=1e-6)(y)
        y = y + L.MultiHeadAttention(4, width // 4)(z, z)
        z = L.Dense(4 * width, "gelu")(L.LayerNormalization(epsilon=1e-6)(y))
        y = y + L.Dense(width)(z)
    y = L.Dense(100)(L.LayerNormalization(epsilon=1e-6)(y)[:, 0])
    return K.Model(x, y), {"x": normal(1, n, n, 3)}


@model()
def mlp_mixer(tiny):
    n, width, layers = (32, 32, 2) if tiny else (128, 256, 6)
    x = K.Input((n, n, 3), batch_size=1)
    y = L.Reshape((-1, width))(L.Conv2D(width, 8, 8)(x))
    patches = (n // 8) ** 2
    for _ in range(layers):
        z = L.Permute((2, 1))(L.LayerNormalization()(y))
        z = L.Dense(patches)(L.Dense(64, "gelu")(z))
        y = y + L.Permute((2, 1))(z)
        y = y + L.Dense(width)(L.Dense(2 * width, "gelu")(L.LayerNormalization()(y)))
    return K.Model(x, L.Dense(100)(L.GlobalAveragePooling1D()(y))), {"x": normal(1, n, n, 3)}


def anchors_of(sizes):
    boxes = []
    for n in sizes:
        for scale in (0.1, 0.25):
            for ratio in (0.5, 1.0, 2.0):
                y, x = tf.meshgrid((tf.range(n) + 0) / n, (tf.range(n) + 0) / n, indexing="ij")
                size = tf.ones_like(y, tf.float64) * scale
                boxes.append(tf.reshape(tf.stack([y, x, size * ratio, size / ratio], -1), [-1, 4]))
    return tf.cast(tf.concat(boxes, 0), tf.float32)


def detector_body(n, width, classes):
    x = K.Input((n, n, 3), batch_size=1)
    y, scores, boxes = conv(x / 127.5 - 1, width, stride=2), [], []
    for i in range(5):
        y = L.ReLU(6.0)(L.BatchNormalization()(L.DepthwiseConv2D(3, 2 if i < 4 else 2, "same", use_bias=False)(y)))
        y = conv(y, min(512, width * 2 ** (i + 1)), 1)
        if i >= 2:
            scores.append(L.Reshape((-1, classes))(L.Conv2D(6 * classes, 3, padding="same")(y)))
            boxes.append(L.Reshape((-1, 4))(L.Conv2D(6 * 4, 3, padding="same")(y)))
    return K.Model(x, [L.Concatenate(1)(scores), L.Concatenate(1)(boxes)])


def decode(boxes, anchors):
    center = boxes[..., :2] * 0.1 * anchors[:, 2:] + anchors[:, :2]
    half = tf.exp(boxes[..., 2:] * 0.2) * anchors[:, 2:] / 2
    return tf.concat([center - half, center + half], -1)


@model()
def detector_ssd(tiny):
    n, width, classes = (64, 8, 5) if tiny else (256, 32, 20)
    body = detector_body(n, width, classes)
    anchors = anchors_of([n // 16, n // 32, n // 64])

    def detect(x):
        scores, boxes = body(x, training=False)
        found = tf.image.combined_non_max_suppression(tf.expand_dims(decode(boxes, anchors), 2), tf.sigmoid(40 * scores), 20, 50,
                                                      0.5, 0.3)
        return found.nmsed_boxes, found.nmsed_scores, found.nmsed_classes, found.valid_detections
    return detect, {"x": pixels(1, n, n, 3)}


@model()
def detector_gather(tiny):
    n, width, classes = (64, 8, 5) if tiny else (192, 24, 20)
    body = detector_body(n, width, classes)
    anchors = anchors_of([n // 16, n // 32, n // 64])

    def detect(x):
        scores, boxes = body(x, training=False)
        best, boxes = tf.reduce_max(tf.nn.softmax(40 * scores[0]), -1), decode(boxes, anchors)[0]
        best, order = tf.math.top_k(best, tf.minimum(100, tf.shape(best)[0]))
        boxes = tf.gather(boxes, order)
        keep = tf.image.non_max_suppression(boxes, best, 20, 0.4)
        crops = tf.image.crop_and_resize(x, tf.clip_by_value(tf.gather(boxes, keep), 0.0, 1.0), tf.zeros_like(keep), [14, 14])
        return tf.gather(boxes, keep), tf.gather(best, keep), tf.reduce_mean(crops, [1, 2])
    return detect, {"x": pixels(1, n, n, 3)}


@model()
def unet_2d(tiny):
    n, width = (32, 4) if tiny else (128, 16)
    x = K.Input((n, n, 3), batch_size=1)
    y, skips = x, []
    for i in range(3):
        y = conv(conv(y, width << i), width << i)
        skips.append(y)
        y = L.MaxPooling2D()(y)
    y = conv(y, width << 3)
    for i in reversed(range(3)):
        y = L.Conv2DTranspose(width << i, 2, 2, "same")(y)
        y = conv(conv(L.Concatenate()([y, skips[i]]), width << i), width << i)
    return K.Model(x, L.Conv2D(4, 1, activation="softmax")(y)), {"x": normal(1, n, n, 3)}


def conv_3d(x, channels):
    return L.ReLU()(L.BatchNormalization()(L.Conv3D(channels, 3, padding="same", use_bias=False)(x)))


@model()
def unet_3d(tiny):
    n, width = (8, 4) if tiny else (32, 16)
    x = K.Input((n, n, n, 2), batch_size=1)
    y, skips = x, []
    for i in range(2):
        y = conv_3d(conv_3d(y, width << i), width << i)
        skips.append(y)
        y = L.MaxPooling3D()(y)
    y = conv_3d(y, width << 2)
    for i in reversed(range(2)):
        y = L.Conv3DTranspose(width << i, 2, 2, "same")(y)
        y = conv_3d(conv_3d(L.Concatenate()([y, skips[i]]), width << i), width << i)
    return K.Model(x, L.Conv3D(3, 1, activation="softmax")(y)), {"x": normal(1, n, n, n, 2)}


@model()
def classifier_3d(tiny):
    n, width = (12, 4) if tiny else (32, 24)
    x = K.Input((n // 2, n, n, 3), batch_size=1)
    y = x
    for i in range(3):
        y = L.Conv3D(width << i, 3, (1 if i else 1, 2 if i == 0 else 1, 2 if i == 0 else 1), "same", activation="relu")(y)
        y = (L.AveragePooling3D if i == 1 else L.MaxPooling3D)((2, 2, 2), padding="same")(y)
    return K.Model(x, L.Dense(20, "softmax")(L.GlobalAveragePooling3D()(y))), {"x": normal(1, n // 2, n, n, 3)}


@model()
def super_resolution(tiny):
    n, width = (16, 8) if tiny else (64, 32)
    x = K.Input((n, n, 3), batch_size=1)
    y = z = L.Conv2D(width, 3, padding="same")(x)
    for _ in range(4):
        y = y + 0.1 * L.Conv2D(width, 3, padding="same")(L.Conv2D(width, 3, padding="same", activation="relu")(y))
    y = L.Conv2D(4 * width, 3, padding="same")(y + z)
    y = L.Conv2D(3, 3, padding="same")(L.Lambda(lambda t: tf.nn.depth_to_space(t, 2))(y))
    big = L.Lambda(lambda t: tf.image.resize(t, [2 * n, 2 * n], "bilinear"))(x)
    return K.Model(x, L.Lambda(lambda t: tf.clip_by_value(t, 0.0, 1.0))(y + big)), {"x": uniform(1, n, n, 3)}


def instance_norm(x, channels):
    mean, variance = tf.nn.moments(x, [1, 2], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5) * (1 + 0.1 * normal(channels)) + 0.1 * normal(1, channels)[0]


class Reflected(L.Layer):
    """A convolution over a picture that goes on as in a mirror, normalised picture by picture."""

    def __init__(self, channels, size, stride=1, activation=tf.nn.relu):
        super().__init__()
        self.conv, self.pad, self.act = L.Conv2D(channels, size, stride, "valid"), size // 2, activation
        self.channels = channels

    def call(self, x):
        x = tf.pad(x, [[0, 0], [self.pad] * 2, [self.pad] * 2, [0, 0]], "REFLECT")
        x = instance_norm(self.conv(x), self.channels)
        return self.act(x) if self.act else x


@model()
def style_transfer(tiny):
    n, width = (32, 4) if tiny else (128, 16)
    x = K.Input((n, n, 3), batch_size=1)
    y = Reflected(width, 9)(x / 255.0)
    y = Reflected(4 * width, 3, 2)(Reflected(2 * width, 3, 2)(y))
    for _ in range(3):
        y = y + Reflected(4 * width, 3, 1, None)(Reflected(4 * width, 3)(y))
    for i in (2, 1):
        y = Reflected(i * width, 3)(L.UpSampling2D(2, interpolation="nearest")(y))
    return K.Model(x, 150 * Reflected(3, 9, 1, tf.tanh)(y) + 127.5), {"x": pixels(1, n, n, 3)}


@model()
def image_to_image(tiny):
    """Pads, crops, reshapes, products of high rank: attention in windows over a picture (Swin), then pixels."""
    n, width, window, heads = (16, 8, 4, 2) if tiny else (64, 48, 8, 4)
    x = K.Input((n, n, 3), batch_size=1)
    y, side = L.Conv2D(width, 3, padding="same")(x), n // window

    def attend(t, qkv, shift):
        t = tf.pad(t, [[0, 0], [shift, window - shift], [shift, window - shift], [0, 0]]) if shift else t
        m = side + bool(shift)
        t = tf.reshape(t, [1, m, window, m, window, width])
        q, k, v = tf.unstack(tf.reshape(tf.einsum("bhiwjc,cd->bhwijd", t, qkv),
                                        [1, m, m, window, window, 3, heads, width // heads]), axis=5)
        score = tf.einsum("bhwijnd,bhwkmnd->bhwnijkm", q, k) * (width // heads) ** -0.5
        score = tf.reshape(tf.nn.softmax(tf.reshape(score, [m * m, heads, -1, window * window])), score.shape)
        t = tf.reshape(tf.einsum("bhwnijkm,bhwkmnd->bhiwjnd", score, v), [1, m * window, m * window, width])
        return t[:, shift:shift + n, shift:shift + n] if shift else t
    for i in range(4):
        qkv = tf.constant(normal(width, 3 * width) * width ** -0.5)
        y = y + L.Lambda(lambda t, i=i: attend(t, qkv, window // 2 * (i % 2)))(L.LayerNormalization()(y))
        y = y + L.Dense(width)(L.Dense(2 * width, "gelu")(L.LayerNormalization()(y)))
    return K.Model(x, L.Conv2D(3, 3, padding="same")(y)), {"x": uniform(1, n, n, 3)}


@model()
def autoencoder(tiny):
    n, width = (32, 4) if tiny else (128, 16)
    x = K.Input((n, n, 1), batch_size=2)
    y = x
    for i in range(3):
        y = L.Conv2D(width << i, 3, 2, "same", activation="elu")(y)
    for i in reversed(range(3)):
        y = L.Conv2DTranspose(width << i, 3, 2, "same", activation="elu")(y)
    return K.Model(x, L.Conv2D(1, 3, padding="same", activation="sigmoid")(y)), {"x": uniform(2, n, n, 1)}


@model()
def variational(tiny):
    n, width, inner = (28, 4, 4) if tiny else (28, 32, 16)
    x, noise = K.Input((n, n, 1), batch_size=16), K.Input((inner,), batch_size=16)
    y = L.Conv2D(2 * width, 3, 2, "same", activation="relu")(L.Conv2D(width, 3, 2, "same", activation="relu")(x))
    y = L.Dense(2 * inner)(L.Flatten()(y))
    mean, spread = y[:, :inner], y[:, inner:]
    z = mean + L.Lambda(lambda t: tf.exp(0.5 * t))(spread) * noise
    y = L.Reshape((7, 7, width))(L.Dense(49 * width, "relu")(z))
    y = L.Conv2DTranspose(width, 3, 2, "same", activation="relu")(L.Conv2DTranspose(2 * width, 3, 2, "same", activation="relu")(y))
    loss = L.Lambda(lambda t: -0.5 * tf.reduce_sum(1 + t[0] - tf.square(t[1]) - tf.exp(t[0]), -1))([spread, mean])
    return K.Model([x, noise], [L.Conv2DTranspose(1, 3, padding="same")(y), loss]), {"x": uniform(16, n, n, 1), "noise": normal(16, inner)}


def unpool(x, at, n, channels):
    flat = tf.scatter_nd(tf.reshape(at, [-1, 1]), tf.reshape(x, [-1]), [n * n * channels])
    return tf.reshape(flat, [1, n, n, channels])


@model()
def segnet(tiny):
    n, width = (32, 4) if tiny else (96, 16)
    x = K.Input((n, n, 3), batch_size=1)
    body, places = x, []
    for i in range(2):
        body = conv(body, width << i)
        body, at = L.Lambda(lambda t: list(tf.nn.max_pool_with_argmax(t, 2, 2, "SAME", output_dtype=tf.int64)))(body)
        places.append(at)
    for i in (1, 0):
        size, channels = n >> i, width << i
        body = conv(body, channels)
        body = L.Lambda(lambda t, size=size, channels=channels: unpool(t[0], t[1], size, channels),
                        output_shape=(size, size, channels))([body, places[i]])
    return K.Model(x, L.Conv2D(5, 1, activation="softmax")(body)), {"x": normal(1, n, n, 3)}


@model()
def deeplab(tiny):
    n, width = (32, 8) if tiny else (128, 32)
    x = K.Input((n, n, 3), batch_size=1)
    low = conv(conv(x, width, stride=2), width, stride=2)
    y = conv(conv(low, 2 * width, stride=2), 2 * width, dilation=2)
    parts = [conv(y, width, 1)] + [conv(y, width, dilation=d) for d in (2, 4, 6)]
    whole = conv(L.GlobalAveragePooling2D(keepdims=True)(y), width, 1)
    parts.append(L.Lambda(lambda t: tf.image.resize(t, [n // 8, n // 8]))(whole))
    y = conv(L.Concatenate()(parts), width, 1)
    y = L.Lambda(lambda t: tf.image.resize(t, [n // 4, n // 4]))(y)
    y = conv(L.Concatenate()([y, conv(low, width, 1)]), width)
    y = L.Lambda(lambda t: tf.image.resize(t, [n, n]))(L.Conv2D(8, 1)(y))
    return K.Model(x, [y, L.Lambda(lambda t: tf.argmax(t, -1))(y)]), {"x": normal(1, n, n, 3)}


@model()
def pose(tiny):
    n, width, joints = (32, 8, 5) if tiny else (128, 32, 17)
    x = K.Input((n, n, 3), batch_size=1)
    y = conv(conv(conv(x, width, stride=2), 2 * width, stride=2), 4 * width, stride=2)
    for _ in range(2):
        y = L.Activation("relu")(L.BatchNormalization()(L.Conv2DTranspose(2 * width, 4, 2, "same", use_bias=False)(y)))
    maps = L.Conv2D(joints, 1)(y)

    def find(t):
        flat = tf.reshape(t, [1, -1, joints])
        at = tf.argmax(flat, 1, tf.int32)
        side = n // 2
        soft = tf.reshape(tf.nn.softmax(flat, 1), [1, side, side, joints])
        mean = tf.einsum("bhwj,h->bj", soft, tf.range(side, dtype=tf.float32))
        return [tf.stack([at // side, at % side], -1), tf.reduce_max(flat, 1), mean]
    return K.Model(x, L.Lambda(find)(maps)), {"x": normal(1, n, n, 3)}


@model()
def capsules(tiny):
    n, width, kinds = (20, 16, 4) if tiny else (28, 64, 10)
    x = K.Input((n, n, 1), batch_size=4)
    y = L.Conv2D(width, 9, 2, activation="relu")(L.Conv2D(width, 5, activation="relu")(x))
    many = y.shape[1] * y.shape[2] * width // 8
    weights = tf.constant(normal(many, kinds, 16, 8) * 0.1)

    def squash(t):
        square = tf.reduce_sum(t * t, -1, keepdims=True)
        return t * square / ((1 + square) * tf.sqrt(square + 1e-7))

    def route(t):
        u = squash(tf.reshape(t, [4, many, 8]))
        votes = tf.einsum("iokd,bid->biok", weights, u)
        logits = tf.zeros([4, many, kinds, 1])
        for step in range(3):
            out = squash(tf.reduce_sum(tf.nn.softmax(logits, 2) * votes, 1, keepdims=True))
            if step < 2:
                logits += tf.matmul(votes[..., tf.newaxis, :], tf.tile(out, [1, many, 1, 1])[..., tf.newaxis])[..., 0]
        return tf.norm(out, axis=-1)
    return K.Model(x, L.Lambda(route)(y)), {"x": uniform(4, n, n, 1)}


@model("loop")
def conv_lstm(tiny):
    n, steps, width = (8, 3, 4) if tiny else (32, 6, 16)
    x = K.Input((steps, n, n, 1), batch_size=1)
    y = L.ConvLSTM2D(width, 3, padding="same", return_sequences=False)(x)
    return K.Model(x, L.Conv2D(1, 3, padding="same", activation="sigmoid")(y)), {"x": uniform(1, steps, n, n, 1)}


@model("saved")
def preprocessing(tiny):
    """Any size of picture as bytes of pixels: resized, cropped, normalised, flipped and seen twice, in the model itself."""
    n = 48 if tiny else 160
    body = APPS.MobileNetV2((96, 96, 3), alpha=0.35, weights=None, classes=20) if not tiny else K.Sequential(
        [K.Input((96, 96, 3)), L.Conv2D(8, 3, 4, activation="relu"), L.GlobalAveragePooling2D(), L.Dense(5)])

    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.body = body

        def __call__(self, x):
            y = tf.image.resize(tf.cast(x, tf.float32), [110, 110], antialias=False)
            y = tf.image.resize_with_crop_or_pad(y, 96, 96)
            y = (y / 255.0 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
            y = tf.concat([y, tf.image.flip_left_right(y)], 0)
            return tf.reduce_mean(tf.nn.softmax(self.body(y, training=False)), 0)
    return Net(), {"x": pixels(1, n, n, 3).astype("uint8")}


@model("saved")
def decoder(tiny):
    """Pictures as strings of bytes, one after the other, as servers get them."""
    n = 32 if tiny else 200
    body = K.Sequential([K.Input((64, 64, 3)), L.Conv2D(8 if tiny else 32, 3, 2, activation="relu"), L.GlobalAveragePooling2D(),
                         L.Dense(5)])
    picture = pixels(1, n, n, 3).astype("uint8").tobytes()

    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.body = body

        def __call__(self, x):
            def one(data):
                picture = tf.reshape(tf.io.decode_raw(data, tf.uint8), [n, n, 3])
                return tf.image.resize(tf.cast(picture, tf.float32), [64, 64])
            y = tf.map_fn(one, x, fn_output_signature=tf.TensorSpec([64, 64, 3], tf.float32))
            return self.body(y / 255.0, training=False)
    import numpy as np
    return Net(), {"x": np.array([picture, picture], object)}
