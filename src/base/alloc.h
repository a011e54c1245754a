/* SPDX-License-Identifier: Apache-2.0
 *
 * alloc.h - allocation at one seam, so that tests can make any of it fail.
 */
#ifndef CAIRN_BASE_ALLOC_H
#define CAIRN_BASE_ALLOC_H

#include <stddef.h>

/* malloc of count * size bytes, overflow checked. NULL when memory runs out. Free with cairn_free.
 */
void *cairn_alloc(size_t count, size_t size) __attribute__((malloc));

/* As cairn_alloc, zeroed. */
void *cairn_alloc_zero(size_t count, size_t size) __attribute__((malloc));

/* Grows or shrinks to count * size bytes; NULL leaves the old block as it was. */
void *cairn_realloc(void *block, size_t count, size_t size);

/* size bytes aligned to align (a power of two, at least sizeof(void *)). Free with cairn_free. */
void *cairn_alloc_aligned(size_t align, size_t size) __attribute__((malloc));

/* A NUL-terminated copy of len bytes. NULL when memory runs out. */
char *cairn_strndup(const char *bytes, size_t len);

/* A copy of a string; NULL gives NULL. */
char *cairn_strdup(const char *string);

/* Frees; NULL is allowed. errno is preserved. */
void cairn_free(void *block);

/* Overwrites len bytes with zeros; the compiler does not remove it. */
void cairn_wipe(void *block, size_t len);

/* For tests: after `skip` more allocations one (or, if forever, every further one) fails.
 * A negative skip turns it off. Not for use while other threads allocate. */
void cairn_alloc_fail_after(long skip, int forever);

#endif
