#include "trainer/app/weights/pretrained.h"

#include "common/cleanup.h"
#include "common/run_id.h"
#include "trainer/app/weights/weights.h"
#include "trainer/checkpoint/checkpoint_list.h"
#include "trainer/math/bf16.h"
#include "trainer/math/f16.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The file may be another program's, so its names are matched rather than assumed. A reading
 * goes through these steps: list the model's arrays, choose the prefix, decide what the head is,
 * read the body, then the head, and tell what was left.
 *
 * The head is the part that depends on the classes. It is taken from the file as a whole, or not
 * at all, as its tensors fit one another only together. Everything else has to be in the file,
 * in the model's shape.
 *
 * The arrays are those of WEIGHTS_MODEL alone. There is exactly one for each slot of the store,
 * so an index of one is an index of the other. */

/* SHOWN: names of unused tensors in a note. */
enum { SHOWN = 5, PREFIX_MAX = ARRAY_NAME_MAX };

/* State of one reading. */
struct reading {
    struct store *store; /* borrowed */
    struct safetensors file;
    struct weights weights;  /* arrays of the model, in the store */
    char prefix[PREFIX_MAX]; /* of the file's names; "": none */
    /* The network's last layer with a weight of two axes: "fc", of HEAD_SIZE characters. */
    const char *head;
    size_t head_size;
    const struct model_names *names; /* not NULL: these names define the head */
    bool body_only;    /* the file holds only the body of those names: all else is head */
    bool *used;        /* owned: entries of the file */
    struct buf *notes; /* borrowed; lines for people */
};

static void reading_done(struct reading *r) {
    free(r->used);
    weights_done(&r->weights);
    safetensors_done(&r->file);
}

static bool begins(const char *name, const char *start) {
    return strncmp(name, start, strlen(start)) == 0;
}

/* Returns NULL if there is none. Both parts of the name are shorter than ARRAY_NAME_MAX. */
static const struct safetensors_entry *find_as(const struct reading *r, const char *prefix,
                                               const char *name) {
    char whole[2 * ARRAY_NAME_MAX];
    (void)snprintf(whole, sizeof(whole), "%s%s", prefix, name);
    return safetensors_find(&r->file, whole);
}

/* Networks without a body of their own, such as classifiers, have no tensor in it. */
static bool of_body(const struct reading *r, const char *name) {
    return r->names != NULL && r->names->body != NULL && begins(name, r->names->body);
}

/* Looks TENSOR up by its name, its old name, or its name in a file of the body alone. */
static const struct safetensors_entry *find(const struct reading *r, const char *prefix,
                                            const char *name) {
    char old[ARRAY_NAME_MAX];
    const struct safetensors_entry *entry = find_as(r, prefix, name);
    if (entry == NULL && r->names != NULL && r->names->old_name != NULL &&
        r->names->old_name(name, old, sizeof(old)))
        entry = find_as(r, prefix, old);
    if (entry == NULL && of_body(r, name))
        entry = find_as(r, prefix, name + strlen(r->names->body));
    return entry;
}

/* Returns false as well for an entry that this program cannot read at all. */
static bool same_shape(const struct safetensors_entry *entry, const struct array *array) {
    return entry->unusable == NULL && entry->rank == array->rank &&
           memcmp(entry->shape, array->shape, (size_t)entry->rank * sizeof(entry->shape[0])) == 0;
}

/* Returns how many of the model's tensors the file has under PREFIX. */
static size_t agreement(const struct reading *r, const char *prefix) {
    size_t count = 0;
    for (size_t i = 0; i < r->weights.count; i++) {
        const struct array *array = &r->weights.arrays[i];
        const struct safetensors_entry *entry = find(r, prefix, array->name);
        count += entry != NULL && same_shape(entry, array);
    }
    return count;
}

/* Returns where array I lies in the network: a store has its slots in the order of their
 * gradients. */
static int place(const struct reading *r, size_t i) {
    return r->store->slots[i].tensor;
}

/* Returns the name of the network's first weight, which is the one nearest to the input. It is in
 * any file that fits the model, with or without a head. */
