// fuzz_tensor_proto — any bytes as a TensorProto: refused, or a tensor that is written and read again as itself.
#include <stdlib.h>

#include "proto/tensor_proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static Status *there_and_back(Arena *arena, Str bytes) {
    TensorProto *proto, *again;
    AUTO(tensor) Tensor tensor = {0}, same = {0};
    AUTO(text) Text wire = {0};
    size_t budget = 1 << 20;
    TRY(PROTO_DECODE(TensorProto, arena, bytes, &proto));
    TRY(tensor_from_proto(proto, &budget, &tensor));
    // From here on nothing may fail.
    Status *status = tensor_to_proto(arena, &tensor, &again);
    if (!status)
        status = PROTO_ENCODE(TensorProto, again, &wire);
    if (!status)
        status = PROTO_DECODE(TensorProto, arena, text_str(&wire), &again);
    budget = (size_t)1 << 40;
    if (!status)
        status = tensor_from_proto(again, &budget, &same);
    if (status || same.dtype != tensor.dtype || !shape_equal(&same.shape, &tensor.shape))
        abort();
    if (dtype_is_plain(same.dtype) && tensor_bytes(&same) && memcmp(same.data, tensor.data, tensor_bytes(&same)) != 0)
        abort();
    for (int64_t i = 0; same.dtype == DT_string && i < tensor_count(&same); i++)
        if (!str_equal(tstring_str((TString *)same.data + i), tstring_str((TString *)tensor.data + i)))
            abort();
    return OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    AUTO(arena) Arena arena = {0};
    status_free(there_and_back(&arena, (Str){(const char *)bytes, n}));
    return 0;
}
