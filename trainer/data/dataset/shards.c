#include "trainer/data/dataset/shards.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/log/log.h"
#include "common/str.h"
#include "trainer/data/dataset/shard_index.h"
#include "trainer/data/dataset/shard_rows.h"
#include "trainer/data/format/class_names.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* From shards to a listing, in steps that each have a section below. Rows come from an index or
 * from a scan, every row gets a class, and the rows are ordered and become arrays. Last, an index
 * is written, if one is wanted and there was none.
 *
 * Formats say different things about classes. A record may have a number, a name, both, or neither,
 * and then its folders or a file of labels must say it. The rule is that all samples of a set have
 * the same kind: a mixture is refused.
 *
 * dataset.c takes the listing over. Errors of settling begin with the set's path, those of a scan
 * name the shard and the byte. */

void shards_listing_done(struct shards_listing *list) {
    for (size_t c = 0; list->class_names != NULL && c < list->classes; c++)
        free(list->class_names[c]);
    free(list->class_names);
    free(list->labels);
    free(list->places);
    free(list->names);
    free(list->name_at);
    *list = (struct shards_listing){0};
}

/* --- scanning -------------------------------------------------------------------------------- */

/* State of a scan, for the functions of the sink that formats report to (format/shard_sample.h). */
struct scanning {
    struct shard_rows *rows;
    struct shards_listing *list;
    const struct shards_reading *reading;
    const struct shard_list *files;
    uint32_t shard;
    uint64_t size; /* of the shard, in bytes */
};

/* A sample that can be used. */
static int take(void *context, const struct shard_sample *sample, struct error *err) {
    struct scanning *s = context;
    return shard_rows_add(s->rows, s->shard, sample, err);
}

/* Counts COUNT records that cannot be used, and fails once they are more than allowed. The reason
 * of the first one is kept for the log, and the last one's is the error. */
