// Version — the TensorFlow release whose C interface the library serves.
#include "tensorflow/c/c_api.h"

const char *TF_Version(void) {
    return "2.21.0";
}
