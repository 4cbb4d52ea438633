// Attr print — the value of an attribute as text, in the notation of signatures (graph/signature.h).
//
// What is printed whole is read back to the same bits (numbers in the fewest digits that do so); for messages long
// values are cut.
#include "base/number.h"
#include "graph/notation.h"

typedef struct {
    Text *text;
    size_t most_bytes;      // of a string
    int64_t most_elements;  // of a list or a tensor
    int depth;
} Printer;

static void print_value(Printer *printer, const AttrValue *value);

static void print_string(Printer *printer, Str s) {
    if (s.n <= printer->most_bytes) {
        notation_quote(printer->text, s);
        return;
    }
    notation_quote(printer->text, (Str){s.p, printer->most_bytes});
    text_format(printer->text, "...%zu bytes", s.n);
}

static void print_integer(Text *text, DType dtype, const void *element) {
    uint64_t bits = 0;
    size_t size = dtype_size(dtype);
    memcpy(&bits, element, size);
    int spare = 64 - 8 * (int)size;
    if (dtype_is_signed(dtype))
        text_format(text, "%lld", (long long)((int64_t)(bits << spare) >> spare));
    else
        text_format(text, "%llu", (unsigned long long)bits);
}

static void print_element(Printer *printer, DType dtype, const void *element) {
    Text *text = printer->text;
    switch (dtype) {
    case DT_float: text_float(text, *(const float *)element); break;
    case DT_double: text_double(text, *(const double *)element); break;
    case DT_half: text_float(text, half_to_float(*(const Half *)element)); break;
    case DT_bfloat16: text_float(text, bfloat16_to_float(*(const Bfloat16 *)element)); break;
    case DT_bool: text_add(text, *(const bool *)element ? STR("true") : STR("false")); break;
    case DT_string: print_string(printer, tstring_str(element)); break;
    case DT_complex64:
        text_float(text, ((const float *)element)[0]);
        text_char(text, ' ');
        text_float(text, ((const float *)element)[1]);
        break;
    case DT_complex128:
        text_double(text, ((const double *)element)[0]);
        text_char(text, ' ');
        text_double(text, ((const double *)element)[1]);
        break;
    case DT_resource: case DT_variant: text_add(text, STR("object")); break;
    default: print_integer(text, dtype, element);
    }
}

static void print_tensor(Printer *printer, const Tensor *tensor) {
    Text *text = printer->text;
    text_add(text, str_of(dtype_name(tensor->dtype)));
    notation_shape(text, &tensor->shape);
    text_add(text, STR(" {"));
    int64_t n = tensor->layout == LAYOUT_PLAIN ? tensor_count(tensor) : 0;
    for (int64_t i = 0; i < n && i < printer->most_elements; i++) {
        if (i)
            text_add(text, STR(", "));
        print_element(printer, tensor->dtype, (const char *)tensor->data + (size_t)i * dtype_size(tensor->dtype));
    }
    if (n > printer->most_elements)
        text_add(text, STR(", ..."));
    text_char(text, '}');
}

static void print_func(Printer *printer, const FuncRef *func) {
    Text *text = printer->text;
    notation_name(text, func->name);
    if (func->n_attrs == 0)
        return;
    if (printer->depth >= 8) {
        text_add(text, STR(" {...}"));
        return;
    }
    printer->depth++;
    for (int i = 0; i < func->n_attrs; i++) {
        text_add(text, i ? STR(", ") : STR(" {"));
        notation_name(text, func->attrs[i].name);
        text_add(text, STR(" = "));
        print_value(printer, &func->attrs[i].value);
    }
    text_char(text, '}');
    printer->depth--;
}

// Element i of a list as a value of its own.
static AttrValue element_of(const AttrValue *list, int i) {
    AttrValue value = {.kind = list->kind};
    switch (list->kind) {
    case ATTR_NONE: break;
    case ATTR_STRING: case ATTR_PLACEHOLDER: value.s = list->ss[i]; break;
    case ATTR_INT: value.i = list->is[i]; break;
    case ATTR_FLOAT: value.f = list->fs[i]; break;
    case ATTR_BOOL: value.b = list->bs[i]; break;
    case ATTR_TYPE: value.type = list->types[i]; break;
    case ATTR_SHAPE: value.shape = &list->shapes[i]; break;
    case ATTR_TENSOR: value.tensor = &list->tensors[i]; break;
    case ATTR_FUNC: value.func = &list->funcs[i]; break;
    }
    return value;
}

static void print_list(Printer *printer, const AttrValue *list) {
    text_char(printer->text, '[');
    for (int i = 0; i < list->n; i++) {
        if (i)
            text_add(printer->text, STR(", "));
        if (i >= printer->most_elements) {
            text_add(printer->text, STR("..."));
            break;
        }
        AttrValue element = element_of(list, i);
        print_value(printer, &element);
    }
    text_char(printer->text, ']');
}

static void print_value(Printer *printer, const AttrValue *value) {
    Text *text = printer->text;
    if (value->is_list) {
        print_list(printer, value);
        return;
    }
    switch (value->kind) {
    case ATTR_NONE: text_add(text, STR("none")); break;
    case ATTR_STRING: print_string(printer, value->s); break;
    case ATTR_PLACEHOLDER:
        text_char(text, '$');
        notation_name(text, value->s);
        break;
    case ATTR_INT: text_format(text, "%lld", (long long)value->i); break;
    case ATTR_FLOAT: text_float(text, value->f); break;
    case ATTR_BOOL: text_add(text, value->b ? STR("true") : STR("false")); break;
    case ATTR_TYPE: text_add(text, str_of(dtype_name(value->type))); break;
    case ATTR_SHAPE: notation_shape(text, value->shape); break;
    case ATTR_TENSOR: print_tensor(printer, value->tensor); break;
    case ATTR_FUNC: print_func(printer, value->func); break;
    }
}

void attr_print(Text *text, const AttrValue *value) {
    Printer printer = {.text = text, .most_bytes = 256, .most_elements = 16};
    print_value(&printer, value);
}

void attr_print_whole(Text *text, const AttrValue *value) {
    Printer printer = {.text = text, .most_bytes = SIZE_MAX, .most_elements = INT64_MAX};
    print_value(&printer, value);
}
