// Specialisation — see specialisation.h: the partial evaluation of a plan for given feed shapes.
//
// One walk over the list (abstract interpretation): of each slot it knows dtype, shape, and the value if that is a
// small integer. A node whose inputs are values is computed; one whose inputs have known shapes is prepared by the same
// code as a dynamic node (device/prepared.c), so both ways give the same results and errors. What fails here is left
// dynamic and fails when it runs, where the error belongs. Then memory is packed and the list of what is left to run is
// written.
#include <stdlib.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/log.h"
#include "loops/tuning.h"
#include "plan/specialising.h"

// Bytes of a result that is computed while specialising. What shapes and axes need is far smaller; a larger value would
// be kept for each set of shapes.
enum { SMALL_VALUE = 4096 };  // bytes of a result that is computed while specialising

static bool shapes_known(const Specialising *s, const PlanNode *p) {
    for (int i = 0; i < p->binding.n_in; i++)
        if (!shape_is_known(&s->in[i]->shape))
            return false;
    return true;
}

// Points s->in at what is known of the inputs; a variable input stands for the value behind its handle, of which the
// graph may know dtype and shape (HandleShape).
static void gather_inputs(Specialising *s, const PlanNode *p, Tensor *handles) {
    for (int i = 0; i < p->binding.n_in; i++) {
        s->in[i] = &s->known[s->plan->in_slots[p->in + i]];
        if (!(p->binding.in_flags[i] & EDGE_VARIABLE))
            continue;
        Output edge = p->binding.node->inputs[i];
        if (dtype_is_ref(edge.node->output_types[edge.index])) {
            handles[i] = (Tensor){.dtype = output_base_type(edge), .shape = edge.node->output_shapes[edge.index]};
            s->in[i] = &handles[i];
            continue;
        }
        const HandleShape *handle = edge.node->handles ? edge.node->handles[edge.index] : NULL;
        handles[i] = (Tensor){.dtype = handle ? handle->dtype : DT_INVALID,
                              .shape = handle ? handle->shape : UNKNOWN_SHAPE};
        s->in[i] = &handles[i];
    }
}

// Small integers only: shapes, sizes and indices are what other shapes depend on. Floats would save a step little and
// cost memory for each specialisation. What runs on a device with its own memory has no value that the host could look
// at.
static bool may_compute(const Specialising *s, const PlanNode *p) {
    const Op *op = p->binding.op;
    if (node_is_stateful(p->binding.node) || p->binding.n_variables || !p->binding.run || p->flow != FLOW_NONE ||
        !p->binding.n_out || !p->binding.device->type->host)
        return false;
    for (int i = 0; i < p->binding.n_in && !(op->flags & OP_FROM_SHAPES); i++)
        // What a handle stands for is not known, nor is a string's content kept.
        if (!s->in[i]->data || !dtype_is_plain(s->in[i]->dtype))  // what a handle stands for is not known
            return false;
    for (int i = 0; i < p->binding.n_out; i++) {
        DType dtype = s->plan->slots[p->out + i].dtype;
        if (dtype != DT_int32 && dtype != DT_int64 && dtype != DT_bool)
            return false;
    }
    return true;
}

// Runs the node now; false where its result is too large to keep or it fails (it will fail again when the step runs
// it).
static bool compute(Specialising *s, const PlanNode *p) {
    Tensor results[16] = {0};
    if (p->binding.n_out > 16)
        return false;
    for (int i = 0; i < p->binding.n_out; i++)
        s->out[i] = &results[i];
    Kernel kernel = {.in = s->in, .out = s->out, .n_in = p->binding.n_in, .n_out = p->binding.n_out,
                     .node = p->binding.node, .step = &s->context};
    Prepared prepared = {0};
    Status *status = invoke(&p->binding, &prepared, &kernel, 0);
    prepared_clear(&prepared);
    bool good = !status;
    for (int i = 0; good && i < p->binding.n_out; i++)
        good = results[i].buffer && tensor_bytes(&results[i]) <= SMALL_VALUE;
    for (int i = 0; i < p->binding.n_out; i++) {
        if (good) {
            s->result->values[p->out + i] = results[i];
            s->known[p->out + i] = results[i];
        } else {
            tensor_clear(&results[i]);
        }
    }
    status_free(status);
    return good;
}

