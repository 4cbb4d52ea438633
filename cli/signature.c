// Signatures — what a SavedModel calls its inputs and outputs, read from the MetaGraphDef that comes with it.
//
// The few fields that matter, by their numbers: MetaGraphDef 5 is a map of signatures, a signature's 1 and 2 are maps
// of inputs and outputs, its 3 the method; such an end's 1 is the tensor's name, 2 its type, 3 its shape. A map's entry
// has its key in 1, its value in 2.
#include "census.h"

static void add_ends(Model *model, Bytes signature, uint64_t which) {
    Field field;
    while (wire_next(&signature, &field)) {
        if (field.number != which || model->n_ends == MOST_EDGES)
            continue;
        ModelEnd *end = &model->ends[model->n_ends];
        end->is_output = which == 2;
        wire_text(wire_find(field.bytes, 1), end->name, sizeof end->name);
        wire_text(wire_find(wire_find(field.bytes, 2), 1), end->edge, sizeof end->edge);
        if (*end->name && *end->edge)
            model->n_ends++;
    }
}

// The signature of that name, or the first one that has outputs.
void signature_read(Model *model, const void *bytes, size_t size) {
    Bytes meta = {bytes, (const unsigned char *)bytes + size}, chosen = {0};
    Field field;
    while (wire_next(&meta, &field)) {
        if (field.number != 5)
            continue;
        Bytes signature = wire_find(field.bytes, 2);
        bool serving = wire_is(wire_find(field.bytes, 1), "serving_default");
        if (serving || (!chosen.at && wire_find(signature, 2).at))
            chosen = signature;
    }
    if (chosen.at) {
        add_ends(model, chosen, 1);
        add_ends(model, chosen, 2);
    }
}

// ---------------------------------------- all of them

static void print_end(Bytes entry, bool is_output, bool json, bool first) {
    char name[256], edge[512];
    Bytes end = wire_find(entry, 2);
    const char *dtype = mr_dtype_name((TF_DataType)wire_integer(end, 2, 0)), *shape = wire_shape(wire_find(end, 3));
    wire_text(wire_find(entry, 1), name, sizeof name);
    wire_text(wire_find(end, 1), edge, sizeof edge);
    dtype = dtype ? dtype : "?";
    if (!json) {
        print_text(stdout, 10, "    %-5s %-24s %s %s  %s", is_output ? "gives" : "takes", name, dtype, shape, edge);
        return;
    }
    printf("%s", first ? "" : ", ");
    print_json_text(name);
    printf(": {\"edge\": ");
    print_json_text(edge);
    printf(", \"dtype\": \"%s\", \"shape\": \"%s\"}", dtype, shape);
}

static void print_ends(Bytes signature, uint64_t number, bool json) {
    Field field;
    bool first = true;
    printf(!json ? "" : number == 1 ? "\"inputs\": {" : ", \"outputs\": {");
    while (wire_next(&signature, &field))
        if (field.number == number) {
            print_end(field.bytes, number == 2, json, first);
            first = false;
        }
    printf(json ? "}" : "");
}

void signatures_print(const void *bytes, size_t size, bool json) {
    Bytes meta = {bytes, (const unsigned char *)bytes + size};
    Field field;
    bool first = true;
    char name[256], method[256];
    printf(json ? ", \"signatures\": {" : "");
    while (wire_next(&meta, &field)) {
        Bytes signature = wire_find(field.bytes, 2);
        wire_text(wire_find(field.bytes, 1), name, sizeof name);
        if (field.number != 5 || strcmp(name, "__saved_model_init_op") == 0)
            continue;
        wire_text(wire_find(signature, 3), method, sizeof method);
        if (json) {
            printf("%s", first ? "" : ", ");
            print_json_text(name);
            printf(": {");
        } else {
            print_text(stdout, 4, "  signature %s%s%s", name, *method ? "  " : "", method);
        }
        print_ends(signature, 1, json);
        print_ends(signature, 2, json);
        printf(json ? "}" : "");
        first = false;
    }
    printf(json ? "}" : "");
}
