// Replicas of the C interface — see millrace/replicas.h.
#include "train/replicas.h"

#include "api/mr/net.h"
#include "millrace/replicas.h"

enum { MOST_STORES = 1000, MOST_SHARDS = 1000 };

static Status *set_devices(Net *net, const mr_devices *from) {
    mr_devices given = {0};
    Str stores[MOST_STORES];
    NEED(from, INVALID_ARGUMENT, "there are no devices");
    memcpy(&given, from, from->struct_size < sizeof given ? from->struct_size : sizeof given);
    NEED(given.num_stores >= 0 && given.num_stores <= MOST_STORES && (given.stores || !given.num_stores), INVALID_ARGUMENT,
         "%d stores, expected 0 to %d", given.num_stores, MOST_STORES);
    NEED(given.shards >= 0 && given.shards <= MOST_SHARDS, INVALID_ARGUMENT, "%d shards, expected 0 to %d", given.shards, MOST_SHARDS);
    for (int i = 0; i < given.num_stores; i++) {
        NEED(given.stores[i] && *given.stores[i], INVALID_ARGUMENT, "store %d has no name", i);
        stores[i] = str_of(given.stores[i]);
    }
    net_devices(net, &(NetDevices){str_of(given.here), stores, given.num_stores, given.by_size != 0});
    net->shards = given.shards;
    return OK;
}

void mr_net_devices(mr_net *net, const mr_devices *devices) {
    mutex_lock(&net->graph->lock);
    Status *status = set_devices(&net->net, devices);
    if (status)
        formula_fail(&net->net.f, status);
    mutex_unlock(&net->graph->lock);
}

static Status *read_replicas(const mr_replicas *from, mr_replicas *given, Replicas *out) {
    int kind = REPLICAS_ASYNCHRONOUS;
    NEED(from, INVALID_ARGUMENT, "there are no replicas");
    memcpy(given, from, from->struct_size < sizeof *given ? from->struct_size : sizeof *given);
    while (given->mode && replicas_name((ReplicasKind)kind) && strcmp(replicas_name((ReplicasKind)kind), given->mode) != 0)
        kind++;
    NEED(kind < REPLICAS_KINDS, NOT_FOUND, "there is no way '%s' for replicas to train", given->mode);
    *out = (Replicas){(ReplicasKind)kind, given->num_replicas, given->replica, given->needed ? given->needed : given->num_replicas,
                      given->staleness};
    return OK;
}

void mr_minimize_replicas(mr_net *net, const mr_optimizer *optimizer, TF_Output rate, TF_Output loss, mr_replicas *replicas) {
    Optimizer kind;
    Clip clip;
    Replicas asked;
    mr_replicas given = {0};
    ReplicaSteps steps = {0};
    Status *status = read_replicas(replicas, &given, &asked);
    if (!status)
        status = net_read_optimizer(optimizer, &kind, &clip);
    mutex_lock(&net->graph->lock);
    if (status)
        formula_fail(&net->net.f, status);
    else
        replicas_minimize(&net->net, &asked, &kind, inside(net, rate), inside(net, loss), &clip, &steps);
    mutex_unlock(&net->graph->lock);
    if (!replicas)
        return;
    given.train = api_operation(steps.train);
    given.start = api_operation(steps.start);
    given.update = api_operation(steps.update);
    given.end = api_operation(steps.end);
    memcpy(replicas, &given, replicas->struct_size < sizeof given ? replicas->struct_size : sizeof given);
}

void mr_keep_store(mr_net *net, mr_store *store) {
    mr_store given = {0};
    StoreSteps steps = {0};
    if (store)
        memcpy(&given, store, store->struct_size < sizeof given ? store->struct_size : sizeof given);
    mutex_lock(&net->graph->lock);
    if (given.device && given.prefix)
        store_keep(&net->net, str_of(given.device), str_of(given.prefix), &steps);
    else
        formula_fail(&net->net.f, API_ERROR(INVALID_ARGUMENT, "a store has a device and a prefix"));
    mutex_unlock(&net->graph->lock);
    given.save = api_operation(steps.save);
    given.restore = api_operation(steps.restore);
    given.ready = outside(steps.ready);
    if (store)
        memcpy(store, &given, store->struct_size < sizeof given ? store->struct_size : sizeof given);
}
