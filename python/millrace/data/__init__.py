"""data — tf.data: see dataset.py (Dataset), iterator.py, structure.py, experimental.py, with_function.py."""
