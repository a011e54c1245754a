/* SPDX-License-Identifier: Apache-2.0
 *
 * clock.h - wall time for records, monotonic time for intervals.
 */
#ifndef CAIRN_BASE_CLOCK_H
#define CAIRN_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since 1970, UTC. Never the basis of a decision that removes data. */
int64_t cairn_clock_wall_ns(void);

/* Nanoseconds since some fixed point, never going back. */
uint64_t cairn_clock_monotonic_ns(void);

/* Processor time of the calling thread in nanoseconds. */
uint64_t cairn_clock_thread_cpu_ns(void);

#endif
