// ParseSequenceExample, ParseSequenceExampleV2, ParseSingleSequenceExample — serialized SequenceExamples as tensors.
//
// Their context is read like an Example (features.h), their lists by feature_lists.h.
#include "ops/io/feature_lists.h"
#include "ops/io/features.h"

enum { SPARSE, DENSE, RAGGED };

// How many of each, and of which types. Where the keys come from differs.
typedef struct {
    int context[3], lists[3];
    const AttrValue *context_types[3], *list_types[3];
    const AttrValue *context_splits, *list_splits, *context_shapes, *list_shapes;
    const AttrValue *context_keys[2], *list_keys[2], *missing;  // ParseSequenceExample's
} SequenceOwn;

static Status *read_types(const Node *node, const char *attr, int *n, const AttrValue **types) {
    *types = node_list(node, attr);
    *n = (*types)->n;
    return OK;
}

static Status *check_number(const Node *node, const char *attr, int n) {
    NEED(node_int(node, attr) == n, INVALID_ARGUMENT, "%s is %lld, but there are %d types", attr,
         (long long)node_int(node, attr), n);
    return OK;
}

static Status *check_shapes(const AttrValue *shapes, int n, const char *what) {
    NEED(shapes->n == n, INVALID_ARGUMENT, "len(%s) != number of dense keys: %d vs. %d", what, shapes->n, n);
    for (int i = 0; i < n; i++)
        NEED(shape_is_known(&shapes->shapes[i]), INVALID_ARGUMENT, "Shape %s is not fully defined",
             shape_text(&shapes->shapes[i]));
    return OK;
}

static Status *prepare_any(Prepare *p) {
    SequenceOwn *own = p->own;
    const Node *node = p->node;
    TRY(read_types(node, "context_sparse_types", &own->context[SPARSE], &own->context_types[SPARSE]));
    TRY(read_types(node, "Tcontext_dense", &own->context[DENSE], &own->context_types[DENSE]));
    TRY(read_types(node, "feature_list_sparse_types", &own->lists[SPARSE], &own->list_types[SPARSE]));
    TRY(read_types(node, "feature_list_dense_types", &own->lists[DENSE], &own->list_types[DENSE]));
    TRY(check_number(node, "Ncontext_sparse", own->context[SPARSE]));
    TRY(check_number(node, "Nfeature_list_sparse", own->lists[SPARSE]));
    TRY(check_number(node, "Nfeature_list_dense", own->lists[DENSE]));
    own->context_shapes = node_list(node, "context_dense_shapes");
    own->list_shapes = node_list(node, "feature_list_dense_shapes");
    TRY(check_shapes(own->context_shapes, own->context[DENSE], "context_dense_shapes"));
    return check_shapes(own->list_shapes, own->lists[DENSE], "feature_list_dense_shapes");
}

static Status *prepare_v1(Prepare *p) {
    SequenceOwn *own = p->own;
    TRY(prepare_any(p));
    TRY(check_number(p->node, "Ncontext_dense", own->context[DENSE]));
    own->context_keys[SPARSE] = node_list(p->node, "context_sparse_keys");
    own->context_keys[DENSE] = node_list(p->node, "context_dense_keys");
    own->list_keys[SPARSE] = node_list(p->node, "feature_list_sparse_keys");
    own->list_keys[DENSE] = node_list(p->node, "feature_list_dense_keys");
    own->missing = node_list(p->node, "feature_list_dense_missing_assumed_empty");
    for (int i = 0; i < 2; i++)
        NEED(own->context_keys[i]->n == own->context[i] && own->list_keys[i]->n == own->lists[i], INVALID_ARGUMENT,
             "%d context keys and %d feature list keys for %d and %d types", own->context_keys[i]->n,
             own->list_keys[i]->n, own->context[i], own->lists[i]);
    return OK;
}

