"""contrib — what tf.contrib had, as far as programs use it; each file is one of its parts, named in api.TABLE."""
