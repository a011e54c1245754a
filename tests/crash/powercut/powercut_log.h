/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log that blocklog writes and replay reads: two files in one directory.
 *
 *   ops.bin   an array of struct pc_record in the byte order of the machine, in the order in which
 *             the requests were completed (blocklog has one thread, so this is a total order)
 *   data.bin  the bytes of WRITE records and the names of MARK records, at data_pos
 */
#ifndef POWERCUT_LOG_H
#define POWERCUT_LOG_H

#include <assert.h>
#include <stdint.h>

#define PC_MAGIC 0x70634c31u
#define PC_MARK_MAX_BYTES 255u

enum pc_type {
    PC_WRITE = 'W', /* length bytes at offset of the image, taken from data.bin */
    PC_ZERO = 'Z',  /* discard or write-zeroes: the range reads as zeros afterwards */
    PC_FLUSH = 'F', /* FSYNC: everything above is durable */
    PC_MARK = 'M',  /* the workload said that something is done; length is the name's */
};

struct pc_record {
    uint32_t magic;
    uint32_t type;
    uint64_t seq; /* number of this record, from 0 */
    uint64_t offset;
    uint64_t length;
    uint64_t data_pos;
    uint64_t time_ns; /* CLOCK_MONOTONIC, for people only */
};

static_assert(sizeof(struct pc_record) == 48, "records are read back as an array");

#endif
