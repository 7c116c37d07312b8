#include "trainer/data/dataset/dataset.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/str.h"
#include "trainer/data/codec/jpeg.h"
#include "trainer/data/dataset/folder.h"
#include "trainer/data/dataset/shards.h"
#include "trainer/math/random.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* One struct for all kinds of sets: labels, names and class names are the same for all, and `kind`
 * tells how a sample's bytes are found. Files are listed elsewhere, folders in folder.c and shards
 * in shards.c, and the lists are taken over here as they are.
 *
 * Arrays of samples may lie in one mapping that several processes share
 * (trainer/app/hosts/shared_set.h). Whatever frees or replaces such an array asks free_items, which
 * knows the difference.
 *
 * dataset_place_classes and dataset_embed change a set after it was opened. No other thread may
 * read the set meanwhile. */

/* Bytes that a record of a shard may hold beside its picture, such as a header and text. */
enum { RECORD_REST_MAX = 64 * 1024 };

/* NAMES may be NULL, and so may names in it, after a failure. */
static void free_names(char **names, size_t count) {
    for (size_t c = 0; names != NULL && c < count; c++)
        free(names[c]);
    free(names);
}

/* Frees ITEMS, unless they lie in the set's mapping. An array that was replaced since, as by
 * dataset_embed, has memory of its own in a set with a mapping, too. */
static void free_items(const struct dataset *set, void *items) {
    const uintptr_t begin = (uintptr_t)set->memory;
    const uintptr_t at = (uintptr_t)items;
    if (set->memory == NULL || at < begin || at - begin >= set->memory_size)
        free(items);
}

/* The mapping goes last, as free_items compares addresses with it. */
void dataset_done(struct dataset *set) {
    free_names(set->class_names, set->classes);
    free_items(set, set->labels);
    free(set->root);
    free_items(set, set->names);
    free_items(set, set->name_at);
    skipped_files_done(&set->left_out);
    shard_store_drop(set->shards);
    free_items(set, set->places);
    if (set->memory != NULL)
        (void)munmap(set->memory, set->memory_size);
    free(set->note);
    free(set->warning);
    *set = (struct dataset){0};
}

/* The lists move from the listing to the set as a whole: nothing of them is copied or freed. */
int dataset_open_folder(struct dataset *set, const char *folder, struct error *err) {
    struct folder_listing list;
    *set = (struct dataset){0};
    if (folder_scan(&list, folder, err) != 0)
        return -1;
    *set = (struct dataset){
        .kind = DATASET_FOLDER,
        .count = list.count,
        .labels = list.labels,
        .classes = list.classes,
        .class_names = list.class_names,
        .hash = list.hash,
        .bytes = list.bytes,
        .root = list.root,
        .names = list.names,
        .name_at = list.name_at,
        .left_out = list.left_out,
    };
    return 0;
}

/* Writes "; 2 records cannot be used, the first: ..." to TEXT, or nothing. Bytes that could not be
 * read hold an unknown number of records: the count is then a lower bound. */
static void describe_bad(const struct shards_listing *list, char *text, size_t size) {
    char unread[96] = "";
    if (list->unread > 0)
        (void)snprintf(unread, sizeof(unread), " and %" PRIu64 " bytes are not readable",
                       list->unread);
    if (list->bad > 0)
        (void)snprintf(text, size, "; %s%" PRIu64 " record%s cannot be used%s, the first: %s",
                       list->unread > 0 ? "at least " : "", list->bad, STR_PLURAL(list->bad),
                       unread, list->first_bad);
}

/* Notes for the log what was found ("N pictures in M shards of the format F"), where it came from,
 * and what is wrong. A fault of the index alone becomes a warning of its own. */
