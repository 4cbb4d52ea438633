// Channel test — calls between a channel and a server of this process: replies, errors, ends of every kind. [threads]
#define _GNU_SOURCE
#include <netinet/in.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/suite_test.h"
#include "rpc/address.h"
#include "rpc/echo_test.h"
#include "thread/rest_test.h"

START_TEST(a_call_brings_its_bytes_back) {
    Echo echo;
    echo_open(&echo, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        RpcReply reply;
        GOOD(echo_call(&echo, i == 2 ? "/test.Echo/Later" : "/test.Echo/Echo", "hello", 5, &reply));
        ck_assert_uint_eq(reply.message.n, 5);
        ck_assert_mem_eq(reply.message.bytes, "hello", 5);
        rpc_reply_clear(&reply);
    }
    RpcReply empty;
    GOOD(echo_call(&echo, "/test.Echo/Echo", NULL, 0, &empty));
    ck_assert_uint_eq(empty.message.n, 0);
    rpc_reply_clear(&empty);
    ck_assert_int_eq(rpc_server_connections(echo.server), 1);
    echo_close(&echo);
}
END_TEST

START_TEST(an_error_keeps_its_code_message_and_metadata) {
    Echo echo;
    echo_open(&echo, NULL, NULL);
    RpcReply reply;
    check_code(echo_call(&echo, "/test.Echo/Fail", NULL, 0, &reply), ABORTED, "100% \xc3\xa9\n\t[[{{node a}}]]");
    check_code(echo_call(&echo, "/test.Echo/Nothing", NULL, 0, &reply), UNIMPLEMENTED, "unknown method /test.Echo/Nothing");
    Status *status = echo_call(&echo, "/test.Echo/Fail", NULL, 0, &reply);
    ck_assert_msg(strstr(status_message(status), echo.address) && strstr(status_message(status), "/test.Echo/Fail"), "%s",
                  status_message(status));
    status_free(status);
    echo_close(&echo);
}
END_TEST

typedef struct {
    Notification done;
    RpcReply reply;
} Outcome;

static void keep(void *arg, RpcReply *reply) {
    Outcome *outcome = arg;
    outcome->reply = *reply;
    *reply = (RpcReply){0};
    notification_notify(&outcome->done);
}

static RpcCall *start(Echo *echo, const char *method, int64_t deadline, Cancellation *cancellation, Outcome *outcome) {
    RpcCall *call;
    *outcome = (Outcome){0};
    const RpcCallOptions options = {.method = method, .request = echo_payload("x", 1), .deadline = deadline,
                                    .cancellation = cancellation};
    GOOD(channel_call(echo->channel, &options, keep, outcome, &call));
    return call;
}

static void end(Outcome *outcome, Code code, const char *words) {
    ck_assert(notification_wait(&outcome->done, echo_soon(60000)));
    Status *status = outcome->reply.status;
    outcome->reply.status = OK;
    check_code(status, code, words);
    rpc_reply_clear(&outcome->reply);
}

START_TEST(metadata_goes_both_ways) {
    Echo echo;
    echo_open(&echo, NULL, NULL);
    Metadata metadata = {0};
    Str value;
    ck_assert(metadata_add(&metadata, STR("asked"), STR("what")) && metadata_add(&metadata, STR("asked-bin"), (Str){"\0\377", 2}));
    const RpcCallOptions options = {.method = "/test.Echo/Metadata", .request = echo_payload("", 0), .deadline = NO_DEADLINE,
                                    .metadata = &metadata};
    RpcReply reply;
    GOOD(channel_call_wait(echo.channel, &options, &reply));
    ck_assert(metadata_find(&reply.metadata, STR("heard"), &value) && str_is(value, "what"));
    ck_assert(metadata_find(&reply.metadata, STR("heard-bin"), &value) && str_equal(value, (Str){"\0\377", 2}));
    rpc_reply_clear(&reply);
    metadata_clear(&metadata);
    Outcome failed;
    rpc_call_release(start(&echo, "/test.Echo/Fail", NO_DEADLINE, NULL, &failed));
    ck_assert(notification_wait(&failed.done, echo_soon(60000)));
    ck_assert(metadata_find(&failed.reply.metadata, STR("in-front"), &value) && str_is(value, "1"));
    ck_assert(metadata_find(&failed.reply.metadata, STR("details-bin"), &value) && str_equal(value, (Str){"\0\1\377", 3}));
    rpc_reply_clear(&failed.reply);
    echo_close(&echo);
}
END_TEST

