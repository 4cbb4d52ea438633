// millrace convert — the same model or the same arrays in another form.
#include <zlib.h>

#include "columns_internal.h"
#include "millrace/saved_model.h"

static const char ABOUT[] =
    "Writes what is in IN as OUT, whose name says the form:\n"
    "\n"
    "  .pb, .pbtxt  a GraphDef in binary or text form: of one as it is, of a SavedModel or with --checkpoint frozen: variables become "
    "constants, and what --output does not need is left out\n"
    "  .npz         the variables of a checkpoint, as NumPy has them; and back, where IN is such a file and OUT the name of a checkpoint\n"
    "  .safetensors the same for safetensors, one way\n"
    "  a folder     a SavedModel: of a GraphDef with --checkpoint, or of a SavedModel\n";

enum { CHECKPOINT = 1, OUTPUT, TO };
static const Option OPTIONS[] = {
    {"checkpoint", "PREFIX", "gives the variables of a GraphDef their values", CHECKPOINT},
    {"output", "NODE", "what a frozen graph or a SavedModel gives; the ends of the graph unless said otherwise", OUTPUT},
    {"to", "FORM", "pb, pbtxt, npz, safetensors, checkpoint or saved-model, where the name of OUT does not tell", TO},
    {0}};

static const char EXAMPLES[] =
    "millrace convert fashion.pb fashion.pbtxt\n"
    "millrace convert run fashion.npz\n"
    "millrace convert saved frozen.pb\n"
    "millrace convert training.pb saved --to saved-model --checkpoint run --output label\n";

typedef struct {
    const char *in, *out, *checkpoint, *to;
    const char *outputs[MOST_EDGES];
    int n_outputs;
} Conversion;

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool write_buffer(const char *path, TF_Buffer *bytes) {
    bool text = ends_with(path, ".pbtxt"), done = true;
    TF_Buffer *out = TF_NewBuffer();
    TF_Status *status = TF_NewStatus();
    if (text)
        mr_message_print("GraphDef", bytes->data, bytes->length, out, status);
    done = good(status, path) && write_file(path, text ? out->data : bytes->data, text ? out->length : bytes->length);
    TF_DeleteStatus(status);
    TF_DeleteBuffer(out);
    return done;
}

// ---------------------------------------- graphs

static bool copy_graph(const Conversion *c) {
    TF_Buffer *bytes = TF_NewBuffer();
    bool done = message_read(c->in, "GraphDef", bytes) && write_buffer(c->out, bytes);
    TF_DeleteBuffer(bytes);
    return done;
}

static int find_outputs(const Conversion *c, const Model *model, TF_Output *out) {
    for (int i = 0; i < c->n_outputs; i++)
        if (!model_edge(model, c->outputs[i], &out[i]))
            return -1;
    return c->n_outputs ? c->n_outputs : model_ends(model, out, MOST_EDGES);
}

static bool freeze(const Model *model, const TF_Output *outputs, int n, const char *path) {
    TF_Buffer *bytes = TF_NewBuffer();
    TF_Status *status = TF_NewStatus();
    mr_freeze(model->session, outputs, n, bytes, status);
    bool done = good(status, model->path) && write_buffer(path, bytes);
    TF_DeleteStatus(status);
    TF_DeleteBuffer(bytes);
    return done;
}

// Ends are called as the nodes are; inputs are the placeholders. What no output needs is not written.
static bool write_saved_model(const Model *model, const TF_Output *outputs, int n, const char *path) {
    TF_Output inputs[MOST_EDGES];
    const char *names[2][MOST_EDGES];
    int n_inputs = 0;
    size_t at = 0;
    for (TF_Operation *node; n_inputs < MOST_EDGES && (node = TF_GraphNextOperation(model->graph, &at));)
        if (strcmp(TF_OperationOpType(node), "Placeholder") == 0 && strncmp(TF_OperationName(node), "millrace_restore/", 17) != 0)
            inputs[n_inputs++] = (TF_Output){node, 0};
    for (int i = 0; i < n_inputs; i++)
        names[0][i] = TF_OperationName(inputs[i].oper);
    for (int i = 0; i < n; i++)
        names[1][i] = TF_OperationName(outputs[i].oper);
    for (int i = 0; i < model->n_ends; i++)   // a SavedModel has its own names for them
        for (int j = 0; j < n; j++)
            if (model->ends[i].is_output && strcmp(model->ends[i].edge, edge_name(outputs[j])) == 0)
                names[1][j] = model->ends[i].name;
    mr_signature signature = {.struct_size = sizeof signature, .input_names = names[0], .inputs = inputs, .num_inputs = n_inputs,
                              .output_names = names[1], .outputs = outputs, .num_outputs = n};
    mr_saved_model_options options = {.struct_size = sizeof options, .signatures = &signature, .num_signatures = 1};
    TF_Status *status = TF_NewStatus();
    mr_saved_model_write(model->session, path, &options, status);
    bool done = good(status, path);
    TF_DeleteStatus(status);
    return done;
}

