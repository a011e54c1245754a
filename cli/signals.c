/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* Signal handlers have no other way to reach the repository. */
static _Atomic(struct cairn_repo *) watched;
static atomic_int caught;
static atomic_int handlers; /* that run right now, on whichever thread */

static void handle(int number)
{
    int none = 0;
    if (!atomic_compare_exchange_strong(&caught, &none, number))
        _exit(CLI_EXIT_SIGNAL + number);
    atomic_fetch_add(&handlers, 1);
    struct cairn_repo *repo = atomic_load(&watched);
    if (repo)
        cairn_cancel(repo);
    atomic_fetch_sub(&handlers, 1);
}

void cli_signals_init(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    const int numbers[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction old;
        /* Who started us may have chosen that we ignore it (nohup, a shell's background job). */
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN)
            continue;
        (void)sigaction(numbers[i], &action, NULL);
    }
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, NULL);
}

int cli_signals_caught(void)
{
    return atomic_load(&caught);
}

void cli_signals_watch(struct cairn_repo *repo)
{
    atomic_store(&watched, repo);
    if (repo && atomic_load(&caught))
        cairn_cancel(repo);
    /* A handler that took the old handle before the store above may still be using it. */
    while (repo == NULL && atomic_load(&handlers) > 0)
        (void)sched_yield();
}
