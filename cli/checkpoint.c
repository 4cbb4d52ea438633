// Checkpoints — what a checkpoint holds: names, types, shapes, bytes.
#include <dirent.h>
#include <unistd.h>

#include "cli.h"

static bool is_there(const char *prefix, const char *end) {
    char path[4200];
    snprintf(path, sizeof path, "%s%s", prefix, end);
    return access(path, F_OK) == 0;
}

// The one that the folder's file `checkpoint` names: model_checkpoint_path: "model.ckpt-1".
static bool find_latest(const char *folder, char *prefix, size_t room) {
    char path[4200], line[4096], name[4096];
    snprintf(path, sizeof path, "%s/checkpoint", folder);
    FILE *file = fopen(path, "r");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, " model_checkpoint_path: \"%4000[^\"]\"", name) == 1;
    if (file)
        fclose(file);
    if (found && name[0] == '/')
        snprintf(prefix, room, "%s", name);
    else if (found)
        snprintf(prefix, room, "%s/%s", folder, name);
    return found && is_there(prefix, ".index");
}

// Else the only one that lies there.
static bool find_only(const char *folder, char *prefix, size_t room) {
    DIR *list = opendir(folder);
    int n = 0;
    for (struct dirent *entry; list && (entry = readdir(list));) {
        size_t length = strlen(entry->d_name);
        if (length <= 6 || strcmp(entry->d_name + length - 6, ".index") != 0)
            continue;
        snprintf(prefix, room, "%s/%.*s", folder, (int)(length - 6), entry->d_name);
        n++;
    }
    if (list)
        closedir(list);
    return n == 1;
}

bool checkpoint_find(const char *path, char *prefix, size_t room) {
    snprintf(prefix, room, "%s", path);
    if (is_there(path, ".index"))
        return true;
    char *end = strstr(prefix, ".data-");
    size_t n = strlen(prefix);
    if (end || (n > 6 && strcmp(end = prefix + n - 6, ".index") == 0)) {
        *end = 0;
        return is_there(prefix, ".index");
    }
    if (is_there(path, "/saved_model.pb") || is_there(path, "/saved_model.pbtxt"))
        return false;
    return find_latest(path, prefix, room) || find_only(path, prefix, room);
}

static void print_one(TF_CheckpointReader *reader, const char *name, bool json, bool first, int64_t *elements,
                      double *bytes) {
    char shape[256] = "";
    int64_t dims[16], n = 1;
    TF_Status *status = TF_NewStatus();
    TF_DataType dtype = TF_CheckpointReaderGetVariableDataType(reader, name);
    int rank = TF_CheckpointReaderGetVariableNumDims(reader, name);
    if (rank > 0 && rank <= 16)
        TF_CheckpointReaderGetVariableShape(reader, name, dims, rank, status);
    for (int i = 0; i < rank && rank <= 16 && TF_GetCode(status) == TF_OK; i++) {
        n *= dims[i];
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), i ? " %lld" : "%lld", (long long)dims[i]);
    }
    TF_DeleteStatus(status);
    double size = (double)n * (double)TF_DataTypeSize(dtype);   // of texts their file knows
    if (json) {
        printf("%s\n {\"name\": ", first ? "" : ",");
        print_json_text(name);
        printf(", \"dtype\": \"%s\", \"shape\": [", mr_dtype_name(dtype));
        for (const char *c = shape; *c; c++)
            printf(*c == ' ' ? ", " : "%c", *c);
        printf("], \"bytes\": %.0f}", size);
    } else {
        print_text(stdout, 4, "  %-10s %-20s %10s  %s", mr_dtype_name(dtype), *shape ? shape : "scalar",
                   dtype == TF_STRING ? "" : human_bytes(size), name);
    }
    *elements += dtype == TF_STRING ? 0 : n;
    *bytes += size;
}

int checkpoint_inspect(const char *prefix, bool json) {
    TF_Status *status = TF_NewStatus();
    TF_CheckpointReader *reader = TF_NewCheckpointReader(prefix, status);
    bool done = good(status, prefix);
    int n = done ? TF_CheckpointReaderSize(reader) : 0;
    int64_t elements = 0;
    double bytes = 0;
    if (done && json) {
        printf("{\"checkpoint\": ");
        print_json_text(prefix);
        printf(", \"tensors\": [");
    } else if (done) {
        print_text(stdout, 2, "%s: a checkpoint of %d tensors", prefix, n);
    }
    for (int i = 0; i < n; i++)
        print_one(reader, TF_CheckpointReaderGetVariable(reader, i), json, i == 0, &elements, &bytes);
    if (done)
        printf(json ? "], \"elements\": %lld, \"bytes\": %.0f}\n" : "%lld elements", (long long)elements, bytes);
    if (done && !json)
        printf(", %s\n", human_bytes(bytes));
    TF_DeleteCheckpointReader(reader);
    TF_DeleteStatus(status);
    return done ? EXIT_DONE : EXIT_FAILED;
}
