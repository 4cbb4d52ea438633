// Clipping — see net.h.
#include "formula/ops.h"
#include "train/net.h"

Output clip_value(Net *net, Output x, double limit) {
    Formula *f = &net->f;
    return x.node ? Maximum(Minimum(x, Scalar(limit, x)), Scalar(-limit, x)) : x;
}

static Output sum_of_squares(Net *net, Output x) {
    Formula *f = &net->f;
    return Sum(Reshape(Square(x), Ints(-1)), Int(0), false);
}

// limit / max(norm, limit): 1 where nothing is to be cut.
static Output scale_of(Net *net, Output norm, double limit) {
    Formula *f = &net->f;
    return Div(Scalar(limit, norm), Maximum(norm, Scalar(limit, norm)));
}

Output clip_norm(Net *net, Output x, double limit) {
    Formula *f = &net->f;
    return x.node ? Mul(x, scale_of(net, Sqrt(sum_of_squares(net, x)), limit)) : x;
}

Output clip_global_norm(Net *net, Output *xs, int n, double limit) {
    Formula *f = &net->f;
    Output total = NONE;
    for (int i = 0; i < n; i++)
        if (xs[i].node)
            total = total.node ? Add(total, sum_of_squares(net, xs[i])) : sum_of_squares(net, xs[i]);
    if (!total.node)
        return NONE;
    Output norm = Sqrt(total), scale = scale_of(net, norm, limit);
    for (int i = 0; i < n; i++)
        if (xs[i].node)
            xs[i] = Mul(xs[i], scale);
    return norm;
}
