// All rewrites — the table of contents, in the order in which those of one root are tried.
#include "graph/rewrite.h"

#include "ops/all_ops.h"

#define REWRITES \
    X(power) X(reduce_nothing) X(multiply_by_ones) X(add_two) X(reshape_to_itself) X(reshape_before_binary) \
    X(repeats_nothing) X(scaled_conv) X(shifted_conv) X(normalised_conv) X(broadcast_by_itself) X(epilogue_apart) \
    X(epilogue_before_reshape) X(products_added) X(padded_added) X(scaled_updates) X(batch_norm_relu_grad) \
    X(ApplyGradientDescent) X(ResourceApplyGradientDescent) X(ApplyMomentum) X(ResourceApplyMomentum) X(ApplyAdam) \
    X(ResourceApplyAdam) X(conv2d_epilogue) X(conv3d_epilogue) X(depthwise_epilogue) X(matmul_epilogue) \
    X(batch_norm_relu) X(dense_cross_entropy) X(sparse_cross_entropy) X(product_summed) X(max_pool_recompute) \
    X(batch_norm_recompute)

#define X(name) extern const Rewrite rewrite_##name;
REWRITES
#undef X

#define X(name) &rewrite_##name,
const Rewrite *const all_rewrites[] = {REWRITES NULL};
