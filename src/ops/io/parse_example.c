// ParseExample, ParseExampleV2, ParseSingleExample — serialized examples as dense, sparse and ragged tensors.
#include "ops/io/features.h"

// What a node says of its features; where the keys come from differs.
typedef struct {
    const AttrValue *sparse_types, *dense_types, *dense_shapes, *ragged_types, *split_types;
    const AttrValue *sparse_keys, *dense_keys;  // ParseSingleExample's
    int n_sparse, n_dense, n_ragged;
} ParseOwn;

static Status *prepare_any(Prepare *p, const char *n_sparse) {
    ParseOwn *own = p->own;
    own->sparse_types = node_list(p->node, "sparse_types");
    own->dense_types = node_list(p->node, "Tdense");
    own->dense_shapes = node_list(p->node, "dense_shapes");
    own->n_sparse = own->sparse_types->n;
    own->n_dense = own->dense_types->n;
    int64_t told = node_int(p->node, n_sparse);
    NEED(told == own->n_sparse, INVALID_ARGUMENT, "%s is %lld, but there are %d sparse_types", n_sparse,
         (long long)told, own->n_sparse);
    NEED(own->dense_shapes->n == own->n_dense, INVALID_ARGUMENT, "len(dense_keys) != len(dense_shapes): %d vs. %d",
         own->n_dense, own->dense_shapes->n);
    return OK;
}

static Status *prepare_v1(Prepare *p) {
    NEED(node_int(p->node, "Ndense") == node_list(p->node, "Tdense")->n, INVALID_ARGUMENT,
         "Ndense is not the number of types in Tdense");
    return prepare_any(p, "Nsparse");
}

static Status *prepare_v2(Prepare *p) {
    ParseOwn *own = p->own;
    own->ragged_types = node_list(p->node, "ragged_value_types");
    own->split_types = node_list(p->node, "ragged_split_types");
    own->n_ragged = own->ragged_types->n;
    NEED(own->n_ragged == own->split_types->n, INVALID_ARGUMENT,
         "len(ragged_value_types) != len(ragged_split_types): %d vs. %d", own->n_ragged, own->split_types->n);
    return prepare_any(p, "num_sparse");
}

static Status *prepare_single(Prepare *p) {
    ParseOwn *own = p->own;
    own->sparse_keys = node_list(p->node, "sparse_keys");
    own->dense_keys = node_list(p->node, "dense_keys");
    TRY(prepare_any(p, "num_sparse"));
    NEED(own->sparse_keys->n == own->n_sparse && own->dense_keys->n == own->n_dense, INVALID_ARGUMENT,
         "%d sparse_keys and %d dense_keys for %d and %d types", own->sparse_keys->n, own->dense_keys->n, own->n_sparse,
         own->n_dense);
    return OK;
}

// ---------------------------------------- what is asked for, of one call

// Key i of a list of scalars that begins at that input.
static Status *scalar_key(const Kernel *k, int input, int i, Str *out) {
    const Tensor *key = k->in[input + i];
    NEED(tensor_count(key) == 1, INVALID_ARGUMENT, "a key has shape %s, expected a scalar", shape_text(&key->shape));
    *out = tstring_str(key->data);
    return OK;
}

static Status *check_keys(const Tensor *keys, const char *what, const char *types, int n) {
    NEED(keys->shape.rank == 1, INVALID_ARGUMENT, "%s has shape %s, expected a vector", what, shape_text(&keys->shape));
    NEED(tensor_count(keys) == n, INVALID_ARGUMENT, "Expected len(%s) == %s but got: %lld vs. %d", what, types,
         (long long)tensor_count(keys), n);
    return OK;
}

// Everything but the keys; the defaults begin at that input.
static void set_specs(const Kernel *k, const ParseOwn *own, FeatureSpec *specs, int defaults) {
    int sparse = own->n_sparse, dense = own->n_dense, ragged = own->n_ragged;
    for (int i = 0; i < sparse; i++)
        specs[i] = (FeatureSpec){.kind = FEATURE_SPARSE, .dtype = own->sparse_types->types[i], .first = i,
                                 .second = sparse + i, .third = 2 * sparse + i};
    for (int i = 0; i < dense; i++)
        specs[sparse + i] = (FeatureSpec){.kind = FEATURE_FIXED, .dtype = own->dense_types->types[i],
                                          .shape = own->dense_shapes->shapes[i], .fallback = k->in[defaults + i],
                                          .first = 3 * sparse + i};
    for (int i = 0; i < ragged; i++)
        specs[sparse + dense + i] = (FeatureSpec){.kind = FEATURE_RAGGED, .dtype = own->ragged_types->types[i],
                                                  .splits = own->split_types->types[i],
                                                  .first = 3 * sparse + dense + i,
                                                  .second = 3 * sparse + dense + ragged + i};
}

typedef Status *KeysFn(const Kernel *k, const ParseOwn *own, FeatureSpec *specs);

