// Edges — see graph.h: inputs and controls of nodes, and the other way round who uses them.
//
// Each edge knows its place in its source's list of uses, so that taking one away costs the same however many there
// are: a constant that a hundred thousand nodes read loses its readers one by one. The places stand behind the edges,
// in the same block: behind n inputs, and behind as many controls as there is room for, a power of two.
#include "graph/edges_internal.h"

Output *graph_inputs_new(Graph *graph, size_t n) {
    return arena_aligned(&graph->arena, n * (sizeof(Output) + sizeof(uint32_t)), _Alignof(Output));
}

// A power of two, so that adding one by one copies each edge once on average.
static size_t controls_room(size_t n) {
    return n <= 1 ? n : (size_t)1 << (64 - __builtin_clzll((unsigned long long)(n - 1)));
}

Node **graph_controls_new(Graph *graph, size_t n) {
    return arena_aligned(&graph->arena, controls_room(n) * (sizeof(Node *) + sizeof(uint32_t)), _Alignof(Node *));
}

static uint32_t *control_places(const Node *node, size_t n) {
    return (uint32_t *)(node->controls + controls_room(n));
}

static uint32_t *input_place(const Node *node, int input) {
    return (uint32_t *)(node->inputs + node->n_inputs) + input;
}

static uint32_t *control_place(const Node *node, int control) {
    return control_places(node, (size_t)node->n_controls) + control;
}

// Of a control edge, which has no number among the uses, by searching: nodes have few controls.
static uint32_t *use_place(Use use, const Node *from) {
    if (use.index != CONTROL)
        return input_place(use.node, use.input);
    int control = 0;
    while (use.node->controls[control] != from)
        control++;
    return control_place(use.node, control);
}

// ---------------------------------------- lists of uses

enum { LINK = sizeof(void *) };  // a spare block begins with where the next one is

static int block_class(uint32_t room) {
    return 31 - __builtin_clz(room);
}

// Lists that have grown leave their old block to others of that size: the arena itself can't take it back.
static void block_give_back(Graph *graph, UseList *uses) {
    if (!uses->room)
        return;
    Use **spare = &graph->spare_uses[block_class(uses->room)];
    memcpy(uses->p, spare, LINK);
    *spare = uses->p;
}

static bool uses_reserve(Node *from, size_t n) {
    UseList *uses = &from->uses;
    if (n <= uses->room)
        return true;
    Graph *graph = from->graph;
    uint32_t room = (uint32_t)controls_room(n);
    Use **spare = &graph->spare_uses[block_class(room)], *p = *spare;
    if (p)
        memcpy(spare, p, LINK);
    else
        p = arena_aligned(&graph->arena, room * sizeof *p, _Alignof(Use));
    if (!p)
        return false;
    if (uses->n)
        memcpy(p, uses->p, uses->n * sizeof *p);
    block_give_back(graph, uses);
    uses->p = p;
    uses->room = room;
    return true;
}

static bool use_add(Node *from, Use use, uint32_t *place) {
    if (from->uses.n >= INT32_MAX || !uses_reserve(from, (size_t)from->uses.n + 1))
        return false;
    *place = from->uses.n;
    from->uses.p[from->uses.n++] = use;
    return true;
}

// The last use takes the place of the one that goes, and is told its new place.
static void use_drop(Node *from, uint32_t place) {
    if (from->id < 0)
        return;  // removed before its readers, as dead-code elimination may do
    Use last = from->uses.p[--from->uses.n];
    if (place == from->uses.n)
        return;
    *use_place(last, from) = place;
    from->uses.p[place] = last;
}

void node_drop_edges(Node *node) {
    for (int i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].node)
            use_drop(node->inputs[i].node, *input_place(node, i));
    for (int i = 0; i < node->n_controls; i++)
        use_drop(node->controls[i], *control_place(node, i));
}

void node_drop_uses(Node *node) {
    block_give_back(node->graph, &node->uses);
    node->uses = (UseList){0};
}

// All or none. A back edge that isn't closed yet has no node.
bool node_add_edges(Node *node) {
    int inputs = 0, controls = 0;
    while (inputs < node->n_inputs &&
           (!node->inputs[inputs].node || use_add(node->inputs[inputs].node,
                                                  (Use){node, inputs, node->inputs[inputs].index},
                                                  input_place(node, inputs))))
        inputs++;
    while (inputs == node->n_inputs && controls < node->n_controls &&
           use_add(node->controls[controls], (Use){node, CONTROL, CONTROL}, control_place(node, controls)))
        controls++;
    if (inputs == node->n_inputs && controls == node->n_controls)
        return true;
    while (controls-- > 0)
        node->controls[controls]->uses.n--;
    while (inputs-- > 0)
        if (node->inputs[inputs].node)
            node->inputs[inputs].node->uses.n--;
    return false;
}

static bool is_use(const Node *from, uint32_t place, const Node *node, int input, int index) {
    const Use *use = place < from->uses.n ? &from->uses.p[place] : NULL;
    return use && use->node == node && use->input == input && use->index == index;
}

bool node_knows_its_places(const Node *node) {
    bool good = true;
    for (int i = 0; i < node->n_inputs; i++)
        good &= is_use(node->inputs[i].node, *input_place(node, i), node, i, node->inputs[i].index);
    for (int i = 0; i < node->n_controls; i++)
        good &= is_use(node->controls[i], *control_place(node, i), node, CONTROL, CONTROL);
    return good;
}

// ---------------------------------------- changing edges

// A reference may be read as a value, not the other way round.
static bool types_fit(DType wanted, DType given) {
    return wanted == given || wanted == dtype_base(given);
}

