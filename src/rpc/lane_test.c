// Lane test — bytes fetched over a lane: whole, in turn, given up, lost; and peers that are no good. [threads]
#include <string.h>
#include <unistd.h>

#include "base/suite_test.h"
#include "rpc/address.h"
#include "rpc/echo_test.h"
#include "rpc/lane.h"

enum { BIG = 40 << 20, HELD = 64 };

// Answers by key: "big" all, "N" that many bytes, "hold" later, "fail" not.
typedef struct {
    LaneServer *server;
    Lane *lane;
    uint8_t *bytes;
    char address[64];
    Mutex lock;
    Condition changed;
    LaneRequest *held[HELD];  // guarded by lock
    int n_held, cancelled;    // guarded by lock
    CancelWatch watches[HELD];
} Rig;

static void note_cancel(void *arg) {
    Rig *rig = arg;
    mutex_lock(&rig->lock);
    rig->cancelled++;
    condition_notify_all(&rig->changed);
    mutex_unlock(&rig->lock);
}

static void hold(Rig *rig, LaneRequest *request) {
    mutex_lock(&rig->lock);
    int i = rig->n_held;
    rig->held[i] = request;
    mutex_unlock(&rig->lock);
    if (!cancellation_watch(lane_request_cancellation(request), &rig->watches[i], note_cancel, rig))
        note_cancel(rig);
    mutex_lock(&rig->lock);
    rig->n_held++;
    condition_notify_all(&rig->changed);
    mutex_unlock(&rig->lock);
}

static void serve(void *arg, LaneRequest *request) {
    Rig *rig = arg;
    Str key = lane_request_key(request);
    int64_t n = str_is(key, "big") ? BIG : 0;
    Payload *payload = NULL;
    if (str_is(key, "hold")) {
        hold(rig, request);
        return;
    }
    Status *status = str_is(key, "fail") ? status_new(ABORTED, "x", 1, "no such tensor") : payload_new(&payload);
    if (!status && (n || str_to_int(key, &n))) {
        size_t half = (size_t)n / 3;
        status = payload_add(payload, (Piece){rig->bytes, half, NULL, NULL});
        status = status ? status : payload_add(payload, (Piece){rig->bytes + half, (size_t)n - half, NULL, NULL});
    }
    lane_answer(request, status, payload);
}

static void open_rig(Rig *rig, const char *asked, const char *told) {
    int port;
    *rig = (Rig){.lock = MUTEX_INIT, .changed = CONDITION_INIT, .bytes = malloc(BIG)};
    for (size_t i = 0; i < BIG; i++)
        rig->bytes[i] = (uint8_t)(i * 2654435761u >> 24);
    GOOD(lane_server_new(NULL, asked, serve, rig, &rig->server));
    GOOD(lane_server_listen(rig->server, "127.0.0.1:0", &port));
    snprintf(rig->address, sizeof rig->address, "127.0.0.1:%d", port);
    GOOD(lane_new(NULL, rig->address, told, &rig->lane));
}

static void close_rig(Rig *rig) {
    lane_free(rig->lane);
    if (rig->server)
        lane_server_free(rig->server);
    free(rig->bytes);
}

typedef struct {
    Notification done;
    Status *status;
    Received received;
} Got;

static void keep(void *arg, Status *status, Received *received) {
    Got *got = arg;
    got->status = status_copy(status);
    got->received = *received;
    received->bytes = NULL;
    notification_notify(&got->done);
}

static void fetch(Rig *rig, const char *key, int64_t deadline, Cancellation *cancellation, Got *got) {
    *got = (Got){0};
    GOOD(lane_fetch(rig->lane, &(LaneFetch){.key = str_of(key), .deadline = deadline, .cancellation = cancellation, .most_bytes = BIG},
                    keep, got));
}

static void end(Got *got, Code code, const char *words) {
    ck_assert(notification_wait(&got->done, echo_soon(60000)));
    check_code(got->status, code, words);
}

static void is_there(Rig *rig, Got *got, size_t n) {
    end(got, CODE_OK, "");
    ck_assert_uint_eq(got->received.n, n);
    ck_assert(!memcmp(got->received.bytes, rig->bytes, n));
    received_clear(&got->received);
}

static void wait_for(Rig *rig, const int *count, int n) {
    mutex_lock(&rig->lock);
    while (*count < n)
        ck_assert(condition_wait_until(&rig->changed, &rig->lock, echo_soon(60000)));
    mutex_unlock(&rig->lock);
}