static bool convert_model(const Conversion *c, bool saved) {
    Model model;
    TF_Output outputs[MOST_EDGES];
    if (!model_open(c->in, 0, &model))
        return false;
    int n = find_outputs(c, &model, outputs);   // before restoring adds nodes
    bool done = n >= 0 && (!c->checkpoint || model_restore(&model, c->checkpoint));
    if (done && n == 0) {
        fail("%s: nothing in it is an end: say --output", c->in);
        done = false;
    }
    done = done && (saved ? write_saved_model(&model, outputs, n, c->out) : freeze(&model, outputs, n, c->out));
    model_close(&model);
    return done;
}

// ---------------------------------------- arrays

static void put(FILE *file, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        fputc((int)(value >> 8 * i & 255), file);
}

// What the archive's list tells of an array.
typedef struct {
    char name[520];
    uint64_t at, size;
    uint32_t crc;
} Entry;

// The head of an entry, in front of its bytes and, with more, in the list.
static void put_entry(FILE *file, const Entry *e, bool in_list) {
    put(file, in_list ? 0x02014b50 : 0x04034b50, 4);
    if (in_list)
        put(file, 20, 2);
    put(file, 20, 2);
    put(file, 0, 8);   // flags, not packed, time
    put(file, e->crc, 4);
    put(file, e->size, 4);
    put(file, e->size, 4);
    put(file, strlen(e->name), 2);
    put(file, 0, 2);
    if (in_list) {
        put(file, 0, 10);   // no comment, first disk, attributes
        put(file, e->at, 4);
    }
    fputs(e->name, file);
}

static bool put_array(FILE *file, const char *path, const char *name, const TF_Tensor *tensor, Entry *out) {
    size_t size;
    char *bytes = npy_bytes(path, tensor, &size);
    if (!bytes)
        return false;
    snprintf(out->name, sizeof out->name, "%.500s.npy", name);
    out->at = (uint64_t)ftello(file);
    out->size = size;
    out->crc = (uint32_t)crc32(0, (const Bytef *)bytes, (uInt)size);
    bool fits = size < UINT32_MAX && out->at < UINT32_MAX;
    if (!fits)
        fail("%s: an archive of 4 GB and more is not written", path);
    if (fits) {
        put_entry(file, out, false);
        fwrite(bytes, 1, size, file);
    }
    free(bytes);
    return fits;
}

static bool finish_npz(FILE *file, const Entry *entries, int n) {
    uint64_t start = (uint64_t)ftello(file);
    for (int i = 0; i < n; i++)
        put_entry(file, &entries[i], true);
    uint64_t end = (uint64_t)ftello(file);
    put(file, 0x06054b50, 4);
    put(file, 0, 4);
    put(file, (uint64_t)n, 2);
    put(file, (uint64_t)n, 2);
    put(file, end - start, 4);
    put(file, start, 4);
    put(file, 0, 2);
    return end < UINT32_MAX && n < 65535;
}

// What a trainer keeps besides variables, and texts, are not arrays.
static bool is_array(TF_CheckpointReader *reader, const char *name) {
    return strncmp(name, "_millrace/", 10) != 0 && TF_CheckpointReaderGetVariableDataType(reader, name) != TF_STRING;
}

static bool write_npz(TF_CheckpointReader *reader, FILE *file, const char *path) {
    int n = TF_CheckpointReaderSize(reader), written = 0;
    Entry *entries = calloc((size_t)n + 1, sizeof *entries);
    TF_Status *status = TF_NewStatus();
    bool done = entries != NULL;
    for (int i = 0; i < n && done; i++) {
        const char *name = TF_CheckpointReaderGetVariable(reader, i);
        if (!is_array(reader, name))
            continue;
        TF_Tensor *tensor = TF_CheckpointReaderGetTensor(reader, name, status);
        done = good(status, name) && put_array(file, path, name, tensor, &entries[written++]);
        TF_DeleteTensor(tensor);
    }
    done = done && finish_npz(file, entries, written);
    free(entries);
    TF_DeleteStatus(status);
    return done;
}

static const char *safetensors_type(TF_DataType dtype) {
    switch (dtype) {
    case TF_FLOAT: return "F32";
    case TF_DOUBLE: return "F64";
    case TF_HALF: return "F16";
    case TF_BFLOAT16: return "BF16";
    case TF_INT8: return "I8";
    case TF_INT16: return "I16";
    case TF_INT32: return "I32";
    case TF_INT64: return "I64";
    case TF_UINT8: return "U8";
    case TF_UINT16: return "U16";
    case TF_UINT32: return "U32";
    case TF_UINT64: return "U64";
    case TF_BOOL: return "BOOL";
    default: return NULL;
    }
}

