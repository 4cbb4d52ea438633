// oneDNN — convolutions and matrix products by the library, where it is there; loops/ has a sibling for everything.
//
// The library is opened on first want; its parallel regions run on a gang of our pool, and nothing of it is exported.
// An object is prepared once for its shapes and a number of threads, keeps no data of the caller's, and may be run by
// several threads at once. All tensors are float and plain (NHWC, HWIO, row-major) except packed weights, whose layout
// is the library's own choice: pack them once and keep the copy until the weights change.
#pragma once
#include "loops/epilogue.h"
#include "loops/gemm.h"
#include "loops/window.h"

// The library is there and has opened. Opens it on the first call.
bool onednn_available(void);
// Its parallel regions run on our pool; false: one thread per object.
bool onednn_has_threads(void);

typedef struct OnednnOp OnednnOp;

// NULL where the library is missing, has no fast implementation ("ref" is never accepted) or refuses the shape.
// Forward: x, filter, bias -> y. Input: dy, filter -> dx. Filter: x, dy -> d_filter. `epilogue`: of the forward pass;
// NULL for none. `threads`: how many to run on; where that many are not to be had at run time, it runs on one. Its relu
// makes 0 of NaN.
OnednnOp *onednn_conv(ConvPass pass, const WindowShape *shape, const Epilogue *epilogue, int threads);
// c = op(a) op(b), batch times; of a batch the matrices lie one after the other. What comes behind says `epilogue`, not
// the shape. `pack`: b may be packed (batch 1 only).
OnednnOp *onednn_matmul(int64_t batch, const GemmShape *shape, const Epilogue *epilogue, bool pack, int threads);
void onednn_free(OnednnOp *op);

// Bytes that a run needs, aligned to 64.
size_t onednn_scratch(const OnednnOp *op);
// Bytes of packed weights, aligned to 64; 0: the plain ones are taken as they are.
size_t onednn_packed_bytes(const OnednnOp *op);
// Lays plain weights out as the op wants them. False: the library failed.
bool onednn_pack(const OnednnOp *op, const void *plain, void *packed);

// Runs on plain `a` (x, dy or x) and `b` (the weights, packed where packed_bytes() is not 0; dy for CONV_FILTER).
// `bias` NULL where the op has none. False: the library failed, `out` is unspecified.
bool onednn_run(OnednnOp *op, const void *a, const void *b, const void *bias, void *out, void *scratch);
// The name of the implementation, for traces.
const char *onednn_name(const OnednnOp *op);