static int describe_shards(struct dataset *set, const struct shards_listing *list,
                           struct error *err) {
    const struct shard_list *files = shard_store_list(set->shards);
    char bad[SHARDS_NOTE_MAX + 256] = "";
    describe_bad(list, bad, sizeof(bad));
    /* In the order of enum shards_source. A scan is the usual case and not mentioned. */
    static const char *const sources[] = {"", "; their index was written", "; from their index"};
    if (list->index_fault[0] != '\0' && (set->warning = strdup(list->index_fault)) == NULL)
        return error_no_memory(err, "shards");
    if (asprintf(&set->note, "%zu pictures in %zu %s of the format %s%s%s%s%s", list->count,
                 files->count, files->count == 1 ? "shard" : "shards", files->format->name,
                 list->note[0] != '\0' ? "; " : "", list->note, sources[list->source], bad) >= 0)
        return 0;
    set->note = NULL;
    return error_no_memory(err, "shards");
}

/* The number of unusable records is the only choice here. All else is zero: see struct
 * shards_reading. */
int dataset_open_shards(struct dataset *set, const char *path, int64_t bad_allowed, bool *ret_found,
                        struct error *err) {
    const struct shards_reading reading = {.bad_allowed = bad_allowed};
    return dataset_open_shards_as(set, path, &reading, ret_found, err);
}

/* A path without shards is no error here: the caller then looks for class folders. Files that are
 * shards, but cannot be read, are one. */
int dataset_open_shards_as(struct dataset *set, const char *path,
                           const struct shards_reading *reading, bool *ret_found,
                           struct error *err) {
    cleanup_shard_list struct shard_list files = {0};
    cleanup_shards_listing struct shards_listing list = {0};
    *set = (struct dataset){.kind = DATASET_SHARDS};
    if (shard_list_find(&files, path, err) != 0)
        return -1;
    *ret_found = files.count > 0;
    if (!*ret_found)
        return 0;
    if ((set->root = strdup(path)) == NULL ||
        (set->shards = shard_store_open(&files, err)) == NULL ||
        shards_list(&list, set->shards, path, reading, err) != 0 ||
        describe_shards(set, &list, err) != 0) {
        dataset_done(set);
        return -1;
    }
    /* What is taken becomes NULL in the listing, so that its cleanup frees what is left. */
    set->count = list.count;
    set->labels = TAKE_PTR(list.labels);
    set->places = TAKE_PTR(list.places);
    set->names = TAKE_PTR(list.names);
    set->name_at = TAKE_PTR(list.name_at);
    set->classes = list.classes;
    set->class_names = TAKE_PTR(list.class_names);
    set->hash = list.hash;
    set->bytes = list.bytes;
    set->bad = list.bad;
    return 0;
}

/* Opens with the number of unusable records that are allowed, and else the defaults of
 * shards_reading: the first class is found out, an index is read and none is written. */
int dataset_open(struct dataset *set, const char *path, int64_t bad_allowed, struct error *err) {
    const struct shards_reading reading = {.bad_allowed = bad_allowed};
    return dataset_open_as(set, path, &reading, err);
}

int dataset_open_as(struct dataset *set, const char *path, const struct shards_reading *reading,
                    struct error *err) {
    bool found = false;
    if (dataset_open_shards_as(set, path, reading, &found, err) != 0)
        return -1;
    /* Errors of a path that holds neither come from the folder. */
    return found ? 0 : dataset_open_folder(set, path, err);
}

/* Copies the names before it changes anything, so that the set is whole on failure. The labels of
 * all samples must be indices of MAP. */
int dataset_place_classes(struct dataset *set, char *const *names, size_t count, const int32_t *map,
                          struct error *err) {
    char **copies = calloc(count + 1, sizeof(*copies));
    for (size_t c = 0; copies != NULL && c < count; c++)
        if ((copies[c] = strdup(names[c])) == NULL) {
            free_names(copies, count);
            copies = NULL;
        }
    if (copies == NULL)
        return error_no_memory(err, "names of classes");
    /* Only changes are written: they copy pages that processes share. */
    for (size_t i = 0; i < set->count; i++)
        if (map[set->labels[i]] != set->labels[i])
            set->labels[i] = map[set->labels[i]];
    /* All labels are below COUNT now, whether or not a class has samples. */
    free_names(set->class_names, set->classes);
    set->class_names = copies;
    set->classes = count;
    return 0;
}

/* Moves the set's items of SIZE bytes to place FIRST of TOTAL, which are zero else. ITEMS points to
 * the set's pointer to them, which changes. On failure they stay where they are. */
