/* Run under mpirun: index_ranks own|host JSON, index_ranks set DATA. Every rank has an index of
 * JSON's annotations, which it makes itself or shares with the other ranks of its host, or shares
 * the samples of a data set. It reads all of it and prints how much memory that takes:
 *
 *     rank 0 of 3: 1200 annotations, hash 1a2b..., 5124 KiB mapped, 1708 KiB its share
 *     rank 0 of 3: 300 samples, hash 1a2b..., 20 KiB mapped, 6 KiB its share
 *
 * The share (Pss) divides a page among the processes that map it. With none mapped, the set is the
 * rank's own. */
#include "common/str.h"
#include "trainer/app/hosts/host_set.h"
#include "trainer/app/task/host_index.h"
#include "trainer/comm/mpi/comm_mpi.h"
#include "trainer/data/coco/coco_load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 512 };

/* Reads the sizes of the mapping of NAME from the kernel's list. */
static int measure(const char *name, long *ret_mapped, long *ret_share) {
    char line[LINE];
    int ours = 0, found = 0;
    FILE *list = fopen("/proc/self/smaps", "re");
    while (list != NULL && fgets(line, sizeof(line), list) != NULL) {
        if (strchr(line, '-') != NULL && strstr(line, " r") != NULL &&
            strchr(line, ':') > strchr(line, ' '))
            ours = strstr(line, name) != NULL;
        if (ours && sscanf(line, "Size: %ld kB", ret_mapped) == 1)
            found |= 1;
        if (ours && sscanf(line, "Pss: %ld kB", ret_share) == 1)
            found |= 2;
    }
    if (list != NULL)
        (void)fclose(list);
    return found == 3 ? 0 : -1;
}

/* All ranks have their mapping until each has measured its own. */
static int print_shares(struct comm *c, const char *name, const char *what, size_t count,
                        uint64_t hash) {
    struct error err = {0};
    long mapped = 0, share = 0;
    if (comm_barrier(c, &err) != 0)
        return 1;
    int failed = measure(name, &mapped, &share) != 0 && strcmp(what, "samples") != 0;
    printf("rank %d of %d: %zu %s, hash %016" PRIx64 ", %ld KiB mapped, %ld KiB its share\n",
           comm_rank(c), comm_size(c), count, what, hash, mapped, share);
    return comm_barrier(c, &err) != 0 || failed;
}

static int use_set(struct comm *c, const char *path, struct error *err) {
    const struct shards_reading reading = {.unindexed = true};
    cleanup_dataset struct dataset set = {0};
    if (host_set_open(&set, path, &reading, c, err) != 0)
        return -1;
    uint64_t hash = set.hash;
    for (size_t i = 0; i < set.count; i++) {
        const char *name = set.names + set.name_at[i];
        hash = str_hash(str_hash(hash, &set.labels[i], sizeof(set.labels[i])), name, strlen(name));
    }
    return print_shares(c, "memfd:a data set", "samples", set.count, hash);
}

static int use_index(struct comm *c, const char *kind, const char *json, struct error *err) {
    struct coco_index index = {0};
    if ((strcmp(kind, "host") == 0 ? host_index_load(&index, json, c, err)
                                   : coco_load(&index, json, NULL, err)) != 0)
        return -1;
    const uint64_t hash = str_hash(STR_HASH_START, index.map, index.map_size);
    int failed = print_shares(c, "memfd:an index", "annotations", index.annotation_count, hash);
    coco_index_done(&index);
    return failed;
}

int main(int argc, char **argv) {
    struct error err = {0};
    struct comm *c = NULL;
    if (argc != 3)
        return 64;
    if (comm_mpi_open(&c, &err) != 0)
        return fprintf(stderr, "%s\n", err.text) > 0;
    int result = strcmp(argv[1], "set") == 0 ? use_set(c, argv[2], &err)
                                             : use_index(c, argv[1], argv[2], &err);
    if (result < 0) {
        fprintf(stderr, "rank %d: %s\n", comm_rank(c), err.text);
        comm_abort(c);
        return (int)err.code;
    }
    comm_close(c);
    return result;
}