START_TEST(a_deadline_ends_both_sides) {
    Echo echo;
    Outcome outcome;
    echo_open(&echo, NULL, NULL);
    rpc_call_release(start(&echo, "/test.Echo/Hold", echo_soon(30), NULL, &outcome));
    end(&outcome, DEADLINE_EXCEEDED, "/test.Echo/Hold");
    echo_wait_cancelled(&echo, 1);
    RpcReply reply;  // the connection lives on
    GOOD(echo_call(&echo, "/test.Echo/Echo", "x", 1, &reply));
    rpc_reply_clear(&reply);
    rpc_call_release(start(&echo, "/test.Echo/Echo", clock_now() - 1, NULL, &outcome));
    end(&outcome, DEADLINE_EXCEEDED, "deadline");
    echo_close(&echo);
}
END_TEST

START_TEST(a_cancellation_reaches_the_handler) {
    Echo echo;
    Outcome outcome;
    Cancellation cancellation;
    cancellation_init(&cancellation, NULL);
    echo_open(&echo, NULL, NULL);
    RpcCall *call = start(&echo, "/test.Echo/Hold", NO_DEADLINE, NULL, &outcome);
    echo_wait_held(&echo, 1);
    rpc_call_cancel(call, status_new(ABORTED, "x", 1, "no more"));
    rpc_call_cancel(call, NULL);
    end(&outcome, ABORTED, "no more");
    rpc_call_release(call);
    echo_wait_cancelled(&echo, 1);

    rpc_call_release(start(&echo, "/test.Echo/Hold", NO_DEADLINE, &cancellation, &outcome));
    echo_wait_held(&echo, 2);
    cancellation_cancel(&cancellation, NULL);
    end(&outcome, CANCELLED, "cancelled");
    echo_wait_cancelled(&echo, 2);
    rpc_call_release(start(&echo, "/test.Echo/Hold", NO_DEADLINE, &cancellation, &outcome));  // before it begins
    end(&outcome, CANCELLED, "cancelled");
    echo_close(&echo);
    cancellation_clear(&cancellation);
}
END_TEST

START_TEST(a_server_that_stops_ends_its_calls) {
    Echo echo;
    Outcome outcome;
    echo_open(&echo, NULL, NULL);
    rpc_call_release(start(&echo, "/test.Echo/Hold", NO_DEADLINE, NULL, &outcome));
    echo_wait_held(&echo, 1);
    rpc_server_stop(echo.server);
    end(&outcome, UNAVAILABLE, "/test.Echo/Hold");
    echo_wait_cancelled(&echo, 1);
    rpc_call_release(start(&echo, "/test.Echo/Echo", NO_DEADLINE, NULL, &outcome));
    end(&outcome, UNAVAILABLE, "refused");
    echo_close(&echo);
}
END_TEST

START_TEST(draining_lets_calls_end) {
    Echo echo;
    Outcome outcome;
    echo_open(&echo, NULL, NULL);
    rpc_call_release(start(&echo, "/test.Echo/Hold", NO_DEADLINE, NULL, &outcome));
    echo_wait_held(&echo, 1);
    check_code(rpc_server_drain(echo.server, echo_soon(20)), DEADLINE_EXCEEDED, "1 clients");
    Outcome refused;
    rpc_call_release(start(&echo, "/test.Echo/Echo", NO_DEADLINE, NULL, &refused));
    end(&refused, UNAVAILABLE, "refused");  // nobody listens any more
    mutex_lock(&echo.lock);
    RpcRequest *request = echo.held[--echo.n_held];
    mutex_unlock(&echo.lock);
    cancellation_unwatch(rpc_request_cancellation(request), &echo.watches[0]);
    rpc_request_answer(request, OK, NULL);
    end(&outcome, CODE_OK, "");
    GOOD(rpc_server_drain(echo.server, echo_soon(60000)));
    ck_assert_int_eq(atomic_load(&echo.cancelled), 0);
    echo_close(&echo);
}
END_TEST

