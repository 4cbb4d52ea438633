// Losses — see net.h.
#include "formula/ops.h"
#include "train/net.h"

// The mean of all elements; as `rank` is known only by then, through one dimension.
static Output mean(Net *net, Output x) {
    Formula *f = &net->f;
    return Mean(Reshape(x, Ints(-1)), Int(0), false);
}

Output loss_softmax(Net *net, Output logits, Output labels) {
    Formula *f = &net->f;
    net_scope(net, "loss");
    Output y = mean(net, Op("SparseSoftmaxCrossEntropyWithLogits", logits, labels));
    net_scope(net, NULL);
    return y;
}

Output loss_softmax_dense(Net *net, Output logits, Output targets) {
    Formula *f = &net->f;
    net_scope(net, "loss");
    Output y = mean(net, Op("SoftmaxCrossEntropyWithLogits", logits, targets));
    net_scope(net, NULL);
    return y;
}

Output loss_sigmoid(Net *net, Output logits, Output targets) {  // max(x, 0) - x t + log(1 + exp(-|x|))
    Formula *f = &net->f;
    net_scope(net, "loss");
    Output y = mean(net, Add(Sub(Relu(logits), Mul(logits, targets)), Log1p(Exp(Neg(Abs(logits))))));
    net_scope(net, NULL);
    return y;
}

Output loss_squared(Net *net, Output predictions, Output targets) {
    Formula *f = &net->f;
    net_scope(net, "loss");
    Output y = mean(net, Square(Sub(predictions, targets)));
    net_scope(net, NULL);
    return y;
}

Output loss_absolute(Net *net, Output predictions, Output targets) {
    Formula *f = &net->f;
    net_scope(net, "loss");
    Output y = mean(net, Abs(Sub(predictions, targets)));
    net_scope(net, NULL);
    return y;
}

Output loss_huber(Net *net, Output predictions, Output targets, double delta) {  // m e - m^2 / 2, m = min(e, delta)
    Formula *f = &net->f;
    net_scope(net, "loss");
    Output e = Abs(Sub(predictions, targets));
    Output m = Minimum(e, Scalar(delta, e));
    Output y = mean(net, Sub(Mul(m, e), Mul(Scalar(0.5, e), Square(m))));
    net_scope(net, NULL);
    return y;
}

Output loss_weights(Net *net, double scale) {
    Formula *f = &net->f;
    net_scope(net, "weights");
    Output total = NONE;
    for (size_t i = 0; i < net->variables.n; i++) {
        if (!net->variables.p[i].trainable)
            continue;
        Output one = formula_1(f, "L2Loss", net->variables.p[i].value);
        total = total.node ? Add(total, one) : one;
    }
    if (total.node)
        total = Mul(total, Scalar(scale, total));
    net_scope(net, NULL);
    return total;
}
