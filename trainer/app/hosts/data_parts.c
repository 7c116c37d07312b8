#include "trainer/app/hosts/data_parts.h"

#include "common/cleanup.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "common/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every rank first opens what its own host has, as a set of its own. Then two exchanges make one
 * set of these: the first tells hash and size of each part, the second the names of all classes.
 * From there on each rank computes the same numbering by itself.
 *
 * Files of other parts are never listed or read. Of each of their samples a rank has a label and
 * a shared name, with which the whole set can be numbered, and nothing else. */

#define CHANNELS "/opt/ml/input/data/"
#define CONFIG "/opt/ml/input/config/inputdataconfig.json"

/* Ceilings: the name of a channel, the class names of a part, and how many sizes a log line lists.
 */
enum { CHANNEL_MAX = 256, NAMES_BYTES_MAX = 16 << 20, PARTS_TOLD = 8 };

/* The variable, if it is set, is read instead of the file. What is missing or malformed in
 * either is no error, and counts as "no". */
bool data_parts_declared(const char *path) {
    const char *variable = getenv("SM_INPUT_DATA_CONFIG");
    cleanup_json json_t *config = NULL;
    char channel[CHANNEL_MAX];
    if (!str_starts_with(path, CHANNELS))
        return false;
    const char *name = path + strlen(CHANNELS);
    (void)snprintf(channel, sizeof(channel), "%.*s", (int)strcspn(name, "/"), name);
    if (variable != NULL && variable[0] != '\0')
        (void)json_parse(variable, strlen(variable), "SM_INPUT_DATA_CONFIG", &config, NULL);
    else
        (void)json_read_file(CONFIG, &config, NULL);
    const char *kind = NULL;
    const json_t *member = json_object_get(config, channel);
    return json_member_string(member, CONFIG, "S3DistributionType", &kind, NULL) == 0 &&
           kind != NULL && strcmp(kind, "ShardedByS3Key") == 0;
}

/* What each rank tells of its part. */
struct statement {
    uint64_t hash;       /* of the set as the rank has opened it */
    uint64_t count;      /* samples */
    uint64_t names_size; /* of its classes, each with its NUL */
};

/* Returns the first rank that has the same part as RANK, which may be RANK itself. The hash of a
 * set covers its classes, names and sizes. */
static int first_with(const struct statement *all, int rank) {
    int first = 0;
    while (all[first].hash != all[rank].hash || all[first].count != all[rank].count)
        first++;
    return first;
}

/* Fills the part of rank OWN. *RET_TOTAL: samples of all parts. The hash covers hash and size of
 * each part, and is the same on all ranks. A part counts where its first rank stands, so the
 * order of ranks is that of the parts; its other ranks share its samples. */
static uint64_t divide(const struct statement *all, int ranks, int own, struct dataset_part *ret,
                       size_t *ret_total) {
    uint64_t hash = STR_HASH_START;
    const int mine = first_with(all, own);
    *ret = (struct dataset_part){.count = (size_t)all[own].count};
    *ret_total = 0;
    for (int rank = 0; rank < ranks; rank++) {
        const int first = first_with(all, rank);
        if (first == mine)
            ret->rank = rank < own ? ret->rank + 1 : ret->rank;
        ret->ranks += first == mine;
        if (first != rank)
            continue;
        if (rank == mine)
            ret->first = *ret_total;
        ret->parts++;
        *ret_total += (size_t)all[rank].count;
        hash = str_hash(hash, &all[rank].hash, sizeof(all[rank].hash));
        hash = str_hash(hash, &all[rank].count, sizeof(all[rank].count));
    }
    return hash;
}

/* Rank 0. The list of sizes ends after PARTS_TOLD parts, so that the line of a large job stays
 * short. */
static void tell(const struct statement *all, int ranks, const struct dataset_part *part,
                 size_t total) {
    char sizes[256] = "";
    int told = 0;
    for (int rank = 0; rank < ranks; rank++) {
        const size_t used = strlen(sizes);
        if (first_with(all, rank) == rank && told++ < PARTS_TOLD)
            (void)snprintf(sizes + used, sizeof(sizes) - used, "%s%" PRIu64, used > 0 ? ", " : "",
                           all[rank].count);
    }
    log_info("sharded training data: %d parts of %s%s pictures, %zu in all; each host trains on "
             "its own part",
             part->parts, sizes, part->parts > PARTS_TOLD ? ", ..." : "", total);
}

/* --- classes --------------------------------------------------------------------------------- */

static bool is_number(const char *name) {
    return name[0] != '\0' && name[strspn(name, "0123456789")] == '\0';
}

/* As the folders of all parts would be sorted; classes that are called by numbers by these. */
static int compare(const void *a, const void *b) {
    const char *x = *(const char *const *)a;
    const char *y = *(const char *const *)b;
    if (is_number(x) != is_number(y))
        return is_number(x) ? -1 : 1;
    return is_number(x) ? str_compare_natural(x, y) : strcmp(x, y);
}

/* Appends the names of SET's classes, each with its NUL. */
static int own_names(const struct dataset *set, struct buf *ret, struct error *err) {
    for (size_t c = 0; c < set->classes; c++)
        if (buf_add(ret, set->class_names[c], strlen(set->class_names[c]) + 1, err) != 0)
            return -1;
    return 0;
}

/* Collective. Gathers the class names of all ranks, one block of WIDTH bytes for each, in *RET,
 * which is the caller's. Shorter lists are padded with zeros. All ranks hold all names, so their
 * total is bounded before it is allocated; a rank's share of them is the same everywhere. */
