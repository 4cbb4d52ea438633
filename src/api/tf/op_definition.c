// TF_OpDefinitionBuilder — a custom op from texts such as "x: N * T" and "T: {float, int32} = DT_FLOAT"; see ops.h.
//
// TensorFlow's words differ from our notation in a few: Ref(T), DT_FLOAT, numbertype. They are rewritten, the rest is
// the signature parser's business.
#include <stdlib.h>

#include "api/tf/plugin.h"

struct TF_OpDefinitionBuilder {
    Text name, inputs, outputs, attrs, flags;
    void (*shape)(TF_ShapeInferenceContext *ctx, TF_Status *status);
};

TF_OpDefinitionBuilder *TF_NewOpDefinitionBuilder(const char *op_name) {
    TF_OpDefinitionBuilder *builder = calloc(1, sizeof *builder);
    if (builder)
        text_add(&builder->name, str_of(op_name));
    return builder;
}

void TF_DeleteOpDefinitionBuilder(TF_OpDefinitionBuilder *builder) {
    if (!builder)
        return;
    text_clear(&builder->name);
    text_clear(&builder->inputs);
    text_clear(&builder->outputs);
    text_clear(&builder->attrs);
    text_clear(&builder->flags);
    free(builder);
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

#define NUMBER_TYPES "float, double, int64, int32, uint8, uint16, int16, int8, complex64, complex128, qint8, quint8, qint32, " \
                "half, bfloat16, uint32, uint64"

// What a word of an attribute's text is in our notation.
static Str translate(Str word, char scratch[64]) {
    static const char *const sets[][2] = {
        {"numbertype", "{" NUMBER_TYPES "}"},
        {"numerictype", "{" NUMBER_TYPES "}"},
        {"realnumbertype", "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"},
        {"quantizedtype", "{qint8, quint8, qint32, qint16, quint16}"},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (str_is(word, sets[i][0]))
            return str_of(sets[i][1]);
    if (!str_starts(word, STR("DT_")) || word.n >= 60)
        return word;
    int32_t number;
    return enum_find(&enum_DataType, word, &number) ? str_of(dtype_name((DType)number)) : (Str){scratch, 0};
}

// Copies the text word by word; what stands in quotes stays as it is.
static void add_translated(Text *out, Str text) {
    char scratch[64];
    for (size_t i = 0; i < text.n;) {
        if (text.p[i] == '"' || text.p[i] == '\'') {
            char quote = text.p[i++];
            text_char(out, '"');
            while (i < text.n && text.p[i] != quote) {
                if (text.p[i] == '\\' && i + 1 < text.n)
                    text_char(out, text.p[i++]);
                text_char(out, text.p[i++]);
            }
            text_char(out, '"');
            i++;
        } else if (is_word(text.p[i])) {
            size_t first = i;
            while (i < text.n && is_word(text.p[i]))
                i++;
            text_add(out, translate((Str){text.p + first, i - first}, scratch));
        } else {
            text_char(out, text.p[i++]);
        }
    }
}

// "x: Ref(T)" is "x: ref T".
static void add_arg(Text *out, const char *spec) {
    Str text = str_of(spec);
    const char *ref = strstr(spec, "Ref(");
    text_add(out, out->n ? STR(", ") : STR(""));
    if (!ref) {
        text_add(out, text);
        return;
    }
    text_add(out, (Str){spec, (size_t)(ref - spec)});
    text_add(out, STR("ref "));
    size_t inner = strcspn(ref + 4, ")");
    text_add(out, (Str){ref + 4, inner});
}

void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder *builder, const char *input_spec) {
    add_arg(&builder->inputs, input_spec);
}

void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder *builder, const char *output_spec) {
    add_arg(&builder->outputs, output_spec);
}

void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder *builder, const char *attr_spec) {
    text_add(&builder->attrs, STR("; "));
    add_translated(&builder->attrs, str_of(attr_spec));
}

static void set_flag(TF_OpDefinitionBuilder *builder, const char *flag, bool on) {
    if (on)
        text_format(&builder->flags, "; %s", flag);
}

void TF_OpDefinitionBuilderSetIsCommutative(TF_OpDefinitionBuilder *builder, bool is_commutative) {
    set_flag(builder, "commutative", is_commutative);
}

void TF_OpDefinitionBuilderSetIsAggregate(TF_OpDefinitionBuilder *builder, bool is_aggregate) {
    set_flag(builder, "aggregate", is_aggregate);
}

void TF_OpDefinitionBuilderSetIsStateful(TF_OpDefinitionBuilder *builder, bool is_stateful) {
    set_flag(builder, "stateful", is_stateful);
}

void TF_OpDefinitionBuilderSetAllowsUninitializedInput(TF_OpDefinitionBuilder *builder,
                                                       bool allows_uninitialized_input) {
    set_flag(builder, "allows_uninitialized", allows_uninitialized_input);
}

void TF_OpDefinitionBuilderDeprecated(TF_OpDefinitionBuilder *builder, int version, const char *explanation) {
    text_format(&builder->flags, "; deprecated(%d, \"", version);
    for (const char *c = explanation; c && *c; c++) {
        if (*c == '"' || *c == '\\')
            text_char(&builder->flags, '\\');
        text_char(&builder->flags, *c);
    }
    text_add(&builder->flags, STR("\")"));
}

void TF_OpDefinitionBuilderSetShapeInferenceFunction(TF_OpDefinitionBuilder *builder,
                                                     void (*shape_inference_func)(TF_ShapeInferenceContext *ctx,
                                                                                  TF_Status *status)) {
    builder->shape = shape_inference_func;
}

static Status *register_op(const TF_OpDefinitionBuilder *builder) {
    AUTO(text) Text signature = {0};
    text_add(&signature, text_str(&builder->name));
    text_char(&signature, '(');
    text_add(&signature, text_str(&builder->inputs));
    text_char(&signature, ')');
    text_add(&signature, builder->outputs.n ? STR(" -> ") : STR(""));
    text_add(&signature, text_str(&builder->outputs));
    text_add(&signature, text_str(&builder->attrs));
    text_add(&signature, text_str(&builder->flags));
    NEED_MEMORY(!signature.failed);
    PluginOp *plugin;
    TRY(plugin_op_new(signature.p, &plugin));
    plugin->shape = builder->shape;
    plugin->op.shape = builder->shape ? plugin_shape : NULL;
    const OpType *type;
    Status *status = op_register(&plugin->op, &type);
    if (status)
        free(plugin);
    else
        signature = (Text){0};  // lives for ever now
    return status;
}

void TF_RegisterOpDefinition(TF_OpDefinitionBuilder *builder, TF_Status *status) {
    api_begin();
    api_set(status, register_op(builder));
    TF_DeleteOpDefinitionBuilder(builder);
}
