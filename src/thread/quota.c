// Quota — see quota.h: the processors that a control group pays for (cgroup v1 and v2), rounded up.
//
// Threads beyond that are stopped by the kernel for the rest of each period. Where a container sees its own part of the
// tree only, the path that /proc tells may lead nowhere: then the groups that are there count.
#include "thread/quota.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_ROOM = 4096, LINE_ROOM = 1024 };

static bool read_line(const char *path, char line[LINE_ROOM]) {
    FILE *file = fopen(path, "re");
    bool good = file && fgets(line, LINE_ROOM, file);
    if (file)
        fclose(file);
    return good;
}

// The quota and the period of one group; false: none, or not such a group.
static bool read_group(const char *folder, double *quota, double *period) {
    char path[PATH_ROOM + 64], line[LINE_ROOM];
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (read_line(path, line))
        return sscanf(line, "%lf %lf", quota, period) == 2;   // "max 100000": none
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_line(path, line) || sscanf(line, "%lf", quota) != 1)
        return false;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    return read_line(path, line) && sscanf(line, "%lf", period) == 1;
}

// The least quota of `group` and those above it, below `mount`.
static double least(const char *mount, const char *group, double before) {
    char folder[PATH_ROOM];
    size_t top = strlen(mount);
    if (top + strlen(group) >= sizeof folder)
        return before;
    snprintf(folder, sizeof folder, "%s%s", mount, group);
    for (;;) {
        double quota, period;
        if (read_group(folder, &quota, &period) && quota > 0 && period > 0 && (before <= 0 || quota / period < before))
            before = quota / period;
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= top || !slash)
            return before;
        *slash = 0;
    }
}

static bool names_cpu(const char *controllers) {
    for (const char *p = controllers; (p = strstr(p, "cpu")); p += 3)
        if ((p == controllers || p[-1] == ',') && (!p[3] || p[3] == ','))
            return true;
    return false;
}

int quota_processors(const char *root) {
    static const char *const mounts[2][3] = {{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", NULL},
                                             {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", NULL}};
    char path[PATH_ROOM], line[LINE_ROOM];
    double processors = 0;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    // "0::/group" is version 2, "4:cpu,cpuacct:/group" version 1.
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0, controllers++;
        bool second = !*controllers;
        if (!second && !names_cpu(controllers))
            continue;
        for (int i = 0; mounts[!second][i]; i++) {
            snprintf(path, sizeof path, "%s%s", root, mounts[!second][i]);
            processors = least(path, strcmp(group, "/") ? group : "", processors);
        }
    }
    if (file)
        fclose(file);
    int whole = processors < 1e6 ? (int)processors : 0;
    return whole + (processors < 1e6 && whole < processors);
}
