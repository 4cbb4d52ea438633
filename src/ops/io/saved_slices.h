// Saved slices — restoring from checkpoints of the first version, by their own ops and by RestoreV2.
#pragma once
#include "kernel/kernel.h"

// Input 0 is the pattern of the files, 1 the names, one for each output, and with `sliced` 2 which slices.
FALLIBLE Status *saved_slices_restore(Kernel *k, bool sliced);
