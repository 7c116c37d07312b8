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

/* What a record of a shard holds beside its picture. */
enum { RECORD_REST_MAX = 64 * 1024 };

static void free_names(char **names, size_t count) {
    for (size_t c = 0; names != NULL && c < count; c++)
        free(names[c]);
    free(names);
}

/* Frees ITEMS, unless they lie in the set's mapping. */
static void free_items(const struct dataset *set, void *items) {
    const uintptr_t begin = (uintptr_t)set->memory;
    const uintptr_t at = (uintptr_t)items;
    if (set->memory == NULL || at < begin || at - begin >= set->memory_size)
        free(items);
}

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

/* "; 2 records cannot be used, the first: ..." */
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

/* "FILES: PICTURES in shards of the format F", and what is wrong with them. */
static int describe_shards(struct dataset *set, const struct shards_listing *list,
                           struct error *err) {
    const struct shard_list *files = shard_store_list(set->shards);
    char bad[SHARDS_NOTE_MAX + 256] = "";
    describe_bad(list, bad, sizeof(bad));
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

int dataset_open_shards(struct dataset *set, const char *path, int64_t bad_allowed, bool *ret_found,
                        struct error *err) {
    const struct shards_reading reading = {.bad_allowed = bad_allowed};
    return dataset_open_shards_as(set, path, &reading, ret_found, err);
}

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

int dataset_open(struct dataset *set, const char *path, int64_t bad_allowed, struct error *err) {
    const struct shards_reading reading = {.bad_allowed = bad_allowed};
    return dataset_open_as(set, path, &reading, err);
}

int dataset_open_as(struct dataset *set, const char *path, const struct shards_reading *reading,
                    struct error *err) {
    bool found = false;
    if (dataset_open_shards_as(set, path, reading, &found, err) != 0)
        return -1;
    return found ? 0 : dataset_open_folder(set, path, err);
}

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
    free_names(set->class_names, set->classes);
    set->class_names = copies;
    set->classes = count;
    return 0;
}

/* Moves the set's items of SIZE bytes to place FIRST of TOTAL, which are zero else. */
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

int dataset_embed(struct dataset *set, size_t first, size_t total, struct error *err) {
    static const char other[] = "(a sample of another part)";
    if (total > DATASET_SAMPLES_MAX)
        return error_set(err, EXIT_CODE_DATA, "%zu pictures in all parts; at most %d are allowed",
                         total, DATASET_SAMPLES_MAX);
    /* The names of this part follow the one of all others. */
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

static int list_files(struct dataset *set, char *const *paths, struct error *err) {
    size_t size = 0;
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

int dataset_open_files(struct dataset *set, char *const *paths, size_t count, struct error *err) {
    *set = (struct dataset){.kind = DATASET_FILES, .count = count, .classes = 1};
    if (count > 0 && count <= DATASET_SAMPLES_MAX && list_files(set, paths, err) == 0)
        return 0;
    dataset_done(set);
    return error_set(err, EXIT_CODE_DATA, "%zu pictures; expected 1 to %d", count,
                     DATASET_SAMPLES_MAX);
}

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
    set->hash = str_hash(STR_HASH_START, &count, sizeof(count));
    set->hash = str_hash(set->hash, &classes, sizeof(classes));
    return 0;
}

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

int dataset_read(const struct dataset *set, size_t sample, struct buf *out, struct error *err) {
    char path[PATH_MAX];
    dataset_sample_name(set, sample, path, sizeof(path));
    out->size = 0;
    out->max = JPEG_BYTES_MAX;
    if (set->kind == DATASET_SHARDS) {
        out->max += RECORD_REST_MAX;
        return shard_store_read(set->shards, &set->places[sample], out, err);
    }
    return file_read(path, out, err);
}

/* Noise around a colour of the class: a network can learn it, and no two pictures are alike. */
void dataset_paint(const struct dataset *set, size_t sample, int side, uint8_t *pixels) {
    const int32_t label = set->labels[sample];
    struct random of_class = random_stream((uint64_t)label, 0, 0);
    struct random of_sample = random_stream(sample, 1, 0);
    uint32_t color[3];
    for (int c = 0; c < 3; c++)
        color[c] = random_below(&of_class, 128);
    size_t count = (size_t)side * (size_t)side;
    for (size_t i = 0; i < count; i++) {
        uint32_t noise = random_u32(&of_sample);
        for (int c = 0; c < 3; c++)
            pixels[i * 3 + (size_t)c] = (uint8_t)(color[c] + ((noise >> (8 * c)) & 127));
    }
}
