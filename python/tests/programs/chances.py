"""chances — tf.distributions: densities, moments, entropies, divergences, shapes of samples."""
import numpy as np


def main(tf):
    d = tf.distributions
    x = np.array([0.3, 0.6], np.float32)
    normal, other = d.Normal([0.0, 1.0], [1.0, 2.0]), d.Normal(0.5, [1.5, 1.0])
    coin, loaded = d.Bernoulli(logits=[0.2, -1.0]), d.Bernoulli(probs=[0.3, 0.9])
    dice, wheel = d.Categorical(logits=[[0.1, 0.5, -0.3]]), d.Categorical(probs=[[0.2, 0.3, 0.5]])
    uniform, exponential, beta = d.Uniform(0.0, [1.0, 2.0]), d.Exponential([0.5, 2.0]), d.Beta([1.5, 2.0], [2.0, 3.0])
    out = {}
    for each in (normal, uniform, exponential, beta):
        out[each.name.strip("/")] = [each.log_prob(x), each.prob(x), each.mean(), each.stddev(), each.variance(), each.entropy()]
    out["coin"] = [coin.log_prob([1, 0]), coin.mean(), coin.variance(), coin.entropy(), coin.mode(), loaded.logits]
    out["dice"] = [dice.log_prob([2]), dice.entropy(), dice.mode(), wheel.logits, dice.probs]
    out["cdf"] = [normal.cdf(x), normal.quantile(x)]
    out["kl"] = [d.kl_divergence(normal, other), d.kl_divergence(coin, loaded), d.kl_divergence(dice, wheel)]
    out["cross"] = normal.cross_entropy(other)
    with tf.Session() as session:
        out = session.run(out)
        for each in (normal, coin, dice, uniform, exponential, beta):
            sample = each.sample(5, seed=1)
            out["shape " + each.name.strip("/")] = [sample.shape.as_list(), list(session.run(sample).shape)]
        many = session.run(normal.sample([20000], seed=2))
    out["near"] = [bool(np.all(np.abs(many.mean(0) - [0, 1]) < 0.1)), bool(np.all(np.abs(many.std(0) - [1, 2]) < 0.1))]
    return out
