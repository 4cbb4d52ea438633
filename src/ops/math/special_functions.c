// Special functions — see special_functions.h. Series where their terms are positive, asymptotic expansions and
// continued fractions elsewhere, Halley's iteration for inverses. References: Abramowitz and Stegun chapters 6, 7, 9,
// 23, 26.
#include "ops/math/special_functions.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

// ---------------------------------------- inverses of the error function

// A first guess within 0.3 % (Winitzki 2008), from log(1 - y^2).
static double guess_erfinv(double log_rest) {
    double a = 0.147, half = 2 / (PI * a) + log_rest / 2;
    return sqrt(sqrt(half * half - log_rest / a) - half);
}

// x with erfc(x) = rest, 0 < rest <= 0.5.
static double inverse_erfc(double rest) {
    double x = guess_erfinv(log(rest) + log(2 - rest));
    for (int i = 0; i < 4; i++) {
        double slope = -2 / sqrt(PI) * exp(-x * x);
        if (slope == 0)
            break;
        double step = (erfc(x) - rest) / slope;
        x -= step / (1 + x * step);
    }
    return x;
}

double special_erfinv(double y) {
    double size = fabs(y);
    if (!(size <= 1))
        return NAN;
    if (size == 1)
        return y * INFINITY;
    if (size > 0.5)
        return copysign(inverse_erfc(1 - size), y);
    double x = y * sqrt(PI) / 2;
    for (int i = 0; i < 5; i++) {
        double step = (erf(x) - y) * sqrt(PI) / 2 * exp(x * x);
        x -= step / (1 + x * step);
    }
    return x;
}

double special_ndtri(double p) {
    if (!(p >= 0 && p <= 1))
        return NAN;
    if (p == 0 || p == 1)
        return p == 0 ? -INFINITY : INFINITY;
    if (p < 0.25)
        return -sqrt(2) * inverse_erfc(2 * p);
    return p > 0.75 ? sqrt(2) * inverse_erfc(2 * (1 - p)) : sqrt(2) * special_erfinv(2 * p - 1);
}

// ---------------------------------------- Bessel functions

// exp(-x) I_order(x), x >= 0.
static double bessel_ie(int order, double x) {
    double term = 1, sum = 1;
    if (x == INFINITY)
        return 0;
    if (x > 40) {  // 1 / sqrt(2 pi x) (1 - (4 order^2 - 1) / 8x + ...)
        for (int k = 1; k < 30; k++) {
            double odd = 2 * k - 1, next = -term * (4.0 * order * order - odd * odd) / (8 * x * k);
            if (fabs(next) >= fabs(term))
                break;
            term = next;
            sum += term;
        }
        return sum / sqrt(2 * PI * x);
    }
    double q = x * x / 4;
    for (int k = 1; k < 200 && term > sum * 1e-18; k++) {
        term *= q / ((double)k * (k + order));
        sum += term;
    }
    return exp(-x) * sum * (order ? x / 2 : 1);
}

double special_bessel_i0e(double x) {
    return x == x ? bessel_ie(0, fabs(x)) : x;
}
double special_bessel_i1e(double x) {
    return x == x ? copysign(bessel_ie(1, fabs(x)), x) : x;
}

// ---------------------------------------- digamma, zeta, polygamma

// B(2k) / (2k)!, k = 1 ...
static const double bernoulli[] = {
    1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000.0, 1.0 / 74724249600.0,
    -3617.0 / 10670622842880000.0,
};
enum { BERNOULLI = sizeof bernoulli / sizeof *bernoulli };

double special_digamma(double x) {
    if (x <= 0 && x == floor(x))
        return NAN;
    double less = 0;
    if (x < 0) {
        less = -PI / tan(PI * x);
        x = 1 - x;
    }
    for (; x < 10; x++)
        less -= 1 / x;
    double y = 1 / (x * x), sum = 0, power = y, factorial = 1;
    for (int k = 0; k < BERNOULLI; k++) {  // B(2k) / (2k x^2k)
        factorial = k ? factorial * (2 * k) * (2 * k + 1) : 1;
        sum += bernoulli[k] * factorial * power;
        power *= y;
    }
    return less + log(x) - 1 / (2 * x) - sum;
}