static int embed(const struct dataset *set, void *items, size_t size, size_t first, size_t total,
                 struct error *err) {
    void *old = *(void **)items;
    char *all = calloc(total + 1, size);
    if (all == NULL)
        return error_no_memory(err, "the samples of all parts");
    memcpy(all + first * size, old, set->count * size);
    free_items(set, old);
    *(void **)items = all;
    return 0;
}

/* After a failure in the middle the arrays have different lengths, and the set can only be freed.
 * Offsets of zero, those of the other parts' samples, lead to the text that says so. */
int dataset_embed(struct dataset *set, size_t first, size_t total, struct error *err) {
    static const char other[] = "(a sample of another part)";
    /* The limit of a set holds for the whole, as samples have numbers in it. */
    if (total > DATASET_SAMPLES_MAX)
        return error_set(err, EXIT_CODE_DATA, "%zu pictures in all parts; at most %d are allowed",
                         total, DATASET_SAMPLES_MAX);
    /* The names of this part follow the one of all others, at offset 0. Their size is not kept: it
     * is where the last name ends. */
    size_t size = 0;
    for (size_t i = 0; i < set->count; i++) {
        const size_t end = set->name_at[i] + strlen(set->names + set->name_at[i]) + 1;
        size = end > size ? end : size;
        set->name_at[i] += sizeof(other);
    }
    char *names = malloc(sizeof(other) + size);
    if (names == NULL)
        return error_no_memory(err, "the samples of all parts");
    memcpy(names, other, sizeof(other));
    memcpy(names + sizeof(other), set->names, size);
    free_items(set, set->names);
    set->names = names;
    if (embed(set, &set->labels, sizeof(*set->labels), first, total, err) != 0 ||
        embed(set, &set->name_at, sizeof(*set->name_at), first, total, err) != 0 ||
        (set->places != NULL &&
         embed(set, &set->places, sizeof(*set->places), first, total, err) != 0))
        return -1;
    set->count = total;
    return 0;
}

/* Copies the paths into one block, and the hash of that block is the set's. Sizes are not part of
 * it: files are not looked at before they are read. */
static int list_files(struct dataset *set, char *const *paths, struct error *err) {
    size_t size = 0;
    /* Two passes, so that one block of the right size holds all paths. */
    for (size_t i = 0; i < set->count; i++)
        size += strlen(paths[i]) + 1;
    set->root = strdup("the pictures");
    set->class_names = calloc(1, sizeof(*set->class_names));
    set->labels = calloc(set->count + 1, sizeof(*set->labels));
    set->name_at = calloc(set->count + 1, sizeof(*set->name_at));
    set->names = malloc(size + 1);
    if (set->root == NULL || set->class_names == NULL || set->labels == NULL ||
        set->name_at == NULL || set->names == NULL || (set->class_names[0] = strdup("")) == NULL)
        return error_no_memory(err, "list of pictures");
    size = 0;
    for (size_t i = 0; i < set->count; i++) {
        size_t length = strlen(paths[i]) + 1;
        memcpy(set->names + size, paths[i], length);
        set->name_at[i] = size;
        size += length;
    }
    set->hash = str_hash(STR_HASH_START, set->names, size);
    return 0;
}

/* For predictions, where the files have no classes (trainer/app/task/classify.c). The root is no
 * path, but what messages call the set. */
int dataset_open_files(struct dataset *set, char *const *paths, size_t count, struct error *err) {
    *set = (struct dataset){.kind = DATASET_FILES, .count = count, .classes = 1};
    if (count == 0 || count > DATASET_SAMPLES_MAX)
        return error_set(err, EXIT_CODE_DATA, "%zu pictures; expected 1 to %d", count,
                         DATASET_SAMPLES_MAX);
    if (list_files(set, paths, err) == 0)
        return 0;
    dataset_done(set);
    return -1;
}

