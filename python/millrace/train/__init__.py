"""train — what tf.train has, filled in on first use: see millrace.compat.v1.api."""