// What a CopyIn gives has the shape of what its CopyOut takes, which comes before it. The copy itself is dynamic; its
// readers are sized all the same.
static void foretell_copied(const Specialising *s, const PlanNode *p) {
    const Node *node = p->binding.node;
    for (int32_t c = 0; c < node->n_controls; c++) {
        int32_t i = node->controls[c]->mark;
        const PlanNode *send = i >= 0 && i < s->plan->n_nodes ? &s->plan->nodes[i] : NULL;
        if (send && send->flow == FLOW_COPY_OUT && send->binding.node == node->controls[c])
            s->known[p->out].shape = s->known[s->plan->in_slots[send->in]].shape;
    }
}

// A dynamic node's outputs stay what was told of them (tell_shapes). Those of a loop whose variables keep their shapes
// are what their first values are.
static NodeMode leave_dynamic(const Specialising *s, const PlanNode *p) {
    if (p->flow == FLOW_COPY_IN && !s->seen)
        foretell_copied(s, p);
    for (int out = 0; out < p->binding.n_out && p->flow == FLOW_LOOP && !s->seen; out++) {
        const Shape *first = &s->known[s->plan->in_slots[p->in + s->plan->loops[p->child].results[out]]].shape;
        if (shape_compatible(first, &p->binding.node->output_shapes[out]))
            s->known[p->out + out].shape = *first;
    }
    return NODE_DYNAMIC;
}

// A list of tensors is changed in place where nobody else has it, which only the dynamic way can tell.
static bool changes_objects(const Specialising *s, const PlanNode *p) {
    bool in_place = false;
    for (int i = 0; i < p->binding.n_in; i++)
        in_place |= (p->binding.in_flags[i] & EDGE_IN_PLACE) != 0;
    return in_place && p->binding.n_out && !dtype_is_plain(s->plan->slots[p->out].dtype);
}

// What a node says of the shapes of its variables is known as long as they keep them: when it runs it only looks
// whether they do (run/list.c). Without memory for it the node runs like any other.
static void foresee(Specialising *s, const PlanNode *p, const Prepared *prepared) {
    Tensor result = {0};
    DType dtype = s->plan->slots[p->out].dtype;
    if (!(p->binding.op->flags & OP_FROM_SHAPES) || !p->binding.n_variables || p->binding.n_out != 1 ||
        (dtype != DT_int32 && dtype != DT_int64) || !p->binding.device->type->host)
        return;
    Status *status = tensor_new(dtype, prepared->out[0], &result);
    s->out[0] = &result;
    Kernel kernel = {.in = s->in, .out = s->out, .own = prepared->own, .n_in = p->binding.n_in, .n_out = 1,
                     .node = p->binding.node, .step = &s->context};
    if (!status)
        status = prepared->run(&kernel);
    if (!status)
        s->result->values[p->out] = s->known[p->out] = result;
    else
        tensor_clear(&result);
    status_free(status);
}

// FLOW_ARG: a feed, whose shape is the key. Then from the best to the least: known, specialised, dynamic.
static NodeMode specialise(Specialising *s, int32_t i, Tensor *handles) {
    const PlanNode *p = &s->plan->nodes[i];
    Specialisation *specialisation = s->result;
    if (p->flow == FLOW_ARG)
        return NODE_KNOWN;
    if (p->constant) {
        if (s->plan->constants[p->out].buffer)
            s->known[p->out] = s->plan->constants[p->out];
        else  // a handle: each executor has its own
            s->known[p->out] = (Tensor){.dtype = DT_resource, .shape = SCALAR_SHAPE};
        return NODE_KNOWN;
    }
    gather_inputs(s, p, handles);
    if (p->binding.start || p->flow != FLOW_NONE || !shapes_known(s, p))
        return leave_dynamic(s, p);
    if (may_compute(s, p) && compute(s, p))
        return NODE_KNOWN;
    Status *status =
        prepared_init_in(&specialisation->arena, &specialisation->prepared[i], &p->binding, s->in, s->plan->threads);
    bool good = !status && specialisation->prepared[i].reusable;
    status_free(status);
    for (int out = 0; good && out < p->binding.n_out; out++)
        good = shape_is_known(&specialisation->prepared[i].out[out]);
    for (int out = 0; good && out < p->binding.n_out; out++)
        s->known[p->out + out].shape = specialisation->prepared[i].out[out];
    if (good && !changes_objects(s, p)) {
        foresee(s, p, &specialisation->prepared[i]);
        return NODE_SPECIALISED;
    }
    prepared_clear(&specialisation->prepared[i]);
    return good ? NODE_DYNAMIC : leave_dynamic(s, p);
}