// One line of the head; `*at` goes on by the array's bytes.
static bool put_head(FILE *head, TF_CheckpointReader *reader, const char *name, bool first, uint64_t *at, const char *path) {
    TF_DataType dtype = TF_CheckpointReaderGetVariableDataType(reader, name);
    const char *type = safetensors_type(dtype);
    int64_t dims[16];
    int rank = TF_CheckpointReaderGetVariableNumDims(reader, name);
    TF_Status *status = TF_NewStatus();
    uint64_t bytes = TF_DataTypeSize(dtype);
    if (rank > 0 && rank <= 16)
        TF_CheckpointReaderGetVariableShape(reader, name, dims, rank, status);
    bool done = good(status, name) && rank <= 16;
    TF_DeleteStatus(status);
    if (!type) {
        fail("%s: tensors of %s have no form in safetensors", path, mr_dtype_name(dtype));
        return false;
    }
    fprintf(head, "%s\"", first ? "{" : ",");
    for (const char *c = name; *c; c++)
        fprintf(head, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    fprintf(head, "\":{\"dtype\":\"%s\",\"shape\":[", type);
    for (int i = 0; i < rank && done; i++) {
        fprintf(head, i ? ",%lld" : "%lld", (long long)dims[i]);
        bytes *= (uint64_t)dims[i];
    }
    fprintf(head, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)*at, (unsigned long long)*at + bytes);
    *at += bytes;
    return done;
}

static bool write_safetensors(TF_CheckpointReader *reader, FILE *file, const char *path) {
    char *text = NULL;
    size_t length = 0;
    uint64_t at = 0;
    int n = TF_CheckpointReaderSize(reader), written = 0;
    FILE *head = open_memstream(&text, &length);
    bool done = head != NULL;
    for (int i = 0; i < n && done; i++) {
        const char *name = TF_CheckpointReaderGetVariable(reader, i);
        if (is_array(reader, name))
            done = put_head(head, reader, name, written++ == 0, &at, path);
    }
    if (head) {
        fputs(written ? "}" : "{}", head);
        while (ftello(head) % 8)
            fputc(' ', head);
        fclose(head);
    }
    put(file, length, 8);
    fwrite(text, 1, length, file);
    free(text);
    TF_Status *status = TF_NewStatus();
    for (int i = 0; i < n && done; i++) {
        const char *name = TF_CheckpointReaderGetVariable(reader, i);
        if (!is_array(reader, name))
            continue;
        TF_Tensor *tensor = TF_CheckpointReaderGetTensor(reader, name, status);
        done = good(status, name) && fwrite(TF_TensorData(tensor), 1, TF_TensorByteSize(tensor), file) == TF_TensorByteSize(tensor);
        TF_DeleteTensor(tensor);
    }
    TF_DeleteStatus(status);
    return done;
}

static bool convert_checkpoint(const Conversion *c, const char *prefix, bool npz) {
    TF_Status *status = TF_NewStatus();
    TF_CheckpointReader *reader = TF_NewCheckpointReader(prefix, status);
    FILE *file = good(status, prefix) ? fopen(c->out, "wb") : NULL;
    bool done = file && (npz ? write_npz(reader, file, c->out) : write_safetensors(reader, file, c->out));
    if (file && (fclose(file) != 0 || !done)) {
        remove(c->out);
        done = false;
    }
    if (!file && TF_GetCode(status) == TF_OK)
        can_write(c->out);
    TF_DeleteCheckpointReader(reader);
    TF_DeleteStatus(status);
    return done;
}

// ---------------------------------------- arrays into a checkpoint: by the library's own SaveV2

static TF_Output add_strings(TF_Graph *graph, const char *name, const Columns *arrays, const char *only, TF_Status *status) {
    int64_t n = arrays ? arrays->n : 1;
    TF_Tensor *tensor = TF_AllocateTensor(TF_STRING, &n, arrays != NULL, (size_t)n * sizeof(TF_TString));
    for (int64_t i = 0; i < n; i++) {
        const char *text = only ? only : arrays->columns[i].name;
        TF_StringInit((TF_TString *)TF_TensorData(tensor) + i);
        TF_StringCopy((TF_TString *)TF_TensorData(tensor) + i, text, strlen(text));
    }
    TF_OperationDescription *node = TF_NewOperation(graph, "Const", name);
    TF_SetAttrType(node, "dtype", TF_STRING);
    TF_SetAttrTensor(node, "value", tensor, status);
    TF_DeleteTensor(tensor);
    return (TF_Output){TF_FinishOperation(node, status), 0};
}

