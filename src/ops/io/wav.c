// Wav — sound as samples and back: RIFF files of 16-bit linear samples.
#include "base/cursor.h"
#include "ops/string/strings.h"

enum { HEADER = 44, SCALE = 1 << 15 };

// ---------------------------------------- DecodeWav

typedef struct {
    uint32_t rate;
    int64_t channels, samples;
    Str data;
} Wav;

typedef struct {
    int64_t channels, samples;  // wanted; -1: as they are
} WavOwn;

static Status *wav_prepare(Prepare *p) {
    WavOwn *own = p->own;
    own->channels = node_int(p->node, "desired_channels");
    own->samples = node_int(p->node, "desired_samples");
    NEED(own->channels >= -1, INVALID_ARGUMENT, "desired_channels must be >= -1, got %lld", (long long)own->channels);
    NEED(own->samples >= -1, INVALID_ARGUMENT, "desired_samples must be >= -1, got %lld", (long long)own->samples);
    return OK;
}

static Status *wav_shape(Shapes *s) {
    int64_t channels = node_int(s->node, "desired_channels"), samples = node_int(s->node, "desired_samples");
    int64_t dims[2] = {samples < 0 ? UNKNOWN_DIM : samples, channels < 0 ? UNKNOWN_DIM : channels};
    s->out[1] = SCALAR_SHAPE;
    return shape_make(dims, 2, &s->out[0]);
}

static Status *read_id(Cursor *c, Str *out) {
    NEED(cursor_bytes(c, 4, out), INVALID_ARGUMENT, "Data too short when trying to read string");
    return OK;
}

static Status *expect_id(Cursor *c, const char *wanted) {
    Str found;
    TRY(read_id(c, &found));
    NEED(str_is(found, wanted), INVALID_ARGUMENT, "Header mismatch: Expected %s but found %.*s", wanted,
         STR_ARGS(found));
    return OK;
}

static Status *read_number(Cursor *c, size_t bytes, uint32_t *out) {
    Str raw;
    NEED(cursor_bytes(c, bytes, &raw), INVALID_ARGUMENT, "Data too short when trying to read value");
    *out = 0;
    memcpy(out, raw.p, bytes);
    return OK;
}

static Status *pass_over(Cursor *c, uint32_t n) {
    Str passed;
    NEED(cursor_bytes(c, n, &passed), INVALID_ARGUMENT, "Data too short when trying to read string");
    return OK;
}

// Up to the size of the format; some chunks may stand in front of it.
static Status *find_format(Cursor *c, uint32_t *out_size) {
    static const char *const passed[] = {"JUNK", "bext", "iXML", "qlty", "mext", "levl", "link", "axml"};
    for (;;) {
        Str id;
        TRY(read_id(c, &id));
        bool is_passed = false;
        for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
            is_passed |= str_is(id, passed[i]);
        NEED(is_passed || str_is(id, "fmt "), INVALID_ARGUMENT, "Unexpected field %.*s", STR_ARGS(id));
        TRY(read_number(c, 4, out_size));
        if (!is_passed)
            return OK;
        TRY(pass_over(c, *out_size));
    }
}

static Status *read_format(Cursor *c, Wav *wav) {
    uint32_t size, format, channels, per_second, per_sample, bits;
    TRY(find_format(c, &size));
    NEED(size == 16 || size == 18, INVALID_ARGUMENT, "Bad format chunk size for WAV: Expected 16 or 18, but got %u",
         size);
    TRY(read_number(c, 2, &format));
    NEED(format == 1, INVALID_ARGUMENT, "Bad audio format for WAV: Expected 1 (PCM), but got %u", format);
    TRY(read_number(c, 2, &channels));
    NEED(channels, INVALID_ARGUMENT, "Bad number of channels for WAV: Expected at least 1, but got 0");
    TRY(read_number(c, 4, &wav->rate));
    TRY(read_number(c, 4, &per_second));
    TRY(read_number(c, 2, &per_sample));
    TRY(read_number(c, 2, &bits));
    NEED(bits == 16, INVALID_ARGUMENT, "Can only read 16-bit WAV files, but received %u", bits);
    NEED(per_sample == 2 * channels, INVALID_ARGUMENT, "Bad bytes per sample in WAV header: Expected %u but got %u",
         2 * channels, per_sample);
    NEED((uint64_t)per_sample * wav->rate == per_second, INVALID_ARGUMENT,
         "Bad bytes per second in WAV header: Expected %llu but got %u (sample_rate=%u, bytes_per_sample=%u)",
         (unsigned long long)per_sample * wav->rate, per_second, wav->rate, per_sample);
    wav->channels = channels;
    if (size == 18)
        TRY(pass_over(c, 2));
    return OK;
}

static Status *read_data(Cursor *c, uint32_t size, Wav *wav) {
    NEED(!wav->data.p, INVALID_ARGUMENT, "More than one data chunk found in WAV");
    wav->samples = size / (2 * wav->channels);
    NEED(cursor_bytes(c, (size_t)(wav->samples * wav->channels * 2), &wav->data), INVALID_ARGUMENT,
         "Data too short when trying to read string");
    return OK;
}