static int count_bad(struct scanning *s, uint64_t count, const struct error *why,
                     struct error *err) {
    if (s->list->bad == 0)
        (void)snprintf(s->list->first_bad, sizeof(s->list->first_bad), "%.500s", why->text);
    s->list->bad += count;
    if (s->list->bad <= (uint64_t)s->reading->bad_allowed)
        return 0;
    if (s->reading->bad_allowed == 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%.400s (--bad-samples skip leaves out what cannot be used)", why->text);
    return error_set(err, EXIT_CODE_DATA,
                     "%.400s (%" PRIu64 " records cannot be used; --bad-samples %" PRId64
                     " are allowed)",
                     why->text, s->list->bad, s->reading->bad_allowed);
}

/* A record that cannot be used, and after which the scan continues. */
static int take_bad(void *context, const struct error *why, struct error *err) {
    return count_bad(context, 1, why, err);
}

/* Bytes after damage, of which the number of records is unknown to the format. The index of the set
 * may know it from before the damage. A limit by number is kept only if it is known how many are
 * lost; the limits "none" and "any number" need no count. */
static int take_lost(void *context, const struct shard_loss *loss, const struct error *why,
                     struct error *err) {
    struct scanning *s = context;
    const int64_t allowed = s->reading->bad_allowed;
    uint64_t records = loss->records;
    /* If the shard ends early, the lost records lie after its end. */
    const uint64_t end = loss->end < s->size ? loss->end : UINT64_MAX;
    const bool known =
        records > 0 || (s->files->format->indexed && !s->reading->unindexed &&
                        shard_index_count(s->files, s->shard, loss->begin, end, &records));
    if (!known && allowed > 0 && allowed < INT64_MAX)
        return error_set(err, EXIT_CODE_DATA,
                         "%.400s (%" PRIu64 " bytes cannot be read, and no index says how many "
                         "records they hold: a number of --bad-samples cannot be kept; repair the "
                         "shard, or leave them out with --bad-samples skip)",
                         why->text, loss->end - loss->begin);
    s->list->unread += known ? 0 : loss->end - loss->begin;
    return count_bad(s, records > 0 ? records : 1, why, err);
}

/* Logs how much is scanned, and how later starts can avoid it. The scan has not begun, so that only
 * the folder's permission tells beforehand that no index can be written. */
static void announce(const struct scanning *s, const struct shard_list *files) {
    const struct shards_reading *reading = s->reading;
    double bytes = 0;
    char path[4096];
    struct stat status;
    /* A double, as a sum for a message alone; a shard that cannot be looked at fails when it is
     * scanned. */
    for (size_t i = 0; i < files->count; i++)
        bytes += stat(files->paths[i], &status) == 0 ? (double)status.st_size : 0;
    const char *remedy = "with --index auto the next start reads an index in place of them";
    if (reading->keep_index) {
        (void)snprintf(path, sizeof(path), "%s", files->paths[0]);
        const char *folder = strrchr(path, '/') != NULL ? dirname(path) : ".";
        remedy = access(folder, W_OK) == 0
                     ? "the next start reads the index that is written now in place of them"
                     : "an index cannot be written there; `ringtrain prepare folder` writes shards "
                       "with one";
    }
    log_info("%s: scanning %zu %s, %.3f GB; %s",
             s->list->index_fault[0] != '\0' ? "the index cannot be used"
             : reading->unindexed            ? "the index is not read"
                                             : "no index",
             files->count, files->count == 1 ? "shard" : "shards", bytes / 1e9, remedy);
}

/* Scans shard after shard, in the order of the list, which is the order of the rows. Errors of the
 * sink end it. */
static int scan_all(struct scanning *s, const struct shard_list *files, struct error *err) {
    const struct shard_sink sink = {take, take_bad, take_lost, s};
    for (size_t i = 0; i < files->count; i++) {
        cleanup_shard_file struct shard_file file = SHARD_FILE_CLOSED;
        s->shard = (uint32_t)i;
        if (shard_file_open(&file, files->paths[i], err) != 0)
            return -1;
        s->size = file.size;
        if (files->format->scan(&file, &sink, err) != 0)
            return -1;
    }
    return 0;
}

/* --- classes --------------------------------------------------------------------------------- */

/* Moves names to the listing as the names of its classes, 0 to COUNT - 1. `classes` counts them one
 * by one, so that a cleanup frees what has moved. */
static int move_names(struct shards_listing *list, char **names, size_t count, struct error *err) {
    list->class_names = calloc(count + 1, sizeof(*list->class_names));
    if (list->class_names == NULL)
        return error_no_memory(err, "names of classes");
    for (size_t c = 0; c < count; c++)
        list->class_names[list->classes++] = TAKE_PTR(names[c]);
    return 0;
}

/* Bytewise, as folder_walk.c sorts the folders of classes. */
static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Numbers the classes by their names in bytewise order, as folders are (folder.c). Each name's old
 * number, that of its first sample, is mapped to its new one. All rows have a name. */
static int classes_by_name(struct shards_listing *list, struct shard_rows *rows,
                           struct error *err) {
    const size_t count = rows->classes.count;
    cleanup_free int32_t *place = calloc(count + 1, sizeof(*place));
    if (place == NULL || move_names(list, rows->classes.names, count, err) != 0)
        return error_no_memory(err, "names of classes");
    cleanup_free char **unsorted = malloc((count + 1) * sizeof(*unsorted));
    if (unsorted == NULL)
        return error_no_memory(err, "names of classes");
    /* Pointers are sorted, not texts: `unsorted` keeps which name had which number. */
    memcpy(unsorted, list->class_names, count * sizeof(*unsorted));
    qsort(list->class_names, count, sizeof(*list->class_names), compare_names);
    for (size_t c = 0; c < count; c++) {
        char **at = bsearch(&unsorted[c], list->class_names, count, sizeof(*list->class_names),
                            compare_names);
        place[c] = (int32_t)(at - list->class_names);
    }
    for (size_t i = 0; i < rows->count; i++)
        rows->items[i].label = place[rows->items[i].class_name];
    return 0;
}

/* Returns the number of the first class, 0 or 1. ImageNet's converter to TFRecord counts classes
 * from 1. Without names of classes (NAMED is 0) that is seen by no record having the class 0, and
 * with names by the last number. */
static int64_t find_base(int64_t least, int64_t most, size_t named) {
    if (least < 1)
        return 0;
    return named == 0 || most == (int64_t)named;
}

/* Finds the base from the names that records and the file beside the shards give the classes; -1:
 * these do not tell. Each record with a number and a name excludes a base under which the file
 * names it otherwise. Both may fit, or neither. */
static int64_t find_base_by_names(const struct shard_rows *rows, const struct class_names *given) {
    bool fits[2] = {true, true};
    for (size_t i = 0; i < rows->count && (fits[0] || fits[1]); i++) {
        const struct shard_row *row = &rows->items[i];
        for (int64_t base = 0; base < 2 && row->class_name >= 0; base++)
            fits[base] =
                fits[base] && row->label >= base && row->label - base < (int64_t)given->count &&
                strcmp(rows->classes.names[row->class_name], given->names[row->label - base]) == 0;
    }
    return fits[0] == fits[1] ? -1 : fits[1];
}

/* Sets *RET, to be freed, to the names that the records give the classes, [COUNT]; NULL where none
 * does. The names themselves belong to ROWS. Two names for one number are an error, as one of them
 * must be wrong. */
static int names_of_records(struct shard_rows *rows, int64_t base, size_t count, const char ***ret,
                            struct error *err) {
    *ret = calloc(count + 1, sizeof(**ret));
    if (*ret == NULL)
        return error_no_memory(err, "names of classes");
    for (size_t i = 0; i < rows->count; i++) {
        const struct shard_row *row = &rows->items[i];
        if (row->class_name < 0)
            continue;
        const char *name = rows->classes.names[row->class_name];
        const char **slot = &(*ret)[row->label - base];
        if (*slot != NULL && strcmp(*slot, name) != 0)
            return error_set(err, EXIT_CODE_DATA,
                             "class %" PRId64 " is named '%.100s' and '%.100s'", row->label, *slot,
                             name);
        *slot = name;
    }
    return 0;
}

/* Names the classes from BASE on: by the file beside the shards, else by the records, else by the
 * numbers themselves. Names of a file are all taken, even those without samples here. */
static int name_classes(struct shards_listing *list, struct shard_rows *rows, int64_t base,
                        size_t count, struct class_names *given, struct error *err) {
    cleanup_free const char **names = NULL;
    if (given->count > 0)
        return move_names(list, given->names, given->count, err);
    if (names_of_records(rows, base, count, &names, err) != 0)
        return -1;
    list->class_names = calloc(count + 1, sizeof(*list->class_names));
    if (list->class_names == NULL)
        return error_no_memory(err, "names of classes");
    for (size_t c = 0; c < count; c++) {
        char number[24];
        (void)snprintf(number, sizeof(number), "%zu", c + (size_t)base);
        list->class_names[c] = strdup(names[c] != NULL ? names[c] : number);
        if (list->class_names[c] == NULL)
            return error_no_memory(err, "names of classes");
        list->classes++;
    }
    return 0;
}

/* Takes the numbers of the records as classes, after subtracting the first one. Only TFRecord sets
 * are ever counted from 1 by default; other formats are taken at their word. A base that was given
 * is not questioned, but must fit. */
static int classes_by_number(struct shards_listing *list, struct shard_rows *rows,
                             struct class_names *given, enum shards_base given_base,
                             bool may_count_from_1, struct error *err) {
    int64_t least = INT64_MAX;
    int64_t most = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const int64_t label = rows->items[i].label;
        least = label < least ? label : least;
        most = label > most ? label : most;
    }
    /* What the names say weighs more than what the range of the numbers suggests. */
    int64_t base = given_base == SHARDS_BASE_1;
    if (given_base == SHARDS_BASE_AUTO && may_count_from_1 &&
        (base = find_base_by_names(rows, given)) < 0)
        base = find_base(least, most, given->count);
    const size_t named = given->count;
    if (least < base || most - base >= CLASS_NAMES_MAX ||
        (named > 0 && most - base >= (int64_t)named))
        /* The least or the most number is the one that does not fit. */
        return error_set(err, EXIT_CODE_DATA,
                         "a record of class %" PRId64 "; expected classes from %" PRId64
                         " to %" PRId64 " (--label-base says which is the first)",
                         least < base ? least : most, base,
                         base + (named > 0 ? (int64_t)named : (int64_t)CLASS_NAMES_MAX) - 1);
    /* Logged, because it was found out and not said. */
    if (base > 0 && given_base == SHARDS_BASE_AUTO)
        (void)snprintf(list->note, sizeof(list->note),
                       "classes are counted from 1 here: no record has the class 0");
    if (name_classes(list, rows, base, (size_t)(most - base) + 1, given, err) != 0)
        return -1;
    for (size_t i = 0; i < rows->count; i++)
        rows->items[i].label -= base;
    return 0;
}

