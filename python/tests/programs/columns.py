"""columns — feature columns: what they make of features, and linear models over them."""
import numpy as np

def main(tf):
    fc = tf.feature_column
    out = {}
    cols = [fc.numeric_column('n', shape=(2,)), fc.bucketized_column(fc.numeric_column('b'), [1.0, 3.0]), fc.indicator_column(fc.categorical_column_with_vocabulary_list('v', ['a', 'b', 'c'])), fc.indicator_column(fc.categorical_column_with_identity('i', 4)), fc.indicator_column(fc.categorical_column_with_hash_bucket('h', 5)), fc.embedding_column(fc.categorical_column_with_identity('i', 4), 2, initializer=tf.constant_initializer(0.5))]
    f = {'n': tf.constant([[1.0, 2.0], [3.0, 4.0]]), 'b': tf.constant([[0.5], [3.5]]), 'v': tf.constant([['b'], ['zz']]), 'i': tf.constant([[3], [0]], tf.int64), 'h': tf.constant([['x'], ['y']])}
    y = fc.input_layer(f, cols)
    z = fc.linear_model(f, cols[:4])
    out['spec'] = sorted(fc.make_parse_example_spec(cols))
    with tf.Session() as s:
        s.run([tf.global_variables_initializer(), tf.tables_initializer()])
        out['y'], out['z'] = s.run([y, z])
    out['vars'] = sorted((v.name for v in tf.global_variables()))
    return out