Status *node_check_source(const Node *node, int input, Output source) {
    NEED(source.node && source.node->graph == node->graph && source.node->id >= 0, INVALID_ARGUMENT,
         "{{node %.*s}} (%.*s): the new input %d is not of this graph", NODE_ARGS(node), input);
    NEED(source.index >= 0 && source.index < source.node->n_outputs, OUT_OF_RANGE,
         "{{node %.*s}} has no output %d", STR_ARGS(source.node->name), source.index);
    DType wanted = node_input_type(node, input), given = source.node->output_types[source.index];
    if (node_input_is_ref(node, input))
        wanted = (DType)((int)wanted + DT_REF);
    NEED(types_fit(wanted, given), INVALID_ARGUMENT,
         "Input %d of node %.*s was passed %s from %.*s:%d incompatible with expected %s.", input,
         STR_ARGS(node->name), dtype_name(given), STR_ARGS(source.node->name), source.index, dtype_name(wanted));
    return OK;
}

static void graph_changed(Graph *graph) {
    graph->version++;
    graph->edit++;
}

// Room first: after the old edge is gone nothing may fail.
Status *node_set_input(Node *node, int input, Output source) {
    NEED(input >= 0 && input < node->n_inputs, OUT_OF_RANGE, "{{node %.*s}} has no input %d", STR_ARGS(node->name),
         input);
    TRY(node_check_source(node, input, source));
    NEED_MEMORY(uses_reserve(source.node, (size_t)source.node->uses.n + 1));
    if (node->inputs[input].node)
        use_drop(node->inputs[input].node, *input_place(node, input));
    node->inputs[input] = source;
    NEED_MEMORY(use_add(source.node, (Use){node, input, source.index}, input_place(node, input)));
    graph_changed(node->graph);
    return OK;
}

// Room for one more control edge.
static Status *controls_grow(Node *node) {
    size_t n = (size_t)node->n_controls;
    if (n < controls_room(n))
        return OK;
    Node **grown = graph_controls_new(node->graph, n + 1);
    NEED_MEMORY(grown);
    if (n) {
        memcpy(grown, node->controls, n * sizeof *grown);
        memcpy(grown + controls_room(n + 1), control_places(node, n), n * sizeof(uint32_t));
    }
    node->controls = grown;
    return OK;
}

Status *node_add_control(Node *node, Node *before) {
    NEED(before->graph == node->graph && before->id >= 0 && before != node, INVALID_ARGUMENT,
         "{{node %.*s}} can't run after a node of another graph or itself", STR_ARGS(node->name));
    for (int i = 0; i < node->n_controls; i++)
        if (node->controls[i] == before)
            return OK;
    TRY(controls_grow(node));
    uint32_t place;
    NEED_MEMORY(use_add(before, (Use){node, CONTROL, CONTROL}, &place));
    node->controls[node->n_controls++] = before;
    *control_place(node, node->n_controls - 1) = place;
    graph_changed(node->graph);
    return OK;
}

// In order: lists of controls are compared as they stand.
void node_remove_control(Node *node, int control) {
    use_drop(node->controls[control], *control_place(node, control));
    size_t n = (size_t)node->n_controls;
    uint32_t *places = control_places(node, n);
    for (size_t i = (size_t)control; i + 1 < n; i++) {
        node->controls[i] = node->controls[i + 1];
        places[i] = places[i + 1];
    }
    node->n_controls--;
    // One fewer may need half the room: the places follow.
    if (control_places(node, n - 1) != places)
        memmove(control_places(node, n - 1), places, (n - 1) * sizeof *places);
    graph_changed(node->graph);
}

// One walk over the uses: those of this output move to the other list, the rest close up, each told where it stands.
Status *graph_replace_output(Output from, Output to) {
    if (output_equal(from, to))
        return OK;
    Node *old = from.node;
    size_t n = 0;
    for (size_t i = 0; i < old->uses.n; i++)
        if (old->uses.p[i].index == from.index && from.index != CONTROL) {
            TRY(node_check_source(old->uses.p[i].node, old->uses.p[i].input, to));
            n++;
        }
    NEED_MEMORY(uses_reserve(to.node, to.node->uses.n + n));
    uint32_t kept = 0;
    for (uint32_t i = 0, total = old->uses.n; i < total; i++) {
        Use use = old->uses.p[i];
        bool stays = use.index != from.index || use.index == CONTROL;
        if (!stays) {
            use.node->inputs[use.input] = to;
            use.index = to.index;
        }
        UseList *list = stays || to.node == old ? &old->uses : &to.node->uses;
        uint32_t at = list == &old->uses ? kept++ : list->n++;
        if (at != i || list != &old->uses)
            *use_place(use, old) = at;
        list->p[at] = use;
    }
    old->uses.n = kept;
    graph_changed(old->graph);
    return OK;
}

// Names, ids and readers stay: what a node is changes, not who it is.
void graph_swap_nodes(Node *a, Node *b) {
    node_drop_edges(a);
    node_drop_edges(b);
    Node was = *a;
    a->type = b->type;
    b->type = was.type;
    a->inputs = b->inputs;
    b->inputs = was.inputs;
    a->n_inputs = b->n_inputs;
    b->n_inputs = was.n_inputs;
    a->controls = b->controls;
    b->controls = was.controls;
    a->n_controls = b->n_controls;
    b->n_controls = was.n_controls;
    a->attrs = b->attrs;
    b->attrs = was.attrs;
    a->n_attrs = b->n_attrs;
    b->n_attrs = was.n_attrs;
    (void)(node_add_edges(a) && node_add_edges(b));  // there is room: as many uses were dropped before
    graph_changed(a->graph);
}
