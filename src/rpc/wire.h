// Wire — the small encodings of gRPC over HTTP/2: timeouts, percent-encoded messages, base64, error codes, secrets.
#pragma once
#include "base/str.h"

// Nanoseconds as grpc-timeout has them: at most eight digits and a unit, rounded up. "0n" where there are none left.
enum { WIRE_TIMEOUT = 10 };
void wire_timeout(int64_t ns, char out[WIRE_TIMEOUT]);
bool wire_timeout_read(Str text, int64_t *out_ns);  // false: malformed. What is beyond int64 is INT64_MAX

// grpc-message: bytes outside printable ASCII, and %, as %XX. What is no such escape is read as it stands.
void wire_percent_encode(Str message, Text *out);
void wire_percent_decode(Str text, Text *out);

// Metadata whose name ends in -bin. Reading takes it with padding and without; false: malformed.
void wire_base64(Str bytes, Text *out);
FALLIBLE bool wire_base64_read(Str text, Text *out);

Code wire_code_of_http(int64_t status);   // where a reply has no grpc-status
Code wire_code_of_reset(uint32_t error);  // of RST_STREAM

// Takes as long whether they differ at the beginning or at the end.
bool wire_same_secret(Str a, Str b);