double special_zeta(double x, double q) {
    enum { DIRECT = 12 };
    if (x == 1)
        return INFINITY;
    if (!(x > 1))
        return NAN;
    if (q <= 0) {
        if (q == floor(q))
            return fmod(x, 2) == 0 ? INFINITY : NAN;
        if (x != floor(x))
            return NAN;
    }
    double sum = 0, at = q;
    for (int n = 0; n < DIRECT || at <= 9; n++, at++)
        sum += pow(at, -x);
    double power = pow(at, -x);  // then Euler and Maclaurin
    sum += at * power / (x - 1) + power / 2;
    double rising = x;
    power /= at;
    for (int k = 0; k < BERNOULLI; k++) {
        double term = bernoulli[k] * rising * power;
        sum += term;
        rising *= (x + 2 * k + 1) * (x + 2 * k + 2);
        power /= at * at;
        if (fabs(term) < fabs(sum) * 1e-17)
            break;
    }
    return sum;
}

double special_polygamma(double n, double x) {
    if (n != floor(n) || n < 0)
        return NAN;
    if (n == 0)
        return special_digamma(x);
    double sign = fmod(n, 2) == 0 ? -1 : 1;
    return sign * tgamma(n + 1) * special_zeta(n + 1, x);
}

// ---------------------------------------- incomplete gamma

enum { MOST_TERMS = 20000 };

// The series of igamma(a, x) without its factor: the sum of x^n / ((a + 1) ... (a + n)); and its derivative in a.
static double gamma_series(double a, double x, double *derivative) {
    double term = 1, sum = 1, slope = 0, slopes = 0;
    for (int n = 1; n < MOST_TERMS; n++) {
        term *= x / (a + n);
        slope -= 1 / (a + n);
        sum += term;
        slopes += term * slope;
        if (term < sum * 1e-17 && x < a + n)
            break;
    }
    *derivative = slopes;
    return sum;
}

// x^a exp(-x) / Gamma(a + 1)
static double gamma_factor(double a, double x) {
    return exp(a * log(x) - x - lgamma(a + 1));
}

// The continued fraction of igammac, for x > a + 1 (Lentz).
static double gamma_fraction(double a, double x) {
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int n = 1; n < MOST_TERMS; n++) {
        double an = -n * (n - a);
        b += 2;
        d = an * d + b;
        d = fabs(d) < 1e-300 ? 1e-300 : d;
        c = b + an / c;
        c = fabs(c) < 1e-300 ? 1e-300 : c;
        d = 1 / d;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-16)
            break;
    }
    return exp(a * log(x) - x - lgamma(a)) * h;
}

double special_igamma(double a, double x) {
    double unused;
    if (x == 0)
        return 0;
    if (!(x > 0 && a > 0))
        return NAN;
    if (x == INFINITY)
        return a == INFINITY ? NAN : 1;
    if (a == INFINITY)
        return 0;
    return x >= 1 && x >= a ? 1 - special_igammac(a, x) : gamma_factor(a, x) * gamma_series(a, x, &unused);
}

double special_igammac(double a, double x) {
    if (!(x >= 0 && a > 0))
        return NAN;
    if (x == 0 || a == INFINITY)
        return x == INFINITY ? NAN : 1;
    if (x == INFINITY)
        return 0;
    return x < 1 || x < a ? 1 - special_igamma(a, x) : gamma_fraction(a, x);
}

double special_igamma_grad_a(double a, double x) {
    double slope;
    if (x == 0)
        return 0;
    if (!(x > 0 && a > 0) || x == INFINITY || a == INFINITY)
        return x > 0 && a > 0 ? 0 : NAN;
    if (x > 2000 && x > 2 * a)
        return 0;  // below the smallest number
    double sum = gamma_series(a, x, &slope);
    return gamma_factor(a, x) * ((log(x) - special_digamma(a + 1)) * sum + slope);
}

// ---------------------------------------- incomplete beta

// The continued fraction, good for x < (a + 1) / (a + b + 2) (Lentz).
static double beta_fraction(double a, double b, double x) {
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
    double h = d;
    for (int m = 1; m < MOST_TERMS; m++) {
        double before = h;
        for (int odd = 0; odd < 2; odd++) {
            double n = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                           : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
            d = 1 + n * d;
            d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
            c = 1 + n / c;
            c = fabs(c) < 1e-300 ? 1e-300 : c;
            h *= d * c;
        }
        if (fabs(h / before - 1) < 1e-16)
            break;
    }
    return h / a;
}

double special_betainc(double a, double b, double x) {
    if (!(a > 0 && b > 0 && x >= 0 && x <= 1))
        return NAN;
    if (x == 0 || x == 1)
        return x;
    double factor = exp(a * log(x) + b * log1p(-x) + lgamma(a + b) - lgamma(a) - lgamma(b));
    return x < (a + 1) / (a + b + 2) ? factor * beta_fraction(a, b, x) : 1 - factor * beta_fraction(b, a, 1 - x);
}
