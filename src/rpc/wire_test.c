// Wire test — timeouts, percent-encoding, base64, codes, secrets; metadata and payloads; the timers' heap.
#include "base/suite_test.h"
#include "base/status_test.h"
#include "rpc/event_timers.h"
#include "rpc/metadata.h"
#include "rpc/payload.h"
#include "rpc/wire.h"

START_TEST(timeouts_fit_eight_digits) {
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {{0, "0n"}, {-5, "0n"}, {99999998, "99999998n"}, {5000000000, "5000000u"}, {INT64_MAX, "2562048H"},
                 {100000000, "100000u"}, {100000001, "100001u"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[WIRE_TIMEOUT];
        int64_t back;
        wire_timeout(cases[i].ns, text);
        ck_assert_str_eq(text, cases[i].text);
        ck_assert(wire_timeout_read(str_of(text), &back));
        ck_assert_int_ge(back, cases[i].ns);
    }
    static const char *const bad[] = {"", "5", "S", "123456789S", "-1S", "5s", "5 S", "0x1S"};
    int64_t ns = 7;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!wire_timeout_read(str_of(bad[i]), &ns), "%s", bad[i]);
    ck_assert_int_eq(ns, 7);
    ck_assert(wire_timeout_read(STR("5010m"), &ns) && ns == 5010000000);
    ck_assert(wire_timeout_read(STR("99999999H"), &ns) && ns == INT64_MAX);
}
END_TEST

START_TEST(messages_are_percent_encoded) {
    AUTO(text) Text coded = {0}, back = {0};
    Str message = STR("100% \n\xc3\xa9 [[{{node a}}]]~\x7f");
    wire_percent_encode(message, &coded);
    ck_assert(str_is(text_str(&coded), "100%25 %0A%C3%A9 [[{{node a}}]]~%7F"));
    wire_percent_decode(text_str(&coded), &back);
    ck_assert(str_equal(text_str(&back), message));
    back.n = 0;
    wire_percent_decode(STR("%zz%4%%41%"), &back);
    ck_assert(str_is(text_str(&back), "%zz%4%A%"));
}
END_TEST

START_TEST(base64_takes_every_length) {
    static const struct {
        const char *bytes, *text;
        size_t n;
    } cases[] = {{"", "", 0}, {"f", "Zg", 1}, {"fo", "Zm8", 2}, {"foo", "Zm9v", 3}, {"\0\377\376", "AP/+", 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(text) Text coded = {0}, back = {0};
        wire_base64((Str){cases[i].bytes, cases[i].n}, &coded);
        ck_assert(str_is(text_str(&coded), cases[i].text));
        text_char(&coded, '=');
        ck_assert(wire_base64_read(text_str(&coded), &back));
        ck_assert(str_equal(text_str(&back), (Str){cases[i].bytes, cases[i].n}));
    }
    AUTO(text) Text out = {0};
    ck_assert(!wire_base64_read(STR("a*bc"), &out));
    ck_assert(!wire_base64_read(STR("abcde"), &out));
}
END_TEST

START_TEST(codes_and_secrets) {
    ck_assert_int_eq(wire_code_of_http(404), UNIMPLEMENTED);
    ck_assert_int_eq(wire_code_of_http(503), UNAVAILABLE);
    ck_assert_int_eq(wire_code_of_http(418), UNKNOWN);
    ck_assert(wire_same_secret(STR("abc"), STR("abc")) && wire_same_secret(STR(""), STR("")));
    ck_assert(!wire_same_secret(STR("abc"), STR("abd")) && !wire_same_secret(STR("ab"), STR("abab")) &&
              !wire_same_secret(STR("abab"), STR("ab")) && !wire_same_secret(STR("a"), STR("")) &&
              !wire_same_secret(STR(""), STR("a")));
}
END_TEST

START_TEST(metadata_is_found_in_order) {
    Metadata metadata = {0}, coded = {0};
    Str value;
    ck_assert(metadata_add(&metadata, STR("a"), STR("1")) && metadata_add(&metadata, STR("b-bin"), (Str){"\0", 1}) &&
              metadata_add(&metadata, STR("a"), STR("2")));
    ck_assert(metadata_find(&metadata, STR("a"), &value) && str_is(value, "1"));
    ck_assert(!metadata_find(&metadata, STR("c"), &value));
    ck_assert(metadata_add_all_coded(&coded, &metadata) && metadata_find(&coded, STR("b-bin"), &value) && str_is(value, "AA"));
    ck_assert(metadata_add_decoded(&metadata, STR("d-bin"), STR("*")) && metadata_find(&metadata, STR("d-bin"), &value));
    ck_assert(str_is(value, "*"));
    metadata_clear(&metadata);
    metadata_clear(&coded);
}
END_TEST

static void count(void *owner) {
    ++*(int *)owner;
}

START_TEST(a_payload_releases_its_pieces) {
    Payload *payload;
    int released = 0;
    GOOD(payload_new(&payload));
    for (int i = 0; i < 9; i++)
        GOOD(payload_add(payload, (Piece){"abc", 3, count, &released}));
    GOOD(payload_copy(payload, "x", 1));
    ck_assert_uint_eq(payload->bytes, 28);
    payload_release(payload_retain(payload));
    ck_assert_int_eq(released, 0);
    Status *status = payload_add(payload, (Piece){"abc", SIZE_MAX, count, &released});  // released, though not taken
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    status_free(status);
    ck_assert_int_eq(released, 1);
    payload_release(payload);
    ck_assert_int_eq(released, 10);
}
END_TEST

START_TEST(timers_come_out_in_order) {
    enum { TIMERS = 500 };
    EventTimers timers = {0};
    EventTimer all[TIMERS] = {0};
    uint32_t number = 1;
    for (int i = 0; i < TIMERS; i++) {
        number = number * 1664525 + 1013904223;
        all[i].due = number >> 24;
        event_timers_add(&timers, &all[i]);
        if (i % 3 == 2) {
            EventTimer *any = &all[number % (uint32_t)(i + 1)];
            if (any->set)
                event_timers_remove(&timers, any);
        }
    }
    int64_t before = -1;
    int left = 0, seen = 0;
    for (int i = 0; i < TIMERS; i++)
        left += all[i].set;
    while (timers.first) {
        EventTimer *first = timers.first;
        ck_assert_int_ge(first->due, before);
        before = first->due;
        event_timers_remove(&timers, first);
        seen++;
    }
    ck_assert_int_eq(seen, left);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("wire");
    TCase *wire = tcase_create("wire");
    tcase_add_test(wire, timeouts_fit_eight_digits);
    tcase_add_test(wire, messages_are_percent_encoded);
    tcase_add_test(wire, base64_takes_every_length);
    tcase_add_test(wire, codes_and_secrets);
    tcase_add_test(wire, metadata_is_found_in_order);
    tcase_add_test(wire, a_payload_releases_its_pieces);
    tcase_add_test(wire, timers_come_out_in_order);
    suite_add_tcase(suite, wire);
    return run_suite(suite);
}
