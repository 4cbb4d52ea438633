// oneDNN 3 — descriptions of memory are opaque, one call describes an operation and walks its implementations.
#include "loops/onednn_internal.h"

#if defined(HAVE_ONEDNN) && DNNL_VERSION_MAJOR == 3
#include <string.h>

Layout *layout_by_tag(const Onednn *lib, int rank, const dnnl_dims_t dims, dnnl_format_tag_t tag) {
    Layout *layout = NULL;
    return lib->dnnl_memory_desc_create_with_tag(&layout, rank, dims, dnnl_f32, tag) == dnnl_success ? layout : NULL;
}

Layout *layout_by_steps(const Onednn *lib, int rank, const dnnl_dims_t dims, const dnnl_dims_t steps) {
    Layout *layout = NULL;
    return lib->dnnl_memory_desc_create_with_strides(&layout, rank, dims, dnnl_f32, steps) == dnnl_success ? layout
        : NULL;
}

Layout *layout_copy(const Onednn *lib, const Layout *layout) {
    Layout *copy = NULL;
    return layout && lib->dnnl_memory_desc_clone(&copy, layout) == dnnl_success ? copy : NULL;
}

void layout_free(const Onednn *lib, Layout *layout) {
    if (layout)
        lib->dnnl_memory_desc_destroy(layout);
}

// Takes the description over.
static dnnl_primitive_desc_t choose(const Onednn *lib, dnnl_primitive_desc_t pd, IsFast *is_fast, char name[64]) {
    do {
        const char *text = NULL;
        lib->dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &text);
        if (is_fast(text)) {
            strncpy(name, text, 63);
            name[63] = 0;
            return pd;
        }
    } while (lib->dnnl_primitive_desc_next_impl(pd) == dnnl_success);
    lib->dnnl_primitive_desc_destroy(pd);
    return NULL;
}

dnnl_primitive_desc_t describe_conv(const Onednn *lib, ConvPass pass, const ConvLayouts *c,
                                    const_dnnl_primitive_attr_t attr,
                                    const_dnnl_primitive_desc_t hint, IsFast *is_fast, char name[64]) {
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t status;
    if (pass == CONV_FORWARD)
        status = lib->dnnl_convolution_forward_primitive_desc_create(
            &pd, lib->engine, dnnl_forward_training, dnnl_convolution_direct, c->x, c->filter, c->bias, c->y,
            c->strides, c->dilations, c->left, c->right, attr);
    else if (pass == CONV_INPUT)
        status = lib->dnnl_convolution_backward_data_primitive_desc_create(
            &pd, lib->engine, dnnl_convolution_direct, c->x, c->filter, c->y, c->strides, c->dilations, c->left,
            c->right, hint, attr);
    else
        status = lib->dnnl_convolution_backward_weights_primitive_desc_create(
            &pd, lib->engine, dnnl_convolution_direct, c->x, c->filter, NULL, c->y, c->strides, c->dilations, c->left,
            c->right, hint, attr);
    return status == dnnl_success ? choose(lib, pd, is_fast, name) : NULL;
}

dnnl_primitive_desc_t describe_matmul(const Onednn *lib, const Layout *a, const Layout *b, const Layout *bias,
                                      const Layout *c, const_dnnl_primitive_attr_t attr, IsFast *is_fast,
                                      char name[64]) {
    dnnl_primitive_desc_t pd = NULL;
    if (lib->dnnl_matmul_primitive_desc_create(&pd, lib->engine, a, b, bias, c, attr) != dnnl_success)
        return NULL;
    return choose(lib, pd, is_fast, name);
}

bool append_activation(const Onednn *lib, dnnl_post_ops_t post, dnnl_alg_kind_t kind, float alpha, float beta) {
    return lib->dnnl_post_ops_append_eltwise(post, kind, alpha, beta) == dnnl_success;
}

bool append_sum(const Onednn *lib, dnnl_post_ops_t post) {
    return lib->dnnl_post_ops_append_sum(post, 1, 0, dnnl_data_type_undef) == dnnl_success;
}
#endif
