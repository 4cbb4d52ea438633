// Saver faults test — a save that fails, or is killed, at each of its system calls: no checkpoint is lost, none is a
// mixture of two, and one clear error says what went wrong.
//
// The program has the file functions of the C library under their own names, so that the library's calls pass through
// them: each is counted, and the one that is due fails as it is told, or kills the process. A save is done by a child; its
// parent looks at what is left. MILLRACE_KILLS sets how many saves are killed at random moments, 60 unless said otherwise.
#define _GNU_SOURCE
#include "job/saver_test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/suite_test.h"

typedef enum { FAULT_NONE, FAULT_ERROR, FAULT_SHORT, FAULT_KILL, FAULT_KILL_AFTER } Fault;

static struct {
    Fault fault;
    int error;     // errno of FAULT_ERROR
    long due;      // the call that it strikes; counted from 0
    long n;        // calls so far; -1: they are not counted
    bool writes;   // only calls of write are counted
    bool once;     // later calls succeed again; else they fail, too
} plan = {.n = -1};

// Whether the call fails. With FAULT_KILL it does not return.
static bool strikes(bool is_write) {
    if (plan.n < 0 || (plan.writes && !is_write))
        return false;
    long at = plan.n++;
    bool due = plan.once ? at == plan.due : at >= plan.due;
    if (due && plan.fault == FAULT_KILL)
        kill(getpid(), SIGKILL);
    if (!due || plan.fault != FAULT_ERROR)
        return false;
    errno = plan.error;
    return true;
}

static long after(long result) {
    if (plan.fault == FAULT_KILL_AFTER && plan.n > plan.due)
        kill(getpid(), SIGKILL);
    return result;
}

