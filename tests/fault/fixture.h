/* SPDX-License-Identifier: Apache-2.0
 *
 * fixture.h - a scratch directory with a source tree whose contents are known by their seeds, a
 * repository, and ways to compare a snapshot with what was in the tree when it was made.
 *
 * Everything here ends the program with a message when the test's own world fails; what is under
 * test returns its status.
 */
#ifndef CAIRN_TESTS_FAULT_FIXTURE_H
#define CAIRN_TESTS_FAULT_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#define FIXTURE_FILES_MAX 32

struct fixture_file {
    char name[64]; /* below the source: "d/name" */
    size_t len;
    const uint8_t *bytes; /* kept until fixture_end, also when the file is replaced */
};

struct fixture_block;

struct fixture {
    char dir[256], source[300], repo[300], key[300], state[300];
    struct fixture_file files[FIXTURE_FILES_MAX];
    size_t file_count;
    struct fixture_block *blocks;
};

/* Makes the scratch directory (below $TMPDIR, else /dev/shm, because no disk is needed, else /tmp)
 * with an empty source that has a directory d.
 * end removes it. */
void fixture_begin(struct fixture *fixture, const char *name);
void fixture_end(struct fixture *fixture);

/* Creates or replaces a file of the source by len bytes that follow from seed. Those of an odd seed
 * do not compress. */
void fixture_write(struct fixture *fixture, const char *name, size_t len, uint64_t seed);

/* What the source holds now. */
uint64_t fixture_sum_source(const struct fixture *fixture);

/* The same of a snapshot: equal exactly when it has the same files with the same bytes. A status if
 * anything of it cannot be read. */
int fixture_sum_snapshot(const struct fixture *fixture, struct cairn_repo *repo,
                         const struct cairn_id *id, uint64_t *sum, struct cairn_error *err);

/* Reads every file of a snapshot by itself: one that cannot be read is counted in *failed, and
 * false is returned if one was read wholly and has other bytes, or has a name it should not have.
 */
bool fixture_judge_files(const struct fixture *fixture, struct cairn_repo *repo,
                         const struct cairn_id *id, size_t *failed, size_t *right);

/* Repository of the fixture: with its key file unless aead is CAIRN_AEAD_NONE. syncfs is trusted
 * wherever it lies, so that level filesystem is what it is. */
int fixture_init(const struct fixture *fixture, int aead, unsigned threads, struct cairn_repo **out,
                 struct cairn_error *err);
int fixture_open(const struct fixture *fixture, int aead, unsigned threads, struct cairn_repo **out,
                 struct cairn_error *err);

/* A backup of the source. */
int fixture_backup(const struct fixture *fixture, struct cairn_repo *repo, int level,
                   struct cairn_backup_result *result, struct cairn_error *err);

/* The key in the fixture's key file. */
void fixture_read_key(const struct fixture *fixture, uint8_t out[32]);

/* A shell command that must succeed. */
void fixture_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the program. */
void fixture_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* xorshift; *state is not 0. */
uint64_t fixture_random(uint64_t *state);

/* A number from the environment, or what is given. */
uint64_t fixture_setting(const char *name, uint64_t otherwise);

#endif
