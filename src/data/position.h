// Position — where a pass over a dataset stands, as bytes, and a pass that is brought there.
//
// One function of a type serves both ways: `position` names what its sources hold, in turn, and each word is written or,
// where the position `loads`, read and checked. So what is read is what was written. The form is ours and belongs to the
// dataset: read over another one it is refused where types of datasets, or of tensors, differ.
#pragma once
#include "base/cursor.h"
#include "data/dataset.h"

struct Position {
    bool loads;
    Text *out;                   // written to, or
    Cursor in;                   // read from
    const StepContext *context;  // functions that made sources are called again as part of it
    int depth;                   // of datasets in tensors
};

// All of a pass: what the source holds, and what its datasets share between passes (seeds). A source that loads is
// new; where that fails it is only good to be closed.
FALLIBLE Status *position_pass(Position *p, Source *source);

// ---- for types, each one word of a position. Those that load say DATA_LOSS for bytes that can't be.

FALLIBLE Status *position_int(Position *p, int64_t *value, int64_t least, int64_t most);
FALLIBLE Status *position_bool(Position *p, bool *value);
// Plain numbers as they lie.
FALLIBLE Status *position_bytes(Position *p, void *bytes, size_t n);
// A tensor, or none where its dtype is DT_INVALID; `dtype` DT_INVALID: it may be of any.
FALLIBLE Status *position_tensor(Position *p, Tensor *tensor, DType dtype);
// n tensors of those types, or none where the first is empty.
FALLIBLE Status *position_tuple(Position *p, Tensor *tuple, int n, const DType *dtypes);
// Any number of elements; with `gaps` a place may be empty.
FALLIBLE Status *position_tuples(Position *p, Tuples *tuples, const DType *dtypes, bool gaps);
FALLIBLE Status *position_status(Position *p, Status **status);
// A source that is there whenever its owner is.
FALLIBLE Status *position_source(Position *p, Source *source);
// source->input, over that dataset, which may be closed or not yet open.
FALLIBLE Status *position_input(Position *p, Source *source, const Dataset *dataset);
// The source that the function makes of the arguments, while a position loads.
FALLIBLE Status *position_remake(Position *p, Source *source, const DatasetFunction *function, const Tensor *arguments,
                                 int n, Source **out);
// A source that the function made of the arguments, where there is one: it is made of them again.
FALLIBLE Status *position_made(Position *p, Source *source, const DatasetFunction *function, Tensor *arguments, int n,
                               const DType *dtypes, Source **made);
