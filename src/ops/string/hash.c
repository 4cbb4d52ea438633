// Hashes — strings to buckets by published hash functions: FarmHash's fingerprint, MurmurHash 2 and SipHash-2-4.
#include "base/murmur.h"
#include "ops/string/strings.h"

static uint64_t load64(const char *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static uint64_t load32(const char *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static uint64_t rotate_right(uint64_t v, int by) {
    return v >> by | v << (64 - by);
}

// ---------------------------------------- FarmHash, the 64-bit fingerprint

#define K0 UINT64_C(0xc3a5c85c97cb3127)
#define K1 UINT64_C(0xb492b66fbe98f273)
#define K2 UINT64_C(0x9ae16a3b2f90404f)

static uint64_t mix_shift(uint64_t v) {
    return v ^ v >> 47;
}

static uint64_t mix_two(uint64_t u, uint64_t v, uint64_t factor) {
    uint64_t a = mix_shift((u ^ v) * factor);
    return mix_shift((v ^ a) * factor) * factor;
}

static uint64_t farm_up_to_16(const char *p, size_t n) {
    uint64_t factor = K2 + n * 2;
    if (n >= 8) {
        uint64_t a = load64(p) + K2, b = load64(p + n - 8);
        return mix_two(rotate_right(b, 37) * factor + a, (rotate_right(a, 25) + b) * factor, factor);
    }
    if (n >= 4)
        return mix_two(n + (load32(p) << 3), load32(p + n - 4), factor);
    if (n == 0)
        return K2;
    uint64_t y = (uint64_t)(unsigned char)p[0] + ((uint64_t)(unsigned char)p[n >> 1] << 8);
    uint64_t z = n + ((uint64_t)(unsigned char)p[n - 1] << 2);
    return mix_shift((y * K2) ^ (z * K0)) * K2;
}

static uint64_t farm_up_to_32(const char *p, size_t n) {
    uint64_t factor = K2 + n * 2;
    uint64_t a = load64(p) * K1, b = load64(p + 8), c = load64(p + n - 8) * factor, d = load64(p + n - 16) * K2;
    return mix_two(rotate_right(a + b, 43) + rotate_right(c, 30) + d, a + rotate_right(b + K2, 18) + c, factor);
}

static uint64_t farm_up_to_64(const char *p, size_t n) {
    uint64_t factor = K2 + n * 2;
    uint64_t a = load64(p) * K2, b = load64(p + 8), c = load64(p + n - 8) * factor, d = load64(p + n - 16) * K2;
    uint64_t y = rotate_right(a + b, 43) + rotate_right(c, 30) + d;
    uint64_t z = mix_two(y, a + rotate_right(b + K2, 18) + c, factor);
    uint64_t e = load64(p + 16) * factor, f = load64(p + 24);
    uint64_t g = (y + load64(p + n - 32)) * factor, h = (z + load64(p + n - 24)) * factor;
    return mix_two(rotate_right(e + f, 43) + rotate_right(g, 30) + h, e + rotate_right(f + a, 18) + g, factor);
}

typedef struct {
    uint64_t a, b;
} Pair;

static Pair weak(const char *p, uint64_t a, uint64_t b) {
    uint64_t last = load64(p + 24);
    a += load64(p);
    b = rotate_right(b + a + last, 21);
    uint64_t c = a;
    a += load64(p + 8) + load64(p + 16);
    b += rotate_right(a, 44);
    return (Pair){a + last, b + c};
}

// One round over 64 bytes. The last one differs in its factor, and weighs w.b and v.a by `weight`.
typedef struct {
    uint64_t x, y, z;
    Pair v, w;
} FarmState;

static void farm_round(FarmState *s, const char *p, uint64_t factor, uint64_t weight) {
    s->x = rotate_right(s->x + s->y + s->v.a + load64(p + 8), 37) * factor;
    s->y = rotate_right(s->y + s->v.b + load64(p + 48), 42) * factor;
    s->x ^= s->w.b * weight;
    s->y += s->v.a * weight + load64(p + 40);
    s->z = rotate_right(s->z + s->w.a, 33) * factor;
    s->v = weak(p, s->v.b * factor, s->x + s->w.a);
    s->w = weak(p + 32, s->z + s->w.b, s->y + load64(p + 16));
    uint64_t kept = s->z;
    s->z = s->x;
    s->x = kept;
}

uint64_t farm_hash(Str text) {
    const char *p = text.p;
    size_t n = text.n;
    if (n <= 16)
        return farm_up_to_16(p, n);
    if (n <= 32)
        return farm_up_to_32(p, n);
    if (n <= 64)
        return farm_up_to_64(p, n);
    FarmState s = {.x = 81, .y = 81 * K1 + 113};
    s.z = mix_shift(s.y * K2 + 113) * K2;
    s.x = s.x * K2 + load64(p);
    const char *end = p + (n - 1) / 64 * 64, *last = end + ((n - 1) & 63) - 63;
    for (; p != end; p += 64)
        farm_round(&s, p, K1, 1);
    uint64_t factor = K1 + ((s.z & 0xff) << 1);
    s.w.a += (n - 1) & 63;
    s.v.a += s.w.a;
    s.w.a += s.v.a;
    farm_round(&s, last, factor, 9);
    return mix_two(mix_two(s.v.a, s.w.a, factor) + mix_shift(s.y) * K0 + s.z, mix_two(s.v.b, s.w.b, factor) + s.x,
                   factor);
}

// ---------------------------------------- SipHash-2-4

static void sip_rounds(uint64_t v[4], int rounds) {
    while (rounds--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate_right(v[1], 51) ^ v[0];
        v[3] = rotate_right(v[3], 48) ^ v[2];
        v[0] = rotate_right(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate_right(v[1], 47) ^ v[2];
        v[3] = rotate_right(v[3], 43) ^ v[0];
        v[2] = rotate_right(v[2], 32);
    }
}

static void sip_word(uint64_t v[4], uint64_t word) {
    v[3] ^= word;
    sip_rounds(v, 2);
    v[0] ^= word;
}

static uint64_t sip_hash(Str text, const uint64_t key[2]) {
    uint64_t v[4] = {UINT64_C(0x736f6d6570736575) ^ key[0], UINT64_C(0x646f72616e646f6d) ^ key[1],
                     UINT64_C(0x6c7967656e657261) ^ key[0], UINT64_C(0x7465646279746573) ^ key[1]};
    const char *p = text.p;
    size_t n = text.n;
    for (; n >= 8; n -= 8, p += 8)
        sip_word(v, load64(p));
    uint64_t tail = (uint64_t)text.n << 56;
    for (size_t i = 0; i < n; i++)
        tail |= (uint64_t)(unsigned char)p[i] << (8 * i);
    sip_word(v, tail);
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

// ---------------------------------------- ops

typedef struct {
    uint64_t buckets, key[2];
} HashOwn;

static Status *hash_prepare(Prepare *p) {
    HashOwn *own = p->own;
    int64_t buckets = node_int(p->node, "num_buckets");
    NEED(buckets >= 1, INVALID_ARGUMENT, "num_buckets must be at least 1, got %lld", (long long)buckets);
    own->buckets = (uint64_t)buckets;
    const AttrValue *key = node_attr_find(p->node, "key");
    if (!key)
        return OK;
    NEED(key->is_list && key->n == 2, INVALID_ARGUMENT, "Key must have 2 elements");
    own->key[0] = (uint64_t)key->is[0];
    own->key[1] = (uint64_t)key->is[1];
    return OK;
}

#define BUCKETS(name, hash)                                                                              \
    static Status *name(Kernel *k) {                                                                     \
        const HashOwn *own = k->own;                                                                     \
        for (int64_t i = 0, n = tensor_count(k->in[0]); i < n; i++)                                      \
            ((int64_t *)k->out[0]->data)[i] = (int64_t)((hash) % own->buckets);                          \
        return OK;                                                                                       \
    }
BUCKETS(fast_run, farm_hash(string_at(k->in[0], i)))
BUCKETS(plain_run, murmur_hash(string_at(k->in[0], i)))
BUCKETS(strong_run, sip_hash(string_at(k->in[0], i), own->key))

const Op op_StringToHashBucketFast = {
    .signature = "StringToHashBucketFast(input: string) -> output: int64; num_buckets: int >= 1",
    .doc = "The bucket of each string, by FarmHash's fingerprint.", .shape = shape_unchanged, .prepare = hash_prepare,
    .own_size = sizeof(HashOwn), .cpu = ANY_TYPE(fast_run), .flags = OP_NO_GRADIENT,
};
const Op op_StringToHashBucket = {
    .signature = "StringToHashBucket(string_tensor: string) -> output: int64; num_buckets: int >= 1",
    .doc = "The bucket of each string, by MurmurHash.", .shape = shape_unchanged, .prepare = hash_prepare,
    .own_size = sizeof(HashOwn), .cpu = ANY_TYPE(plain_run), .flags = OP_NO_GRADIENT,
};
const Op op_StringToHashBucketStrong = {
    .signature = "StringToHashBucketStrong(input: string) -> output: int64; num_buckets: int >= 1; key: list(int)",
    .doc = "The bucket of each string, by SipHash.", .shape = shape_unchanged, .prepare = hash_prepare,
    .own_size = sizeof(HashOwn), .cpu = ANY_TYPE(strong_run), .flags = OP_NO_GRADIENT,
};