START_TEST(a_server_that_is_not_there_is_waited_for) {
    Echo echo;
    echo_open(&echo, NULL, NULL);
    rpc_server_stop(echo.server);
    Outcome outcome;
    const RpcCallOptions options = {.method = "/test.Echo/Echo", .request = echo_payload("x", 1), .deadline = NO_DEADLINE,
                                    .wait_for_ready = true};
    outcome = (Outcome){0};
    GOOD(channel_call(echo.channel, &options, keep, &outcome, NULL));
    ck_assert(!notification_wait(&outcome.done, echo_soon(100)));
    RpcServer *again;
    int port;
    GOOD(rpc_server_new(NULL, &again));
    GOOD(rpc_server_add(again, "/test.Echo/Echo", echo_echo, NULL));
    GOOD(rpc_server_listen(again, echo.address, &port));
    end(&outcome, CODE_OK, "");
    rpc_server_free(again);
    echo_close(&echo);
}
END_TEST

START_TEST(a_channel_that_is_freed_ends_its_calls) {
    Echo echo;
    Outcome held, waiting;
    echo_open(&echo, NULL, NULL);
    rpc_call_release(start(&echo, "/test.Echo/Hold", NO_DEADLINE, NULL, &held));
    echo_wait_held(&echo, 1);
    channel_free(echo.channel);
    end(&held, CANCELLED, "freed");
    echo_wait_cancelled(&echo, 1);
    GOOD(channel_new("127.0.0.1:1", NULL, &echo.channel));
    const RpcCallOptions options = {.method = "/x", .request = echo_payload("x", 1), .deadline = NO_DEADLINE,
                                    .wait_for_ready = true};
    waiting = (Outcome){0};
    GOOD(channel_call(echo.channel, &options, keep, &waiting, NULL));
    channel_free(echo.channel);
    end(&waiting, CANCELLED, "freed");
    GOOD(channel_new("localhost:1", NULL, &echo.channel));
    echo_close(&echo);
}
END_TEST

START_TEST(a_hundred_megabytes_go_both_ways) {
    enum { BYTES = 100 << 20, PIECES = 7 };
    Echo echo;
    RpcReply reply;
    echo_open(&echo, NULL, NULL);
    uint8_t *bytes = malloc(BYTES);
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 24);
    Payload *payload;
    GOOD(payload_new(&payload));
    for (size_t i = 0; i < PIECES; i++) {
        size_t first = i * (BYTES / PIECES), last = i + 1 < PIECES ? first + BYTES / PIECES : BYTES;
        GOOD(payload_add(payload, (Piece){bytes + first, last - first, NULL, NULL}));
    }
    const RpcCallOptions options = {.method = "/test.Echo/Echo", .request = payload, .deadline = echo_soon(200000)};
    GOOD(channel_call_wait(echo.channel, &options, &reply));
    ck_assert_uint_eq(reply.message.n, BYTES);
    ck_assert(!memcmp(reply.message.bytes, bytes, BYTES));
    rpc_reply_clear(&reply);
    free(bytes);
    echo_close(&echo);
}
END_TEST

typedef struct {
    _Atomic int left, wrong;
    Notification all;
} Tally;

static void tally(void *arg, RpcReply *reply) {
    Tally *tally = arg;
    if (reply->status)
        atomic_fetch_add(&tally->wrong, 1);
    if (atomic_fetch_sub(&tally->left, 1) == 1)
        notification_notify(&tally->all);
}

START_TEST(a_thousand_calls_run_at_once) {
    Echo echo;
    Tally calls = {.left = 1000};
    echo_open(&echo, NULL, NULL);
    for (int i = 0; i < 1000; i++) {
        const RpcCallOptions options = {.method = "/test.Echo/Hold", .request = echo_payload("x", 1), .deadline = echo_soon(60000)};
        GOOD(channel_call(echo.channel, &options, tally, &calls, NULL));
    }
    echo_wait_held(&echo, 1000);
    ck_assert_int_eq(rpc_server_connections(echo.server), 1);
    echo_answer_held(&echo);
    ck_assert(notification_wait(&calls.all, echo_soon(60000)));
    ck_assert_int_eq(calls.wrong, 0);
    echo_close(&echo);
}
END_TEST

typedef struct {
    int asked, freed;
    size_t n;
} Ledger;

static void *ledger_alloc(void *arg, size_t n) {
    Ledger *ledger = arg;
    ledger->asked++;
    ledger->n = n;
    return malloc(n);
}

static void ledger_free(void *arg, void *bytes) {
    Ledger *ledger = arg;
    ledger->freed++;
    free(bytes);
}