static Status *prepare_v2(Prepare *p) {
    SequenceOwn *own = p->own;
    TRY(prepare_any(p));
    TRY(read_types(p->node, "context_ragged_value_types", &own->context[RAGGED], &own->context_types[RAGGED]));
    TRY(read_types(p->node, "feature_list_ragged_value_types", &own->lists[RAGGED], &own->list_types[RAGGED]));
    own->context_splits = node_list(p->node, "context_ragged_split_types");
    own->list_splits = node_list(p->node, "feature_list_ragged_split_types");
    NEED(own->context_splits->n == own->context[RAGGED] && own->list_splits->n == own->lists[RAGGED], INVALID_ARGUMENT,
         "ragged features have %d and %d types of splits for %d and %d types of values", own->context_splits->n,
         own->list_splits->n, own->context[RAGGED], own->lists[RAGGED]);
    return OK;
}

static Status *prepare_single(Prepare *p) {
    const SequenceOwn *own = p->own;
    TRY(prepare_any(p));
    return check_number(p->node, "Ncontext_dense", own->context[DENSE]);
}

// ---------------------------------------- one call

typedef struct {
    FeatureSpecs context;
    FeatureListSpec *lists;
    int n_lists, outputs;    // outputs: those that the context has
} Asked;

// Everything but the keys; the defaults of the context begin at that input.
static void set_context(const Kernel *k, const SequenceOwn *own, Asked *asked, int defaults) {
    FeatureSpec *spec = asked->context.specs;
    int sparse = own->context[SPARSE], dense = own->context[DENSE], ragged = own->context[RAGGED];
    for (int i = 0; i < sparse; i++)
        *spec++ = (FeatureSpec){.kind = FEATURE_SPARSE, .dtype = own->context_types[SPARSE]->types[i], .first = i,
                                .second = sparse + i, .third = 2 * sparse + i};
    for (int i = 0; i < dense; i++)
        *spec++ = (FeatureSpec){.kind = FEATURE_FIXED, .dtype = own->context_types[DENSE]->types[i],
                                .shape = own->context_shapes->shapes[i], .fallback = k->in[defaults + i],
                                .first = 3 * sparse + i};
    for (int i = 0; i < ragged; i++)
        *spec++ = (FeatureSpec){.kind = FEATURE_RAGGED, .dtype = own->context_types[RAGGED]->types[i],
                                .splits = own->context_splits->types[i], .first = 3 * sparse + dense + i,
                                .second = 3 * sparse + dense + ragged + i};
    asked->outputs = 3 * sparse + dense + 2 * ragged;
}

static void set_lists(const SequenceOwn *own, Asked *asked, bool has_lengths) {
    FeatureListSpec *spec = asked->lists;
    int sparse = own->lists[SPARSE], dense = own->lists[DENSE], ragged = own->lists[RAGGED], at = asked->outputs;
    for (int i = 0; i < sparse; i++)
        *spec++ = (FeatureListSpec){.kind = LIST_SPARSE, .dtype = own->list_types[SPARSE]->types[i],
                                    .may_be_missing = true, .first = at + i, .second = at + sparse + i,
                                    .third = at + 2 * sparse + i};
    at += 3 * sparse;
    for (int i = 0; i < dense; i++)
        *spec++ = (FeatureListSpec){.kind = LIST_DENSE, .dtype = own->list_types[DENSE]->types[i],
                                    .shape = own->list_shapes->shapes[i], .first = at + i,
                                    .second = has_lengths ? at + dense + i : -1};
    at += has_lengths ? 2 * dense : dense;
    for (int i = 0; i < ragged; i++)
        *spec++ = (FeatureListSpec){.kind = LIST_RAGGED, .dtype = own->list_types[RAGGED]->types[i],
                                    .may_be_missing = true, .splits = own->list_splits->types[i], .first = at + i,
                                    .second = at + ragged + i, .third = at + 2 * ragged + i};
}

typedef Status *KeysFn(const Kernel *k, const SequenceOwn *own, Asked *asked);

