/* SPDX-License-Identifier: Apache-2.0
 *
 * repository.h - a repository in memory with a session, for tests of what is stored in metadata.
 */
#ifndef CAIRN_TESTS_UNIT_SNAPSHOT_REPOSITORY_H
#define CAIRN_TESTS_UNIT_SNAPSHOT_REPOSITORY_H

#include "../store/test.h"

#include "store/store.h"

struct repository {
    struct cairn_store *store;
    struct cairn_session *session;
    struct cairn_lane *lane; /* for metadata */
    struct cairn_fetcher *fetcher;
};

/* Makes a repository and begins a session; the test fails if that fails. */
void repository_begin(struct repository *r);

/* Commits the session and begins to read. */
void repository_commit(struct repository *r);

/* Ends everything. */
void repository_end(struct repository *r);

/* Stores a metadata chunk and returns its id. */
struct cairn_id repository_put(struct repository *r, const void *bytes, size_t len);

/* How many metadata bytes were new to the repository so far. */
uint64_t repository_new_bytes(struct repository *r);

#endif
