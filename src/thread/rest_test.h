// Rest test — for tests that fork: waiting until every other thread of the process sleeps.
#pragma once
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

static inline int threads_awake(void) {
    int awake = 0;
    DIR *tasks = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(tasks);
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[64], state = 'R';
        snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", task->d_name);
        FILE *file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (!file)
            continue;
        awake += fscanf(file, "%*d (%*[^)]) %c", &state) != 1 || state != 'S';
        fclose(file);
    }
    closedir(tasks);
    return awake;
}

// gcc 12's address sanitizer holds a lock of its own while a thread starts or ends. A child that is forked then
// inherits it locked and hangs in its first pthread_create: so does, within 30 forks, a program of 20 lines that has
// nothing of ours.
static inline void wait_for_rest(void) {
    while (threads_awake() > 1)
        usleep(1000);
}
