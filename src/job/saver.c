// Saver — see saver.h.
//
// A checkpoint counts only when it is complete: its files are written under names of their own and renamed
// (bundle_write.c), then the list ("checkpoint", TensorFlow's file) names it, and only then older ones are removed. So
// a crash at any point leaves a list whose newest entries can be read. A save may run on another thread, one at a time:
// the tensors are retained meanwhile.
#include "job/saver.h"

#include <math.h>

#include "base/clock.h"
#include "base/log.h"
#include "thread/notification.h"
#include "thread/pool.h"

// A save that another thread does.
typedef struct {
    int64_t step;
    double metric;
    NamedTensor *tensors;
    size_t n;
    Arena arena;               // of the list and the names
    Status *status;
    Notification done;
} Later;

struct Saver {
    Arena arena;
    SaverPolicy policy;        // its texts lie in the arena
    CheckpointState state;
    bool cleaned;                // what interrupted saves left has been removed
    Later *later;              // NULL: no save is under way
};

static double seconds_now(void) {
    return (double)clock_wall() * 1e-6;
}

// ---- the folder

static Status *path_of(const Saver *saver, Text *out, Str name, const char *end) {
    text_add(out, saver->policy.folder);
    text_char(out, '/');
    text_add(out, name);
    text_add(out, str_of(end));
    NEED_MEMORY(!out->failed);
    return OK;
}

static void remove_matching(Str pattern) {
    DiskPaths paths = {0};
    Status *status = disk_match(pattern, &paths);
    for (size_t i = 0; i < paths.paths.n && !status; i++)
        disk_remove(str_of(paths.paths.p[i]));
    disk_paths_clear(&paths);
    status_free(status);
}

// A prefix as a pattern that matches nothing but itself.
static void add_literally(Text *out, Str path) {
    for (size_t i = 0; i < path.n; i++) {
        if (strchr("*?[\\", path.p[i]))
            text_char(out, '\\');
        text_char(out, path.p[i]);
    }
}

// The index goes first: what has none is no checkpoint, so a crash in between leaves no half of one to be restored.
static void remove_checkpoint(Str prefix) {
    AUTO(text) Text index = {0};
    AUTO(text) Text data = {0};
    text_add(&index, prefix);
    text_add(&index, STR(".index"));
    add_literally(&data, prefix);
    text_add(&data, STR(".data-*-of-*"));
    if (index.failed || data.failed)
        return;
    disk_remove(text_str(&index));
    remove_matching(text_str(&data));
}

// What saves that were killed left under names of their own. There is no other process that saves here.
static Status *remove_leftovers(Saver *saver) {
    AUTO(text) Text pattern = {0};
    if (saver->cleaned)
        return OK;
    saver->cleaned = true;
    add_literally(&pattern, saver->policy.folder);
    text_add(&pattern, STR("/*.tempstate*-*-*"));
    NEED_MEMORY(!pattern.failed);
    remove_matching(text_str(&pattern));
    return OK;
}

// ---- metrics

static double metric_of(const char *prefix) {
    BundleReader reader;
    BundleEntry entry;
    double metric = NAN;
    Status *status = bundle_open(str_of(prefix), &reader);
    if (!status) {
        AUTO(tensor) Tensor tensor = {0};
        status = bundle_find(&reader, STR(SAVER_METRIC), &entry);
        if (!status)
            status = bundle_read(&reader, STR(SAVER_METRIC), &entry, NULL, &tensor);
        if (!status && tensor.dtype == DT_double && tensor_count(&tensor) == 1)
            metric = *(double *)tensor.data;
        bundle_close(&reader);
    }
    status_free(status);
    return metric;
}

static bool is_better(const Saver *saver, double a, double b) {
    if (isnan(a) || isnan(b))
        return isnan(b) && !isnan(a);
    return saver->policy.less_is_better ? a < b : a > b;
}