static const char *first_name(const struct reading *r) {
    size_t first = 0;
    for (size_t i = 1; i < r->weights.count; i++)
        if (place(r, i) < place(r, first))
            first = i;
    return r->weights.arrays[first].name;
}

/* Copies what precedes WANTED in NAME if NAME ends with WANTED. A prefix ends with a dot, so that
 * "preconv1.weight" is not taken for "conv1.weight". */
static bool prefix_of(const char *name, const char *wanted, char ret[PREFIX_MAX]) {
    size_t size = strlen(name), length = strlen(wanted);
    if (size <= length || size - length >= PREFIX_MAX || name[size - length - 1] != '.' ||
        strcmp(name + size - length, wanted) != 0)
        return false;
    (void)snprintf(ret, PREFIX_MAX, "%.*s", (int)(size - length), name);
    return true;
}

/* Chooses, among all prefixes that precede the first weight's name (also as in a body alone), the
 * one that matches most of the model. */
static void choose_prefix(struct reading *r) {
    const char *whole = first_name(r);
    const char *const names[] = {whole, of_body(r, whole) ? whole + strlen(r->names->body) : NULL};
    size_t best = agreement(r, "");
    for (size_t i = 0; i < 2 * r->file.count; i++) {
        const char *wanted = names[i / r->file.count];
        char prefix[PREFIX_MAX];
        if (wanted == NULL || !prefix_of(r->file.entries[i % r->file.count].name, wanted, prefix))
            continue;
        size_t found = agreement(r, prefix);
        /* If prefixes match equally well, none at all is best, and then the first in the file. */
        if (found <= best)
            continue;
        best = found;
        memcpy(r->prefix, prefix, sizeof(prefix));
    }
}

/* Sets `body_only` if the file has nothing of the model but its body, and `head` for networks
 * without lists of names: the layer of the last matrix, which is taken to be the one that makes the
 * logits. */
static void find_head(struct reading *r) {
    bool others = false;
    int last = -1;
    for (size_t i = 0; i < r->weights.count; i++) {
        const char *name = r->weights.arrays[i].name;
        others |= !of_body(r, name) && find(r, r->prefix, name) != NULL;
    }
    /* Names without a body, as those of Inception, define heads alone. */
    r->body_only = r->names != NULL && r->names->body != NULL && !others;
    for (size_t i = 0; i < r->weights.count; i++) {
        const struct array *array = &r->weights.arrays[i];
        const char *dot = strrchr(array->name, '.');
        if (array->rank != 2 || dot == NULL || place(r, i) < last)
            continue;
        last = place(r, i);
        r->head = array->name;
        r->head_size = (size_t)(dot - array->name) + 1;
    }
}

/* A file of the body alone makes everything else head. Otherwise the network's list of names
 * decides, and without a list the layer that find_head has found. */
static bool of_head(const struct reading *r, const struct array *array) {
    if (r->body_only)
        return !of_body(r, array->name);
    for (size_t i = 0; r->names != NULL && r->names->heads[i] != NULL; i++)
        if (begins(array->name, r->names->heads[i]))
            return true;
    return r->names == NULL && r->head != NULL && strncmp(array->name, r->head, r->head_size) == 0;
}

/* Values of 16 bits are exact in f32; only f64 is rounded, by the caller. */
static double value_of(const void *values, enum array_type type, size_t i) {
    switch (type) {
    case ARRAY_F16:
        return f16_to_f32(((const uint16_t *)values)[i]);
    case ARRAY_BF16:
        return bf16_to_f32(((const uint16_t *)values)[i]);
    case ARRAY_F64:
        return ((const double *)values)[i];
    default:
        return ((const float *)values)[i];
    }
}

/* Converts any floating type, in the file's order of axes, into ARRAY. NaN, infinity and a negative
 * variance are refused here, where the error can still name their place in the file. */
