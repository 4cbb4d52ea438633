// Event timers — see event_timers.h.
#include "rpc/event_timers.h"

// Of two trees one: the later becomes the first child of the earlier.
static EventTimer *meld(EventTimer *a, EventTimer *b) {
    if (!a || !b)
        return a ? a : b;
    if (b->due < a->due) {
        EventTimer *swap = a;
        a = b;
        b = swap;
    }
    b->sibling = a->child;
    if (a->child)
        a->child->before = b;
    b->before = a;
    a->child = b;
    a->sibling = a->before = NULL;
    return a;
}

// The children become one tree: in pairs from the left, then all pairs from the right.
static EventTimer *meld_children(EventTimer *child) {
    EventTimer *pairs = NULL, *tree = NULL;
    while (child) {
        EventTimer *a = child, *b = a->sibling, *rest = b ? b->sibling : NULL;
        a->sibling = a->before = NULL;
        if (b)
            b->sibling = b->before = NULL;
        a = meld(a, b);
        a->sibling = pairs;
        pairs = a;
        child = rest;
    }
    while (pairs) {
        EventTimer *rest = pairs->sibling;
        pairs->sibling = NULL;
        tree = meld(tree, pairs);
        pairs = rest;
    }
    return tree;
}

void event_timers_add(EventTimers *timers, EventTimer *timer) {
    timer->child = timer->sibling = timer->before = NULL;
    timer->set = true;
    timers->first = meld(timers->first, timer);
}

void event_timers_remove(EventTimers *timers, EventTimer *timer) {
    EventTimer *children = meld_children(timer->child);
    if (timer == timers->first) {
        timers->first = children;
    } else {
        if (timer->before->child == timer)
            timer->before->child = timer->sibling;
        else
            timer->before->sibling = timer->sibling;
        if (timer->sibling)
            timer->sibling->before = timer->before;
        timers->first = meld(timers->first, children);
    }
    timer->child = timer->sibling = timer->before = NULL;
    timer->set = false;
}
