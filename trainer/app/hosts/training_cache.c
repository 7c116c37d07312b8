#include "trainer/app/hosts/training_cache.h"

#include "common/cleanup.h"
#include "common/log/log.h"
#include "common/str.h"
#include "trainer/app/device/memory_left.h"
#include "trainer/app/hosts/host_memory.h"
#include "trainer/data/order/sampler.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Pictures that an estimate looks at, and what it adds, in percent, where these are not all. */
enum { LOOKED_AT = 256, MARGIN = 10 };
/* Share of the memory left that a cache may take: networks and batches need some, too. */
static const double memory_share = 0.8;

/* Estimates the bytes of all decoded pictures. */
static int estimate(const struct dataset *set, const struct dataset_part *part, int side,
                    uint64_t *ret, struct error *err) {
    const struct fetch_cache none = {.on = true, .side = side};
    cleanup_fetcher struct fetcher fetcher;
    const size_t own = part->parts > 0 ? part->count : set->count;
    const size_t count = own < LOOKED_AT ? own : LOOKED_AT;
    double bytes = 0;
    size_t used = 0;
    struct error why = {0};
    if (fetcher_init(&fetcher, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const size_t sample = part->first + sampler_permute(0, 0, own, i);
        if (fetch_kept(&fetcher, set, sample, &none, &why) != 0)
            continue;
        bytes += (double)fetcher.picture.width * fetcher.picture.height * IMAGE_CHANNELS;
        used++;
    }
    if (used == 0)
        return error_set(err, EXIT_CODE_DATA, "--cache: no picture can be used: %.400s", why.text);
    const double all = bytes / (double)used * (double)own;
    *ret = (uint64_t)(count < own ? all * (100 + MARGIN) / 100 : all) + 1;
    return 0;
}

static int check_memory(uint64_t needed, struct error *err) {
    const struct memory_left left = memory_left("", 1);
    const double most = memory_share * (double)left.bytes;
    if ((double)needed <= most)
        return 0;
    return error_set(
        err, EXIT_CODE_CONFIG,
        "--cache ram: the decoded pictures need %.2f GB, and %.2f GB may be used (%.0f "
        "%% of what %s has left); give a file, a smaller --cache-side, or less data",
        (double)needed / 1e9, most / 1e9, 100 * memory_share, left.bounds);
}

static struct picture_cache *make(const char *where, const struct picture_cache_plan *plan,
                                  bool *ret_kept, struct error *err) {
    *ret_kept = false;
    if (strcmp(where, "ram") != 0)
        return picture_cache_in_file(where, plan, ret_kept, err);
    if (check_memory(plan->capacity + picture_cache_overhead(plan->samples), err) != 0)
        return NULL;
    return picture_cache_in_memory(plan, err);
}

static void tell(const char *where, const struct picture_cache *cache,
                 const struct picture_cache_plan *plan) {
    struct picture_cache_figures now;
    picture_cache_figures(cache, &now);
    log_info("--cache %s: %zu decoded pictures take about %.2f GB on each host; %" PRIu64
             " are there already",
             where, plan->samples, (double)plan->capacity / 1e9, now.kept);
}

/* Opens the cache that the first rank of the host has made. */
static struct picture_cache *join(const char *where, const struct host_memory *offer,
                                  const struct picture_cache_plan *plan, struct error *err) {
    bool kept = false;
    if (strcmp(where, "ram") != 0)
        return picture_cache_in_file(where, plan, &kept, err);
    const int fd = host_memory_open(offer, O_RDWR);
    if (fd >= 0)
        return picture_cache_share(fd, plan, err);
    (void)error_set(err, EXIT_CODE_CONFIG, "the memory of this host's first rank is out of reach");
    return NULL;
}

int training_cache_open(struct fetch_cache *ret, const char *where, int side,
                        const struct dataset *set, const struct dataset_part *part,
                        struct comm *comm, struct error *err) {
    const int rank = comm_rank(comm);
    cleanup_free struct host_memory *all = calloc((size_t)comm_size(comm), sizeof(*all));
    struct picture_cache_plan plan = {.key = str_hash(set->hash, &side, sizeof(side)),
                                      .samples = set->count};
    struct host_memory own = host_memory_none();
    struct error why = {0};
    bool kept = false;
    *ret = (struct fetch_cache){.on = true, .side = side};
    if (all == NULL)
        return error_no_memory(err, "a cache of pictures");
    if (estimate(set, part, side, &plan.capacity, err) != 0 ||
        comm_gather(comm, &own, sizeof(own), all, err) != 0)
        return -1;
    const int first = host_memory_first(all, rank);
    if (first == rank) {
        if ((ret->cache = make(where, &plan, &kept, err)) == NULL)
            return -1;
        host_memory_offer(&own, picture_cache_fd(ret->cache));
    }
    if (comm_gather(comm, &own, sizeof(own), all, err) != 0)
        return -1;
    if (first != rank && (ret->cache = join(where, &all[first], &plan, &why)) == NULL)
        log_warning("--cache %s: rank %d decodes its pictures each time: %s", where, rank,
                    why.text);
    if (rank == 0)
        tell(where, ret->cache, &plan);
    /* The memory exists while it is mapped; until then the first rank holds it. */
    return comm_barrier(comm, err);
}
