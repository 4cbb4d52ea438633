"""distributions — tf.distributions: Normal, Bernoulli, Categorical, Uniform, Exponential and Beta; divergences by registered pairs."""
import math

from .. import dtypes
from ..array_ops import broadcast_dynamic_shape, concat, one_hot, ones, reshape, shape as shape_of, zeros_like
from ..convert import convert_to_tensor
from ..graph import get_default_graph, name_scope
from ..math_ops import argmax, cast, exp, log, log1p, reduce_sum, sigmoid, sqrt, square
from ..ops_apply import apply
from ..random_ops import multinomial, random_gamma, random_normal, random_uniform
from ..tensor_shape import TensorShape
from ..nn import log_softmax, sigmoid_cross_entropy_with_logits

__all__ = ["Distribution", "Normal", "Bernoulli", "Categorical", "Uniform", "Exponential", "Beta", "MultivariateNormalDiag",
           "kl_divergence", "RegisterKL", "ReparameterizationType", "FULLY_REPARAMETERIZED", "NOT_REPARAMETERIZED"]


def softplus(x):
    return apply("Softplus", None, {"features": x})


class ReparameterizationType:
    """Whether samples have gradients with respect to the parameters."""

    def __init__(self, rep_type):
        self._rep_type = rep_type

    def __repr__(self):
        return "<Reparameterization Type: %s>" % self._rep_type


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


class Distribution:
    """Numbers at random: `sample`, `log_prob`, `prob`, `mean`, `stddev`, `variance`, `entropy`, `mode`."""
    _event_ndims = 0
    reparameterization_type = FULLY_REPARAMETERIZED

    def __init__(self, dtype, parameters, name, validate_args=False, allow_nan_stats=True):
        self._dtype, self._parameters, self._name = dtype, parameters, name
        self._validate_args, self._allow_nan_stats = validate_args, allow_nan_stats

    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype)
    parameters = property(lambda self: dict(self._parameters))
    validate_args = property(lambda self: self._validate_args)
    allow_nan_stats = property(lambda self: self._allow_nan_stats)

    def _one(self):
        """A tensor of the batch's shape."""
        raise NotImplementedError("batch shape")

    batch_shape = property(lambda self: self._one().shape)
    event_shape = property(lambda self: TensorShape([]))

    def batch_shape_tensor(self, name="batch_shape_tensor"):
        return shape_of(self._one())

    def event_shape_tensor(self, name="event_shape_tensor"):
        return convert_to_tensor([], dtypes.int32)

    def sample(self, sample_shape=(), seed=None, name="sample"):
        """Numbers of the shape sample_shape + batch_shape + event_shape."""
        with get_default_graph().name_scope(self._name), name_scope(name):
            lead = convert_to_tensor(sample_shape, dtypes.int32)
            static = TensorShape([int(d) for d in sample_shape]) if isinstance(sample_shape, (list, tuple)) else \
                TensorShape([int(sample_shape)]) if isinstance(sample_shape, int) else TensorShape(None)
            lead = reshape(lead, [-1])
            found = self._sample(concat([lead, self.batch_shape_tensor()], 0), seed)
            if static.ndims is not None and self.batch_shape.ndims is not None:
                found.set_shape(static.concatenate(self.batch_shape).concatenate(self.event_shape))
            return found

    def prob(self, value, name="prob"):
        return exp(self.log_prob(value))

    def log_prob(self, value, name="log_prob"):
        with get_default_graph().name_scope(self._name), name_scope(name):
            return self._log_prob(convert_to_tensor(value, self._dtype))

    def stddev(self, name="stddev"):
        return sqrt(self.variance())

    def variance(self, name="variance"):
        return square(self.stddev())

    def cross_entropy(self, other, name="cross_entropy"):
        return self.entropy() + kl_divergence(self, other)

    def kl_divergence(self, other, name="kl_divergence"):
        return kl_divergence(self, other)

    def survival_function(self, value, name="survival_function"):
        return 1.0 - self.cdf(value)

    def log_cdf(self, value, name="log_cdf"):
        return log(self.cdf(value))


def _floats(**values):
    """The parameters as tensors of one type."""
    kind = next((convert_to_tensor(v).dtype.base_dtype for v in values.values() if hasattr(v, "dtype")), dtypes.float32)
    return [convert_to_tensor(v, kind, name=k) for k, v in values.items()]


