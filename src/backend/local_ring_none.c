/* SPDX-License-Identifier: Apache-2.0
 *
 * local_ring_none.c - in place of local_ring.c where there is no liburing: no ring is ever made, so
 * the rest is never reached with one.
 */
#include <errno.h>

#include "backend/local_internal.h"

struct cairn_local_ring *cairn_local_ring_get(struct cairn_local *local)
{
    (void)local;
    return NULL;
}

void cairn_local_ring_put(struct cairn_local *local, struct cairn_local_ring *ring)
{
    (void)local;
    (void)ring;
}

void cairn_local_ring_free_all(struct cairn_local *local)
{
    (void)local;
}

int cairn_local_ring_write(struct cairn_local_ring *ring, int fd,
                           const struct cairn_local_piece *piece)
{
    (void)ring;
    (void)fd;
    (void)piece;
    return -ENOSYS;
}

int cairn_local_ring_wait(struct cairn_local_ring *ring, struct cairn_local_piece *out)
{
    (void)ring;
    (void)out;
    return -ENOSYS;
}

unsigned cairn_local_ring_count(const struct cairn_local_ring *ring)
{
    (void)ring;
    return 0;
}
