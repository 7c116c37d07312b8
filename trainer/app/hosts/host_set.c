#include "trainer/app/hosts/host_set.h"

#include "common/cleanup.h"
#include "common/str.h"
#include "trainer/app/hosts/host_memory.h"
#include "trainer/app/hosts/shared_set.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Seconds. A scan on slow storage may take hours; a rank that dies meanwhile is noticed at once. */
enum { SCAN_PATIENCE = 6 * 3600 };

/* What a rank tells the others after the first ranks have opened the set. */
struct statement {
    struct host_memory memory;
    int64_t code; /* exit code of its failure; 0: none */
};

struct opening {
    const char *path;
    const struct shards_reading *reading;
    struct comm *comm;
    int rank;
    int ranks;
    int first;   /* of those that share the set with this rank */
    bool shared; /* by this rank and others */
};

/* Adds to the key of a host what the set is opened from: the folder or file itself, since ranks may
 * have working directories or mounts of their own, and how. */
static uint64_t key_of(uint64_t host, const char *path, const struct shards_reading *reading) {
    char folder[PATH_MAX];
    struct stat status;
    const char *slash = strrchr(path, '/');
    const int64_t how[] = {reading->bad_allowed, reading->base, reading->unindexed};
    uint64_t key = str_hash(str_hash(host, path, strlen(path)), how, sizeof(how));
    (void)snprintf(folder, sizeof(folder), "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1,
                   slash != NULL ? path : ".");
    if (stat(path, &status) == 0 || stat(folder, &status) == 0) {
        const uint64_t place[] = {status.st_dev, status.st_ino};
        key = str_hash(key, place, sizeof(place));
    }
    return key != 0 ? key : 1;
}

/* Finds the ranks that share the set. *RET_ANY: some of the job's ranks do. */
static int meet(struct opening *o, struct host_memory *own, bool *ret_any, struct error *err) {
    cleanup_free struct host_memory *all = calloc((size_t)o->ranks, sizeof(*all));
    if (all == NULL)
        return error_no_memory(err, "a data set that ranks share");
    if (own->host != 0)
        own->host = key_of(own->host, o->path, o->reading);
    if (comm_gather(o->comm, own, sizeof(*own), all, err) != 0)
        return -1;
    o->first = host_memory_first(all, o->rank);
    *ret_any = false;
    for (int rank = 0; rank < o->ranks; rank++) {
        const int first = host_memory_first(all, rank);
        *ret_any = *ret_any || first != rank;
        o->shared = o->shared || (first == o->first && rank != o->rank);
    }
    return 0;
}

/* Without memory to share the set stays this rank's own, and the others open theirs. */
static int open_for_host(const struct opening *o, struct dataset *ret, struct host_memory *own,
                         int *ret_fd, struct error *err) {
    if (dataset_open_as(ret, o->path, o->reading, err) != 0)
        return -1;
    if (o->shared && shared_set_make(ret, ret_fd, NULL) == 0)
        host_memory_offer(own, *ret_fd);
    return 0;
}

/* Collective, if any first rank has failed. The job cannot continue then, so all ranks fail: each
 * with the error of its own first rank, or else of the first one that has failed. */
static int learn_failures(const struct opening *o, const struct statement *all,
                          const struct error *own, struct error *err) {
    cleanup_free struct error *errors = NULL;
    int failed = 0;
    while (failed < o->ranks && all[failed].code == 0)
        failed++;
    if (failed == o->ranks)
        return 0;
    errors = calloc((size_t)o->ranks, sizeof(*errors));
    if (errors == NULL)
        return error_no_memory(err, "errors of all ranks");
    if (comm_gather(o->comm, own, sizeof(*own), errors, err) != 0)
        return -1;
    if (all[o->first].code != 0)
        return error_set(err, errors[o->first].code, "%s", errors[o->first].text);
    return error_set(err, errors[failed].code, "on rank %d: %s", failed, errors[failed].text);
}

static int map_offered(struct dataset *ret, const struct host_memory *offer) {
    cleanup_fd int fd = host_memory_open(offer, O_RDONLY);
    return fd >= 0 ? shared_set_map(ret, fd, NULL) : -1;
}

/* The set of a first rank exists, or WHY it does not. */
static int share(const struct opening *o, struct dataset *ret, const struct statement *own,
                 const struct error *why, struct error *err) {
    cleanup_free struct statement *all = calloc((size_t)o->ranks, sizeof(*all));
    if (all == NULL)
        return error_no_memory(err, "a data set that ranks share");
    if (comm_gather(o->comm, own, sizeof(*own), all, err) != 0 ||
        learn_failures(o, all, why, err) != 0)
        return -1;
    if (o->first != o->rank && map_offered(ret, &all[o->first].memory) != 0 &&
        dataset_open_as(ret, o->path, o->reading, err) != 0)
        return -1;
    /* The memory exists while it is mapped; until then the first rank holds it. */
    return comm_barrier(o->comm, err);
}

static int open_together(const struct opening *o, struct dataset *ret, struct host_memory memory,
                         struct error *err) {
    cleanup_fd int fd = -1;
    struct error why = {0};
    struct statement own = {.memory = memory};
    if (o->first == o->rank && open_for_host(o, ret, &own.memory, &fd, &why) != 0)
        own.code = why.code;
    comm_be_patient(o->comm, SCAN_PATIENCE);
    const int result = share(o, ret, &own, &why, err);
    comm_be_patient(o->comm, 0);
    if (result == 0)
        return 0;
    dataset_done(ret);
    /* The rank's own failure is the cause of any other. */
    return own.code != 0 ? error_set(err, why.code, "%s", why.text) : -1;
}

int host_set_open(struct dataset *ret, const char *path, const struct shards_reading *reading,
                  struct comm *comm, struct error *err) {
    struct opening o = {path, reading, comm, comm_rank(comm), comm_size(comm), 0, false};
    struct host_memory memory = {0};
    bool any = false;
    *ret = (struct dataset){0};
    if (o.ranks > 1) {
        memory = host_memory_none();
        if (meet(&o, &memory, &any, err) != 0)
            return -1;
    }
    return any ? open_together(&o, ret, memory, err) : dataset_open_as(ret, path, reading, err);
}