// ---- what to run

// What is left to run, in order, and the slots that need a new buffer in each step. A node whose output turned out to
// be another name for its input, at the same place in the arena, has nothing to do.
static void list_runs(Specialising *s) {
    const Plan *plan = s->plan;
    Specialisation *specialisation = s->result;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const PlanNode *p = &plan->nodes[i];
        int32_t same = specialising_equal_input(s, i);
        bool renames = specialising_renames(s, i) ||
                       (same >= 0 && specialisation->offsets[same] != IN_NO_ARENA &&
                        specialisation->offsets[same] + (int64_t)specialisation->prepared[i].making->equal_at ==
                            specialisation->offsets[p->out]);
        for (int out = 0; out < p->binding.n_out; out++)
            renames &= specialisation->offsets[p->out + out] != IN_NO_ARENA;
        if (specialisation->modes[i] == NODE_SPECIALISED && renames)
            specialisation->modes[i] = NODE_KNOWN;
        if (specialisation->modes[i] == NODE_KNOWN)
            continue;
        specialisation->run[specialisation->n_run++] = i;
        if (specialisation->modes[i] == NODE_DYNAMIC || (p->binding.op->flags & OP_DYNAMIC_SHAPE))
            continue;
        for (int out = 0; out < p->binding.n_out; out++)
            if (specialisation->offsets[p->out + out] == IN_NO_ARENA &&
                plan->slots[p->out + out].root == p->out + out && !specialisation->values[p->out + out].buffer)
                specialisation->fresh[specialisation->n_fresh++] = p->out + out;
    }
}

static Status *size_fresh(const Plan *plan, Specialisation *specialisation) {
    specialisation->fresh_bytes = ARENA_ARRAY(&specialisation->arena, size_t, specialisation->n_fresh);
    NEED_MEMORY(specialisation->fresh_bytes);
    for (int32_t i = 0; i < specialisation->n_fresh; i++) {
        int32_t slot = specialisation->fresh[i];
        TRY(shape_bytes(&specialisation->shapes[slot], plan->slots[slot].dtype, &specialisation->fresh_bytes[i]));
    }
    return OK;
}

// Whether the heavy nodes, one after the other, take longer than the longest path through them (the critical path):
// with kernels of one thread each, and threads to spare, such a plan is propagated so that branches run side by side.
static bool has_branches(const Specialising *s, int64_t *finish) {
    const Plan *plan = s->plan;
    int64_t total = 0, longest = 0;
    if (plan->threads != 1 || plan->inter_threads <= 1)
        return false;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const PlanNode *p = &plan->nodes[i];
        int64_t cost =
            s->result->modes[i] == NODE_SPECIALISED ? min_i64(prepared_cost(&s->result->prepared[i]), INT32_MAX) : 0;
        finish[i] += cost >= TUNED_NODE_AWAY ? cost : 0;
        total += cost >= TUNED_NODE_AWAY ? cost : 0;
        longest = max_i64(longest, finish[i]);
        for (int32_t e = p->edges; e < p->edges + p->n_edges; e++)
            finish[plan->edges[e].node] = max_i64(finish[plan->edges[e].node], finish[i]);
    }
    return total - longest >= TUNED_NODE_AWAY;
}