static int gather_names(const struct dataset *set, struct comm *comm, size_t width, char **ret,
                        struct error *err) {
    const size_t ranks = (size_t)comm_size(comm);
    cleanup_buf struct buf own = {.max = NAMES_BYTES_MAX};
    /* 1 GiB: the blocks of all ranks together. */
    if (width * ranks > (size_t)1 << 30)
        return error_set(err, EXIT_CODE_DATA, "names of classes of %zu bytes on %zu ranks", width,
                         ranks);
    if (own_names(set, &own, err) != 0 || buf_reserve(&own, width - own.size, err) != 0)
        return -1;
    memset(own.data + own.size, 0, width - own.size);
    *ret = malloc(width * ranks);
    if (*ret == NULL)
        return error_no_memory(err, "names of classes");
    return comm_gather(comm, own.data, width, *ret, err);
}

/* Sets RET to the distinct names among the blocks, sorted; they are borrowed. The list is counted
 * before it is filled. Of ranks with the same part only the first one's block is read. */
static int unite(const char *blocks, const struct statement *all, int ranks, size_t width,
                 char ***ret, size_t *ret_count, struct error *err) {
    size_t count = 0;
    size_t kept = 0;
    for (int rank = 0; rank < ranks; rank++)
        for (size_t at = 0; first_with(all, rank) == rank && at < all[rank].names_size; at++)
            count += blocks[(size_t)rank * width + at] == '\0';
    char **names = calloc(count + 1, sizeof(*names));
    if (names == NULL)
        return error_no_memory(err, "names of classes");
    count = 0;
    for (int rank = 0; rank < ranks; rank++)
        for (size_t at = 0; first_with(all, rank) == rank && at < all[rank].names_size;) {
            const char *name = blocks + (size_t)rank * width + at;
            names[count++] = (char *)(uintptr_t)name;
            at += strlen(name) + 1;
        }
    /* Equal names of different parts become neighbours, of which one is kept. */
    qsort(names, count, sizeof(*names), compare);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || strcmp(names[kept - 1], names[i]) != 0)
            names[kept++] = names[i];
    *ret = names;
    *ret_count = kept;
    return 0;
}

/* Collective. Renumbers the classes of SET to their places in the united list. Each of its names
 * is found there, as its own part is one of those united. */
static int join_classes(struct dataset *set, struct comm *comm, const struct statement *all,
                        struct error *err) {
    cleanup_free char *blocks = NULL;
    cleanup_free char **names = NULL;
    cleanup_free int32_t *map = calloc(set->classes + 1, sizeof(*map));
    const int ranks = comm_size(comm);
    /* At least one byte, so that a set without names still has a block to send. */
    size_t width = 1;
    size_t count = 0;
    if (map == NULL)
        return error_no_memory(err, "classes");
    for (int rank = 0; rank < ranks; rank++)
        width = all[rank].names_size > width ? (size_t)all[rank].names_size : width;
    if (gather_names(set, comm, width, &blocks, err) != 0 ||
        unite(blocks, all, ranks, width, &names, &count, err) != 0)
        return -1;
    if (count > DATASET_CLASSES_MAX)
        return error_set(err, EXIT_CODE_DATA, "%zu classes in all parts; at most %d are allowed",
                         count, DATASET_CLASSES_MAX);
    for (size_t c = 0; c < set->classes; c++) {
        char **at = bsearch(&set->class_names[c], names, count, sizeof(*names), compare);
        map[c] = (int32_t)(at - names);
    }
    return dataset_place_classes(set, names, count, map, err);
}

/* --- the whole ------------------------------------------------------------------------------- */

int data_parts_join(struct dataset_part *ret, struct dataset *set, struct comm *comm,
                    struct error *err) {
    const int ranks = comm_size(comm);
    cleanup_free struct statement *all = calloc((size_t)ranks, sizeof(*all));
    cleanup_buf struct buf names = {.max = NAMES_BYTES_MAX};
    size_t total = 0;
    *ret = (struct dataset_part){0};
    if (all == NULL)
        return error_no_memory(err, "parts of the data");
    if (own_names(set, &names, err) != 0)
        return -1;
    const struct statement own = {set->hash, set->count, names.size};
    if (comm_gather(comm, &own, sizeof(own), all, err) != 0)
        return -1;
    struct dataset_part part;
    const uint64_t hash = divide(all, ranks, comm_rank(comm), &part, &total);
    /* One part means that each host has all files, whatever the platform has declared. The set
     * stays as it is. */
    if (part.parts == 1) {
        if (comm_rank(comm) == 0)
            log_info("sharded training data: all ranks have the same files, as one set");
        return 0;
    }
    /* Labels are mapped while the set still has only its own samples. */
    if (join_classes(set, comm, all, err) != 0 || dataset_embed(set, part.first, total, err) != 0)
        return -1;
    set->hash = hash;
    *ret = part;
    if (comm_rank(comm) == 0)
        tell(all, ranks, &part, total);
    return 0;
}

/* Ranks have to make the same number of steps, as each step ends in an all-reduce. The least
 * number is what every part has pictures for. */
int data_parts_steps(struct comm *comm, int64_t steps, int64_t global, size_t count, int64_t *ret,
                     struct error *err) {
    const int ranks = comm_size(comm);
    cleanup_free int64_t *all = calloc((size_t)ranks, sizeof(*all));
    if (all == NULL)
        return error_no_memory(err, "parts of the data");
    if (comm_gather(comm, &steps, sizeof(steps), all, err) != 0)
        return -1;
    *ret = steps;
    for (int rank = 0; rank < ranks; rank++)
        *ret = all[rank] < *ret ? all[rank] : *ret;
    if (comm_rank(comm) == 0)
        log_info("sharded training data: %" PRId64 " steps an epoch, as the smallest part has; "
                 "%" PRId64 " of %zu pictures are left out of each pass, others each time",
                 *ret, (int64_t)count - *ret * global, count);
    return 0;
}
