// oneDNN 2 — descriptions of memory are structs, those of operations come first and are asked for implementations then.
#include "loops/onednn_internal.h"

#if defined(HAVE_ONEDNN) && DNNL_VERSION_MAJOR == 2
#include <stdlib.h>
#include <string.h>

static Layout *layout_if(bool good, const Layout *layout) {
    Layout *copy = good ? malloc(sizeof *copy) : NULL;
    if (copy)
        *copy = *layout;
    return copy;
}

Layout *layout_by_tag(const Onednn *lib, int rank, const dnnl_dims_t dims, dnnl_format_tag_t tag) {
    Layout layout;
    return layout_if(lib->dnnl_memory_desc_init_by_tag(&layout, rank, dims, dnnl_f32, tag) == dnnl_success, &layout);
}

Layout *layout_by_steps(const Onednn *lib, int rank, const dnnl_dims_t dims, const dnnl_dims_t steps) {
    Layout layout;
    return layout_if(lib->dnnl_memory_desc_init_by_strides(&layout, rank, dims, dnnl_f32, steps) == dnnl_success,
                     &layout);
}

Layout *layout_copy(const Onednn *lib, const Layout *layout) {
    (void)lib;
    return layout_if(layout != NULL, layout);
}

void layout_free(const Onednn *lib, Layout *layout) {
    (void)lib;
    free(layout);
}

static dnnl_primitive_desc_t choose(const Onednn *lib, const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr,
                                    const_dnnl_primitive_desc_t hint, IsFast *is_fast, char name[64]) {
    dnnl_primitive_desc_iterator_t it = NULL;
    if (lib->dnnl_primitive_desc_iterator_create(&it, desc, attr, lib->engine, hint) != dnnl_success)
        return NULL;
    dnnl_primitive_desc_t found = NULL;
    do {
        dnnl_primitive_desc_t pd = lib->dnnl_primitive_desc_iterator_fetch(it);
        const char *text = NULL;
        if (!pd)
            break;
        lib->dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &text);
        if (is_fast(text)) {
            strncpy(name, text, 63);
            name[63] = 0;
            found = pd;
            break;
        }
        lib->dnnl_primitive_desc_destroy(pd);
    } while (lib->dnnl_primitive_desc_iterator_next(it) == dnnl_success);
    lib->dnnl_primitive_desc_iterator_destroy(it);
    return found;
}

dnnl_primitive_desc_t describe_conv(const Onednn *lib, ConvPass pass, const ConvLayouts *c,
                                    const_dnnl_primitive_attr_t attr,
                                    const_dnnl_primitive_desc_t hint, IsFast *is_fast, char name[64]) {
    dnnl_convolution_desc_t desc;
    dnnl_status_t status;
    if (pass == CONV_FORWARD)
        status = lib->dnnl_dilated_convolution_forward_desc_init(&desc, dnnl_forward_training, dnnl_convolution_direct,
                                                                 c->x,
                                                                 c->filter, c->bias, c->y, c->strides, c->dilations,
                                                                 c->left, c->right);
    else if (pass == CONV_INPUT)
        status = lib->dnnl_dilated_convolution_backward_data_desc_init(
            &desc, dnnl_convolution_direct, c->x, c->filter, c->y, c->strides, c->dilations, c->left, c->right);
    else
        status = lib->dnnl_dilated_convolution_backward_weights_desc_init(
            &desc, dnnl_convolution_direct, c->x, c->filter, NULL, c->y, c->strides, c->dilations, c->left, c->right);
    return status == dnnl_success ? choose(lib, &desc, attr, hint, is_fast, name) : NULL;
}

dnnl_primitive_desc_t describe_matmul(const Onednn *lib, const Layout *a, const Layout *b, const Layout *bias,
                                      const Layout *c, const_dnnl_primitive_attr_t attr, IsFast *is_fast,
                                      char name[64]) {
    dnnl_matmul_desc_t desc;
    if (lib->dnnl_matmul_desc_init(&desc, a, b, bias, c) != dnnl_success)
        return NULL;
    return choose(lib, &desc, attr, NULL, is_fast, name);
}

bool append_activation(const Onednn *lib, dnnl_post_ops_t post, dnnl_alg_kind_t kind, float alpha, float beta) {
    return lib->dnnl_post_ops_append_eltwise(post, 1, kind, alpha, beta) == dnnl_success;
}

bool append_sum(const Onednn *lib, dnnl_post_ops_t post) {
    return lib->dnnl_post_ops_append_sum(post, 1) == dnnl_success;
}
#endif