/* Decides where classes come from: a file of labels that was given, else the records, else folders
 * in names. Names of classes lie beside the first shard. */
static int settle_classes(struct shards_listing *list, struct shard_rows *rows,
                          const struct shard_list *files, const struct shards_reading *reading,
                          struct error *err) {
    cleanup_class_names struct class_names given = {0};
    char folder[PATH_MAX];
    const char *slash = strrchr(files->paths[0], '/');
    /* The folder of the shards; "." for names without one. */
    (void)snprintf(folder, sizeof(folder), "%.*s",
                   slash != NULL ? (int)(slash - files->paths[0]) : 1,
                   slash != NULL ? files->paths[0] : ".");
    if (class_names_read(&given, folder, err) != 0)
        return -1;
    if (reading->labels != NULL && shard_rows_name_by_labels(rows, reading->labels, err) != 0)
        return -1;
    if (rows->labelled == 0 && rows->named == 0 && shard_rows_name_by_path(rows, err) != 0)
        return -1;
    /* Numbers come before names: records that have both are numbered, and their names become the
     * names of the classes. */
    if (rows->labelled == rows->count)
        return classes_by_number(list, rows, &given, reading->base,
                                 strcmp(files->format->name, "tfrecord") == 0, err);
    if (rows->named == rows->count)
        return classes_by_name(list, rows, err);
    return error_set(err, EXIT_CODE_DATA,
                     "of %zu pictures %zu have a class as a number and %zu as a name or a folder; "
                     "expected one of these for all",
                     rows->count, rows->labelled, rows->named);
}