START_TEST(a_reply_goes_into_the_callers_memory) {
    Echo echo;
    RpcReply reply;
    Ledger ledger = {0};
    const PayloadMemory memory = {ledger_alloc, ledger_free, &ledger};
    echo_open(&echo, NULL, NULL);
    const uint64_t n = 3000001;
    const RpcCallOptions options = {.method = "/test.Echo/Size", .request = echo_payload(&n, sizeof n), .deadline = NO_DEADLINE,
                                    .memory = &memory};
    GOOD(channel_call_wait(echo.channel, &options, &reply));
    ck_assert_int_eq(ledger.asked, 1);
    ck_assert_uint_eq(ledger.n, n);
    rpc_reply_clear(&reply);
    ck_assert_int_eq(ledger.freed, 1);
    echo_close(&echo);
}
END_TEST

START_TEST(limits_of_messages_are_errors_of_calls) {
    Echo echo;
    RpcReply reply;
    RpcLimits server = rpc_limits_of_server(), client = rpc_limits_of_client();
    server.message_bytes = 1000;
    client.message_bytes = 2000;
    char bytes[1001] = {0};
    echo_open(&echo, &(RpcServerOptions){.limits = &server}, &(ChannelOptions){.limits = &client});
    GOOD(echo_call(&echo, "/test.Echo/Echo", bytes, 1000, &reply));
    rpc_reply_clear(&reply);
    check_code(echo_call(&echo, "/test.Echo/Echo", bytes, 1001, &reply), RESOURCE_EXHAUSTED, "1000 at most");
    uint64_t n = 2001;
    check_code(echo_call(&echo, "/test.Echo/Size", &n, sizeof n, &reply), RESOURCE_EXHAUSTED, "2000 at most");
    n = 2000;
    GOOD(echo_call(&echo, "/test.Echo/Size", &n, sizeof n, &reply));
    rpc_reply_clear(&reply);
    ck_assert_int_eq(rpc_server_connections(echo.server), 1);
    echo_close(&echo);
}
END_TEST

START_TEST(what_a_connection_holds_is_bounded) {
    Echo echo;
    RpcReply reply;
    RpcLimits limits = rpc_limits_of_server();
    limits.held_bytes = 100000;
    echo_open(&echo, &(RpcServerOptions){.limits = &limits}, NULL);
    uint64_t n = 100001;
    check_code(echo_call(&echo, "/test.Echo/Size", &n, sizeof n, &reply), RESOURCE_EXHAUSTED, "100000");
    for (int i = 0; i < 20; i++) {  // what has gone is let go of
        n = 60000;
        GOOD(echo_call(&echo, "/test.Echo/Size", &n, sizeof n, &reply));
        rpc_reply_clear(&reply);
    }
    echo_close(&echo);
}
END_TEST

START_TEST(the_secret_is_asked_for_but_by_health) {
    Echo echo;
    RpcReply reply;
    echo_open(&echo, &(RpcServerOptions){.secret = "open sesame"}, &(ChannelOptions){.secret = "open sesame"});
    GOOD(echo_call(&echo, "/test.Echo/Echo", "x", 1, &reply));
    rpc_reply_clear(&reply);
    channel_free(echo.channel);
    GOOD(channel_new(echo.address, &(ChannelOptions){.secret = "open sesamE"}, &echo.channel));
    check_code(echo_call(&echo, "/test.Echo/Echo", "x", 1, &reply), UNAUTHENTICATED, "secret");
    check_code(echo_call(&echo, "/test.Echo/Nothing", "x", 1, &reply), UNAUTHENTICATED, "secret");
    channel_free(echo.channel);
    GOOD(channel_new(echo.address, NULL, &echo.channel));
    check_code(echo_call(&echo, "/test.Echo/Echo", "x", 1, &reply), UNAUTHENTICATED, "secret");
    GOOD(echo_call(&echo, "/grpc.health.v1.Health/Check", NULL, 0, &reply));
    ck_assert_mem_eq(reply.message.bytes, "\10\1", 2);
    rpc_reply_clear(&reply);
    echo_close(&echo);
}
END_TEST