static Status *parse_both(Kernel *k, Asked *asked, KeysFn *set_keys, const Tensor *names) {
    const SequenceOwn *own = k->own;
    TRY(set_keys(k, own, asked));
    TRY(feature_specs_check(&asked->context, own->context[SPARSE]));
    TRY(features_parse(k, &asked->context, k->in[0], names));
    return feature_lists_parse(k, asked->lists, asked->n_lists, k->in[0], names);
}

static Status *parse(Kernel *k, int defaults, bool has_lengths, KeysFn *set_keys, const Tensor *names) {
    const SequenceOwn *own = k->own;
    NEED(!names || !tensor_count(names) || shape_equal(&names->shape, &k->in[0]->shape), INVALID_ARGUMENT,
         "Expected debug_name have the same shape as serialized: %s and %s", shape_text(&names->shape),
         shape_text(&k->in[0]->shape));
    Asked asked = {.n_lists = own->lists[SPARSE] + own->lists[DENSE] + own->lists[RAGGED]};
    TRY(feature_specs_init(&asked.context, own->context[SPARSE] + own->context[DENSE] + own->context[RAGGED]));
    asked.lists = calloc((size_t)asked.n_lists + 1, sizeof *asked.lists);
    Status *status = asked.lists ? OK : OUT_OF_MEMORY;
    if (!status) {
        set_context(k, own, &asked, defaults);
        set_lists(own, &asked, has_lengths);
        status = parse_both(k, &asked, set_keys, names);
    }
    free(asked.lists);
    feature_specs_clear(&asked.context);
    return status;
}

static Status *check_rank(const Kernel *k, int most) {
    NEED(k->in[0]->shape.rank <= most, INVALID_ARGUMENT, "Expected serialized to be a %s, got shape: %s",
         most ? "scalar or vector" : "scalar", shape_text(&k->in[0]->shape));
    return OK;
}

// ---------------------------------------- where the keys come from

static Status *keys_v1(const Kernel *k, const SequenceOwn *own, Asked *asked) {
    (void)k;
    FeatureSpec *context = asked->context.specs;
    FeatureListSpec *list = asked->lists;
    for (int kind = 0; kind < 2; kind++) {
        for (int i = 0; i < own->context[kind]; i++)
            context++->key = own->context_keys[kind]->ss[i];
        for (int i = 0; i < own->lists[kind]; i++, list++) {
            list->key = own->list_keys[kind]->ss[i];
            for (int j = 0; j < own->missing->n; j++)
                list->may_be_missing |= str_equal(list->key, own->missing->ss[j]);
        }
    }
    return OK;
}

static Status *run_v1(Kernel *k) {
    TRY(check_rank(k, 1));
    return parse(k, 2, true, keys_v1, k->in[1]);
}

static Status *check_keys(const Tensor *keys, const char *what, int n) {
    NEED(keys->shape.rank == 1 && tensor_count(keys) == n, INVALID_ARGUMENT, "%s has shape %s, expected [%d]", what,
         shape_text(&keys->shape), n);
    return OK;
}

static Status *keys_v2(const Kernel *k, const SequenceOwn *own, Asked *asked) {
    static const char *const names[] = {"context_sparse_keys", "context_dense_keys", "context_ragged_keys",
                                        "feature_list_sparse_keys", "feature_list_dense_keys",
                                        "feature_list_ragged_keys"};
    FeatureSpec *context = asked->context.specs;
    FeatureListSpec *list = asked->lists;
    for (int i = 0; i < 6; i++) {
        int n = i < 3 ? own->context[i] : own->lists[i - 3];
        TRY(check_keys(k->in[2 + i], names[i], n));
        for (int j = 0; j < n; j++) {
            Str key = tstring_str((const TString *)k->in[2 + i]->data + j);
            *(i < 3 ? &context++->key : &list++->key) = key;
        }
    }
    TRY(check_keys(k->in[8], "feature_list_dense_missing_assumed_empty", own->lists[DENSE]));
    for (int i = 0; i < own->lists[DENSE]; i++)
        asked->lists[own->lists[SPARSE] + i].may_be_missing = ((const bool *)k->in[8]->data)[i];
    return OK;
}

