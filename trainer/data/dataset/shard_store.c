#include "trainer/data/dataset/shard_store.h"

#include "common/cleanup.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { CLOSED = -1 };

struct shard_store {
    struct shard_list list;
    atomic_int references;
    atomic_int kept;  /* descriptors that are kept open */
    atomic_int fds[]; /* [list.count]; CLOSED: none is kept */
};

struct shard_store *shard_store_open(struct shard_list *list, struct error *err) {
    struct shard_store *store = calloc(1, sizeof(*store) + list->count * sizeof(store->fds[0]));
    if (store == NULL) {
        (void)error_no_memory(err, "shards");
        return NULL;
    }
    for (size_t i = 0; i < list->count; i++)
        atomic_init(&store->fds[i], CLOSED);
    atomic_init(&store->references, 1);
    store->list = *list;
    *list = (struct shard_list){0};
    return store;
}

struct shard_store *shard_store_share(struct shard_store *store) {
    atomic_fetch_add(&store->references, 1);
    return store;
}

void shard_store_drop(struct shard_store *store) {
    if (store == NULL || atomic_fetch_sub(&store->references, 1) > 1)
        return;
    for (size_t i = 0; i < store->list.count; i++) {
        const int fd = atomic_load(&store->fds[i]);
        if (fd != CLOSED)
            (void)close(fd);
    }
    shard_list_done(&store->list);
    free(store);
}

const struct shard_list *shard_store_list(const struct shard_store *store) {
    return &store->list;
}

/* Keeps the descriptor of FILE open, unless another thread did so first or there are enough. */
static void keep(struct shard_store *store, size_t shard, struct shard_file *file) {
    int none = CLOSED;
    if (atomic_fetch_add(&store->kept, 1) < SHARD_STORE_OPEN_MAX &&
        atomic_compare_exchange_strong(&store->fds[shard], &none, file->fd))
        file->fd = CLOSED;
    else
        atomic_fetch_sub(&store->kept, 1);
}

/* Sets *RET to the shard. It is OWN, if it was not open. */
static int find(struct shard_store *store, uint32_t shard, struct shard_file *own,
                struct shard_file *ret, struct error *err) {
    *ret = (struct shard_file){.fd = atomic_load(&store->fds[shard]),
                               .path = store->list.paths[shard],
                               .size = UINT64_MAX};
    if (ret->fd != CLOSED)
        return 0;
    if (shard_file_open(own, ret->path, err) != 0)
        return -1;
    *ret = *own;
    return 0;
}

void shard_store_read_ahead(struct shard_store *store, uint32_t shard, uint64_t offset,
                            uint64_t bytes) {
    cleanup_shard_file struct shard_file own = SHARD_FILE_CLOSED;
    struct shard_file file;
    if (find(store, shard, &own, &file, NULL) != 0)
        return;
    (void)posix_fadvise(file.fd, (off_t)offset, (off_t)bytes, POSIX_FADV_WILLNEED);
    if (own.fd != CLOSED)
        keep(store, shard, &own);
}

int shard_store_read(struct shard_store *store, const struct shard_place *place, struct buf *out,
                     struct error *err) {
    const struct format *format = store->list.format;
    cleanup_shard_file struct shard_file own = SHARD_FILE_CLOSED;
    struct shard_file file;
    if (find(store, place->shard, &own, &file, err) != 0)
        return -1;
    int result = format->read(&file, place->offset, place->bytes, out, err);
    if (own.fd != CLOSED)
        keep(store, place->shard, &own);
    return result;
}