static Status *read_wav(Str bytes, Wav *wav) {
    Cursor c = cursor_of(bytes.p, bytes.n);
    uint32_t size;
    TRY(expect_id(&c, "RIFF"));
    TRY(read_number(&c, 4, &size));
    TRY(expect_id(&c, "WAVE"));
    TRY(read_format(&c, wav));
    while (cursor_left(&c)) {
        Str id;
        TRY(read_id(&c, &id));
        TRY(read_number(&c, 4, &size));
        NEED(size <= INT32_MAX, INVALID_ARGUMENT, "WAV data chunk '%.*s' is too large: %u bytes, but the limit is %d",
             STR_ARGS(id), size, INT32_MAX);
        if (str_is(id, "data"))
            TRY(read_data(&c, size, wav));
        else
            c.p += size < cursor_left(&c) ? size : cursor_left(&c);
    }
    NEED(wav->data.p, INVALID_ARGUMENT, "No data chunk found in WAV");
    return OK;
}

static float sample_at(const Wav *wav, int64_t i) {
    int16_t sample;
    memcpy(&sample, wav->data.p + 2 * i, 2);
    return (float)sample / SCALE;
}

// Missing samples are silence, missing channels copies of the last one.
static Status *decode_run(Kernel *k) {
    const WavOwn *own = k->own;
    Wav wav = {0};
    TRY(read_wav(string_at(k->in[0], 0), &wav));
    int64_t samples = own->samples < 0 ? wav.samples : own->samples;
    int64_t channels = own->channels < 0 ? wav.channels : own->channels;
    TRY(kernel_output(k, 0, SHAPE(samples, channels)));
    TRY(kernel_output(k, 1, SCALAR_SHAPE));
    float *out = k->out[0]->data;
    int64_t there = channels ? min_i64(samples, wav.samples) : 0;
    for (int64_t i = 0; i < there; i++)
        for (int64_t j = 0; j < channels; j++)
            *out++ = sample_at(&wav, i * wav.channels + min_i64(j, wav.channels - 1));
    memset(out, 0, (size_t)((samples - there) * channels) * sizeof *out);
    *(int32_t *)k->out[1]->data = (int32_t)wav.rate;
    return OK;
}

const Op op_DecodeWav = {
    .signature = "DecodeWav(contents: string) -> audio: float, sample_rate: int32; desired_channels: int = -1; "
                 "desired_samples: int = -1",
    .doc = "The samples of a WAV file, from -1 to 1: one row for each moment, one column for each channel.",
    .needs = "scalar(contents)", .shape = wav_shape, .prepare = wav_prepare, .own_size = sizeof(WavOwn),
    .cpu = ANY_TYPE(decode_run), .host_out = BIT(1), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

// ---------------------------------------- EncodeWav

static void add_number(Text *text, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        text_char(text, (char)(value >> (8 * i)));
}

static int16_t to_sample(float value) {
    float scaled = roundf(value * SCALE);
    if (!(scaled > -SCALE))
        return -SCALE;
    return scaled < SCALE - 1 ? (int16_t)scaled : SCALE - 1;
}

static Status *encode_run(Kernel *k) {
    enum { CHANNELS_MOST = UINT16_MAX / 2 };
    int64_t frames = k->in[0]->shape.dims[0], channels = k->in[0]->shape.dims[1], rate = tensor_int(k->in[1], 0);
    NEED(rate > 0, INVALID_ARGUMENT, "sample_rate must be in (0, 2^32), got: %lld", (long long)rate);
    NEED(channels > 0 && channels <= CHANNELS_MOST, INVALID_ARGUMENT, "num_channels must be in [1, %d], got: %lld",
         CHANNELS_MOST, (long long)channels);
    int64_t bytes = 2 * frames * channels;
    NEED(bytes <= UINT32_MAX - HEADER, INVALID_ARGUMENT, "Provided channels and frames cannot be encoded as a WAV.");
    NEED(2 * channels * rate <= UINT32_MAX, INVALID_ARGUMENT, "%lld channels at %lld Hz cannot be encoded as a WAV.",
         (long long)channels, (long long)rate);
    AUTO(text) Text text = {0};
    NEED_MEMORY(text_reserve(&text, (size_t)bytes + HEADER));
    text_add(&text, STR("RIFF"));
    add_number(&text, (uint64_t)(bytes + HEADER - 8), 4);
    text_add(&text, STR("WAVEfmt \x10\0\0\0\x01\0"));
    add_number(&text, (uint64_t)channels, 2);
    add_number(&text, (uint64_t)rate, 4);
    add_number(&text, (uint64_t)(2 * channels * rate), 4);
    add_number(&text, (uint64_t)(2 * channels), 2);
    add_number(&text, 16, 2);
    text_add(&text, STR("data"));
    add_number(&text, (uint64_t)bytes, 4);
    const float *audio = k->in[0]->data;
    for (int64_t i = 0; i < frames * channels; i++, text.n += 2) {
        int16_t sample = to_sample(audio[i]);
        memcpy(text.p + text.n, &sample, 2);
    }
    return string_put_text(k->out[0], 0, &text);
}

const Op op_EncodeWav = {
    .signature = "EncodeWav(audio: float, sample_rate: int32) -> contents: string",
    .doc = "A WAV file of 16-bit samples: of audio one row for each moment, one column for each channel.",
    .needs = "rank(audio) == 2, scalar(sample_rate)", .shape = shape_scalar, .cpu = ANY_TYPE(encode_run),
    .host = BIT(1), .flags = OP_NO_GRADIENT,
};