static int convert(const struct reading *r, const struct safetensors_entry *entry,
                   const struct array *array, struct error *err) {
    size_t count = (size_t)array_count(array);
    cleanup_free void *raw = malloc(entry->size + 1);
    cleanup_free float *plain = malloc(count * sizeof(float) + 1);
    const char *last = strrchr(array->name, '.');
    const bool variance = last != NULL && strcmp(last, ".running_var") == 0;
    if (raw == NULL || plain == NULL)
        return error_no_memory(err, "initial weights");
    /* The same array as the file has it, so that safetensors_read checks its size and checksum. */
    struct array as_written = *array;
    as_written.name = entry->name;
    as_written.type = entry->type;
    as_written.ohwi = false;
    as_written.data = raw;
    if (safetensors_read(&r->file, &as_written, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        plain[i] = (float)value_of(raw, entry->type, i);
        if (!isfinite(plain[i]))
            return error_set(err, EXIT_CODE_DATA, "%s: %s: value %zu is not finite", r->file.path,
                             entry->name, i);
        if (variance && plain[i] < 0)
            return error_set(err, EXIT_CODE_DATA, "%s: %s: value %zu is a variance below zero",
                             r->file.path, entry->name, i);
    }
    if (array->ohwi)
        array_oihw_to_ohwi(plain, array->data, array->shape[0], array_inputs(array),
                           array_plane(array), 1);
    else
        memcpy(array->data, plain, count * sizeof(float));
    return 0;
}

/* Marks ENTRY as used, even if it cannot be read, and checks everything but the values. The
 * shape comes before the type, since it tells more about a file of another network. */
static int read_array(struct reading *r, const struct safetensors_entry *entry,
                      const struct array *array, struct error *err) {
    r->used[entry - r->file.entries] = true;
    if (entry->unusable != NULL)
        return error_set(err, EXIT_CODE_DATA, "%s: %s: %s", r->file.path, entry->name,
                         entry->unusable);
    char there[ARRAY_SHAPE_TEXT_SIZE], here[ARRAY_SHAPE_TEXT_SIZE];
    if (!same_shape(entry, array))
        return error_set(err, EXIT_CODE_DATA,
                         "%s: %s has the shape %s, the model's has %s: is the file of another "
                         "network?",
                         r->file.path, entry->name,
                         array_shape_text(entry->shape, entry->rank, there),
                         array_shape_text(array->shape, array->rank, here));
    if (entry->type != ARRAY_F32 && entry->type != ARRAY_F16 && entry->type != ARRAY_BF16 &&
        entry->type != ARRAY_F64)
        return error_set(err, EXIT_CODE_DATA, "%s: %s: has type %s; expected F32, F16, BF16 or F64",
                         r->file.path, entry->name, array_type_name(entry->type));
    return convert(r, entry, array, err);
}

/* Reads all arrays that are not of the head. It continues after a missing one, so that the error
 * can say how many there are, and names the first. */
static int read_body(struct reading *r, struct error *err) {
    const char *first = NULL;
    size_t missing = 0;
    for (size_t i = 0; i < r->weights.count; i++) {
        const struct array *array = &r->weights.arrays[i];
        const struct safetensors_entry *entry = find(r, r->prefix, array->name);
        if (of_head(r, array))
            continue;
        if (entry == NULL) {
            first = missing++ == 0 ? array->name : first;
            continue;
        }
        if (read_array(r, entry, array, err) != 0)
            return -1;
    }
    if (missing > 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: %zu of the model's %zu tensors are missing, the first is %s%s",
                         r->file.path, missing, r->weights.count, r->prefix, first);
    return 0;
}

/* Reports why the head keeps its initial values. OTHER is of the model, THERE in the file, or
 * NULL. */
static int head_text(const struct reading *r, const struct array *other,
                     const struct safetensors_entry *there, struct error *err) {
    int size = r->names != NULL ? (int)strlen(other->name) : (int)r->head_size - 1;
    const char *head = r->names != NULL ? other->name : r->head;
    const char *more = r->names != NULL ? " and the other layers that depend on the classes" : "";
    const char *keeps = r->names != NULL ? "keep their" : "keeps its";
    if (there == NULL)
        return buf_printf(r->notes, err, "%s has no %s%s: %.*s%s %s initial values\n", r->file.path,
                          r->prefix, other->name, size, head, more, keeps);
    /* A detector's first row is that of the background. */
    const int64_t background = r->names != NULL ? 1 : 0;
    return buf_printf(r->notes, err,
                      "%s is for %" PRId64 " classes, the data has %" PRId64
                      ": %.*s%s %s initial values\n",
                      r->file.path, there->shape[0] - background, other->shape[0] - background,
                      size, head, more, keeps);
}

/* Returns true if A's rows are more likely the classes than B's: the narrowest matrix has one row
 * for each class. */
static bool counts_classes(const struct array *a, const struct array *b) {
    return a->rank == 2 && (b->rank != 2 || a->shape[0] < b->shape[0]);
}

/* Reads all of the classifier, or none of it. The first loop looks for an array that the file does
 * not have in this shape; the second runs only if there is none. */
static int read_head(struct reading *r, struct error *err) {
    const struct array *other = NULL;
    const struct safetensors_entry *there = NULL;
    for (size_t i = 0; i < r->weights.count; i++) {
        const struct array *array = &r->weights.arrays[i];
        const struct safetensors_entry *entry = find(r, r->prefix, array->name);
        if (of_head(r, array) && entry != NULL)
            r->used[entry - r->file.entries] = true; /* reported below in either case */
        if (!of_head(r, array) || (entry != NULL && same_shape(entry, array)))
            continue;
        if (other == NULL || counts_classes(array, other)) {
            other = array;
            there = entry;
        }
    }
    if (other != NULL)
        return head_text(r, other, there, err);
    for (size_t i = 0; i < r->weights.count; i++) {
        const struct array *array = &r->weights.arrays[i];
        if (of_head(r, array) && read_array(r, find(r, r->prefix, array->name), array, err) != 0)
            return -1;
    }
    return 0;
}

/* Not reported: what a training checkpoint holds in addition to the model, and counters. */
static bool is_expected(const char *name) {
    const char *counter = ".num_batches_tracked";
    size_t size = strlen(name), tail = strlen(counter);
    return strncmp(name, "optimizer.", 10) == 0 ||
           strncmp(name, WEIGHTS_AVERAGE_PREFIX, strlen(WEIGHTS_AVERAGE_PREFIX)) == 0 ||
           (size > tail && strcmp(name + size - tail, counter) == 0);
}

/* Names are of the file, so they are cut, and at most SHOWN of them are printed. */
static int unused_text(const struct reading *r, struct error *err) {
    cleanup_buf struct buf names = {.max = (size_t)(SHOWN + 1) * (ARRAY_NAME_MAX + 8)};
    size_t count = 0;
    for (size_t i = 0; i < r->file.count; i++) {
        const char *name = r->file.entries[i].name;
        if (r->used[i] || is_expected(name))
            continue;
        if (count++ < SHOWN &&
            buf_printf(&names, err, "%s%.*s", count > 1 ? ", " : "", ARRAY_NAME_MAX, name) != 0)
            return -1;
    }
    if (count == 0)
        return 0;
    return buf_printf(r->notes, err, "%s: %zu tensors are not used: %s%s\n", r->file.path, count,
                      buf_text(&names), count > SHOWN ? ", ..." : "");
}

/* Reports how much of a detector came from a file of the body alone. */
static int body_text(const struct reading *r, struct error *err) {
    size_t taken = 0;
    for (size_t i = 0; i < r->weights.count; i++)
        taken += of_body(r, r->weights.arrays[i].name);
    return buf_printf(
        r->notes, err,
        "%s holds a body alone: %zu tensors are taken, %zu keep their initial values\n",
        r->file.path, taken, r->weights.count - taken);
}

/* A prefix that was given is not replaced by a better one, but has to fit one tensor at least. */
static int take_prefix(struct reading *r, const char *prefix, struct error *err) {
    if (strlen(prefix) >= sizeof(r->prefix))
        return error_set(err, EXIT_CODE_USAGE, "prefix \"%.64s...\" is too long", prefix);
    memcpy(r->prefix, prefix, strlen(prefix) + 1);
    if (agreement(r, prefix) > 0)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: no weight of the model has the prefix \"%s\"",
                     r->file.path, prefix);
}