/* --- the listing ----------------------------------------------------------------------------- */

/* Hash of the set. It is computed as in folder.c if names are ordered, so that the same pictures
 * have the same hash in any format. Else it is of classes, labels and sizes. */
static uint64_t hash_all(const struct shards_listing *list, const struct shard_rows *rows) {
    uint64_t hash = STR_HASH_START;
    size_t at = 0;
    for (size_t c = 0; c < list->classes; c++) {
        const char *name = list->class_names[c];
        hash = str_hash(hash, name, strlen(name) + 1);
        for (; rows->ordered && at < rows->count && rows->items[at].label == (int64_t)c; at++) {
            const char *file = rows->names.data + rows->items[at].name_at;
            const int64_t size = (int64_t)rows->items[at].picture_bytes;
            hash = str_hash(str_hash(hash, file, strlen(file) + 1), &size, sizeof(size));
        }
    }
    for (; at < rows->count; at++) {
        const int64_t of[2] = {rows->items[at].label, (int64_t)rows->items[at].picture_bytes};
        hash = str_hash(hash, of, sizeof(of));
    }
    return hash;
}

/* Makes the arrays of the listing. The block of names moves as it is: rows and listing have the
 * same offsets. */
static int copy_rows(struct shards_listing *list, struct shard_rows *rows, struct error *err) {
    list->labels = malloc((rows->count + 1) * sizeof(*list->labels));
    list->places = malloc((rows->count + 1) * sizeof(*list->places));
    list->name_at = malloc((rows->count + 1) * sizeof(*list->name_at));
    if (list->labels == NULL || list->places == NULL || list->name_at == NULL)
        return error_no_memory(err, "a list of samples");
    for (size_t i = 0; i < rows->count; i++) {
        const struct shard_row *row = &rows->items[i];
        list->labels[i] = (int32_t)row->label;
        list->places[i] = row->place;
        list->name_at[i] = row->name_at;
        list->bytes += (int64_t)row->picture_bytes;
    }
    list->count = rows->count;
    list->names = TAKE_PTR(rows->names.data);
    rows->names = (struct buf){0};
    return 0;
}

