/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_ENGINE_CHECK_INTERNAL_H
#define CAIRN_ENGINE_CHECK_INTERNAL_H

#include <cairn/cairn.h>

#include "engine/repo.h"

/* One run of check. */
struct cairn_check {
    struct cairn_repo *repo;
    const struct cairn_check_options *options;
    struct cairn_check_result *result;
    uint64_t packs_total, bytes_total;
    uint64_t last_event;
};

/* Counts and reports one damage. path may be NULL. */
void cairn_check_problem(struct cairn_check *check, const char *path, const char *message);

/* Whether a status says that the repository is damaged (and not that this run failed). */
bool cairn_check_is_damage(int status);

void cairn_check_progress(struct cairn_check *check);

/* Each live segment: there, named by its bytes, well formed. */
int cairn_check_segments(struct cairn_check *check, struct cairn_error *err);

/* Each listed pack: there, of the right length; with read_data its every byte. Counts orphans. */
int cairn_check_packs(struct cairn_check *check, struct cairn_error *err);

/* Each snapshot: every directory, list and chunk that it refers to can be found. */
int cairn_check_snapshots(struct cairn_check *check, struct cairn_error *err);

#endif