static void answer_held(Rig *rig) {
    mutex_lock(&rig->lock);
    int n = rig->n_held;
    rig->n_held = 0;
    mutex_unlock(&rig->lock);
    for (int i = 0; i < n; i++) {
        cancellation_unwatch(lane_request_cancellation(rig->held[i]), &rig->watches[i]);
        lane_answer(rig->held[i], OK, NULL);
    }
}

START_TEST(bytes_come_as_they_are) {
    static const size_t sizes[] = {0, 1, 4096, 512 * 1024 - 1, 512 * 1024, 512 * 1024 + 1, 3000000};
    Rig rig;
    Got got;
    char key[32];
    open_rig(&rig, NULL, NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        snprintf(key, sizeof key, "%zu", sizes[i]);
        fetch(&rig, key, NO_DEADLINE, NULL, &got);
        is_there(&rig, &got, sizes[i]);
    }
    fetch(&rig, "fail", NO_DEADLINE, NULL, &got);
    end(&got, ABORTED, "no such tensor");
    close_rig(&rig);
}
END_TEST

START_TEST(several_come_at_once) {
    Rig rig;
    Got big[3], small[50];
    open_rig(&rig, NULL, NULL);
    for (int i = 0; i < 3; i++)
        fetch(&rig, "big", NO_DEADLINE, NULL, &big[i]);
    for (int i = 0; i < 50; i++)
        fetch(&rig, "1000", NO_DEADLINE, NULL, &small[i]);
    for (int i = 0; i < 50; i++)
        is_there(&rig, &small[i], 1000);
    for (int i = 0; i < 3; i++)
        is_there(&rig, &big[i], BIG);
    close_rig(&rig);
}
END_TEST

START_TEST(what_is_given_up_frees_its_lane) {
    Rig rig;
    Got big, held, other;
    Cancellation cancellation;
    cancellation_init(&cancellation, NULL);
    open_rig(&rig, NULL, NULL);
    fetch(&rig, "hold", echo_soon(30), NULL, &held);
    end(&held, DEADLINE_EXCEEDED, "0 of 0 bytes");
    wait_for(&rig, &rig.cancelled, 1);
    for (int i = 0; i < 5; i++) {  // anywhere in the middle
        fetch(&rig, "big", echo_soon(i * 3), NULL, &big);
        ck_assert(notification_wait(&big.done, echo_soon(60000)));
        status_free(big.status);
        received_clear(&big.received);
    }
    fetch(&rig, "hold", NO_DEADLINE, &cancellation, &held);
    fetch(&rig, "big", NO_DEADLINE, &cancellation, &big);
    wait_for(&rig, &rig.n_held, 2);
    cancellation_cancel(&cancellation, NULL);
    end(&held, CANCELLED, "cancelled");
    ck_assert(notification_wait(&big.done, echo_soon(60000)));
    status_free(big.status);
    received_clear(&big.received);
    wait_for(&rig, &rig.cancelled, 2);
    fetch(&rig, "1", NO_DEADLINE, &cancellation, &other);
    end(&other, CANCELLED, "cancelled");
    fetch(&rig, "big", NO_DEADLINE, NULL, &other);  // in the same slot, over the same connection
    is_there(&rig, &other, BIG);
    answer_held(&rig);
    close_rig(&rig);
    cancellation_clear(&cancellation);
}
END_TEST

START_TEST(a_lane_that_is_lost_ends_its_fetches_and_is_made_again) {
    Rig rig;
    Got held, again;
    int port;
    open_rig(&rig, NULL, NULL);
    fetch(&rig, "hold", NO_DEADLINE, NULL, &held);
    wait_for(&rig, &rig.n_held, 1);
    lane_server_free(rig.server);
    rig.server = NULL;
    end(&held, UNAVAILABLE, "lane 127.0.0.1:");
    wait_for(&rig, &rig.cancelled, 1);
    answer_held(&rig);
    do {  // the loss may not have been seen to yet
        fetch(&rig, "1", NO_DEADLINE, NULL, &again);
        ck_assert(notification_wait(&again.done, echo_soon(60000)));
        ck_assert_int_eq(status_code(again.status), UNAVAILABLE);
        bool refused = strstr(status_message(again.status), "refused") != NULL;
        status_free(again.status);
        if (refused)
            break;
    } while (true);
    GOOD(lane_server_new(NULL, NULL, serve, &rig, &rig.server));
    GOOD(lane_server_listen(rig.server, rig.address, &port));
    fetch(&rig, "1000", NO_DEADLINE, NULL, &again);
    is_there(&rig, &again, 1000);
    close_rig(&rig);
}
END_TEST

