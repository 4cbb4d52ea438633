// The opened library: its functions, and the threads that its parallel regions get.
#pragma once
#if defined(__has_include)
#if __has_include(<oneapi/dnnl/dnnl.h>) && defined(__linux__)
#include <oneapi/dnnl/dnnl.h>
#if (DNNL_VERSION_MAJOR == 2 || DNNL_VERSION_MAJOR == 3) && !defined(__SANITIZE_ADDRESS__)
#define HAVE_ONEDNN 1  // gcc 12's leak sanitizer crashes on the thread-local memory of a library opened by dlopen
#endif
#endif
#endif

#ifdef HAVE_ONEDNN
#include "loops/window.h"
#include "thread/gang.h"

// A description of memory: a struct in version 2, opaque in version 3. The functions below take `const Layout *` in
// both.
#if DNNL_VERSION_MAJOR == 2
typedef dnnl_memory_desc_t Layout;
#define ONEDNN_VERSION_FUNCTIONS(F)                                                             \
    F(dnnl_memory_desc_init_by_tag)                                                             \
    F(dnnl_memory_desc_init_by_strides)                                                         \
    F(dnnl_dilated_convolution_forward_desc_init)                                               \
    F(dnnl_dilated_convolution_backward_data_desc_init)                                         \
    F(dnnl_dilated_convolution_backward_weights_desc_init)                                      \
    F(dnnl_matmul_desc_init)                                                                    \
    F(dnnl_primitive_desc_iterator_create)                                                      \
    F(dnnl_primitive_desc_iterator_next)                                                        \
    F(dnnl_primitive_desc_iterator_fetch)                                                       \
    F(dnnl_primitive_desc_iterator_destroy)
#else
typedef struct dnnl_memory_desc Layout;
#define ONEDNN_VERSION_FUNCTIONS(F)                                                             \
    F(dnnl_memory_desc_create_with_tag)                                                         \
    F(dnnl_memory_desc_create_with_strides)                                                     \
    F(dnnl_memory_desc_clone)                                                                   \
    F(dnnl_memory_desc_destroy)                                                                 \
    F(dnnl_convolution_forward_primitive_desc_create)                                           \
    F(dnnl_convolution_backward_data_primitive_desc_create)                                     \
    F(dnnl_convolution_backward_weights_primitive_desc_create)                                  \
    F(dnnl_matmul_primitive_desc_create)                                                        \
    F(dnnl_primitive_desc_next_impl)
#endif
#define ONEDNN_FUNCTIONS(F)                                                                     \
    F(dnnl_version)                                                                             \
    F(dnnl_engine_create)                                                                       \
    F(dnnl_engine_destroy)                                                                      \
    F(dnnl_stream_create)                                                                       \
    F(dnnl_stream_destroy)                                                                      \
    F(dnnl_stream_wait)                                                                         \
    F(dnnl_memory_desc_get_size)                                                                \
    F(dnnl_memory_desc_equal)                                                                   \
    F(dnnl_memory_create)                                                                       \
    F(dnnl_memory_destroy)                                                                      \
    F(dnnl_memory_set_data_handle)                                                              \
    F(dnnl_primitive_attr_create)                                                               \
    F(dnnl_primitive_attr_destroy)                                                              \
    F(dnnl_primitive_attr_set_scratchpad_mode)                                                  \
    F(dnnl_primitive_attr_set_post_ops)                                                         \
    F(dnnl_post_ops_create)                                                                     \
    F(dnnl_post_ops_destroy)                                                                    \
    F(dnnl_post_ops_append_eltwise)                                                             \
    F(dnnl_post_ops_append_sum)                                                                 \
    F(dnnl_primitive_desc_query)                                                                \
    F(dnnl_primitive_desc_query_md)                                                             \
    F(dnnl_primitive_desc_destroy)                                                              \
    F(dnnl_primitive_create)                                                                    \
    F(dnnl_primitive_destroy)                                                                   \
    F(dnnl_primitive_execute)                                                                   \
    F(dnnl_reorder_primitive_desc_create)                                                       \
    ONEDNN_VERSION_FUNCTIONS(F)

typedef struct {
#define F(name) __typeof__(name) *name;
    ONEDNN_FUNCTIONS(F)
#undef F
    dnnl_engine_t engine;
    bool patched;   // parallel regions come to us
} Onednn;

// NULL where the library is not there.
const Onednn *onednn_library(void);

// Between begin and end, on this thread, the library sees `threads` threads. With threads > 1 its parallel regions run
// on the gang, which the caller has claimed (NULL while primitives are made).
typedef struct {
    int saved_threads;
    Gang *saved_gang;
    int saved_setting;   // of a real OpenMP, where nothing is patched
} OnednnScope;
OnednnScope onednn_begin(int threads, Gang *gang);
void onednn_end(OnednnScope scope);

// ---- what the two versions say in different words: onednn_v2.c, onednn_v3.c ----

// Floats in the order of the tag, or by their steps. NULL where the library refuses, or memory is out.
Layout *layout_by_tag(const Onednn *lib, int rank, const dnnl_dims_t dims, dnnl_format_tag_t tag);
Layout *layout_by_steps(const Onednn *lib, int rank, const dnnl_dims_t dims, const dnnl_dims_t steps);
Layout *layout_copy(const Onednn *lib, const Layout *layout);
void layout_free(const Onednn *lib, Layout *layout);   // takes NULL

typedef struct {
    Layout *x, *filter, *bias, *y;   // bias NULL: none
    dnnl_dims_t strides, dilations, left, right;
} ConvLayouts;

// The first implementation whose name is taken by `is_fast`, and its name; NULL for none. `hint`: the forward
// convolution, which the backward passes want to see.
typedef bool IsFast(const char *name);
dnnl_primitive_desc_t describe_conv(const Onednn *lib, ConvPass pass, const ConvLayouts *c,
                                    const_dnnl_primitive_attr_t attr,
                                    const_dnnl_primitive_desc_t hint, IsFast *is_fast, char name[64]);
dnnl_primitive_desc_t describe_matmul(const Onednn *lib, const Layout *a, const Layout *b, const Layout *bias,
                                      const Layout *c, const_dnnl_primitive_attr_t attr, IsFast *is_fast,
                                      char name[64]);
bool append_activation(const Onednn *lib, dnnl_post_ops_t post, dnnl_alg_kind_t kind, float alpha, float beta);
bool append_sum(const Onednn *lib, dnnl_post_ops_t post);
#endif