// How many are better; of equals the earlier counts.
static size_t rank_of(const Saver *saver, size_t index) {
    size_t rank = 0;
    const CheckpointRecord *records = saver->state.records.p;
    for (size_t i = 0; i < saver->state.records.n; i++)
        rank += is_better(saver, records[i].metric, records[index].metric) ||
                (i < index && records[i].metric == records[index].metric);
    return rank;
}

static bool is_among_best(const Saver *saver, size_t index) {
    return !isnan(saver->state.records.p[index].metric) &&
           rank_of(saver, index) < (size_t)(saver->policy.keep_best > 0 ? saver->policy.keep_best : 0);
}

static const CheckpointRecord *best(const Saver *saver) {
    for (size_t i = 0; i < saver->state.records.n; i++)
        if (!isnan(saver->state.records.p[i].metric) && rank_of(saver, i) == 0)
            return &saver->state.records.p[i];
    return NULL;
}

static Status *write_best(const Saver *saver) {
    AUTO(CheckpointState) CheckpointState state = {0};
    const CheckpointRecord *record = saver->policy.keep_best > 0 ? best(saver) : NULL;
    if (!record)
        return OK;
    TRY(checkpoint_state_add(&state, str_of(record->prefix), record->time, record->metric));
    return checkpoint_state_write(saver->policy.folder, STR("best"), &state);
}

// ---- saving

// The record that the policy lets go next; -1: none. One that stays for ever leaves the list, as in TensorFlow.
static int64_t find_superfluous(const Saver *saver) {
    size_t n = saver->state.records.n, keep = (size_t)(saver->policy.keep > 0 ? saver->policy.keep : 0);
    for (size_t i = 0; keep && i + keep < n; i++)
        if (!is_among_best(saver, i))
            return (int64_t)i;
    return -1;
}

typedef struct {
    VEC(char *) paths;
} Leaving;

// Takes out of the list what goes, and of that into `leaving` what is to be removed.
static Status *choose_leaving(Saver *saver, Leaving *leaving) {
    for (int64_t at; (at = find_superfluous(saver)) >= 0;) {
        CheckpointRecord *record = &saver->state.records.p[at];
        double hours = saver->policy.keep_hours;
        if (hours > 0 && record->time >= saver->state.preserved + hours * 3600) {
            saver->state.preserved = record->time;
        } else {
            char *path = strdup(record->prefix);
            if (!path || !vec_push(&leaving->paths, path)) {
                free(path);
                return OUT_OF_MEMORY;
            }
        }
        checkpoint_state_drop(&saver->state, (size_t)at);
    }
    return OK;
}

static Status *write_tensors(Str prefix, double metric, const NamedTensor *tensors, size_t n) {
    AUTO(BundleWriter) BundleWriter writer = {.data = DISK_WRITER_NONE};
    TRY(bundle_writer_open(prefix, &writer));
    for (size_t i = 0; i < n; i++)
        TRY(bundle_add(&writer, tensors[i].name, &tensors[i].tensor));
    if (!isnan(metric)) {
        AUTO(tensor) Tensor value = {0};
        TRY(tensor_new(DT_double, SCALAR_SHAPE, &value));
        *(double *)value.data = metric;
        TRY(bundle_add(&writer, STR(SAVER_METRIC), &value));
    }
    return bundle_commit(&writer);
}

// The checkpoint is there: it becomes the newest of the list, on the disk and then here.
static Status *make_known(Saver *saver, Str prefix, double metric) {
    for (size_t i = saver->state.records.n; i-- > 0;)
        if (str_equal(str_of(saver->state.records.p[i].prefix), prefix))
            checkpoint_state_drop(&saver->state, i);
    TRY(checkpoint_state_add(&saver->state, prefix, seconds_now(), metric));
    Leaving leaving = {0};
    Status *status = choose_leaving(saver, &leaving);
    if (!status)
        status = checkpoint_state_write(saver->policy.folder, STR("checkpoint"), &saver->state);
    if (!status)
        status = write_best(saver);
    for (size_t i = 0; i < leaving.paths.n; i++) {
        if (!status)
            remove_checkpoint(str_of(leaving.paths.p[i]));
        free(leaving.paths.p[i]);
    }
    vec_clear(&leaving.paths);
    return status;
}

