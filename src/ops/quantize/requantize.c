// RequantizationRange, RequantizationRangePerChannel — which floats the elements of a quantized tensor really reach.
#include <math.h>

#include "ops/op.h"

static Status *range_shape(Shapes *s) {
    s->out[0] = s->out[1] = SCALAR_SHAPE;
    return OK;
}

// The float of an int32 that stands for the range [low, high]. Steps are rounded to float once, as in TensorFlow.
static float value_of(int64_t number, float low, float high) {
    if (low == high)
        return low;
    double steps = 4294967296.0, range = ((double)high - (double)low) * (steps / (steps - 1));
    double step = range / steps;
    double first = round((double)(low / (float)step)) * (double)(float)step;
    return (float)(first + ((double)number - (double)INT32_MIN) * step);
}

static Status *range_run(Kernel *k) {
    const int32_t *x = k->in[0]->data;
    int64_t n = tensor_count(k->in[0]);
    float low = *(const float *)k->in[1]->data, high = *(const float *)k->in[2]->data;
    int32_t least = INT32_MAX, most = INT32_MIN;
    for (int64_t i = 0; i < n; i++) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
    }
    *(float *)k->out[0]->data = fminf(0, value_of(least, low, high));
    *(float *)k->out[1]->data = value_of(most, low, high);
    return OK;
}

const Op op_RequantizationRange = {
    .signature = "RequantizationRange(input: Tinput, input_min: float, input_max: float) -> output_min: float, "
                 "output_max: float; Tinput: {qint8, quint8, qint32, qint16, quint16}",
    .doc = "The range of floats that the elements of a tensor of int32 reach, with 0.",
    .needs = "scalar(input_min), scalar(input_max)", .shape = range_shape,
    .cpu = (const KernelRow[]){{DT_qint32, range_run}, {DT_INVALID, NULL}}, .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- each channel for itself

// |x|; of the least int32 that is itself, which TensorFlow takes for the largest and then for a negative number.
static uint32_t absolute(int32_t x) {
    return x < 0 ? 0u - (uint32_t)x : (uint32_t)x;
}

static Status *channels_run(Kernel *k) {
    const int32_t *x = k->in[0]->data;
    int64_t channels = tensor_count(k->in[1]), rows = channels ? tensor_count(k->in[0]) / channels : 0;
    const float *lows = k->in[1]->data, *highs = k->in[2]->data;
    float widest = 1.17549435e-38f, clip = (float)node_float(k->node, "clip_value_max");
    bool below = false;
    for (int64_t c = 0; c < channels; c++) {
        int32_t least = INT32_MAX, most = INT32_MIN;
        for (int64_t i = 0; i < rows; i++) {
            least = x[i * channels + c] < least ? x[i * channels + c] : least;
            most = x[i * channels + c] > most ? x[i * channels + c] : most;
        }
        below |= least < 0;
        int32_t size = (int32_t)(absolute(least) > absolute(most) ? absolute(least) : absolute(most));
        float reach = fmaxf(fabsf(lows[c]), fabsf(highs[c])) * (float)size / 2147483648.0f;
        widest = reach > widest ? reach : widest;
    }
    widest = widest > clip ? clip : widest;
    *(float *)k->out[0]->data = below ? -widest : 0;
    *(float *)k->out[1]->data = widest;
    return OK;
}

static Status *channels_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    for (int i = 1; i <= 2; i++)
        NEED(in->rank < 1 || s->in[i].rank < 0 || in->dims[in->rank - 1] < 0 || shape_count(&s->in[i]) == in->dims[in->rank - 1],
             INVALID_ARGUMENT, "a range for each of %lld channels is wanted, got %s", (long long)in->dims[in->rank - 1],
             shape_text(&s->in[i]));
    return range_shape(s);
}

const Op op_RequantizationRangePerChannel = {
    .signature = "RequantizationRangePerChannel(input: T, input_min: float, input_max: float) -> output_min: float, "
                 "output_max: float; T: {qint8, quint8, qint32, qint16, quint16} = qint32; clip_value_max: float",
    .doc = "The range of floats that a tensor of int32 reaches, whose channels have a range each.",
    .needs = "rank(input) >= 1, vector(input_min), vector(input_max)", .shape = channels_shape,
    .cpu = (const KernelRow[]){{DT_qint32, channels_run}, {DT_INVALID, NULL}}, .flags = OP_NO_GRADIENT,
};