static Status *run_v2(Kernel *k) {
    TRY(check_rank(k, 1));
    return parse(k, 9, true, keys_v2, k->in[1]);
}

static Status *scalar_key(const Kernel *k, int input, Str *out) {
    NEED(tensor_count(k->in[input]) == 1, INVALID_ARGUMENT, "a key has shape %s, expected a scalar",
         shape_text(&k->in[input]->shape));
    *out = tstring_str(k->in[input]->data);
    return OK;
}

static Status *keys_single(const Kernel *k, const SequenceOwn *own, Asked *asked) {
    const Tensor *missing = k->in[1];
    int input = 2;
    for (int i = 0; i < own->context[SPARSE] + own->context[DENSE]; i++)
        TRY(scalar_key(k, input++, &asked->context.specs[i].key));
    for (int i = 0; i < asked->n_lists; i++) {
        FeatureListSpec *list = &asked->lists[i];
        TRY(scalar_key(k, input++, &list->key));
        for (int64_t j = 0; j < tensor_count(missing); j++)
            list->may_be_missing |= str_equal(list->key, tstring_str((const TString *)missing->data + j));
    }
    return OK;
}

static Status *run_single(Kernel *k) {
    const SequenceOwn *own = k->own;
    TRY(check_rank(k, 0));
    int keys = own->context[SPARSE] + own->context[DENSE] + own->lists[SPARSE] + own->lists[DENSE];
    return parse(k, 2 + keys, false, keys_single, k->in[k->n_in - 1]);
}

#define SEQUENCE_FIELDS                                                             \
    .shape = shape_none, .own_size = sizeof(SequenceOwn), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT

const Op op_ParseSequenceExample = {
    .signature = "ParseSequenceExample(serialized: string, debug_name: string, context_dense_defaults: "
                 "Tcontext_dense) -> context_sparse_indices: Ncontext_sparse * int64, context_sparse_values: "
                 "context_sparse_types, context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: "
                 "Tcontext_dense, feature_list_sparse_indices: Nfeature_list_sparse * int64, "
                 "feature_list_sparse_values: feature_list_sparse_types, feature_list_sparse_shapes: "
                 "Nfeature_list_sparse * int64, feature_list_dense_values: feature_list_dense_types, "
                 "feature_list_dense_lengths: Nfeature_list_dense * int64; "
                 "feature_list_dense_missing_assumed_empty: list(string) >= 0; context_sparse_keys: "
                 "list(string) >= 0; context_dense_keys: list(string) >= 0; feature_list_sparse_keys: "
                 "list(string) >= 0; feature_list_dense_keys: list(string) >= 0; Ncontext_sparse: int >= 0 = "
                 "0; Ncontext_dense: int >= 0 = 0; Nfeature_list_sparse: int >= 0 = 0; Nfeature_list_dense: "
                 "int >= 0 = 0; context_sparse_types: list({float, int64, string}) >= 0 = []; Tcontext_dense: "
                 "list({float, int64, string}) >= 0 = []; feature_list_dense_types: list({float, int64, "
                 "string}) >= 0 = []; context_dense_shapes: list(shape) >= 0 = []; feature_list_sparse_types: "
                 "list({float, int64, string}) >= 0 = []; feature_list_dense_shapes: list(shape) >= 0 = []",
    .doc = "A batch of serialized SequenceExamples as sparse and dense tensors.", .prepare = prepare_v1, .cpu = ANY_TYPE(run_v1),
    SEQUENCE_FIELDS,
};