// One arena for all: a specialisation is made and freed as a whole, and its size is one number for the cache.
static Status *specialisation_arrays(Specialisation *specialisation, const Plan *plan, const Tensor *const *feeds) {
    Arena *arena = &specialisation->arena;
    specialisation->feed_shapes = ARENA_ARRAY(arena, Shape, plan->n_keys);
    specialisation->modes = ARENA_ARRAY(arena, NodeMode, plan->n_nodes);
    specialisation->prepared = ARENA_ARRAY(arena, Prepared, plan->n_nodes);
    specialisation->shapes = ARENA_ARRAY(arena, Shape, plan->n_slots);
    specialisation->values = ARENA_ARRAY(arena, Tensor, plan->n_slots);
    specialisation->offsets = ARENA_ARRAY(arena, int64_t, plan->n_slots);
    specialisation->scratch = ARENA_ARRAY(arena, int64_t, plan->n_nodes);
    specialisation->recomputed = ARENA_ARRAY(arena, bool, plan->n_nodes);
    specialisation->run = ARENA_ARRAY(arena, int32_t, plan->n_nodes);
    specialisation->fresh = ARENA_ARRAY(arena, int32_t, plan->n_slots);
    specialisation->lent = ARENA_ARRAY(arena, int32_t, plan->n_slots);
    specialisation->packed = ARENA_ARRAY(arena, Packed, plan->n_memories);
    NEED_MEMORY(specialisation->feed_shapes && specialisation->modes && specialisation->prepared &&
                specialisation->shapes && specialisation->values && specialisation->offsets &&
                specialisation->scratch && specialisation->recomputed && specialisation->run && specialisation->fresh &&
                specialisation->lent && specialisation->packed);
    for (int i = 0; i < plan->n_keys; i++)
        specialisation->feed_shapes[i] = feeds[i]->shape;
    specialisation->hash = specialisation_hash(plan, feeds);
    return OK;
}

// The shapes that are known before any node is looked at: of feeds, of what is awaited, and those that a step before
// had for what can't be told from these. Who reads them relies on that; the run looks whether it is so.
static void tell_shapes(const Specialising *s, const Tensor *const *feeds) {
    const Plan *plan = s->plan;
    for (int32_t slot = 0; slot < plan->n_slots; slot++)
        s->known[slot] = (Tensor){.dtype = plan->slots[slot].dtype,
                                  .shape = s->seen ? s->seen[slot].shape : UNKNOWN_SHAPE};
    for (int i = 0; i < plan->n_feeds; i++)
        if (plan->feeds[i].slot >= 0)
            s->known[plan->feeds[i].slot].shape = feeds[i]->shape;
    for (int32_t j = 0; j < plan->n_starts; j++) {
        const PlanNode *p = &plan->nodes[plan->starts[j].node];
        for (int i = 0; i < p->binding.n_out; i++)
            s->known[p->out + i].shape = feeds[plan->n_feeds + plan->starts[j].key + i]->shape;
    }
}

// `scratch` is what only the walk needs; it goes with the caller's arena.
static Status *specialise_all(Specialising *s, const Tensor *const *feeds, Arena *scratch) {
    const Plan *plan = s->plan;
    int widest = 1;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const Binding *b = &plan->nodes[i].binding;
        widest = b->n_in > widest ? b->n_in : widest;
        widest = b->n_out > widest ? b->n_out : widest;
    }
    s->known = ARENA_ARRAY(scratch, Tensor, plan->n_slots);
    s->in = ARENA_ARRAY(scratch, Tensor *, widest);
    s->out = ARENA_ARRAY(scratch, Tensor *, widest);
    s->last = ARENA_ARRAY(scratch, int32_t, plan->n_slots);
    s->owner = ARENA_ARRAY(scratch, int32_t, plan->n_slots);
    s->at = ARENA_ARRAY(scratch, int64_t, plan->n_slots);
    s->in_pieces = ARENA_ARRAY(scratch, bool, plan->n_slots);
    Tensor *handles = ARENA_ARRAY(scratch, Tensor, widest);
    NEED_MEMORY(s->known && s->in && s->out && s->last && s->owner && s->at && s->in_pieces && handles);
    tell_shapes(s, feeds);
    for (int32_t i = 0; i < plan->n_nodes; i++)
        s->result->modes[i] = specialise(s, i, handles);
    for (int32_t slot = 0; slot < plan->n_slots; slot++)
        s->result->shapes[slot] = s->known[slot].shape;
    int64_t *finish = ARENA_ARRAY(scratch, int64_t, plan->n_nodes);
    NEED_MEMORY(finish);
    s->result->branches = has_branches(s, finish);
    TRY(specialising_pack(s));
    list_runs(s);
    return size_fresh(plan, s->result);
}

