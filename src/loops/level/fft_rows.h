// The pass for one type. Block p of m: inputs are rows p, p + m, p + 2 m ... of `step` neighbours each, outputs rows
// radix p, radix p + 1 ..., output j turned by root p j.
#define PASTE2_(a, b) a##_##b
#define PASTE2(a, b) PASTE2_(a, b)
#define FN(name) PASTE2(NAME, name)

typedef struct {
    const T *re, *im;
    T *to_re, *to_im;
    int64_t step, apart;       // apart: from an input row to the next of the block
    const T *c, *s;            // of each output, [0] is 1
} FN(Block);

static void FN(two)(const FN(Block) *b) {
    const T *ar = b->re, *ai = b->im, *br = ar + b->apart, *bi = ai + b->apart;
    T *x = b->to_re, *y = b->to_im, *u = x + b->step, *v = y + b->step, c = b->c[1], s = b->s[1];
    VECTOR_LOOP
    for (int64_t q = 0; q < b->step; q++) {
        T dr = ar[q] - br[q], di = ai[q] - bi[q];
        x[q] = ar[q] + br[q];
        y[q] = ai[q] + bi[q];
        u[q] = dr * c - di * s;
        v[q] = dr * s + di * c;
    }
}

static void FN(four)(const FN(Block) *b) {
    const T *ar = b->re, *ai = b->im, *br = ar + b->apart, *bi = ai + b->apart, *cr = br + b->apart,
        *ci = bi + b->apart;
    const T *dr = cr + b->apart, *di = ci + b->apart;
    T *x0 = b->to_re, *y0 = b->to_im, *x1 = x0 + b->step, *y1 = y0 + b->step, *x2 = x1 + b->step, *y2 = y1 + b->step;
    T *x3 = x2 + b->step, *y3 = y2 + b->step;
    T c1 = b->c[1], s1 = b->s[1], c2 = b->c[2], s2 = b->s[2], c3 = b->c[3], s3 = b->s[3];
    VECTOR_LOOP
    for (int64_t q = 0; q < b->step; q++) {
        T er = ar[q] + cr[q], ei = ai[q] + ci[q], fr = ar[q] - cr[q], fi = ai[q] - ci[q];
        T gr = br[q] + dr[q], gi = bi[q] + di[q], hr = bi[q] - di[q], hi = dr[q] - br[q];  // -i (b - d)
        T r1 = fr + hr, i1 = fi + hi, r2 = er - gr, i2 = ei - gi, r3 = fr - hr, i3 = fi - hi;
        x0[q] = er + gr;
        y0[q] = ei + gi;
        x1[q] = r1 * c1 - i1 * s1;
        y1[q] = r1 * s1 + i1 * c1;
        x2[q] = r2 * c2 - i2 * s2;
        y2[q] = r2 * s2 + i2 * c2;
        x3[q] = r3 * c3 - i3 * s3;
        y3[q] = r3 * s3 + i3 * c3;
    }
}

// Any other radix: output j adds up all inputs, each turned by root j k / radix and the whole by root p j.
static void FN(any)(const FN(Block) *b, const FftPass *pass, int64_t p) {
    const T *roots = pass->roots;
    for (int64_t j = 0; j < pass->radix; j++) {
        T *x = b->to_re + j * b->step, *y = b->to_im + j * b->step;
        for (int64_t k = 0; k < pass->radix; k++) {
            const T *re = b->re + k * b->apart, *im = b->im + k * b->apart;
            int64_t turn = (p * j * pass->root_step + j * k % pass->radix * (pass->n / pass->radix)) % pass->n;
            T c = roots[2 * turn], s = roots[2 * turn + 1];
            if (k == 0) {
                VECTOR_LOOP
                for (int64_t q = 0; q < b->step; q++) {
                    x[q] = re[q] * c - im[q] * s;
                    y[q] = re[q] * s + im[q] * c;
                }
                continue;
            }
            VECTOR_LOOP
            for (int64_t q = 0; q < b->step; q++) {
                x[q] += re[q] * c - im[q] * s;
                y[q] += re[q] * s + im[q] * c;
            }
        }
    }
}

static void FN(pass)(const FftPass *pass, const void *re, const void *im, void *to_re, void *to_im) {
    const T *roots = pass->roots;
    for (int64_t p = 0; p < pass->m; p++) {
        T c[4] = {1}, s[4] = {0};
        for (int64_t j = 1; j < 4; j++) {
            int64_t turn = p * j * pass->root_step % pass->n;
            c[j] = roots[2 * turn], s[j] = roots[2 * turn + 1];
        }
        FN(Block) b = {.re = (const T *)re + p * pass->step, .im = (const T *)im + p * pass->step,
                       .to_re = (T *)to_re + pass->radix * p * pass->step,
                       .to_im = (T *)to_im + pass->radix * p * pass->step,
                       .step = pass->step, .apart = pass->m * pass->step, .c = c, .s = s};
        if (pass->radix == 4)
            FN(four)(&b);
        else if (pass->radix == 2)
            FN(two)(&b);
        else
            FN(any)(&b, pass, p);
    }
}
#undef FN
#undef PASTE2
#undef PASTE2_
