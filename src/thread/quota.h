// Quota — how many processors the control groups of this process pay for: containers are often given less time than
// they see processors.
#pragma once

// Read below `root` ("" for the system itself): `cpu.max` of version 2, `cpu.cfs_quota_us` of version 1, the least of
// this process's group and all above it, rounded up. 0: there is no quota.
int quota_processors(const char *root);
