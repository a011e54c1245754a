/* SPDX-License-Identifier: Apache-2.0
 *
 * random.h - unpredictable bytes from the kernel.
 */
#ifndef CAIRN_BASE_RANDOM_H
#define CAIRN_BASE_RANDOM_H

#include <stddef.h>

#include <cairn/cairn.h>

/* Fills out with len unpredictable bytes. CAIRN_IO: the kernel gave none. Any thread. */
int cairn_random_bytes(void *out, size_t len, struct cairn_error *err);

#endif
