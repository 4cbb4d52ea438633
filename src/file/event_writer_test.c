// EventWriter tests — what is written comes back as records, in order; each kind of event holds what it was given.
#define _GNU_SOURCE
#include "file/event_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status_test.h"
#include "base/suite_test.h"
#include "file/disk.h"
#include "file/record.h"
#include "file/summary.h"
#include "tensor/literal.h"

static char folder[] = "/tmp/event_test_XXXXXX";

typedef struct {
    Arena arena;
    EventProto *events[32];
    int n;
} Read;

static void read_back(Str path, Read *out) {
    FileStream *stream;
    GOOD(file_stream_open(path, CODING_NONE, &stream));
    for (bool found = true; found;) {
        Str record;
        GOOD(record_read(stream, &record, &found));
        if (!found)
            break;
        Str kept = str_copy(&out->arena, record);
        GOOD(PROTO_DECODE(EventProto, &out->arena, kept, &out->events[out->n]));
        out->n++;
    }
    file_stream_free(stream);
}

static Tensor tensor(const char *text) {
    Tensor t;
    GOOD(literal_parse(str_of(text), DT_INVALID, &t, NULL));
    return t;
}

START_TEST(kinds) {
    EventWriter *writer;
    EventWriterOptions options = {.suffix = STR(".mine")};
    AUTO(arena) Arena arena = {0};
    AUTO(tensor) Tensor many = tensor("[1 2 2 -7]"), words = tensor("[\"# Title\"]"), sound = tensor("[[0 0.5]]");
    GOOD(event_writer_new(str_of(folder), &options, &writer));
    HyperParameter parameters[] = {{.name = STR("rate"), .number = 0.25}, {.name = STR("optimizer"), .text = STR("adam"), .is_text = true}};
    GOOD(event_writer_hparams(writer, parameters, 2));
    GOOD(event_writer_scalar(writer, 3, STR("loss"), 1.5));
    Summary_Value values[3], *sounds;
    size_t n;
    GOOD(summary_histogram(&arena, STR("weights"), &many, &values[0]));
    GOOD(summary_text(&arena, STR("about"), &words, &values[1]));
    GOOD(summary_image(&arena, STR("picture"), STR("PNG"), 2, 3, 1, &values[2]));
    GOOD(event_writer_summary(writer, 4, values, 3));
    GOOD(summary_audio(&arena, STR("sound"), &sound, 8000, 1, &sounds, &n));
    GOOD(event_writer_summary(writer, 5, sounds, n));
    GOOD(event_writer_graph(writer, STR("graph")));
    GOOD(event_writer_run_metadata(writer, 6, STR("step6"), STR("times")));
    GOOD(event_writer_hparams_end(writer, true));
    GOOD(event_writer_flush(writer));
    Read got = {0};
    read_back(event_writer_path(writer), &got);
    ck_assert_int_eq(got.n, 8);
    ck_assert(got.events[0]->which == EventProto_file_version && str_is(got.events[0]->file_version, "brain.Event:2"));
    Summary_Value *hparams = &got.events[1]->summary->value.p[0];
    ck_assert(str_is(hparams->tag, "_hparams_/session_start_info"));
    ck_assert(str_is(hparams->metadata->plugin_data->plugin_name, "hparams"));
    Str content = hparams->metadata->plugin_data->content;
    ck_assert(memmem(content.p, content.n, "\x0a\x04rate\x12\x09\x11", 9) && memmem(content.p, content.n, "\x1a\x04" "adam", 6));
    ck_assert(got.events[2]->step == 3 && fabsf(got.events[2]->summary->value.p[0].simple_value - 1.5f) < 1e-9f);
    ck_assert(got.events[2]->wall_time > 1e9);
    const Summary_Value *three = got.events[3]->summary->value.p;
    ck_assert(three[0].histo->num == 4 && three[0].histo->min == -7 && three[0].histo->sum == -2);
    ck_assert(str_is(three[1].metadata->plugin_data->plugin_name, "text") && three[2].image->width == 3);
    ck_assert(str_is(got.events[4]->summary->value.p[0].tag, "sound/audio"));
    ck_assert_uint_eq(got.events[4]->summary->value.p[0].audio->encoded_audio_string.n, 48);
    ck_assert(got.events[5]->which == EventProto_graph_def && str_is(got.events[5]->graph_def, "graph"));
    ck_assert(str_is(got.events[6]->tagged_run_metadata->tag, "step6"));
    arena_clear(&got.arena);
    event_writer_free(writer);
}
END_TEST

START_TEST(gathers) {
    EventWriter *writer;
    GOOD(event_writer_new(str_of(folder), &(EventWriterOptions){.most = 3, .flush_ms = 100000}, &writer));
    for (int i = 0; i < 6; i++) {
        Read got = {0};
        GOOD(event_writer_scalar(writer, i, STR("x"), i));
        read_back(event_writer_path(writer), &got);
        ck_assert_int_eq(got.n, i < 3 ? 1 : 5);
        arena_clear(&got.arena);
    }
    event_writer_free(writer);
}
END_TEST

START_TEST(refuses) {
    EventWriter *writer;
    AUTO(arena) Arena arena = {0};
    AUTO(tensor) Tensor bad = tensor("[1 nan]"), flat = tensor("[1 2]");
    Summary_Value value, *values;
    size_t n;
    Status *statuses[] = {
        event_writer_new(STR("/dev/null/x"), &(EventWriterOptions){0}, &writer),
        summary_histogram(&arena, STR("h"), &bad, &value),
        summary_scalar(STR("s"), &flat, &value),
        summary_text(&arena, STR("t"), &flat, &value),
        summary_audio(&arena, STR("a"), &flat, 8000, 1, &values, &n),
        summary_image(&arena, STR("i"), STR(""), 0, 1, 1, &value),
    };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        ck_assert_ptr_nonnull(statuses[i]);
        status_free(statuses[i]);
    }
}
END_TEST

int main(void) {
    if (!mkdtemp(folder))
        return 2;
    Suite *suite = suite_create("event_writer");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, kinds);
    tcase_add_test(tests, gathers);
    tcase_add_test(tests, refuses);
    suite_add_tcase(suite, tests);
    int failed = run_suite(suite);
    char command[sizeof folder + 16];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || failed;
}
