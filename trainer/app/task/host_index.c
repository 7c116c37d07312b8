#include "trainer/app/task/host_index.h"

#include "common/cleanup.h"
#include "trainer/app/hosts/host_memory.h"
#include "trainer/data/coco/coco_load.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int read_for_host(struct coco_index *ret, const char *json, int *ret_fd,
                         struct host_memory *own, struct error *err) {
    if (coco_load_sealed(ret, json, ret_fd, err) != 0)
        return -1;
    host_memory_offer(own, *ret_fd);
    return 0;
}

static int map_offered(struct coco_index *ret, const char *json, const struct host_memory *offer) {
    cleanup_fd int fd = host_memory_open(offer, O_RDONLY);
    return fd >= 0 ? coco_load_shared(ret, fd, json, NULL) : -1;
}

int host_index_load(struct coco_index *ret, const char *json, struct comm *comm,
                    struct error *err) {
    const int rank = comm_rank(comm);
    cleanup_free struct host_memory *all = calloc((size_t)comm_size(comm), sizeof(*all));
    cleanup_fd int fd = -1;
    struct host_memory own = host_memory_none();
    if (all == NULL)
        return error_no_memory(err, "an index of annotations");
    if (comm_gather(comm, &own, sizeof(own), all, err) != 0)
        return -1;
    const int first = host_memory_first(all, rank);
    int failed = first == rank ? read_for_host(ret, json, &fd, &own, err) : 0;
    /* If the first rank fails, the others read the file themselves and find out why; the first
     * rank's own error is reported. */
    if (comm_gather(comm, &own, sizeof(own), all, failed == 0 ? err : NULL) != 0)
        return -1;
    if (first != rank && map_offered(ret, json, &all[first]) != 0)
        failed = coco_load(ret, json, NULL, err);
    if (failed != 0)
        return -1;
    /* The memory exists while it is mapped; until then the first rank holds it. */
    if (comm_barrier(comm, err) == 0)
        return 0;
    coco_index_done(ret);
    return -1;
}
