/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec ts = {0, 0};
    (void)clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t cairn_clock_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

uint64_t cairn_clock_monotonic_ns(void)
{
    return (uint64_t)read_clock(CLOCK_MONOTONIC);
}

uint64_t cairn_clock_thread_cpu_ns(void)
{
    return (uint64_t)read_clock(CLOCK_THREAD_CPUTIME_ID);
}
