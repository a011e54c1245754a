/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>

#include "backend/local_internal.h"
#include "base/alloc.h"
#include "base/io.h"

struct slot {
    struct cairn_local_piece piece;
    struct iovec vec;
    bool busy;
};

struct cairn_local_ring {
    struct cairn_local_ring *next;
    struct io_uring uring;
    struct slot slots[CAIRN_UPLOAD_DEPTH];
    unsigned count;
    bool dead; /* its queue holds a write that was never started */
};

struct cairn_local_ring *cairn_local_ring_get(struct cairn_local *local)
{
    if (!cairn_io_is_system() || atomic_load(&local->uring_refused))
        return NULL;
    pthread_mutex_lock(&local->lock);
    struct cairn_local_ring *ring = local->rings;
    if (ring != NULL)
        local->rings = ring->next;
    pthread_mutex_unlock(&local->lock);
    if (ring != NULL)
        return ring;
    ring = cairn_alloc_zero(1, sizeof(*ring));
    if (ring == NULL)
        return NULL;
    int status = io_uring_queue_init(CAIRN_UPLOAD_DEPTH, &ring->uring, 0);
    if (status == 0)
        return ring;
    /* Forbidden (a container's filter, a sysctl) or unknown: do not ask for each upload. */
    if (status == -EPERM || status == -ENOSYS || status == -EACCES)
        atomic_store(&local->uring_refused, true);
    cairn_free(ring);
    return NULL;
}

static void ring_free(struct cairn_local_ring *ring)
{
    io_uring_queue_exit(&ring->uring);
    cairn_free(ring);
}

void cairn_local_ring_put(struct cairn_local *local, struct cairn_local_ring *ring)
{
    if (ring == NULL)
        return;
    if (ring->dead || ring->count > 0) {
        ring_free(ring);
        return;
    }
    pthread_mutex_lock(&local->lock);
    ring->next = local->rings;
    local->rings = ring;
    pthread_mutex_unlock(&local->lock);
}

void cairn_local_ring_free_all(struct cairn_local *local)
{
    while (local->rings != NULL) {
        struct cairn_local_ring *next = local->rings->next;
        ring_free(local->rings);
        local->rings = next;
    }
}

unsigned cairn_local_ring_count(const struct cairn_local_ring *ring)
{
    return ring->count;
}

int cairn_local_ring_write(struct cairn_local_ring *ring, int fd,
                           const struct cairn_local_piece *piece)
{
    struct slot *slot = ring->slots;
    while (slot < ring->slots + CAIRN_UPLOAD_DEPTH && slot->busy)
        slot++;
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);
    if (ring->dead || slot == ring->slots + CAIRN_UPLOAD_DEPTH || sqe == NULL) {
        ring->dead = true;
        return -EBUSY;
    }
    slot->piece = *piece;
    slot->vec.iov_base = (void *)(uintptr_t)piece->data;
    slot->vec.iov_len = piece->len;
    /* writev: IORING_OP_WRITE came later than the first kernels with io_uring. */
    io_uring_prep_writev(sqe, fd, &slot->vec, 1, piece->at);
    io_uring_sqe_set_data(sqe, slot);
    int status;
    do
        status = io_uring_submit(&ring->uring);
    while (status == -EINTR);
    if (status == 1) {
        slot->busy = true;
        ring->count++;
        return 0;
    }
    ring->dead = true;
    return status < 0 ? status : -EAGAIN;
}

int cairn_local_ring_wait(struct cairn_local_ring *ring, struct cairn_local_piece *out)
{
    struct io_uring_cqe *cqe;
    int status;
    do
        status = io_uring_wait_cqe(&ring->uring, &cqe);
    while (status == -EINTR);
    if (status != 0)
        return status;
    struct slot *slot = io_uring_cqe_get_data(cqe);
    *out = slot->piece;
    out->result = cqe->res;
    slot->busy = false;
    ring->count--;
    io_uring_cqe_seen(&ring->uring, cqe);
    return 0;
}