/* On failure some names are NULL, which free_names accepts. */
static int name_synthetic_classes(struct dataset *set, struct error *err) {
    set->class_names = calloc(set->classes, sizeof(*set->class_names));
    if (set->class_names == NULL)
        return error_no_memory(err, "synthetic data set");
    for (size_t c = 0; c < set->classes; c++)
        if (asprintf(&set->class_names[c], "class%zu", c) < 0) {
            set->class_names[c] = NULL;
            return error_no_memory(err, "synthetic data set");
        }
    return 0;
}

/* Classes take turns, so that each has as many samples as another, or one more. */
int dataset_open_synthetic(struct dataset *set, size_t count, size_t classes, struct error *err) {
    *set = (struct dataset){.kind = DATASET_SYNTHETIC, .count = count, .classes = classes};
    if (count == 0 || count > DATASET_SAMPLES_MAX || classes == 0 ||
        classes > DATASET_CLASSES_MAX) {
        *set = (struct dataset){0};
        return error_set(
            err, EXIT_CODE_USAGE,
            "a synthetic set of %zu pictures in %zu classes; expected 1 to %d in 1 to %d", count,
            classes, DATASET_SAMPLES_MAX, DATASET_CLASSES_MAX);
    }
    set->labels = malloc(count * sizeof(*set->labels));
    if (set->labels == NULL || name_synthetic_classes(set, err) != 0) {
        dataset_done(set);
        return error_no_memory(err, "synthetic data set");
    }
    for (size_t i = 0; i < count; i++)
        set->labels[i] = (int32_t)(i % classes);
    /* There are no files: the hash is that of the two numbers which the set follows from. */
    set->hash = str_hash(STR_HASH_START, &count, sizeof(count));
    set->hash = str_hash(set->hash, &classes, sizeof(classes));
    return 0;
}

/* For a folder and for files this is also the path that dataset_read opens. */
void dataset_sample_name(const struct dataset *set, size_t sample, char *text, size_t size) {
    if (set->kind == DATASET_SYNTHETIC)
        snprintf(text, size, "synthetic/%zu", sample);
    else if (set->kind == DATASET_FILES)
        snprintf(text, size, "%s", set->names + set->name_at[sample]);
    else if (set->kind == DATASET_SHARDS)
        snprintf(text, size, "%s: %s",
                 shard_store_list(set->shards)->paths[set->places[sample].shard],
                 set->names + set->name_at[sample]);
    else
        snprintf(text, size, "%s/%s/%s", set->root, set->class_names[set->labels[sample]],
                 set->names + set->name_at[sample]);
}

/* The ceiling is set at each call, as OUT may have been used for something else. */
int dataset_read(const struct dataset *set, size_t sample, struct buf *out, struct error *err) {
    char path[PATH_MAX];
    dataset_sample_name(set, sample, path, sizeof(path));
    out->size = 0;
    out->max = JPEG_BYTES_MAX;
    /* A record is read as a whole, and the picture is then cut out of it. */
    if (set->kind == DATASET_SHARDS) {
        out->max += RECORD_REST_MAX;
        return shard_store_read(set->shards, &set->places[sample], out, err);
    }
    return file_read(path, out, err);
}

/* Noise around a colour of the class: a network can learn it, and no two pictures are alike. A
 * value is at most 127 + 127, so that no sum wraps around. The pixels depend on class and sample
 * alone, not on the seed of a training. */
void dataset_paint(const struct dataset *set, size_t sample, int side, uint8_t *pixels) {
    const int32_t label = set->labels[sample];
    struct random of_class = random_stream((uint64_t)label, 0, 0);
    struct random of_sample = random_stream(sample, 1, 0);
    /* From 0 to 127 for each channel, as the noise comes on top of it. */
    uint32_t color[3];
    for (int c = 0; c < 3; c++)
        color[c] = random_below(&of_class, 128);
    /* The order of the draws is part of the picture: a pixel's channels share one number. */
    size_t count = (size_t)side * (size_t)side;
    for (size_t i = 0; i < count; i++) {
        /* One random number serves three channels, seven bits each. */
        uint32_t noise = random_u32(&of_sample);
        for (int c = 0; c < 3; c++)
            pixels[i * 3 + (size_t)c] = (uint8_t)(color[c] + ((noise >> (8 * c)) & 127));
    }
}
