// Program — the installed headers as C++ sees them.
#include <cstdio>
#include <tensorflow/c/c_api.h>
#include <tensorflow/c/c_api_experimental.h>
#include <tensorflow/c/eager/c_api.h>
#include <tensorflow/c/eager/c_api_experimental.h>
#include <tensorflow/c/env.h>
#include <tensorflow/c/kernels.h>
#include <tensorflow/c/logging.h>
#include <tensorflow/c/ops.h>
#include <tensorflow/core/platform/ctstring.h>

static_assert(sizeof(TF_TString) == 24 && sizeof(TF_Buffer) == 24 && sizeof(TF_Output) == 16, "layouts");
static_assert(sizeof(TF_AttrMetadata) == 32 && sizeof(TF_WhileParams) == 72, "layouts");

int main() {
    TF_TString text;
    TF_TString_Init(&text);
    TF_TString_Copy(&text, TF_Version(), 6);
    std::puts(TF_TString_GetDataPointer(&text));
    TF_TString_Dealloc(&text);
}