class Normal(Distribution):
    """exp(-((x - loc) / scale)^2 / 2) / (scale sqrt(2 pi))."""

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Normal"):
        with name_scope(name, values=[loc, scale]):
            self._loc, self._scale = _floats(loc=loc, scale=scale)
        super().__init__(self._loc.dtype.base_dtype, {"loc": loc, "scale": scale}, name, validate_args, allow_nan_stats)

    loc, scale = property(lambda self: self._loc), property(lambda self: self._scale)

    def _one(self):
        return self._loc + zeros_like(self._scale)

    def _sample(self, shape, seed):
        return random_normal(shape, dtype=self._dtype, seed=seed) * self._scale + self._loc

    def _z(self, x):
        return (x - self._loc) / self._scale

    def _log_prob(self, x):
        return -0.5 * square(self._z(x)) - (0.5 * math.log(2.0 * math.pi) + log(self._scale))

    def cdf(self, value, name="cdf"):
        z = self._z(convert_to_tensor(value, self._dtype)) / math.sqrt(2.0)
        return 0.5 * apply("Erfc", None, {"x": -z})

    def mean(self, name="mean"):
        return self._one()

    mode = mean

    def stddev(self, name="stddev"):
        return self._scale + zeros_like(self._loc)

    def entropy(self, name="entropy"):
        return 0.5 * math.log(2.0 * math.pi) + 0.5 + log(self.stddev())

    def quantile(self, value, name="quantile"):
        return self._loc + self._scale * apply("Ndtri", None, {"x": convert_to_tensor(value, self._dtype)})


class MultivariateNormalDiag(Distribution):
    """Normal in each coordinate of the last dimension."""
    _event_ndims = 1

    def __init__(self, loc=None, scale_diag=None, scale_identity_multiplier=None, validate_args=False,
                 allow_nan_stats=True, name="MultivariateNormalDiag"):
        if scale_identity_multiplier is not None:
            raise NotImplementedError("MultivariateNormalDiag with scale_identity_multiplier is not part of Millrace")
        scale = scale_diag if scale_diag is not None else ones(shape_of(convert_to_tensor(loc))[-1:])
        loc = zeros_like(convert_to_tensor(scale)) if loc is None else loc
        self._normal = Normal(loc, scale, name=name)
        super().__init__(self._normal.dtype, {"loc": loc, "scale_diag": scale}, name, validate_args, allow_nan_stats)

    loc = property(lambda self: self._normal.loc)
    scale_diag = property(lambda self: self._normal.scale)
    event_shape = property(lambda self: self._normal.batch_shape[-1:])

    def _one(self):
        return reduce_sum(self._normal._one(), -1)

    def _sample(self, shape, seed):
        return self._normal._sample(concat([shape, shape_of(self._normal._one())[-1:]], 0), seed)

    def _log_prob(self, x):
        return reduce_sum(self._normal._log_prob(x), -1)

    def mean(self, name="mean"):
        return self._normal.mean()

    mode = mean

    def stddev(self, name="stddev"):
        return self._normal.stddev()

    def entropy(self, name="entropy"):
        return reduce_sum(self._normal.entropy(), -1)


class Bernoulli(Distribution):
    """1 with probability probs, else 0."""
    reparameterization_type = NOT_REPARAMETERIZED

    def __init__(self, logits=None, probs=None, dtype=dtypes.int32, validate_args=False, allow_nan_stats=True,
                 name="Bernoulli"):
        if (logits is None) == (probs is None):
            raise ValueError("Must pass probs or logits, but not both.")
        if logits is None:
            self._probs, = _floats(probs=probs)
            self._logits = log(self._probs) - log1p(-self._probs)
        else:
            self._logits, = _floats(logits=logits)
            self._probs = sigmoid(self._logits)
        super().__init__(dtypes.as_dtype(dtype), {"logits": logits, "probs": probs}, name, validate_args, allow_nan_stats)

    logits, probs = property(lambda self: self._logits), property(lambda self: self._probs)

    def _one(self):
        return self._logits

    def _sample(self, shape, seed):
        return cast(random_uniform(shape, seed=seed, dtype=self._probs.dtype) < self._probs, self._dtype)

    def _log_prob(self, x):
        x = cast(x, self._logits.dtype)
        shape = broadcast_dynamic_shape(shape_of(x), shape_of(self._logits))
        spread = lambda t: apply("BroadcastTo", None, {"input": t, "shape": shape})
        return -sigmoid_cross_entropy_with_logits(labels=spread(x), logits=spread(self._logits))

    def mean(self, name="mean"):
        return apply("Identity", None, {"input": self._probs})

    def variance(self, name="variance"):
        return self._probs * (1.0 - self._probs)

    def mode(self, name="mode"):
        return cast(self._probs > 0.5, self._dtype)

    def entropy(self, name="entropy"):
        return -self._logits * (sigmoid(self._logits) - 1) + softplus(-self._logits)