START_TEST(health_tells_of_services) {
    Echo echo;
    RpcReply reply;
    echo_open(&echo, NULL, NULL);
    GOOD(echo_call(&echo, "/grpc.health.v1.Health/Check", "\n\11test.Echo", 11, &reply));
    ck_assert_uint_eq(reply.message.n, 2);
    ck_assert_mem_eq(reply.message.bytes, "\10\1", 2);
    rpc_reply_clear(&reply);
    check_code(echo_call(&echo, "/grpc.health.v1.Health/Check", "\n\11test.Ecco", 11, &reply), NOT_FOUND, "test.Ecco");
    check_code(echo_call(&echo, "/grpc.health.v1.Health/Check", "\n\11test", 6, &reply), INVALID_ARGUMENT, "HealthCheck");
    GOOD(echo_call(&echo, "/grpc.health.v1.Health/List", NULL, 0, &reply));
    const char own[] = "\n\17\n\11test.Echo\22\2\10\1";
    ck_assert(memmem(reply.message.bytes, reply.message.n, own, sizeof own - 1) != NULL);
    rpc_reply_clear(&reply);
    check_code(echo_call(&echo, "/grpc.health.v1.Health/Watch", NULL, 0, &reply), UNIMPLEMENTED, "");
    echo_close(&echo);
}
END_TEST

START_TEST(it_works_over_a_local_socket) {
    Echo echo;
    RpcReply reply;
    int port;
    char address[64];
    echo_open(&echo, NULL, NULL);
    channel_free(echo.channel);
    snprintf(address, sizeof address, "unix:/tmp/millrace-rpc-test-%d", (int)getpid());
    GOOD(rpc_server_listen(echo.server, address, &port));
    GOOD(channel_new(address, NULL, &echo.channel));
    GOOD(echo_call(&echo, "/test.Echo/Echo", "x", 1, &reply));
    rpc_reply_clear(&reply);
    echo_close(&echo);
    unlink(address + 5);
}
END_TEST

START_TEST(addresses_that_are_none_are_refused) {
    Channel *channel;
    RpcServer *server;
    int port;
    static const char *const bad[] = {"", "host", "host:", "host:x", "host:65536", "host:-1", "a:b:1", "unix:"};
    GOOD(rpc_server_new(NULL, &server));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_code(channel_new(bad[i], NULL, &channel), INVALID_ARGUMENT, "is");
        check_code(rpc_server_listen(server, bad[i], &port), INVALID_ARGUMENT, "is");
    }
    check_code(rpc_server_add(server, "x", echo_echo, NULL), INVALID_ARGUMENT, "method");
    GOOD(rpc_server_add(server, "/x/y", echo_echo, NULL));
    check_code(rpc_server_add(server, "/x/y", echo_echo, NULL), ALREADY_EXISTS, "/x/y");
    rpc_server_free(server);
}
END_TEST

// A certificate of its own making, for 127.0.0.1; false where the command openssl is not there.
static bool make_certificate(const char *folder, char chain[96], char key[96]) {
    char command[512];
    snprintf(chain, 96, "%s/chain.pem", folder);
    snprintf(key, 96, "%s/key.pem", folder);
    snprintf(command, sizeof command,
             "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout %s -out %s -days 2 "
             "-subj /CN=test -addext subjectAltName=IP:127.0.0.1 2>/dev/null", key, chain);
    return system(command) == 0;
}

START_TEST(calls_are_encrypted_where_asked) {
    char folder[] = "/tmp/millrace-tls-XXXXXX", chain[96], key[96];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    Echo echo;
    RpcReply reply;
    RpcServer *probe;
    bool made = make_certificate(folder, chain, key);
    const TlsFiles server = {.chain = chain, .key = key}, client = {.roots = chain}, other = {.roots = chain, .name = "elsewhere"};
    Status *status = made ? rpc_server_new(&(RpcServerOptions){.tls = &server}, &probe) : OK;
    if (!made || status_code(status) == UNIMPLEMENTED) {
        printf("not run: TLS needs OpenSSL 3, and the test its command: %s\n", status_message(status));
        status_free(status);
        rmdir(folder);
        return;
    }
    GOOD(status);
    rpc_server_free(probe);
    echo_open(&echo, &(RpcServerOptions){.tls = &server}, &(ChannelOptions){.tls = &client});
    GOOD(echo_call(&echo, "/test.Echo/Echo", "hello", 5, &reply));
    ck_assert_mem_eq(reply.message.bytes, "hello", 5);
    rpc_reply_clear(&reply);
    size_t n = 5000000;
    uint8_t *bytes = malloc(n);
    memset(bytes, 7, n);
    GOOD(echo_call(&echo, "/test.Echo/Echo", bytes, n, &reply));
    ck_assert(reply.message.n == n && !memcmp(reply.message.bytes, bytes, n));
    rpc_reply_clear(&reply);
    free(bytes);
    channel_free(echo.channel);
    GOOD(channel_new(echo.address, &(ChannelOptions){.tls = &other}, &echo.channel));
    check_code(echo_call(&echo, "/test.Echo/Echo", "x", 1, &reply), UNAVAILABLE, "certificate");
    channel_free(echo.channel);
    GOOD(channel_new(echo.address, NULL, &echo.channel));
    check_code(echo_call(&echo, "/test.Echo/Echo", "x", 1, &reply), UNAVAILABLE, "/test.Echo/Echo");
    echo_close(&echo);
    check_code(rpc_server_new(&(RpcServerOptions){.tls = &client}, &probe), INVALID_ARGUMENT, "certificate");
    check_code(rpc_server_new(&(RpcServerOptions){.tls = &(TlsFiles){.chain = "/no/such"}}, &probe), INVALID_ARGUMENT, "/no/such");
    unlink(chain);
    unlink(key);
    rmdir(folder);
}
END_TEST

