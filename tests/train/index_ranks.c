/* Run under mpirun: index_ranks own|host JSON. Every rank has an index of JSON's annotations, which
 * it makes itself or shares with the other ranks of its host. It reads all of it and prints how
 * much memory that takes:
 *
 *     rank 0 of 3: 1200 annotations, hash 1a2b..., 5124 KiB mapped, 1708 KiB its share
 *
 * The share (Pss) divides a page among the processes that map it. */
#include "common/str.h"
#include "trainer/app/task/host_index.h"
#include "trainer/comm/mpi/comm_mpi.h"
#include "trainer/data/coco/coco_load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 512 };

/* Reads the sizes of the index's mapping from the kernel's list. */
static int measure(long *ret_mapped, long *ret_share) {
    char line[LINE];
    int ours = 0, found = 0;
    FILE *list = fopen("/proc/self/smaps", "re");
    while (list != NULL && fgets(line, sizeof(line), list) != NULL) {
        if (strchr(line, '-') != NULL && strstr(line, " r") != NULL &&
            strchr(line, ':') > strchr(line, ' '))
            ours = strstr(line, "memfd:coco-index") != NULL;
        if (ours && sscanf(line, "Size: %ld kB", ret_mapped) == 1)
            found |= 1;
        if (ours && sscanf(line, "Pss: %ld kB", ret_share) == 1)
            found |= 2;
    }
    if (list != NULL)
        (void)fclose(list);
    return found == 3 ? 0 : -1;
}

int main(int argc, char **argv) {
    struct error err = {0};
    struct comm *c = NULL;
    struct coco_index index = {0};
    long mapped = 0, share = 0;
    if (argc != 3)
        return 64;
    if (comm_mpi_open(&c, &err) != 0)
        return fprintf(stderr, "%s\n", err.text) > 0;
    int failed = strcmp(argv[1], "host") == 0 ? host_index_load(&index, argv[2], c, &err)
                                              : coco_load(&index, argv[2], NULL, &err);
    if (failed != 0) {
        fprintf(stderr, "rank %d: %s\n", comm_rank(c), err.text);
        comm_abort(c);
        return (int)err.code;
    }
    uint64_t hash = str_hash(STR_HASH_START, index.map, index.map_size);
    failed =
        comm_barrier(c, &err) != 0 || measure(&mapped, &share) != 0 || comm_barrier(c, &err) != 0;
    printf("rank %d of %d: %zu annotations, hash %016" PRIx64
           ", %ld KiB mapped, %ld KiB its share\n",
           comm_rank(c), comm_size(c), index.annotation_count, hash, mapped, share);
    coco_index_done(&index);
    comm_close(c);
    return failed;
}