class Categorical(Distribution):
    """A class of those whose chances the last dimension gives."""
    reparameterization_type = NOT_REPARAMETERIZED

    def __init__(self, logits=None, probs=None, dtype=dtypes.int32, validate_args=False, allow_nan_stats=True,
                 name="Categorical"):
        if (logits is None) == (probs is None):
            raise ValueError("Must pass probs or logits, but not both.")
        if logits is None:
            self._probs, = _floats(probs=probs)
            self._logits = log(self._probs)
        else:
            self._logits, = _floats(logits=logits)
            self._probs = exp(log_softmax(self._logits))
        super().__init__(dtypes.as_dtype(dtype), {"logits": logits, "probs": probs}, name, validate_args, allow_nan_stats)

    logits, probs = property(lambda self: self._logits), property(lambda self: self._probs)
    event_size = property(lambda self: shape_of(self._logits)[-1])

    def _one(self):
        return reduce_sum(self._logits, -1)

    def _sample(self, shape, seed):
        flat = reshape(self._logits, [-1, self.event_size])
        n = apply("Prod", None, {"input": shape, "reduction_indices": convert_to_tensor([0])}) // shape_of(flat)[0]
        from ..array_ops import transpose
        return reshape(cast(transpose(multinomial(flat, n, seed=seed)), self._dtype), shape)

    def _log_prob(self, x):
        chances = log_softmax(self._logits)
        return reduce_sum(one_hot(cast(x, dtypes.int32), self.event_size, dtype=chances.dtype) * chances, -1)

    def mode(self, name="mode"):
        return cast(argmax(self._logits, -1), self._dtype)

    def entropy(self, name="entropy"):
        chances = log_softmax(self._logits)
        return -reduce_sum(exp(chances) * chances, -1)


class Uniform(Distribution):
    """Evenly between low and high."""

    def __init__(self, low=0.0, high=1.0, validate_args=False, allow_nan_stats=True, name="Uniform"):
        self._low, self._high = _floats(low=low, high=high)
        super().__init__(self._low.dtype.base_dtype, {"low": low, "high": high}, name, validate_args, allow_nan_stats)

    low, high = property(lambda self: self._low), property(lambda self: self._high)

    def _one(self):
        return self._low + zeros_like(self._high)

    def range(self, name="range"):
        return self._high - self._low

    def _sample(self, shape, seed):
        return self._low + self.range() * random_uniform(shape, dtype=self._dtype, seed=seed)

    def prob(self, value, name="prob"):
        x = convert_to_tensor(value, self._dtype)
        inside = apply("LogicalAnd", None, {"x": x >= self._low, "y": x < self._high})
        return cast(inside, self._dtype) / self.range()

    def _log_prob(self, x):
        return log(self.prob(x))

    def mean(self, name="mean"):
        return (self._low + self._high) / 2.0

    def variance(self, name="variance"):
        return square(self.range()) / 12.0

    def entropy(self, name="entropy"):
        return log(self.range())


class Exponential(Distribution):
    """rate exp(-rate x)."""

    def __init__(self, rate, validate_args=False, allow_nan_stats=True, name="Exponential"):
        self._rate, = _floats(rate=rate)
        super().__init__(self._rate.dtype.base_dtype, {"rate": rate}, name, validate_args, allow_nan_stats)

    rate = property(lambda self: self._rate)

    def _one(self):
        return self._rate

    def _sample(self, shape, seed):
        u = random_uniform(shape, minval=1.1754944e-38, maxval=1.0, dtype=self._dtype, seed=seed)
        return -log(u) / self._rate

    def _log_prob(self, x):
        return log(self._rate) - self._rate * x

    def mean(self, name="mean"):
        return 1.0 / self._rate

    stddev = mean

    def entropy(self, name="entropy"):
        return 1.0 - log(self._rate)