START_TEST(a_lane_that_is_freed_ends_its_fetches) {
    Rig rig;
    Got held, big;
    open_rig(&rig, NULL, NULL);
    fetch(&rig, "hold", NO_DEADLINE, NULL, &held);
    wait_for(&rig, &rig.n_held, 1);
    fetch(&rig, "big", NO_DEADLINE, NULL, &big);
    lane_free(rig.lane);
    rig.lane = NULL;
    end(&held, CANCELLED, "freed");
    ck_assert(notification_wait(&big.done, echo_soon(60000)));
    status_free(big.status);
    received_clear(&big.received);
    wait_for(&rig, &rig.cancelled, 1);
    answer_held(&rig);
    close_rig(&rig);
}
END_TEST

START_TEST(a_secret_limits_and_strangers) {
    Rig rig;
    Got got;
    open_rig(&rig, "right", "right");
    fetch(&rig, "10", NO_DEADLINE, NULL, &got);
    is_there(&rig, &got, 10);
    got = (Got){0};
    GOOD(lane_fetch(rig.lane, &(LaneFetch){.key = STR("1000"), .deadline = NO_DEADLINE, .most_bytes = 999}, keep, &got));
    end(&got, RESOURCE_EXHAUSTED, "999 at most");
    char key[LANE_KEY + 1] = {0};
    check_code(lane_fetch(rig.lane, &(LaneFetch){.key = {key, sizeof key}, .deadline = NO_DEADLINE}, keep, &got), INVALID_ARGUMENT,
               "4096 at most");
    lane_free(rig.lane);
    GOOD(lane_new(NULL, rig.address, "wrong", &rig.lane));
    fetch(&rig, "10", NO_DEADLINE, NULL, &got);
    end(&got, UNAVAILABLE, "lane");
    static const char stranger[] = "GET / HTTP/1.1\r\nHost: somebody\r\n\r\nand so on and so on";
    Addresses found;
    int fd;
    char byte;
    GOOD(address_resolve(rig.address, true, &found));
    fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&found.p[0].of, found.p[0].n), 0);
    (void)!send(fd, stranger, sizeof stranger, MSG_NOSIGNAL);
    ck_assert_int_le(recv(fd, &byte, 1, 0), 0);
    close(fd);
    close_rig(&rig);
}
END_TEST

// A server that answers as it is told, by hand.
START_TEST(answers_that_are_not_right_end_the_lane) {
    static const struct {
        uint8_t kind;
        uint16_t text;
        uint64_t bytes;
    } bad[] = {{'C', 0, 5}, {'Z', 0, 0}, {'A', 0, 0}, {'F', LANE_KEY + 1, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Lane *lane;
        Got got = {0};
        char address[64], heard[100];
        int listener, port;
        GOOD(address_listen("127.0.0.1:0", &listener, &port));
        snprintf(address, sizeof address, "127.0.0.1:%d", port);
        GOOD(lane_new(NULL, address, NULL, &lane));
        GOOD(lane_fetch(lane, &(LaneFetch){.key = STR("k"), .deadline = NO_DEADLINE}, keep, &got));
        int fd;
        while ((fd = accept(listener, NULL, NULL)) < 0)
            usleep(1000);
        ck_assert_int_ge(recv(fd, heard, sizeof heard, 0), 1);
        uint8_t head[24] = {bad[i].kind};
        memcpy(head + 2, &bad[i].text, 2);
        memcpy(head + 8, &bad[i].bytes, 8);
        (void)!send(fd, head, sizeof head, MSG_NOSIGNAL);
        end(&got, UNAVAILABLE, "the peer");
        lane_free(lane);
        close(fd);
        close(listener);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("lane");
    TCase *lanes = tcase_create("lanes");
    tcase_add_test(lanes, bytes_come_as_they_are);
    tcase_add_test(lanes, several_come_at_once);
    tcase_add_test(lanes, what_is_given_up_frees_its_lane);
    tcase_add_test(lanes, a_lane_that_is_lost_ends_its_fetches_and_is_made_again);
    tcase_add_test(lanes, a_lane_that_is_freed_ends_its_fetches);
    tcase_add_test(lanes, a_secret_limits_and_strangers);
    tcase_add_test(lanes, answers_that_are_not_right_end_the_lane);
    suite_add_tcase(suite, lanes);
    return run_suite(suite);
}