static bool save_arrays(const Columns *arrays, const char *prefix) {
    TF_Status *status = TF_NewStatus();
    TF_Graph *graph = TF_NewGraph();
    TF_Output edges[MOST_EDGES], path = add_strings(graph, "prefix", NULL, prefix, status);
    TF_Output names = add_strings(graph, "names", arrays, NULL, status), slices = add_strings(graph, "slices", arrays, "", status);
    TF_Tensor *values[MOST_EDGES];
    for (int i = 0; i < arrays->n; i++) {
        char name[24];
        snprintf(name, sizeof name, "value%d", i);
        TF_OperationDescription *node = TF_NewOperation(graph, "Placeholder", name);
        TF_SetAttrType(node, "dtype", TF_TensorType(arrays->columns[i].tensor));
        edges[i] = (TF_Output){TF_FinishOperation(node, status), 0};
        values[i] = arrays->columns[i].tensor;
    }
    TF_OperationDescription *save = TF_NewOperation(graph, "SaveV2", "save");
    TF_AddInput(save, path);
    TF_AddInput(save, names);
    TF_AddInput(save, slices);
    TF_AddInputList(save, edges, arrays->n);
    const TF_Operation *target = TF_FinishOperation(save, status);
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Session *session = target ? TF_NewSession(graph, options, status) : NULL;
    if (session)
        TF_SessionRun(session, NULL, edges, values, arrays->n, NULL, NULL, 0, &target, 1, NULL, status);
    bool done = good(status, prefix);
    if (session)
        TF_DeleteSession(session, status);
    TF_DeleteSessionOptions(options);
    TF_DeleteGraph(graph);
    TF_DeleteStatus(status);
    return done;
}

static bool convert_arrays(const Conversion *c) {
    Columns arrays = {.path = c->in, .any_shape = true};
    size_t n;
    char *file = read_file(c->in, &n);
    bool done = file && npz_read(&arrays, file, n) && save_arrays(&arrays, c->out);
    free(file);
    columns_clear(&arrays);
    return done;
}

// ---------------------------------------- the command

static const char *form_of(const Conversion *c, bool arrays) {
    static const char *const FORMS[] = {"pb", "pbtxt", "npz", "safetensors"};
    const char *dot = strrchr(c->out, '.');
    for (size_t i = 0; !c->to && dot && i < sizeof FORMS / sizeof *FORMS; i++)
        if (strcmp(dot + 1, FORMS[i]) == 0)
            return FORMS[i];
    return c->to ? c->to : arrays ? "checkpoint" : "saved-model";
}

static bool convert(const Conversion *c) {
    char prefix[4200];
    bool arrays = ends_with(c->in, ".npz"), checkpoint = !arrays && checkpoint_find(c->in, prefix, sizeof prefix);
    const char *form = form_of(c, arrays);
    bool to_arrays = strcmp(form, "npz") == 0 || strcmp(form, "safetensors") == 0, graph = strncmp(form, "pb", 2) == 0;
    if (arrays && strcmp(form, "checkpoint") == 0)
        return convert_arrays(c);
    if (checkpoint && to_arrays)
        return convert_checkpoint(c, prefix, strcmp(form, "npz") == 0);
    if (!arrays && !checkpoint && graph && !c->checkpoint && !c->n_outputs && !model_is_folder(c->in))
        return copy_graph(c);
    if (!arrays && !checkpoint && (graph || strcmp(form, "saved-model") == 0))
        return convert_model(c, !graph);
    fail("%s: of %s no %s is made", c->in, arrays ? "arrays" : checkpoint ? "a checkpoint" : "a model", form);
    return false;
}

static int run(int argc, char **argv) {
    Conversion c = {0};
    int option;
    while ((option = next_option(&command_convert, argc, argv)) != -1) {
        switch (option) {
        case 'h': return EXIT_DONE;
        case '?': return EXIT_USAGE;
        case CHECKPOINT: c.checkpoint = optarg; break;
        case TO: c.to = optarg; break;
        default:
            if (c.n_outputs == MOST_EDGES)
                return misuse(&command_convert, "at most %d outputs are possible", MOST_EDGES);
            c.outputs[c.n_outputs++] = optarg;
        }
    }
    if (argc - optind != 2)
        return misuse(&command_convert, "IN and OUT are expected");
    c.in = argv[optind];
    c.out = argv[optind + 1];
    return convert(&c) ? EXIT_DONE : EXIT_FAILED;
}

const Command command_convert = {"convert", "a model or a checkpoint in another form", "IN OUT", ABOUT, OPTIONS, EXAMPLES, run};
