// Schedules — see net.h.
#include <math.h>

#include "formula/ops.h"
#include "train/net.h"

#define F(value) Number((value), DT_float)

// How far the step is along `steps`; not beyond 1 where `stop`.
static Output part(Net *net, Output step, double steps, bool stop) {
    Formula *f = &net->f;
    Output x = Div(Cast(step, DT_float), F(steps));
    return stop ? Minimum(x, F(1)) : x;
}

Output schedule_exponential(Net *net, double rate, Output step, double steps, double factor, bool staircase) {
    Formula *f = &net->f;
    Output x = part(net, step, steps, false);
    return Mul(F(rate), Pow(F(factor), staircase ? Floor(x) : x));
}

Output schedule_polynomial(Net *net, double rate, Output step, double steps, double last, double power) {
    Formula *f = &net->f;
    Output left = Sub(F(1), part(net, step, steps, true));
    return Add(Mul(F(rate - last), Pow(left, F(power))), F(last));
}

Output schedule_cosine(Net *net, double rate, Output step, double steps, double last) {
    Formula *f = &net->f;
    Output wave = Mul(F(0.5), Add(F(1), Cos(Mul(F(M_PI), part(net, step, steps, true)))));
    return Add(Mul(F(rate - last), wave), F(last));
}

Output schedule_inverse_time(Net *net, double rate, Output step, double steps, double factor) {
    Formula *f = &net->f;
    return Div(F(rate), Add(F(1), Mul(F(factor), part(net, step, steps, false))));
}

Output schedule_piecewise(Net *net, Output step, const int64_t *bounds, const double *rates, int n_bounds) {
    Formula *f = &net->f;
    Output x = Cast(step, DT_int64), rate = F(rates[n_bounds]);
    for (int i = n_bounds - 1; i >= 0; i--)
        rate = Select(LessEqual(x, Int64(bounds[i])), F(rates[i]), rate);
    return rate;
}

Output schedule_warmup(Net *net, Output rate, Output step, double steps) {
    Formula *f = &net->f;
    return Mul(rate, Minimum(Div(Add(Cast(step, DT_float), F(1)), F(steps)), F(1)));
}
