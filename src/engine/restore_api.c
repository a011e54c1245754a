/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/repo.h"
#include "engine/restore.h"

int cairn_restore(struct cairn_repo *repo, const struct cairn_id *snapshot,
                  const struct cairn_restore_options *given, struct cairn_restore_result *result,
                  struct cairn_error *err)
{
    struct cairn_restore_options options;
    struct cairn_manifest manifest = {0};
    cairn_options_copy(&options, sizeof(options), given, given->size);
    int status = cairn_repo_manifest(repo, snapshot, &manifest, err);
    if (status == CAIRN_OK)
        status = cairn_restore_run(repo->store, &manifest, &options, repo->threads, result, err);
    cairn_manifest_release(&manifest);
    return status;
}
