// Store — see pjrt.h: compiled programs on the disk, each in a file named by the SHA-256 of all that it depends on.
//
// What lies there is native code: the folder is the user's own and nobody else may write into it. It is never a model's.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/pjrt/pjrt.h"

enum { LARGEST = 1 << 30 };

// ---- SHA-256 (FIPS 180-4)

typedef struct {
    uint32_t state[8];
    uint8_t block[64];
    uint64_t n;
} Sha;

static uint32_t turned(uint32_t x, int by) {
    return x >> by | x << (32 - by);
}

// The first 32 bits of the fractions of the cube roots of the primes, as the standard has them.
static void constants(uint32_t k[64]) {
    for (int n = 0, p = 2; n < 64; p++) {
        bool prime = true;
        for (int d = 2; d * d <= p && prime; d++)
            prime = p % d != 0;
        if (!prime)
            continue;
        // The largest r with r^3 <= p 2^96: its low 32 bits.
        unsigned __int128 r = 0;
        for (int bit = 34; bit >= 0; bit--) {
            unsigned __int128 next = r | (unsigned __int128)1 << bit;
            if (next * next * next <= (unsigned __int128)(unsigned)p << 96)
                r = next;
        }
        k[n++] = (uint32_t)r;
    }
}

static void digest(Sha *sha, const uint32_t k[64]) {
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)sha->block[4 * i] << 24 | (uint32_t)sha->block[4 * i + 1] << 16 |
               (uint32_t)sha->block[4 * i + 2] << 8 | sha->block[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + (turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(s, sha->state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t a = s[7] + (turned(s[4], 6) ^ turned(s[4], 11) ^ turned(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) +
                     k[i] + w[i];
        uint32_t b = (turned(s[0], 2) ^ turned(s[0], 13) ^ turned(s[0], 22)) +
                     ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += a;
        s[0] = a + b;
    }
    for (int i = 0; i < 8; i++)
        sha->state[i] += s[i];
}

static void sha_add(Sha *sha, const uint32_t k[64], const void *bytes, size_t n) {
    for (const uint8_t *at = bytes, *end = at + n; at < end; at++) {
        sha->block[sha->n++ % sizeof sha->block] = *at;
        if (sha->n % sizeof sha->block == 0)
            digest(sha, k);
    }
}

void store_key(const Str *parts, int n, char out[65]) {
    uint32_t k[64];
    constants(k);
    Sha sha = {.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
    for (int i = 0; i < n; i++) {
        uint64_t bytes = parts[i].n;
        sha_add(&sha, k, &bytes, sizeof bytes);
        sha_add(&sha, k, parts[i].p, parts[i].n);
    }
    uint64_t bits = sha.n * 8;
    sha_add(&sha, k, "\x80", 1);
    while (sha.n % sizeof sha.block != sizeof sha.block - sizeof bits)
        sha_add(&sha, k, "", 1);
    for (int shift = 56; shift >= 0; shift -= 8)
        sha_add(&sha, k, (uint8_t[]){(uint8_t)(bits >> shift)}, 1);
    for (int i = 0; i < 8; i++)
        snprintf(out + 8 * i, 9, "%08x", sha.state[i]);
}

// ---- files

// MILLRACE_CACHE, else the user's cache folder; made where it isn't there. False: nothing is kept.
static bool folder(char *path, size_t room) {
    const char *own = getenv("MILLRACE_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = own ? snprintf(path, room, "%s", own)
            : xdg && *xdg ? snprintf(path, room, "%s/millrace/programs", xdg)
            : home && *home ? snprintf(path, room, "%s/.cache/millrace/programs", home) : 0;
    if (n <= 0 || (size_t)n >= room)
        return false;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!made)
            return false;
    }
    struct stat info;
    return (mkdir(path, 0700) == 0 || errno == EEXIST) && stat(path, &info) == 0 && S_ISDIR(info.st_mode) &&
           info.st_uid == geteuid() && !(info.st_mode & (S_IWGRP | S_IWOTH));
}

static bool file_of(const char *key, const char *end, char *path, size_t room) {
    size_t n;
    if (!folder(path, room))
        return false;
    n = strlen(path);
    int more = snprintf(path + n, room - n, "/%s%s", key, end);
    return more > 0 && (size_t)more < room - n;
}

bool store_find(const char *key, Text *out) {
    char path[4096];
    struct stat info;
    int file = file_of(key, "", path, sizeof path) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (file < 0)
        return false;
    bool good = fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() && info.st_size > 0 &&
                info.st_size <= LARGEST && text_reserve(out, (size_t)info.st_size);
    while (good && out->n < (size_t)info.st_size) {
        ssize_t n = read(file, out->p + out->n, (size_t)info.st_size - out->n);
        good = n > 0;
        out->n += good ? (size_t)n : 0;
    }
    close(file);
    return good;
}

// Whole or not at all: another process may be reading.
void store_put(const char *key, Str bytes) {
    char path[4096], being_written[4096], end[32];
    snprintf(end, sizeof end, ".%lld", (long long)getpid());
    if (!file_of(key, "", path, sizeof path) || !file_of(key, end, being_written, sizeof being_written))
        return;
    int file = open(being_written, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return;
    bool good = true;
    for (size_t at = 0; good && at < bytes.n;) {
        ssize_t n = write(file, bytes.p + at, bytes.n - at);
        good = n > 0;
        at += good ? (size_t)n : 0;
    }
    good = close(file) == 0 && good;
    if (!good || rename(being_written, path) != 0)
        unlink(being_written);
}
