#include "common/system/progress.h"

#include "common/cleanup.h"
#include "common/system/sealed_memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct progress_slot {
    _Atomic uint64_t marks;
    _Atomic uint64_t step;
    _Atomic uint64_t patience_seconds;
    _Atomic uint64_t work_ns;
    _Atomic uint64_t data_ns;
    _Atomic uint64_t total;
    _Atomic uint64_t saved_ns;
    _Atomic uint64_t pause_ns;
};
_Static_assert(sizeof(struct progress_slot) == 64, "one cache line");

enum { SEALS = F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL };

int progress_create(struct error *err) {
    cleanup_fd int fd = sealed_memfd_open("progress", err);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)sizeof(struct progress_slot)) != 0 ||
        fcntl(fd, F_ADD_SEALS, SEALS) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "memory for progress");
    return take_fd(&fd);
}

int progress_adopt(struct progress *p, int fd, struct error *err) {
    struct stat status;
    p->slot = NULL;
    if (fstat(fd, &status) != 0 || sealed_memfd_seals(fd) != SEALS ||
        status.st_size != (off_t)sizeof(struct progress_slot))
        return error_set(err, EXIT_CODE_CONFIG, "not a progress descriptor");
    void *slot =
        mmap(NULL, sizeof(struct progress_slot), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (slot == MAP_FAILED)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "memory for progress");
    p->slot = slot;
    return 0;
}

int progress_open(struct progress *p, const char *path, struct error *err) {
    p->slot = NULL;
    if (path == NULL)
        return 0;
    cleanup_fd int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, PROGRESS_VARIABLE "=%s", path);
    return progress_adopt(p, fd, err) == 0 ? 0 : error_wrap(err, PROGRESS_VARIABLE "=%s", path);
}

void progress_done(struct progress *p) {
    if (p->slot != NULL)
        (void)munmap(p->slot, sizeof(struct progress_slot));
    p->slot = NULL;
}

void progress_mark(struct progress *p, uint64_t step, uint64_t patience_seconds) {
    if (p->slot == NULL)
        return;
    atomic_store_explicit(&p->slot->step, step, memory_order_relaxed);
    atomic_store_explicit(&p->slot->patience_seconds, patience_seconds, memory_order_relaxed);
    atomic_fetch_add_explicit(&p->slot->marks, 1, memory_order_release);
}

void progress_work(struct progress *p, uint64_t work_ns, uint64_t data_ns) {
    if (p->slot == NULL)
        return;
    atomic_fetch_add_explicit(&p->slot->work_ns, work_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&p->slot->data_ns, data_ns, memory_order_relaxed);
}

void progress_total(struct progress *p, uint64_t steps) {
    if (p->slot != NULL)
        atomic_store_explicit(&p->slot->total, steps, memory_order_relaxed);
}

void progress_saved(struct progress *p, uint64_t now_ns, uint64_t pause_ns) {
    if (p->slot == NULL)
        return;
    atomic_fetch_add_explicit(&p->slot->pause_ns, pause_ns, memory_order_relaxed);
    atomic_store_explicit(&p->slot->saved_ns, now_ns, memory_order_relaxed);
}

struct progress_state progress_read(const struct progress *p) {
    struct progress_state state = {0};
    if (p->slot == NULL)
        return state;
    state.marks = atomic_load_explicit(&p->slot->marks, memory_order_acquire);
    state.step = atomic_load_explicit(&p->slot->step, memory_order_relaxed);
    state.patience_seconds = atomic_load_explicit(&p->slot->patience_seconds, memory_order_relaxed);
    state.work_ns = atomic_load_explicit(&p->slot->work_ns, memory_order_relaxed);
    state.total = atomic_load_explicit(&p->slot->total, memory_order_relaxed);
    state.data_ns = atomic_load_explicit(&p->slot->data_ns, memory_order_relaxed);
    state.saved_ns = atomic_load_explicit(&p->slot->saved_ns, memory_order_relaxed);
    state.pause_ns = atomic_load_explicit(&p->slot->pause_ns, memory_order_relaxed);
    return state;
}
