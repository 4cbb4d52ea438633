// ctstring.h — TF_TString, an element of a string tensor, and the inline functions that bindings compile into themselves.
#ifndef TENSORFLOW_CORE_PLATFORM_CTSTRING_H_
#define TENSORFLOW_CORE_PLATFORM_CTSTRING_H_

#include "tensorflow/core/platform/ctstring_internal.h"

#endif  // TENSORFLOW_CORE_PLATFORM_CTSTRING_H_