static Status *parse(Kernel *k, const Tensor *names, int defaults, KeysFn *set_keys) {
    const ParseOwn *own = k->own;
    NEED(!names || !tensor_count(names) || shape_equal(&names->shape, &k->in[0]->shape), INVALID_ARGUMENT,
         "Expected names have the same shape as serialized: name.shape=%s, serialized.shape=%s",
         shape_text(&names->shape), shape_text(&k->in[0]->shape));
    FeatureSpecs specs;
    TRY(feature_specs_init(&specs, own->n_sparse + own->n_dense + own->n_ragged));
    set_specs(k, own, specs.specs, defaults);
    Status *status = set_keys(k, own, specs.specs);
    if (!status)
        status = feature_specs_check(&specs, own->n_sparse);
    if (!status)
        status = features_parse(k, &specs, k->in[0], names);
    feature_specs_clear(&specs);
    return status;
}

static Status *keys_v1(const Kernel *k, const ParseOwn *own, FeatureSpec *specs) {
    for (int i = 0; i < own->n_sparse + own->n_dense; i++)
        TRY(scalar_key(k, 2, i, &specs[i].key));
    return OK;
}

static Status *run_v1(Kernel *k) {
    const ParseOwn *own = k->own;
    NEED(k->in[0]->shape.rank == 1, INVALID_ARGUMENT, "Expected serialized to be a vector, got shape: %s",
         shape_text(&k->in[0]->shape));
    return parse(k, k->in[1], 2 + own->n_sparse + own->n_dense, keys_v1);
}

static Status *keys_v2(const Kernel *k, const ParseOwn *own, FeatureSpec *specs) {
    TRY(check_keys(k->in[2], "sparse_keys", "num_sparse", own->n_sparse));
    TRY(check_keys(k->in[3], "dense_keys", "len(dense_types)", own->n_dense));
    TRY(check_keys(k->in[4], "ragged_keys", "len(ragged_value_types)", own->n_ragged));
    for (int list = 2; list <= 4; list++)
        for (int64_t i = 0; i < tensor_count(k->in[list]); i++)
            specs++->key = tstring_str((const TString *)k->in[list]->data + i);
    return OK;
}

static Status *run_v2(Kernel *k) {
    NEED(k->in[0]->shape.rank <= 1, INVALID_ARGUMENT, "Expected serialized to be a scalar or vector, got shape: %s",
         shape_text(&k->in[0]->shape));
    return parse(k, k->in[1], 5, keys_v2);
}

static Status *keys_single(const Kernel *k, const ParseOwn *own, FeatureSpec *specs) {
    (void)k;
    for (int i = 0; i < own->n_sparse; i++)
        specs++->key = own->sparse_keys->ss[i];
    for (int i = 0; i < own->n_dense; i++)
        specs++->key = own->dense_keys->ss[i];
    return OK;
}

static Status *run_single(Kernel *k) {
    NEED(k->in[0]->shape.rank == 0, INVALID_ARGUMENT, "Expected serialized to be a scalar, got shape: %s",
         shape_text(&k->in[0]->shape));
    return parse(k, NULL, 1, keys_single);
}

#define PARSE_FIELDS .shape = shape_none, .own_size = sizeof(ParseOwn), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT
#define PARSED "{float, int64, string}"

const Op op_ParseExample = {
    .signature = "ParseExample(serialized: string, names: string, sparse_keys: Nsparse * string, "
                 "dense_keys: Ndense * string, dense_defaults: Tdense) -> sparse_indices: Nsparse * int64, "
                 "sparse_values: sparse_types, sparse_shapes: Nsparse * int64, dense_values: Tdense; "
                 "Nsparse: int >= 0; Ndense: int >= 0; sparse_types: list(" PARSED ") >= 0; "
                 "Tdense: list(" PARSED ") >= 0; dense_shapes: list(shape) >= 0",
    .doc = "A batch of serialized Examples as sparse and dense tensors.", .prepare = prepare_v1,
    .cpu = ANY_TYPE(run_v1), PARSE_FIELDS,
};

const Op op_ParseExampleV2 = {
    .signature = "ParseExampleV2(serialized: string, names: string, sparse_keys: string, dense_keys: string, "
                 "ragged_keys: string, dense_defaults: Tdense) -> sparse_indices: num_sparse * int64, "
                 "sparse_values: sparse_types, sparse_shapes: num_sparse * int64, dense_values: Tdense, "
                 "ragged_values: ragged_value_types, ragged_row_splits: ragged_split_types; "
                 "Tdense: list(" PARSED ") >= 0; num_sparse: int >= 0; sparse_types: list(" PARSED ") >= 0; "
                 "ragged_value_types: list(" PARSED ") >= 0; ragged_split_types: list({int32, int64}) >= 0; "
                 "dense_shapes: list(shape) >= 0",
    .doc = "A batch of serialized Examples, or one, as sparse, dense and ragged tensors.", .prepare = prepare_v2,
    .cpu = ANY_TYPE(run_v2), PARSE_FIELDS,
};

const Op op_ParseSingleExample = {
    .signature = "ParseSingleExample(serialized: string, dense_defaults: Tdense) -> "
                 "sparse_indices: num_sparse * int64, sparse_values: sparse_types, sparse_shapes: num_sparse * int64, "
                 "dense_values: Tdense; num_sparse: int >= 0; sparse_keys: list(string) >= 0; "
                 "dense_keys: list(string) >= 0; sparse_types: list(" PARSED ") >= 0; Tdense: list(" PARSED ") >= 0; "
                 "dense_shapes: list(shape) >= 0",
    .doc = "A serialized Example as sparse and dense tensors.", .prepare = prepare_single, .cpu = ANY_TYPE(run_single),
    PARSE_FIELDS,
};