static int open_at(const char *path, int flags, int mode) {
    return strikes(false) ? -1 : (int)after(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    int mode = va_arg(list, int);
    va_end(list);
    return open_at(path, flags, mode);
}

ssize_t write(int fd, const void *bytes, size_t n) {
    if (strikes(true))
        return -1;
    if (plan.fault == FAULT_SHORT && plan.n > plan.due && n > 1)
        n /= 2;
    return after(syscall(SYS_write, fd, bytes, n));
}

int fsync(int fd) {
    return strikes(false) ? -1 : (int)after(syscall(SYS_fsync, fd));
}

int close(int fd) {
    bool failed = strikes(false);
    int error = errno;
    long result = syscall(SYS_close, fd);  // a file is closed in any case
    errno = error;
    return failed ? -1 : (int)after(result);
}

int rename(const char *from, const char *to) {
    return strikes(false) ? -1 : (int)after(syscall(SYS_rename, from, to));
}

int unlink(const char *path) {
    return strikes(false) ? -1 : (int)after(syscall(SYS_unlink, path));
}

int mkdir(const char *path, mode_t mode) {
    return strikes(false) ? -1 : (int)after(syscall(SYS_mkdir, path, mode));
}

// ---------------------------------------- one save

// In memory where that can be: a kill leaves what was written, synced or not, and there are 10,000 syncs.
static char folder[] = "/dev/shm/saver_faults_XXXXXX";

enum { SAVED = 0, REFUSED = 3, UNCLEAR = 4 };

static Saver *open_saver(int keep) {
    Saver *saver;
    GOOD(saver_new(&(SaverPolicy){.folder = str_of(folder), .keep = keep}, &saver));
    return saver;
}

// Saves `value` as the checkpoint of that step, which decides its name, in a child with the plan; how the child ended, or
// -SIGKILL. `*out_calls`: how many calls there were.
static int save_in_child(int64_t step, int64_t value, Fault fault, int error, long due, bool writes, bool once,
                         long *out_calls) {
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    pid_t child = fork();
    if (!child) {
        Saver *saver = open_saver(2);
        NamedTensor tensors[TOY_TENSORS];
        toy_make(value, tensors);
        plan.fault = fault, plan.error = error, plan.due = due, plan.writes = writes, plan.once = once, plan.n = 0;
        Status *status = saver_save(saver, step, NAN, tensors, TOY_TENSORS);
        long calls = plan.n;
        plan.n = -1, plan.fault = FAULT_NONE;
        if (syscall(SYS_write, fds[1], &calls, sizeof calls) != sizeof calls)
            _exit(9);
        bool clear = !status || (strstr(status_message(status), "saving the checkpoint of step") &&
                                 strstr(status_message(status), folder));
        _exit(!status ? SAVED : clear ? REFUSED : UNCLEAR);
    }
    int how;
    long calls = 0;
    close(fds[1]);
    if (read(fds[0], &calls, sizeof calls) != sizeof calls)
        calls = 0;
    close(fds[0]);
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    if (out_calls)
        *out_calls = calls;
    return WIFSIGNALED(how) ? -WTERMSIG(how) : WEXITSTATUS(how);
}

static int64_t latest_value(Text *skipped) {
    AUTO(text) Text prefix = {0};
    Saver *saver = open_saver(2);
    Status *status = saver_latest(saver, &prefix, skipped);
    int64_t value = status ? -3 : toy_step(text_str(&prefix));
    status_free(status);
    saver_free(saver);
    return value;
}

// A folder with checkpoints of values 1 and 2, of which the second is newest.
static void fresh_folder(void) {
    char command[sizeof folder + 16];
    snprintf(command, sizeof command, "rm -rf %s/*", folder);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(save_in_child(1, 1, FAULT_NONE, 0, 0, false, true, NULL), SAVED);
    ck_assert_int_eq(save_in_child(2, 2, FAULT_NONE, 0, 0, false, true, NULL), SAVED);
}

// A save of value 3 over the checkpoint of step 2, or as one of its own, that meets the fault; then one of 4 that does not.
static void strike(bool over, Fault fault, int error, long due, bool writes, bool once, bool may_succeed) {
    int64_t step = over ? 2 : 3;
    fresh_folder();
    int how = save_in_child(step, 3, fault, error, due, writes, once, NULL);
    AUTO(text) Text skipped = {0};
    int64_t value = latest_value(&skipped);
    bool killed = fault == FAULT_KILL || fault == FAULT_KILL_AFTER;
    ck_assert_msg(how == (killed ? -SIGKILL : REFUSED) || (may_succeed && how == SAVED),
                  "call %ld, fault %d, error %d: the save ended with %d", due, fault, error, how);
    ck_assert_msg(value == 2 || value == 3, "call %ld, fault %d, error %d: value %lld is left", due, fault, error,
                  (long long)value);
    ck_assert_msg(how != SAVED || value == 3, "call %ld: it was said to be saved", due);
    ck_assert_msg(skipped.n == 0, "call %ld, fault %d: %s", due, fault, skipped.p);
    ck_assert_int_eq(save_in_child(step, 4, FAULT_NONE, 0, 0, false, true, NULL), SAVED);
    ck_assert_int_eq(latest_value(&skipped), 4);
    DiskPaths left = {0};
    char pattern[sizeof folder + 32];
    snprintf(pattern, sizeof pattern, "%s/*tempstate*", folder);
    GOOD(disk_match(str_of(pattern), &left));
    ck_assert_uint_eq(left.paths.n, 0);
    disk_paths_clear(&left);
}

static long calls_of_a_save(bool over, bool writes) {
    long calls;
    fresh_folder();
    ck_assert_int_eq(save_in_child(over ? 2 : 3, 3, FAULT_NONE, 0, 0, writes, true, &calls), SAVED);
    return calls;
}

// ---------------------------------------- the tests

// At each call, once and from there on: what opens or makes directories, reads nothing new, or removes the old may fail
// without harm, so a save may succeed.
START_TEST(errors) {
    static const int kinds[] = {EIO, ENOSPC, EINTR, EDQUOT, EACCES};
    for (int over = 0; over < 2; over++) {
        long n = calls_of_a_save(over, false);
        ck_assert_int_gt(n, 20);
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            for (long due = 0; due < n; due++)
                strike(over, FAULT_ERROR, kinds[i], due, false, true, true);
        for (long due = 0; due < n; due++)
            strike(over, FAULT_ERROR, EIO, due, false, false, true);
    }
}
END_TEST

// A write that fails fails the save; one that is interrupted or short is carried on.
START_TEST(writes) {
    for (int over = 0; over < 2; over++) {
        long n = calls_of_a_save(over, true);
        ck_assert_int_ge(n, 4);
        for (long due = 0; due < n; due++) {
            strike(over, FAULT_ERROR, ENOSPC, due, true, false, false);
            strike(over, FAULT_ERROR, EIO, due, true, false, false);
            fresh_folder();
            ck_assert_int_eq(save_in_child(3, 3, FAULT_SHORT, 0, due, true, false, NULL), SAVED);
            ck_assert_int_eq(save_in_child(4, 4, FAULT_ERROR, EINTR, due, true, true, NULL), SAVED);
            AUTO(text) Text skipped = {0};
            ck_assert_int_eq(latest_value(&skipped), 4);
        }
    }
}
END_TEST

START_TEST(kills_at_each_call) {
    for (int over = 0; over < 2; over++) {
        long n = calls_of_a_save(over, false);
        for (long due = 0; due < n; due++) {
            strike(over, FAULT_KILL, 0, due, false, true, false);
            strike(over, FAULT_KILL_AFTER, 0, due, false, true, true);
        }
    }
}
END_TEST

// Saves without end, now under new names, now over old ones.
static void save_for_ever(int64_t value) {
    Saver *saver = open_saver(2);
    for (;; value++) {
        NamedTensor tensors[TOY_TENSORS];
        toy_make(value, tensors);
        Status *status = saver_save(saver, value % 3 ? value : value - 1, NAN, tensors, TOY_TENSORS);
        if (status)
            _exit(REFUSED);
        toy_clear(tensors);
    }
}

START_TEST(kills_at_random_moments) {
    const char *text = getenv("MILLRACE_KILLS");
    int kills = text ? atoi(text) : 60;
    unsigned seed = 1;
    fresh_folder();
    int64_t value = 2;
    for (int i = 0; i < kills; i++) {
        pid_t child = fork();
        if (!child)
            save_for_ever(value + 1);
        usleep(1000 + (unsigned)rand_r(&seed) % 20000);
        int how;
        kill(child, SIGKILL);
        ck_assert_int_eq(waitpid(child, &how, 0), child);
        ck_assert_msg(WIFSIGNALED(how), "a save failed");
        AUTO(text) Text skipped = {0};
        int64_t left = latest_value(&skipped);
        ck_assert_msg(left >= value && skipped.n == 0, "kill %d: value %lld is left, after %lld; %s", i, (long long)left,
                      (long long)value, skipped.p ? skipped.p : "");
        value = left;
    }
    ck_assert_int_gt(value, 2);
}
END_TEST

int main(void) {
    if (!mkdtemp(folder) && !mkdtemp(strcpy(folder, "/tmp/saver_faults_XXXXXX")))
        return 2;
    Suite *suite = suite_create("saver_faults");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, errors);
    tcase_add_test(tests, writes);
    tcase_add_test(tests, kills_at_each_call);
    tcase_add_test(tests, kills_at_random_moments);
    suite_add_tcase(suite, tests);
    int failed = run_suite(suite);
    char command[sizeof folder + 16];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || failed;
}