class Beta(Distribution):
    """x^(a - 1) (1 - x)^(b - 1) over the beta function of a and b."""

    def __init__(self, concentration1=None, concentration0=None, validate_args=False, allow_nan_stats=True, name="Beta"):
        self._a, self._b = _floats(concentration1=concentration1, concentration0=concentration0)
        super().__init__(self._a.dtype.base_dtype, {"concentration1": concentration1, "concentration0": concentration0},
                         name, validate_args, allow_nan_stats)

    concentration1, concentration0 = property(lambda self: self._a), property(lambda self: self._b)
    total_concentration = property(lambda self: self._a + self._b)

    def _one(self):
        return self._a + self._b

    def _sample(self, shape, seed):
        shape = shape[:shape_of(shape)[0] - shape_of(shape_of(self._one()))[0]]  # random_gamma adds that of its alpha
        x = random_gamma(shape, self._a + zeros_like(self._b), dtype=self._dtype, seed=seed)
        y = random_gamma(shape, self._b + zeros_like(self._a), dtype=self._dtype, seed=None if seed is None else seed + 1)
        return x / (x + y)

    def _normalization(self):
        lgamma = lambda v: apply("Lgamma", None, {"x": v})
        return lgamma(self._a) + lgamma(self._b) - lgamma(self._a + self._b)

    def _log_prob(self, x):
        return (self._a - 1.0) * log(x) + (self._b - 1.0) * log1p(-x) - self._normalization()

    def mean(self, name="mean"):
        return self._a / (self._a + self._b)

    def variance(self, name="variance"):
        return self.mean() * (1.0 - self.mean()) / (1.0 + self._a + self._b)

    def entropy(self, name="entropy"):
        digamma = lambda v: apply("Digamma", None, {"x": v})
        return self._normalization() - (self._a - 1.0) * digamma(self._a) - (self._b - 1.0) * digamma(self._b) + (
            self._a + self._b - 2.0) * digamma(self._a + self._b)


# ---------------------------------------- divergences

_divergences = {}


class RegisterKL:
    """A decorator: the function gives the divergence of two distributions of these classes."""

    def __init__(self, dist_cls_a, dist_cls_b):
        self._key = dist_cls_a, dist_cls_b

    def __call__(self, kl_fn):
        if not callable(kl_fn):
            raise TypeError("kl_fn must be callable, received: %s" % kl_fn)
        if self._key in _divergences:
            raise ValueError("KL(%s || %s) has already been registered to: %s" % (
                self._key[0].__name__, self._key[1].__name__, _divergences[self._key]))
        _divergences[self._key] = kl_fn
        return kl_fn


def kl_divergence(distribution_a, distribution_b, allow_nan_stats=True, name=None):
    """How far b is from a."""
    for a in type(distribution_a).__mro__:
        for b in type(distribution_b).__mro__:
            if (a, b) in _divergences:
                with name_scope(name, "KullbackLeibler"):
                    return _divergences[a, b](distribution_a, distribution_b, name=name)
    raise NotImplementedError("No KL(distribution_a || distribution_b) registered for distribution_a type %s and "
                              "distribution_b type %s" % (type(distribution_a).__name__, type(distribution_b).__name__))


@RegisterKL(Normal, Normal)
def _kl_normal(a, b, name=None):
    ratio = square(a.scale / b.scale)
    return square(a.loc - b.loc) / (2.0 * square(b.scale)) + 0.5 * (ratio - 1.0 - log(ratio))


@RegisterKL(MultivariateNormalDiag, MultivariateNormalDiag)
def _kl_diag(a, b, name=None):
    return reduce_sum(_kl_normal(a._normal, b._normal), -1)


@RegisterKL(Bernoulli, Bernoulli)
def _kl_bernoulli(a, b, name=None):
    zero, one = softplus(b.logits) - softplus(a.logits), softplus(-b.logits) - softplus(-a.logits)
    return sigmoid(a.logits) * one + sigmoid(-a.logits) * zero


@RegisterKL(Categorical, Categorical)
def _kl_categorical(a, b, name=None):
    p, q = log_softmax(a.logits), log_softmax(b.logits)
    return reduce_sum(exp(p) * (p - q), -1)