static int in_child(Echo *echo) {
    RpcReply reply;
    Status *status = echo_call(echo, "/test.Echo/Echo", "x", 1, &reply);  // a channel of the parent's
    bool refused = status_code(status) == FAILED_PRECONDITION;
    status_free(status);
    channel_free(echo->channel);
    if (!refused || (status = channel_new(echo->address, NULL, &echo->channel)))
        return 1;
    status = echo_call(echo, "/test.Echo/Echo", "x", 1, &reply);  // the parent still serves
    return status ? 2 : 0;
}

START_TEST(a_forked_child_makes_channels_of_its_own) {
    Echo echo;
    RpcReply reply;
    int code;
    echo_open(&echo, NULL, NULL);
    GOOD(echo_call(&echo, "/test.Echo/Echo", "x", 1, &reply));
    rpc_reply_clear(&reply);
    wait_for_rest();
    pid_t child = fork();
    if (!child)
        _exit(in_child(&echo));
    ck_assert_int_eq(waitpid(child, &code, 0), child);
    ck_assert(WIFEXITED(code));
    ck_assert_int_eq(WEXITSTATUS(code), 0);
    GOOD(echo_call(&echo, "/test.Echo/Echo", "x", 1, &reply));
    rpc_reply_clear(&reply);
    echo_close(&echo);
}
END_TEST

// TCP connects a socket with itself where it dials its own port: that is nobody's answer.
START_TEST(nobody_is_not_oneself) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, n), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &n), 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, n), 0);
    check_code(address_connected(fd), UNAVAILABLE, "Connection refused");
    close(fd);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("channel");
    TCase *calls = tcase_create("calls");
    tcase_add_test(calls, a_call_brings_its_bytes_back);
    tcase_add_test(calls, an_error_keeps_its_code_message_and_metadata);
    tcase_add_test(calls, metadata_goes_both_ways);
    tcase_add_test(calls, a_deadline_ends_both_sides);
    tcase_add_test(calls, a_cancellation_reaches_the_handler);
    tcase_add_test(calls, a_server_that_stops_ends_its_calls);
    tcase_add_test(calls, draining_lets_calls_end);
    tcase_add_test(calls, a_server_that_is_not_there_is_waited_for);
    tcase_add_test(calls, a_channel_that_is_freed_ends_its_calls);
    tcase_add_test(calls, a_hundred_megabytes_go_both_ways);
    tcase_add_test(calls, a_thousand_calls_run_at_once);
    tcase_add_test(calls, a_reply_goes_into_the_callers_memory);
    tcase_add_test(calls, limits_of_messages_are_errors_of_calls);
    tcase_add_test(calls, what_a_connection_holds_is_bounded);
    tcase_add_test(calls, the_secret_is_asked_for_but_by_health);
    tcase_add_test(calls, health_tells_of_services);
    tcase_add_test(calls, it_works_over_a_local_socket);
    tcase_add_test(calls, nobody_is_not_oneself);
    tcase_add_test(calls, addresses_that_are_none_are_refused);
    tcase_add_test(calls, calls_are_encrypted_where_asked);
    tcase_add_test(calls, a_forked_child_makes_channels_of_its_own);
    suite_add_tcase(suite, calls);
    return run_suite(suite);
}