static Status *save(Saver *saver, int64_t step, double metric, const NamedTensor *tensors, size_t n) {
    AUTO(text) Text prefix = {0};
    TRY(path_of(saver, &prefix, saver->policy.name, ""));
    text_format(&prefix, "-%lld", (long long)step);
    NEED_MEMORY(!prefix.failed);
    TRY(remove_leftovers(saver));
    Status *status = write_tensors(text_str(&prefix), metric, tensors, n);
    if (!status)
        status = make_known(saver, text_str(&prefix), metric);
    return status_prefix(status, "saving the checkpoint of step %lld", (long long)step);
}

Status *saver_save(Saver *saver, int64_t step, double metric, const NamedTensor *tensors, size_t n) {
    TRY(saver_wait(saver));
    return save(saver, step, metric, tensors, n);
}

// ---- saving on another thread

typedef struct {
    Saver *saver;
    Later *later;
} Task;

static void save_task(void *arg) {
    Task *task = arg;
    Later *later = task->later;
    later->status = save(task->saver, later->step, later->metric, later->tensors, later->n);
    notification_notify(&later->done);
}

static void later_free(Later *later) {
    for (size_t i = 0; i < later->n; i++)
        tensor_clear(&later->tensors[i].tensor);
    arena_clear(&later->arena);
    status_free(later->status);
    free(later);
}

static Status *later_fill(Later *later, const NamedTensor *tensors, size_t n) {
    later->tensors = ARENA_ARRAY(&later->arena, NamedTensor, n + 1);
    NEED_MEMORY(later->tensors);
    for (size_t i = 0; i < n; i++) {
        later->tensors[i].name = str_copy(&later->arena, tensors[i].name);
        NEED_MEMORY(later->tensors[i].name.p);
        later->tensors[i].tensor = tensor_retain(&tensors[i].tensor);
        later->n++;
    }
    return OK;
}

Status *saver_save_later(Saver *saver, int64_t step, double metric, const NamedTensor *tensors, size_t n) {
    TRY(saver_wait(saver));
    Later *later = calloc(1, sizeof *later);
    NEED_MEMORY(later);
    *later = (Later){.step = step, .metric = metric};
    Status *status = later_fill(later, tensors, n);
    Task *task = status ? NULL : ARENA_NEW(&later->arena, Task);
    if (!task) {
        later_free(later);
        return status ? status : OUT_OF_MEMORY;
    }
    *task = (Task){saver, later};
    saver->later = later;
    if (!pool_elastic(save_task, task))
        save_task(task);
    return OK;
}

Status *saver_wait(Saver *saver) {
    Later *later = saver->later;
    if (!later)
        return OK;
    notification_wait(&later->done, NO_DEADLINE);
    Status *status = later->status;
    later->status = NULL;
    saver->later = NULL;
    later_free(later);
    return status;
}

// ---- finding

static Status *add_reason(Text *skipped, const char *prefix, Status *status) {
    log_write(LOG_WARNING, "%s is passed over: %s", prefix, status_message(status));
    text_format(skipped, "%s: %s\n", prefix, status_message(status));
    status_free(status);
    NEED_MEMORY(!skipped->failed);
    return OK;
}

// Whether there is a good one among the paths, tried from the last.
static Status *find_good(char *const *prefixes, size_t n, Text *out, Text *skipped, bool *found) {
    *found = false;
    while (n-- > 0) {
        Status *status = bundle_verify(str_of(prefixes[n]));
        if (!status) {
            text_add(out, str_of(prefixes[n]));
            NEED_MEMORY(!out->failed);
            *found = true;
            return OK;
        }
        TRY(add_reason(skipped, prefixes[n], status));
    }
    return OK;
}

static int64_t step_of(const char *path) {
    const char *dash = strrchr(path, '-');
    int64_t step;
    return dash && str_to_int(str_of(dash + 1), &step) ? step : -1;
}

static int by_step(const void *a, const void *b) {
    int64_t x = step_of(*(char *const *)a), y = step_of(*(char *const *)b);
    return x < y ? -1 : x > y;
}

