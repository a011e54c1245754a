/* SPDX-License-Identifier: Apache-2.0
 *
 * fault.h - a backend that hands every call to another one and fails where a test wants it to.
 */
#ifndef CAIRN_BACKEND_FAULT_H
#define CAIRN_BACKEND_FAULT_H

#include "backend/backend.h"

/* Asked around each call. op is the operation's name as in struct cairn_backend_ops ("put",
 * "upload_submit"; never "close", "free_space" or "upload_abort"), or that with ":after" behind it
 * once it has succeeded; name is the object's name, or "". CAIRN_OK lets the call go on; another
 * status is returned instead: before, nothing has happened; after, everything has (an ambiguous
 * answer). A failed upload_finish has freed the upload in either case. Any thread. */
typedef int (*cairn_fault_fn)(void *ctx, const char *op, const char *name);

/* Wraps inner, which stays the caller's and must outlive the new backend. NO_MEMORY. */
int cairn_fault_backend_new(struct cairn_backend *inner, cairn_fault_fn fn, void *ctx,
                            struct cairn_backend **out, struct cairn_error *err);

#endif
