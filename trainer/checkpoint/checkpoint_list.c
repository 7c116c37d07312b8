#include "trainer/checkpoint/checkpoint_list.h"

#include "common/cleanup.h"
#include "common/file/file_look.h"
#include "common/grow.h"
#include "common/json/json.h"
#include "trainer/checkpoint/format_version.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A listing opens each file that has a checkpoint's name and reads its header alone, so it costs
 * little even for large checkpoints. What cannot be read stays in the list without a position:
 * callers decide what that means for them (checkpoint.c).
 *
 * The step is taken from the name, not from the state, because files are found and removed by name.
 * All else that orders checkpoints is in the state. */

#define PREFIX "step-"
#define SUFFIX ".safetensors"
enum { DIGITS = 9 }; /* as many as CHECKPOINT_STEP_MAX has */

void checkpoint_list_done(struct checkpoint_list *list) {
    free(list->items);
    *list = (struct checkpoint_list){0};
}

/* For the cleanup attribute. */
static void close_folder(DIR **folder) {
    if (*folder != NULL)
        (void)closedir(*folder);
}

/* The folder is a setting, so a path that is too long is an error of configuration. */
int checkpoint_path(const char *folder, int64_t step, char path[CHECKPOINT_PATH_MAX],
                    struct error *err) {
    int length = snprintf(path, CHECKPOINT_PATH_MAX, "%s/" PREFIX "%0*lld" SUFFIX, folder, DIGITS,
                          (long long)step);
    if (length < 0 || length >= CHECKPOINT_PATH_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", folder);
    return 0;
}

/* Returns the step in a checkpoint's file name, or -1 for any other name. Exactly nine digits are
 * accepted: names that differ only in leading zeros would be one step. */
static int64_t parse_name(const char *name) {
    const size_t prefix = sizeof(PREFIX) - 1;
    int64_t step = 0;
    if (strncmp(name, PREFIX, prefix) != 0)
        return -1;
    for (size_t i = prefix; i < prefix + DIGITS; i++) {
        if (name[i] < '0' || name[i] > '9')
            return -1;
        step = step * 10 + (name[i] - '0');
    }
    return strcmp(name + prefix + DIGITS, SUFFIX) == 0 ? step : -1;
}

/* Also for file_tidy(), which derives the names of leftovers from it. */
bool checkpoint_is_name(const char *name) {
    return parse_name(name) >= 0;
}

/* Without the overflow that a difference could have. */
static int compare_numbers(int64_t a, int64_t b) {
    return a < b ? -1 : a > b;
}

/* The step is left out on purpose; checkpoint_list.h says why. */
int checkpoint_position_compare(const struct checkpoint_position *a,
                                const struct checkpoint_position *b) {
    int lineage = compare_numbers(a->lineage, b->lineage);
    return lineage != 0 ? lineage : compare_numbers(a->samples, b->samples);
}

/* Checkpoints of format version 1 have no "samples"; they have taken all steps with one global
 * batch, so the product is the same number. Values come from a file, hence the check for overflow.
 */
int checkpoint_position_of(const struct safetensors *file, struct checkpoint_position *ret,
                           struct error *err) {
    const char *text = safetensors_note(file, CHECKPOINT_STATE);
    cleanup_json json_t *state = NULL;
    int64_t global_batch = -1;
    struct checkpoint_position position = {.lineage = 0, .samples = -1, .step = -1};
    if (text == NULL)
        return error_set(err, EXIT_CODE_DATA, "%s: not a checkpoint: it has no state", file->path);
    if (json_parse(text, strlen(text), file->path, &state, err) != 0 ||
        json_member_int(state, file->path, "step", &position.step, err) != 0 ||
        json_member_int(state, file->path, "course", &position.lineage, err) != 0 ||
        json_member_int(state, file->path, "samples", &position.samples, err) != 0 ||
        json_member_int(state, file->path, "global_batch", &global_batch, err) != 0)
        return error_recode(err, EXIT_CODE_DATA);
    /* An absent member leaves the -1 from above. */
    bool told = position.samples >= 0;
    if (position.step < 0 || position.lineage < 0 ||
        (!told && (global_batch < 1 ||
                   __builtin_mul_overflow(position.step, global_batch, &position.samples))))
        return error_set(err, EXIT_CODE_DATA, "%s: its state holds no position", file->path);
    *ret = position;
    return 0;
}

/* Asked after a failure to open PATH: a file that was removed meanwhile is no trouble, one that
 * cannot be read is. */
bool checkpoint_is_gone(const char *path) {
    struct stat st;
    return lstat(path, &st) != 0 && file_is_absence(errno);
}

/* Fills ITEM from the header of PATH. A damaged header, a later version, and a file that the system
 * refuses to read are all not `readable`. They differ in `newer` and `os_errno`. */
static void look_into(const char *path, struct checkpoint_item *item) {
    cleanup_safetensors struct safetensors file = {0};
    struct error why = {0};
    int64_t step = item->position.step;
    item->readable = safetensors_open(&file, path, &why) == 0 &&
                     format_version_check_file(&file, &item->newer, &why) == 0 &&
                     checkpoint_position_of(&file, &item->position, &why) == 0;
    item->os_errno = item->readable ? 0 : why.os_errno;
    item->position.step = step; /* the file name tells the step */
}

/* Appends the checkpoint of STEP. Fails only for want of memory, or if the path is too long. */
static int add(struct checkpoint_list *list, const char *folder, int64_t step, struct error *err) {
    char path[CHECKPOINT_PATH_MAX];
    if (grow_array(&list->items, &list->capacity, list->count + 1, sizeof(*list->items),
                   "listing checkpoints", err) != 0)
        return -1;
    if (checkpoint_path(folder, step, path, err) != 0)
        return -1;
    struct checkpoint_item *item = &list->items[list->count];
    *item = (struct checkpoint_item){.position.step = step};
    look_into(path, item);
    /* It may have been removed by its writer since its name was read. */
    if (item->os_errno == 0 || !checkpoint_is_gone(path))
        list->count++;
    return 0;
}

/* Items without a position come first, so that a search meets them before any older valid one.
 * Equal positions, as of a copied file, are ordered by step. */
static int newest_first(const void *a, const void *b) {
    const struct checkpoint_item *x = a, *y = b;
    if (x->readable != y->readable)
        return x->readable ? 1 : -1;
    int order = checkpoint_position_compare(&y->position, &x->position);
    return order != 0 ? order : compare_numbers(y->position.step, x->position.step);
}

/* readdir() reports an error by errno alone, which is therefore cleared before each call: a listing
 * that ends early must not pass for a complete one. */
int checkpoint_list_read(struct checkpoint_list *list, const char *folder, struct error *err) {
    __attribute__((cleanup(close_folder))) DIR *dir = opendir(folder);
    *list = (struct checkpoint_list){0};
    if (dir == NULL && errno == ENOENT)
        return 0;
    if (dir == NULL)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", folder);
    for (;;) {
        errno = 0;
        const struct dirent *item = readdir(dir);
        if (item == NULL && errno != 0)
            return error_set_errno(err, EXIT_CODE_CONFIG, "%s", folder);
        if (item == NULL)
            break;
        int64_t step = parse_name(item->d_name);
        if (step >= 0 && add(list, folder, step, err) != 0)
            return -1;
    }
    if (list->count > 0)
        qsort(list->items, list->count, sizeof(*list->items), newest_first);
    return 0;
}

/* The error is made from the errno of the time when the file was looked at, so it names the real
 * cause. */
int checkpoint_list_check(const struct checkpoint_list *list, const char *folder,
                          struct error *err) {
    char path[CHECKPOINT_PATH_MAX];
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].os_errno == 0)
            continue;
        if (checkpoint_path(folder, list->items[i].position.step, path, err) != 0)
            return -1;
        errno = list->items[i].os_errno;
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s: cannot be read", path);
    }
    return 0;
}
