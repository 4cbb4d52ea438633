// WaitList — see wait_list.h: operations that wait without a thread, for accumulators, mutexes, readers and staging
// areas.
//
// Every change of the owner's state happens between wait_list_lock and wait_list_unlock; unlocking serves whoever can
// be served by then. Whoever takes a wait off the list, under the lock, finishes it outside.
#include "resource/wait_list.h"

void wait_list_init(WaitList *list, void *owner, const char *what) {
    list->lock = (Mutex)MUTEX_INIT;
    list->owner = owner;
    list->end = &list->first;
    list->what = what;
}

void wait_list_clear(WaitList *list) {
    status_free(list->closed);
    mutex_clear(&list->lock);
}

void UNCHECKED_LOCKING wait_list_lock(WaitList *list) {
    mutex_lock(&list->lock);
}

static Status *cancelled_status(const WaitList *list) {
    FAIL(CANCELLED, "%s operation was cancelled", list->what);
}

// Whether it ends now; with `blocked` it is not its turn.
static bool is_over(const WaitList *list, Wait *wait, bool blocked) {
    if (wait->cancelled) {
        wait->status = cancelled_status(list);
        return true;
    }
    if (!blocked && list->serve(list->owner, wait))
        return true;
    wait->status = status_copy(list->closed);
    return list->closed != NULL;
}

// Takes those that are done off the list; they are in the order in which they came.
static Wait *take_served(WaitList *list) {
    Wait *served = NULL, **end = &served;
    bool blocked = false;
    for (Wait **at = &list->first; *at;) {
        Wait *wait = *at;
        if (!is_over(list, wait, blocked)) {
            blocked = list->in_turn;
            at = &wait->next;
            continue;
        }
        *at = wait->next;
        if (!*at)
            list->end = at;
        wait->next = NULL;
        *end = wait;
        end = &wait->next;
        at = &list->first;  // who was passed over may have waited for this one
        blocked = false;
    }
    return served;
}

void UNCHECKED_LOCKING wait_list_unlock(WaitList *list) {
    void (*finish)(void *, Wait *) = list->finish;
    void *owner = list->owner;
    Wait *served = take_served(list);
    mutex_unlock(&list->lock);
    while (served) {
        Wait *wait = served;
        served = wait->next;
        if (wait->watched)
            cancellation_unwatch(wait->cancellation, &wait->watch);  // its callback, should it run, has ended then
        finish(owner, wait);
    }
}

void wait_list_close(WaitList *list, Status *status) {
    if (list->closed)
        status_free(status);
    else
        list->closed = status;
}

static void cancelled(void *arg) {
    Wait *wait = arg;
    WaitList *list = wait->list;
    wait_list_lock(list);
    wait->cancelled = true;
    wait_list_unlock(list);
}

void wait_list_add(WaitList *list, Wait *wait, Cancellation *cancellation) {
    wait->list = list;
    wait->next = NULL;
    wait->cancellation = cancellation;
    bool late = false;
    if (cancellation) {
        wait->watched = cancellation_watch(cancellation, &wait->watch, cancelled, wait);
        late = !wait->watched;
    }
    wait_list_lock(list);
    wait->cancelled |= late;
    *list->end = wait;
    list->end = &wait->next;
    wait_list_unlock(list);
}