/* Notes come in the order of their weight: what keeps its initial values, the prefix, what is
 * not used. The arenas are pushed once, after all arrays, since a push copies the whole arena to
 * a device. */
static int read_all(struct reading *r, const char *prefix, struct error *err) {
    if (prefix == NULL)
        choose_prefix(r);
    else if (take_prefix(r, prefix, err) != 0)
        return -1;
    find_head(r);
    if (read_body(r, err) != 0 || (r->body_only ? body_text(r, err) : read_head(r, err)) != 0)
        return -1;
    if (r->prefix[0] != '\0' &&
        buf_printf(r->notes, err, "%s names the model's tensors with the prefix \"%s\"\n",
                   r->file.path, r->prefix) != 0)
        return -1;
    /* The optimizer's arenas are not touched: a training from --init starts with a fresh one. */
    if (store_push(r->store, STORE_PARAMETERS, err) != 0 ||
        store_push(r->store, STORE_STATE, err) != 0 ||
        store_push(r->store, STORE_CONSTANTS, err) != 0)
        return -1;
    return unused_text(r, err);
}

/* R starts as zeros, so reading_done is right wherever a step has failed. After a failure the
 * store may hold a part of the file; callers end the training then. */
int pretrained_read(struct store *store, const struct model_names *names, const char *path,
                    const char *prefix, struct buf *notes, struct error *err) {
    struct reading r = {.store = store, .names = names, .notes = notes};
    int failed = safetensors_open(&r.file, path, err);
    if (failed == 0)
        failed = weights_list(&r.weights, store, WEIGHTS_MODEL, 0, err);
    r.used = calloc(r.file.count + 1, sizeof(*r.used));
    if (failed == 0 && r.used == NULL)
        failed = error_no_memory(err, "initial weights");
    if (failed == 0)
        failed = read_all(&r, prefix, err);
    reading_done(&r);
    return failed;
}

