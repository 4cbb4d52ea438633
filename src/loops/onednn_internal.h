// The opened library: its functions, and the threads that its parallel regions get.
#pragma once
#if defined(__has_include)
#if __has_include(<oneapi/dnnl/dnnl.h>) && defined(__linux__)
#include <oneapi/dnnl/dnnl.h>
#if DNNL_VERSION_MAJOR == 2 && !defined(__SANITIZE_ADDRESS__)
#define HAVE_ONEDNN 1  // gcc 12's leak sanitizer crashes on the thread-local memory of a library opened by dlopen
#endif
#endif
#endif

#ifdef HAVE_ONEDNN
#include "thread/gang.h"

#define ONEDNN_FUNCTIONS(F)                                                                     \
    F(dnnl_engine_create)                                                                       \
    F(dnnl_engine_destroy)                                                                      \
    F(dnnl_stream_create)                                                                       \
    F(dnnl_stream_destroy)                                                                      \
    F(dnnl_stream_wait)                                                                         \
    F(dnnl_memory_desc_init_by_tag)                                                             \
    F(dnnl_memory_desc_init_by_strides)                                                         \
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
    F(dnnl_dilated_convolution_forward_desc_init)                                               \
    F(dnnl_dilated_convolution_backward_data_desc_init)                                         \
    F(dnnl_dilated_convolution_backward_weights_desc_init)                                      \
    F(dnnl_matmul_desc_init)                                                                    \
    F(dnnl_primitive_desc_iterator_create)                                                      \
    F(dnnl_primitive_desc_iterator_next)                                                        \
    F(dnnl_primitive_desc_iterator_fetch)                                                       \
    F(dnnl_primitive_desc_iterator_destroy)                                                     \
    F(dnnl_primitive_desc_query)                                                                \
    F(dnnl_primitive_desc_query_md)                                                             \
    F(dnnl_primitive_desc_destroy)                                                              \
    F(dnnl_primitive_create)                                                                    \
    F(dnnl_primitive_destroy)                                                                   \
    F(dnnl_primitive_execute)                                                                   \
    F(dnnl_reorder_primitive_desc_create)

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
#endif
