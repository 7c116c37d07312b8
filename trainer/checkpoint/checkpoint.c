#include "checkpoint/checkpoint.h"

#include "common/cleanup.h"
#include "common/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "step-"
#define SUFFIX ".safetensors"
enum { DIGITS = 9, TEMP_TAIL = 7 /* what file_publish_open appends: .XXXXXX */ };

struct steps {
    int64_t *items; /* owned; newest first */
    size_t count;
    size_t capacity;
};

static void steps_done(struct steps *steps) {
    free(steps->items);
    *steps = (struct steps){0};
}

static void close_folder(DIR **folder) {
    if (*folder != NULL)
        (void)closedir(*folder);
}

static int path_of(const char *folder, int64_t step, char path[CHECKPOINT_PATH_MAX],
                   struct error *err) {
    int length = snprintf(path, CHECKPOINT_PATH_MAX, "%s/" PREFIX "%0*lld" SUFFIX, folder, DIGITS,
                          (long long)step);
    if (length < 0 || length >= CHECKPOINT_PATH_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", folder);
    return 0;
}

/* The step of a checkpoint's file name, -1 for any other. *RET_REST is what follows the name. */
static int64_t parse_name(const char *name, const char **ret_rest) {
    const size_t prefix = sizeof(PREFIX) - 1, suffix = sizeof(SUFFIX) - 1;
    int64_t step = 0;
    if (strncmp(name, PREFIX, prefix) != 0)
        return -1;
    for (size_t i = prefix; i < prefix + DIGITS; i++) {
        if (name[i] < '0' || name[i] > '9')
            return -1;
        step = step * 10 + (name[i] - '0');
    }
    if (strncmp(name + prefix + DIGITS, SUFFIX, suffix) != 0)
        return -1;
    *ret_rest = name + prefix + DIGITS + suffix;
    return step;
}

static int steps_add(struct steps *steps, int64_t step, struct error *err) {
    if (steps->count == steps->capacity) {
        size_t more = steps->capacity == 0 ? 16 : steps->capacity * 2;
        int64_t *items = realloc(steps->items, more * sizeof(*items));
        if (items == NULL)
            return error_no_memory(err, "listing checkpoints");
        steps->items = items;
        steps->capacity = more;
    }
    steps->items[steps->count++] = step;
    return 0;
}

static int newest_first(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Lists the checkpoints of FOLDER; removes what an interrupted write left when CLEAN. A folder that
 * is not there holds none. */
static int list_steps(const char *folder, bool clean, struct steps *steps, struct error *err) {
    __attribute__((cleanup(close_folder))) DIR *dir = opendir(folder);
    if (dir == NULL && errno == ENOENT)
        return 0;
    if (dir == NULL)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", folder);
    for (;;) {
        errno = 0;
        const struct dirent *item = readdir(dir);
        const char *rest;
        if (item == NULL && errno != 0)
            return error_set_errno(err, EXIT_CODE_DATA, "%s", folder);
        if (item == NULL)
            break;
        int64_t step = parse_name(item->d_name, &rest);
        if (step >= 0 && *rest == '\0' && steps_add(steps, step, err) != 0)
            return -1;
        if (step >= 0 && clean && *rest == '.' && strlen(rest) == TEMP_TAIL)
            (void)unlinkat(dirfd(dir), item->d_name, 0);
    }
    if (steps->count > 0)
        qsort(steps->items, steps->count, sizeof(*steps->items), newest_first);
    return 0;
}

/* Of the checkpoints up to STEP, all but the newest few. Later ones belong to another course of the
 * training and are left alone. */
static int remove_old(const char *folder, int64_t step, const struct steps *steps,
                      struct error *err) {
    int kept = 0;
    for (size_t i = 0; i < steps->count; i++) {
        char path[CHECKPOINT_PATH_MAX];
        if (steps->items[i] > step || kept++ < CHECKPOINT_KEEP)
            continue;
        if (path_of(folder, steps->items[i], path, err) != 0)
            return -1;
        if (unlink(path) != 0 && errno != ENOENT)
            return error_set_errno(err, EXIT_CODE_INTERNAL, "%s: cannot be removed", path);
    }
    return 0;
}

int checkpoint_save(const char *folder, int64_t step, const struct array *arrays, size_t count,
                    const char *state, char ret_path[CHECKPOINT_PATH_MAX], struct error *err) {
    __attribute__((cleanup(steps_done))) struct steps steps = {0};
    const struct safetensors_note note = {CHECKPOINT_STATE, state};
    char path[CHECKPOINT_PATH_MAX];
    if (step < 0 || step > CHECKPOINT_STEP_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "no checkpoint of step %lld", (long long)step);
    if (path_of(folder, step, path, err) != 0 || file_make_dirs(folder, err) != 0 ||
        safetensors_write(path, arrays, count, &note, 1, err) != 0 ||
        list_steps(folder, true, &steps, err) != 0 || remove_old(folder, step, &steps, err) != 0)
        return error_wrap(err, "checkpoint");
    if (ret_path != NULL)
        memcpy(ret_path, path, strlen(path) + 1);
    return 0;
}

int checkpoint_open(const char *path, struct safetensors *file, struct error *err) {
    if (safetensors_open(file, path, err) != 0)
        return -1;
    if (safetensors_verify(file, err) == 0) {
        if (safetensors_note(file, CHECKPOINT_STATE) != NULL)
            return 0;
        (void)error_set(err, EXIT_CODE_DATA, "%s: not a checkpoint: it has no state", path);
    }
    safetensors_done(file);
    return -1;
}

int checkpoint_find(const char *folder, int64_t below, struct safetensors *file, int64_t *ret_step,
                    bool *ret_found, struct buf *notes, struct error *err) {
    __attribute__((cleanup(steps_done))) struct steps steps = {0};
    *ret_found = false;
    if (list_steps(folder, false, &steps, err) != 0)
        return -1;
    for (size_t i = 0; i < steps.count; i++) {
        char path[CHECKPOINT_PATH_MAX];
        struct error damage;
        if (steps.items[i] >= below)
            continue;
        if (path_of(folder, steps.items[i], path, err) != 0)
            return -1;
        if (checkpoint_open(path, file, &damage) == 0) {
            *ret_step = steps.items[i];
            *ret_found = true;
            return 0;
        }
        if (notes != NULL && buf_printf(notes, err, "%s\n", damage.text) != 0)
            return -1;
    }
    return 0;
}