// Where the list names none that is good: whatever lies there.
static Status *find_lying(const Saver *saver, Text *out, Text *skipped, bool *found) {
    AUTO(text) Text pattern = {0};
    DiskPaths paths = {0};
    add_literally(&pattern, saver->policy.folder);
    text_char(&pattern, '/');
    add_literally(&pattern, saver->policy.name);
    text_add(&pattern, STR("-*.index"));
    NEED_MEMORY(!pattern.failed);
    Status *status = disk_match(text_str(&pattern), &paths);
    for (size_t i = 0; i < paths.paths.n; i++)
        paths.paths.p[i][strlen(paths.paths.p[i]) - 6] = 0;  // without ".index"
    if (!status && paths.paths.n) {
        qsort(paths.paths.p, paths.paths.n, sizeof *paths.paths.p, by_step);
        status = find_good(paths.paths.p, paths.paths.n, out, skipped, found);
    }
    disk_paths_clear(&paths);
    return status;
}

Status *saver_latest(Saver *saver, Text *out_prefix, Text *skipped) {
    TRY(saver_wait(saver));
    bool found = false;
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text lines = {0};
    size_t n = saver->state.records.n;
    char **prefixes = ARENA_ARRAY(&arena, char *, n + 1);
    NEED_MEMORY(prefixes);
    for (size_t i = 0; i < n; i++)
        prefixes[i] = saver->state.records.p[i].prefix;
    TRY(find_good(prefixes, n, out_prefix, skipped, &found));
    if (!found)
        TRY(find_lying(saver, out_prefix, n ? &lines : skipped, &found));  // the list's are told already
    NEED(found, NOT_FOUND, "there is no checkpoint in %.*s%s", STR_ARGS(saver->policy.folder),
         skipped->n ? " that can be read" : "");
    return OK;
}

Status *saver_best(Saver *saver, Text *out_prefix) {
    TRY(saver_wait(saver));
    const CheckpointRecord *record = best(saver);
    NEED(record, NOT_FOUND, "no checkpoint in %.*s has a metric", STR_ARGS(saver->policy.folder));
    text_add(out_prefix, str_of(record->prefix));
    NEED_MEMORY(!out_prefix->failed);
    return OK;
}

// ---- life

static Status *open_saver(Saver *saver, const SaverPolicy *policy) {
    Str folder = policy->folder;
    while (folder.n > 1 && folder.p[folder.n - 1] == '/')
        folder.n--;
    saver->policy = *policy;
    saver->policy.folder = str_copy(&saver->arena, folder.n ? folder : STR("."));
    saver->policy.name = str_copy(&saver->arena, policy->name.n ? policy->name : STR("model"));
    NEED_MEMORY(saver->policy.folder.p && saver->policy.name.p);
    Status *status = checkpoint_state_read(saver->policy.folder, STR("checkpoint"), &saver->state);
    if (status_code(status) == DATA_LOSS)
        log_write(LOG_WARNING, "%s; the folder's files are looked at instead", status_message(status));
    if (status_code(status) == NOT_FOUND || status_code(status) == DATA_LOSS) {
        status_free(status);
        status = OK;
    }
    TRY(status);
    for (size_t i = 0; i < saver->state.records.n && saver->policy.keep_best > 0; i++)
        saver->state.records.p[i].metric = metric_of(saver->state.records.p[i].prefix);
    if (saver->state.preserved <= 0)
        saver->state.preserved = seconds_now();
    return OK;
}

Status *saver_new(const SaverPolicy *policy, Saver **out) {
    Saver *saver = calloc(1, sizeof *saver);
    NEED_MEMORY(saver);
    Status *status = open_saver(saver, policy);
    if (status)
        saver_free(saver);
    else
        *out = saver;
    return status;
}

void saver_free(Saver *saver) {
    if (!saver)
        return;
    status_free(saver_wait(saver));
    checkpoint_state_clear(&saver->state);
    arena_clear(&saver->arena);
    free(saver);
}
