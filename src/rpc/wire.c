// Wire — see wire.h.
#include "rpc/wire.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>

static const struct {
    char unit;
    int64_t ns;
} UNITS[] = {{'n', 1}, {'u', 1000}, {'m', 1000000}, {'S', 1000000000}, {'M', 60000000000}, {'H', 3600000000000}};
enum { N_UNITS = sizeof UNITS / sizeof *UNITS, MOST_DIGITS = 99999999 };

void wire_timeout(int64_t ns, char out[WIRE_TIMEOUT]) {
    ns = ns < 0 ? 0 : ns;
    int i = 0;
    while (i + 1 < N_UNITS && ns / UNITS[i].ns >= MOST_DIGITS)  // of constants that are not 0
        i++;
    int64_t n = ns / UNITS[i].ns + (ns % UNITS[i].ns != 0);
    snprintf(out, WIRE_TIMEOUT, "%d%c", (int)(n > MOST_DIGITS ? MOST_DIGITS : n), UNITS[i].unit);
}

bool wire_timeout_read(Str text, int64_t *out_ns) {
    int64_t n = 0, ns;
    if (text.n < 2 || text.n > 9)
        return false;
    for (size_t i = 0; i + 1 < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        n = n * 10 + (text.p[i] - '0');
    }
    for (int i = 0; i < N_UNITS; i++) {
        if (text.p[text.n - 1] != UNITS[i].unit)
            continue;
        *out_ns = __builtin_mul_overflow(n, UNITS[i].ns, &ns) ? INT64_MAX : ns;
        return true;
    }
    return false;
}

// A blank at either end would make the field malformed: HTTP/2 allows none there (RFC 9113, 8.2.1).
void wire_percent_encode(Str message, Text *out) {
    for (size_t i = 0; i < message.n; i++) {
        unsigned char c = (unsigned char)message.p[i];
        bool end = i == 0 || i + 1 == message.n;
        if (c < ' ' || c > '~' || c == '%' || (end && c == ' '))
            text_format(out, "%%%02X", c);
        else
            text_char(out, (char)c);
    }
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void wire_percent_decode(Str text, Text *out) {
    for (size_t i = 0; i < text.n; i++) {
        int high = text.n - i > 2 && text.p[i] == '%' ? hex_digit(text.p[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(text.p[i + 2]) : -1;
        text_char(out, low >= 0 ? (char)(high * 16 + low) : text.p[i]);
        i += low >= 0 ? 2 : 0;
    }
}

// ---- base64

static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Without padding, as gRPC's own libraries write it.
void wire_base64(Str bytes, Text *out) {
    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t n = bytes.n - i < 3 ? bytes.n - i : 3;
        uint32_t three = 0;
        for (size_t k = 0; k < 3; k++)
            three = three << 8 | (k < n ? (unsigned char)bytes.p[i + k] : 0);
        for (size_t k = 0; k <= n; k++)
            text_char(out, DIGITS[three >> (18 - 6 * k) & 63]);
    }
}

bool wire_base64_read(Str text, Text *out) {
    while (text.n && text.p[text.n - 1] == '=')
        text.n--;
    uint32_t bits = 0;
    int n_bits = 0;
    for (size_t i = 0; i < text.n; i++) {
        const char *digit = text.p[i] ? strchr(DIGITS, text.p[i]) : NULL;
        if (!digit)
            return false;
        bits = bits << 6 | (uint32_t)(digit - DIGITS);
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            text_char(out, (char)(bits >> n_bits & 255));
        }
    }
    return n_bits < 6 && !out->failed;
}

// ---- codes

Code wire_code_of_http(int64_t status) {
    switch (status) {
    case 400: return INTERNAL;
    case 401: return UNAUTHENTICATED;
    case 403: return PERMISSION_DENIED;
    case 404: return UNIMPLEMENTED;
    case 429: case 502: case 503: case 504: return UNAVAILABLE;
    default: return UNKNOWN;
    }
}

Code wire_code_of_reset(uint32_t error) {
    switch (error) {
    case NGHTTP2_CANCEL: return CANCELLED;
    case NGHTTP2_REFUSED_STREAM: return UNAVAILABLE;
    case NGHTTP2_ENHANCE_YOUR_CALM: return RESOURCE_EXHAUSTED;
    case NGHTTP2_INADEQUATE_SECURITY: return PERMISSION_DENIED;
    default: return INTERNAL;
    }
}

bool wire_same_secret(Str a, Str b) {
    volatile unsigned char differ = a.n != b.n;
    for (size_t i = 0; i < a.n; i++)
        differ |= (unsigned char)(a.p[i] ^ b.p[b.n ? i % b.n : 0]);
    return !differ;
}