/* A path that does not exist is taken for a file: opening it gives the better error. */
int pretrained_path(const char *given, char ret[PATH_MAX], struct error *err) {
    struct stat st;
    bool folder = stat(given, &st) == 0 && S_ISDIR(st.st_mode);
    if (snprintf(ret, PATH_MAX, "%s%s", given, folder ? "/model.safetensors" : "") < PATH_MAX)
        return 0;
    return error_set(err, EXIT_CODE_USAGE, "--init: %.64s...: path too long", given);
}

/* Sets *RET to true if a checkpoint may be there to resume from, which makes --init unnecessary. A
 * restarted attempt looks for one even with --resume none, as it continues with its own. */
static int may_resume(const struct options *o, const char *checkpoints, bool *ret,
                      struct error *err) {
    cleanup_checkpoint_list struct checkpoint_list there = {0};
    const char *attempt = getenv(ATTEMPT_VARIABLE);
    bool again = attempt != NULL && strtol(attempt, NULL, 10) > 1;
    bool none = strcmp(o->resume, "none") == 0;
    *ret = !none && strcmp(o->resume, "auto") != 0;
    if (*ret || (none && !again))
        return 0;
    if (checkpoint_list_read(&there, checkpoints, err) != 0)
        return -1;
    *ret = there.count > 0;
    return 0;
}

/* Reads the header alone. The tensors are checked when they are read, as the network is needed
 * for that. */
int pretrained_check(const struct options *o, const char *checkpoints, struct error *err) {
    char path[PATH_MAX];
    struct safetensors file;
    bool resumes = false;
    if (o->init == NULL)
        return 0;
    if (may_resume(o, checkpoints, &resumes, err) != 0 || pretrained_path(o->init, path, err) != 0)
        return -1;
    if (resumes)
        return 0;
    if (safetensors_open(&file, path, err) != 0)
        return error_wrap(err, "--init");
    safetensors_done(&file);
    return 0;
}
