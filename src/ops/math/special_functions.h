// Special functions — of real numbers in double precision, with the domains and limits of TensorFlow's.
#pragma once

double special_erfinv(double y);                         // erf(erfinv(y)) = y; NaN outside [-1, 1]
double special_ndtri(double p);                          // the standard normal's quantile; NaN outside [0, 1]
double special_bessel_i0e(double x);                     // exp(-|x|) I0(x)
double special_bessel_i1e(double x);
double special_digamma(double x);
double special_zeta(double x, double q);                 // Hurwitz: the sum of (q + n)^-x over n >= 0
double special_polygamma(double n, double x);
double special_igamma(double a, double x);               // lower incomplete gamma over Gamma(a)
double special_igammac(double a, double x);              // 1 - igamma
double special_igamma_grad_a(double a, double x);        // derivative of igamma in a
double special_betainc(double a, double b, double x);    // regularised incomplete beta
