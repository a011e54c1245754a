/* SPDX-License-Identifier: Apache-2.0
 *
 * helpers.h - what the tests of the backends share. Everything here ends the test that calls it
 * when it fails, so it is for the test's own thread.
 */
#ifndef CAIRN_TESTS_BACKEND_HELPERS_H
#define CAIRN_TESTS_BACKEND_HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/backend.h"

#define BLOCK 4096

/* A new directory below base ("": the directory for temporary files); free with helper_remove. */
char *helper_dir(const char *base);

/* Removes the directory with all in it and frees the path. */
void helper_remove(char *path);

/* Joins two parts of a path in one of a few static buffers. */
const char *helper_path(const char *dir, const char *name);

/* How many descriptors this process has open. */
int helper_open_files(void);

/* len bytes aligned to BLOCK that follow from seed; free with cairn_free. */
uint8_t *helper_bytes(unsigned seed, size_t len);

/* Uploads helper_bytes(seed, len) in pieces of piece bytes. Returns the first failure; the upload
 * is freed in any case. */
int helper_upload(struct cairn_backend *backend, int level, const char *name, unsigned seed,
                  size_t len, size_t piece, struct cairn_error *err);

/* 1: the object has exactly these contents; 0: there is none; anything else ends the test. */
int helper_holds(struct cairn_backend *backend, const char *name, unsigned seed, size_t len);

/* How many objects begin with prefix. */
size_t helper_count(struct cairn_backend *backend, const char *prefix);

/* How many entries the directory has, without "." and "..". */
size_t helper_entries(const char *dir);

/* Puts a log entry and takes it away again: what was uploaded counts as committed. */
void helper_commit(struct cairn_backend *backend);

/* Fails with the error's text unless status is CAIRN_OK. */
#define assert_ok(call) helper_assert_ok((call), &error, #call, __FILE__, __LINE__)
void helper_assert_ok(int status, const struct cairn_error *err, const char *call, const char *file,
                      int line);

#endif