static void log_specialisation(const Plan *plan, const Specialisation *specialisation, int64_t began) {
    if (!log_reaches(LOG_INFO))
        return;
    AUTO(text) Text shapes = {0};
    for (int32_t i = 0; i < plan->n_keys; i++)
        text_format(&shapes, "%s%s", i ? ", " : "", shape_text(&specialisation->feed_shapes[i]));
    int32_t n_dynamic = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++)
        n_dynamic += specialisation->modes[i] == NODE_DYNAMIC;
    log_write(LOG_INFO,
              "specialised for shapes %.*s in %.2f ms: %d of %d nodes to run, %d of them dynamic, %zu bytes packed",
              STR_ARGS(text_str(&shapes)), (double)(clock_now() - began) / CLOCK_MS, specialisation->n_run,
              plan->n_nodes, n_dynamic, specialisation->packed[HOST_MEMORY].bytes);
}

// buffer_shall_fail: MILLRACE_STRESS=alloc:N counts this allocation, too.
Status *specialisation_make(const Plan *plan, const Tensor *const *feeds, const Tensor *seen, Specialisation **out) {
    int64_t began = clock_now();
    Specialisation *specialisation = buffer_shall_fail() ? NULL : calloc(1, sizeof *specialisation);
    NEED(specialisation, RESOURCE_EXHAUSTED, "out of memory for the specialisation of a plan");
    atomic_init(&specialisation->references, 1);
    AUTO(arena) Arena scratch = {0};
    Specialising s = {.plan = plan, .result = specialisation, .seen = seen,
                      .context = {.threads = 1, .deadline = NO_DEADLINE}};
    Status *status = specialisation_arrays(specialisation, plan, feeds);
    if (!status)
        status = specialise_all(&s, feeds, &scratch);
    if (status) {
        if (!specialisation->values || !specialisation->prepared) {
            arena_clear(&specialisation->arena);
            free(specialisation);
            return status;
        }
    }
    specialisation->plan_slots = plan->n_slots;
    specialisation->plan_nodes = plan->n_nodes;
    specialisation->bytes =
        specialisation->arena.used;  // the packed memory is the steps', one for all of their specialisations
    if (status) {
        specialisation_release(specialisation);
    } else {
        log_specialisation(plan, specialisation, began);
        *out = specialisation;
    }
    return status;
}

// Counted: the cache holds one reference, each step that has it bound another, so that the cache may drop one while a
// step runs it.
Specialisation *specialisation_retain(Specialisation *specialisation) {
    atomic_fetch_add(&specialisation->references, 1);
    return specialisation;
}

void specialisation_release(Specialisation *specialisation) {
    if (!specialisation || atomic_fetch_sub(&specialisation->references, 1) != 1)
        return;
    for (int32_t i = 0; i < specialisation->plan_slots; i++)
        tensor_clear(&specialisation->values[i]);
    for (int32_t i = 0; i < specialisation->plan_nodes; i++)
        prepared_clear(&specialisation->prepared[i]);
    arena_clear(&specialisation->arena);
    free(specialisation);
}

// Multiplication by the golden ratio's bits (Fibonacci hashing), folded at the end since tables use the low bits. It is
// on the way of every step whose shapes change.
uint64_t specialisation_hash(const Plan *plan, const Tensor *const *keys) {
    uint64_t hash = 0;
    for (int i = 0; i < plan->n_keys; i++) {
        const Shape *shape = &keys[i]->shape;
        hash = (hash ^ (uint64_t)shape->rank) * 0x9e3779b97f4a7c15u;
        for (int d = 0; d < shape->rank; d++)
            hash = (hash ^ (hash >> 29) ^ (uint64_t)shape->dims[d]) * 0x9e3779b97f4a7c15u;
    }
    return hash ^ (hash >> 32);
}

bool specialisation_fits(const Specialisation *specialisation, const Plan *plan, const Tensor *const *keys) {
    for (int i = 0; i < plan->n_keys; i++)
        if (!shape_equal(&specialisation->feed_shapes[i], &keys[i]->shape))
            return false;
    return true;
}
