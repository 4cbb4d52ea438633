// Complex, Real, Imag, ComplexAbs, Angle — complex numbers made of real ones, and taken apart.
#include "ops/math/elementwise.h"

static Status *part_prepare(Prepare *p) {
    NEED(dtype_size(p->out[0]->dtype) * 2 == dtype_size(p->in[0]->dtype), INVALID_ARGUMENT, "%s has no part of type %s",
         dtype_name(p->in[0]->dtype), dtype_name(p->out[0]->dtype));
    return elementwise_prepare(p);
}

static DType whole_type(Output part) {
    return output_type(part) == DT_double ? DT_complex128 : DT_complex64;
}

static Output whole(Formula *f, Output real, Output imaginary) {
    return Complex(real, imaginary, whole_type(real));
}

static void real_grad(Formula *f) {
    f->dx[0] = whole(f, f->dy[0], ZerosLike(f->dy[0]));
}
static void imag_grad(Formula *f) {
    f->dx[0] = whole(f, ZerosLike(f->dy[0]), f->dy[0]);
}
static void abs_grad(Formula *f) {  // dy x / |x|
    Output y = f->y[0], dy = f->dy[0], zero = ZerosLike(dy);
    f->dx[0] = DivNoNan(Mul(whole(f, dy, zero), f->x[0]), whole(f, y, zero));
}
static void angle_grad(Formula *f) {  // -dy / (imaginary + i real)
    Output x = f->x[0], dy = f->dy[0];
    DType part = output_type(dy);
    Output turned = whole(f, ImagPart(x, part), RealPart(x, part));
    f->dx[0] = Mul(Neg(whole(f, dy, ZerosLike(dy))), Reciprocal(turned));
}

ELEMENTWISE_ROW(Real)
static COLD Status *real_hlo(Hlo *h) {
    return hlo_out(h, 0, hlo_real(h, hlo_in(h, 0)));
}
static COLD Status *imag_hlo(Hlo *h) {
    return hlo_out(h, 0, hlo_imag(h, hlo_in(h, 0)));
}
static COLD Status *complex_abs_hlo(Hlo *h) {
    return hlo_out(h, 0, hlo_to(h, "abs", hlo_in(h, 0), hlo_out_type(h, 0)));
}
static COLD Status *angle_hlo(Hlo *h) {
    HloValue x = hlo_in(h, 0);
    return hlo_out(h, 0, hlo_binary(h, "atan2", hlo_imag(h, x), hlo_real(h, x)));
}
static COLD Status *complex_hlo(Hlo *h) {
    return hlo_out(h, 0, hlo_complex(h, hlo_in(h, 0), hlo_in(h, 1)));
}

const Op op_Real = {
    .signature = "Real(input: T) -> output: Tout; T: complexes = complex64; Tout: {float, double} = float",
    .doc = "Real part.", .shape = shape_unchanged, .grad = real_grad, .prepare = part_prepare,
    .own_size = sizeof(Elementwise), .cpu = ANY_TYPE(elementwise_run_flat), .row = &Real_row, .hlo = real_hlo,
};
ELEMENTWISE_ROW(Imag)
const Op op_Imag = {
    .signature = "Imag(input: T) -> output: Tout; T: complexes = complex64; Tout: {float, double} = float",
    .doc = "Imaginary part.", .shape = shape_unchanged, .grad = imag_grad, .prepare = part_prepare,
    .own_size = sizeof(Elementwise), .cpu = ANY_TYPE(elementwise_run_flat), .row = &Imag_row, .hlo = imag_hlo,
};
ELEMENTWISE_ROW(ComplexAbs)
const Op op_ComplexAbs = {
    .signature = "ComplexAbs(x: T) -> y: Tout; T: complexes = complex64; Tout: {float, double} = float",
    .doc = "Absolute value of a complex number.", .shape = shape_unchanged, .grad = abs_grad, .prepare = part_prepare,
    .own_size = sizeof(Elementwise), .cpu = ANY_TYPE(elementwise_run_flat), .row = &ComplexAbs_row,
    .hlo = complex_abs_hlo,
};
ELEMENTWISE_ROW(Angle)
const Op op_Angle = {
    .signature = "Angle(input: T) -> output: Tout; T: complexes = complex64; Tout: {float, double} = float",
    .doc = "Angle of a complex number.", .shape = shape_unchanged, .grad = angle_grad, .prepare = part_prepare,
    .own_size = sizeof(Elementwise), .cpu = ANY_TYPE(elementwise_run_flat), .row = &Angle_row, .hlo = angle_hlo,
};

// ---------------------------------------- Complex

typedef struct {
    int64_t step[2][MAX_RANK];  // elements
} Pairing;

static Status *complex_run(Kernel *k) {
    const Pairing *own = k->own;
    const Tensor *out = k->out[0];
    for (int64_t i = 0, n = tensor_count(out); i < n; i++) {
        int64_t a = broadcast_place(&out->shape, own->step[0], i), b = broadcast_place(&out->shape, own->step[1], i);
        if (out->dtype == DT_complex64) {
            ((float *)out->data)[2 * i] = ((const float *)k->in[0]->data)[a];
            ((float *)out->data)[2 * i + 1] = ((const float *)k->in[1]->data)[b];
        } else {
            ((double *)out->data)[2 * i] = ((const double *)k->in[0]->data)[a];
            ((double *)out->data)[2 * i + 1] = ((const double *)k->in[1]->data)[b];
        }
    }
    return OK;
}

static Status *complex_prepare(Prepare *p) {
    Pairing *own = p->own;
    NEED(dtype_size(p->out[0]->dtype) == 2 * dtype_size(p->in[0]->dtype), INVALID_ARGUMENT,
         "%s has no parts of type %s", dtype_name(p->out[0]->dtype), dtype_name(p->in[0]->dtype));
    for (int i = 0; i < 2; i++)
        broadcast_steps(&p->in[i]->shape, &p->out[0]->shape, own->step[i]);
    p->cost = shape_count(&p->out[0]->shape) * 4;
    return OK;
}

static void complex_grad(Formula *f) {
    DType part = output_type(f->x[0]);
    f->dx[0] = SumTo(RealPart(f->dy[0], part), f->x[0]);
    f->dx[1] = SumTo(ImagPart(f->dy[0], part), f->x[1]);
}

const Op op_Complex = {
    .signature = "Complex(real: T, imag: T) -> out: Tout; T: {float, double} = float; "
                 "Tout: complexes = complex64",
    .doc = "Complex numbers of real and imaginary parts, with broadcasting.", .shape = shape_broadcast_all,
    .grad = complex_grad, .prepare = complex_prepare, .own_size = sizeof(Pairing), .cpu = ANY_TYPE(complex_run),
    .hlo = complex_hlo,
};