/* Classes come before the order, which depends on them, and the hash after it. */
static int settle(struct shards_listing *list, struct shard_rows *rows,
                  const struct shard_list *files, const struct shards_reading *reading,
                  struct error *err) {
    if (rows->count == 0)
        return error_set(err, EXIT_CODE_DATA, "no pictures in %zu %s of the format %s",
                         files->count, files->count == 1 ? "shard" : "shards", files->format->name);
    if (settle_classes(list, rows, files, reading, err) != 0 ||
        shard_rows_order(rows, list->class_names, err) != 0)
        return -1;
    list->hash = hash_all(list, rows);
    return copy_rows(list, rows, err);
}

/* Fills the rows from the index, if there is one that fits, or else by a scan. INDEX gets what is
 * to be kept of them; it is packed now, as settling changes the rows. */
static int find_rows(struct scanning *s, const struct shard_list *files, struct buf *index,
                     struct error *err) {
    struct error why = {0};
    bool used = false;
    if (files->format->indexed && !s->reading->unindexed)
        shard_index_read(s->rows, files, &used, &why);
    if (why.code != 0)
        (void)snprintf(s->list->index_fault, sizeof(s->list->index_fault),
                       "%.440s; the shards are scanned", why.text);
    s->list->source = used ? SHARDS_FROM_INDEX : SHARDS_SCANNED;
    if (used)
        return 0;
    if (files->format->indexed && s->reading->aloud)
        announce(s, files);
    if (scan_all(s, files, err) != 0)
        return -1;
    /* Bad records have to be reported at each start, so a set that has some gets no index. */
    if (!s->reading->keep_index || !files->format->indexed || s->list->bad > 0)
        return 0;
    if (shard_index_pack(index, s->rows, files, &why) != 0)
        buf_consume(index, index->size);
    return 0;
}

/* Writes the index beside the shards. It appears whole or not at all. A set that cannot be written
 * to, as a channel of SageMaker, has no index: that is no fault. */
static void keep_index(struct shards_listing *list, const struct shard_list *files,
                       const struct buf *index) {
    struct error why = {0};
    char path[4096];
    if (index->size == 0 || shard_index_path(files, path, NULL) != 0)
        return;
    if (file_publish(path, index->data, index->size, 0644, &why) == 0)
        list->source = SHARDS_SCANNED_AND_KEPT;
    else if (why.os_errno != EROFS && why.os_errno != EACCES && why.os_errno != EPERM)
        (void)snprintf(list->index_fault, sizeof(list->index_fault), "%.440s; no index is kept",
                       why.text);
}

/* The index is written last: a set with classes that cannot be settled should not get one. */
int shards_list(struct shards_listing *ret, const struct shard_store *store, const char *path,
                const struct shards_reading *reading, struct error *err) {
    cleanup_shard_rows struct shard_rows rows = {0};
    cleanup_buf struct buf index = {0};
    const struct shard_list *files = shard_store_list(store);
    struct scanning s = {.rows = &rows, .list = ret, .reading = reading, .files = files};
    *ret = (struct shards_listing){0};
    shard_rows_init(&rows);
    /* Rows are freed in any case; what the listing needs of them is copied or moved. */
    int result = find_rows(&s, files, &index, err);
    if (result == 0 && (result = settle(ret, &rows, files, reading, err)) != 0)
        (void)error_wrap(err, "%s", path);
    if (result == 0)
        keep_index(ret, files, &index);
    else
        shards_listing_done(ret);
    return result;
}