const Op op_ParseSequenceExampleV2 = {
    .signature = "ParseSequenceExampleV2(serialized: string, debug_name: string, context_sparse_keys: string, "
                 "context_dense_keys: string, context_ragged_keys: string, feature_list_sparse_keys: string, "
                 "feature_list_dense_keys: string, feature_list_ragged_keys: string, "
                 "feature_list_dense_missing_assumed_empty: bool, context_dense_defaults: Tcontext_dense) -> "
                 "context_sparse_indices: Ncontext_sparse * int64, context_sparse_values: "
                 "context_sparse_types, context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: "
                 "Tcontext_dense, context_ragged_values: context_ragged_value_types, "
                 "context_ragged_row_splits: context_ragged_split_types, feature_list_sparse_indices: "
                 "Nfeature_list_sparse * int64, feature_list_sparse_values: feature_list_sparse_types, "
                 "feature_list_sparse_shapes: Nfeature_list_sparse * int64, feature_list_dense_values: "
                 "feature_list_dense_types, feature_list_dense_lengths: Nfeature_list_dense * int64, "
                 "feature_list_ragged_values: feature_list_ragged_value_types, "
                 "feature_list_ragged_outer_splits: feature_list_ragged_split_types, "
                 "feature_list_ragged_inner_splits: feature_list_ragged_split_types; Ncontext_sparse: int >= "
                 "0 = 0; Tcontext_dense: list({float, int64, string}) >= 0 = []; context_sparse_types: "
                 "list({float, int64, string}) >= 0 = []; context_ragged_value_types: list({float, int64, "
                 "string}) >= 0 = []; context_ragged_split_types: list({int32, int64}) >= 0 = []; "
                 "context_dense_shapes: list(shape) >= 0 = []; Nfeature_list_sparse: int >= 0 = 0; "
                 "Nfeature_list_dense: int >= 0 = 0; feature_list_dense_types: list({float, int64, string}) "
                 ">= 0 = []; feature_list_sparse_types: list({float, int64, string}) >= 0 = []; "
                 "feature_list_ragged_value_types: list({float, int64, string}) >= 0 = []; "
                 "feature_list_ragged_split_types: list({int32, int64}) >= 0 = []; feature_list_dense_shapes: "
                 "list(shape) >= 0 = []",
    .doc = "A batch of serialized SequenceExamples as sparse, dense and ragged tensors.", .prepare = prepare_v2, .cpu = ANY_TYPE(run_v2),
    SEQUENCE_FIELDS,
};

const Op op_ParseSingleSequenceExample = {
    .signature = "ParseSingleSequenceExample(serialized: string, feature_list_dense_missing_assumed_empty: "
                 "string, context_sparse_keys: Ncontext_sparse * string, context_dense_keys: Ncontext_dense * "
                 "string, feature_list_sparse_keys: Nfeature_list_sparse * string, feature_list_dense_keys: "
                 "Nfeature_list_dense * string, context_dense_defaults: Tcontext_dense, debug_name: string) "
                 "-> context_sparse_indices: Ncontext_sparse * int64, context_sparse_values: "
                 "context_sparse_types, context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: "
                 "Tcontext_dense, feature_list_sparse_indices: Nfeature_list_sparse * int64, "
                 "feature_list_sparse_values: feature_list_sparse_types, feature_list_sparse_shapes: "
                 "Nfeature_list_sparse * int64, feature_list_dense_values: feature_list_dense_types; "
                 "Ncontext_sparse: int >= 0 = 0; Ncontext_dense: int >= 0 = 0; Nfeature_list_sparse: int >= 0 "
                 "= 0; Nfeature_list_dense: int >= 0 = 0; context_sparse_types: list({float, int64, string}) "
                 ">= 0 = []; Tcontext_dense: list({float, int64, string}) >= 0 = []; "
                 "feature_list_dense_types: list({float, int64, string}) >= 0 = []; context_dense_shapes: "
                 "list(shape) >= 0 = []; feature_list_sparse_types: list({float, int64, string}) >= 0 = []; "
                 "feature_list_dense_shapes: list(shape) >= 0 = []",
    .doc = "A serialized SequenceExample as sparse and dense tensors.", .prepare = prepare_single, .cpu = ANY_TYPE(run_single),
    SEQUENCE_FIELDS,
};
