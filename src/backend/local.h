/* SPDX-License-Identifier: Apache-2.0
 *
 * local.h - a repository in a directory of a local or mounted file system (docs/design/backend.md).
 */
#ifndef CAIRN_BACKEND_LOCAL_H
#define CAIRN_BACKEND_LOCAL_H

#include "backend/backend.h"

/* Makes the directories of a repository in path, which is absent (its parent exists) or empty, and
 * opens it for reading and writing. There is no "config" yet. EXISTS: the directory is not empty,
 * or is no directory; NO_SPACE; IO. Durable when it returns. */
int cairn_local_backend_create(const char *path, struct cairn_backend **out,
                               struct cairn_error *err);

/* Opens the repository in path. read_only: every call that would write is MISUSE, and nothing below
 * path is changed. NO_REPOSITORY: no such directory, or it holds no "config"; IO. A writing handle
 * makes its directory below tmp/ at the first put or upload. */
int cairn_local_backend_open(const char *path, bool read_only, struct cairn_backend **out,
                             struct cairn_error *err);

/* For tests: takes the file system for one whose syncfs can be trusted, or not, whatever it is.
 * Before the first put or upload. */
void cairn_local_backend_trust_syncfs(struct cairn_backend *backend, bool trust);

#endif
