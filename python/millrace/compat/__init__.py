"""compat — TensorFlow's interfaces by version: `v1` is that of 1.15."""
