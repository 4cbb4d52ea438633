// Dead-code elimination — removes the nodes that no fetch, target or side effect of the step needs any more.
//
// Mark and sweep, backwards from the fetches, targets and feeds over data and control edges. Effects need no roots of
// their own: prune copied only what is asked for, so a node with an effect is a target or something waits for it.
#include "plan/pass.h"

// A stack of its own, not recursion: a graph may be a chain of a million nodes.
typedef VEC(Node *) Stack;

static bool mark(Stack *stack, Node *node) {
    if (node->mark)
        return true;
    node->mark = 1;
    return vec_push(stack, node);
}

static bool mark_needed(Draft *draft, Stack *stack) {
    bool good = true;
    for (int i = 0; i < draft->n_fetches; i++)
        good = good && mark(stack, draft->fetches[i]);
    for (int i = 0; i < draft->n_targets; i++)
        good = good && mark(stack, draft->targets[i]);
    // An _Arg stays though nobody reads it: feeds are counted by position.
    for (int i = 0; i < draft->n_feeds; i++)
        good = good && mark(stack, draft->feeds[i]);
    while (good && stack->n) {
        Node *node = stack->p[--stack->n];
        for (int i = 0; i < node->n_inputs; i++)
            good = good && mark(stack, node->inputs[i].node);
        for (int i = 0; i < node->n_controls; i++)
            good = good && mark(stack, node->controls[i]);
    }
    return good;
}

Status *pass_dead_code(Draft *draft) {
    Graph *graph = draft->graph;
    for (size_t i = 0; i < graph->nodes.n; i++)
        if (graph->nodes.p[i])
            graph->nodes.p[i]->mark = 0;
    Stack stack = {0};
    bool good = mark_needed(draft, &stack);
    vec_clear(&stack);
    NEED_MEMORY(good);
    // From the last to the first: a value of many readers forgets the latest of them without a search through its uses.
    for (size_t i = graph->nodes.n; i-- > 0;)
        if (graph->nodes.p[i] && !graph->nodes.p[i]->mark)
            graph_remove(graph->nodes.p[i]);
    return OK;
}
