#include "checkpoint/checkpoint.h"

#include "checkpoint/format_version.h"
#include "common/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int remove_item(const char *folder, const struct checkpoint_item *item, struct error *err) {
    char path[CHECKPOINT_PATH_MAX];
    if (checkpoint_path(folder, item->place.step, path, err) != 0)
        return -1;
    if (unlink(path) != 0 && errno != ENOENT)
        return error_set_errno(err, file_write_code(errno), "%s: cannot be removed", path);
    return 0;
}

/* All but the newest few, and never the one of STEP, which has just been written. */
static int remove_old(const char *folder, int64_t step, struct error *err) {
    cleanup_checkpoint_list struct checkpoint_list list = {0};
    int kept = 1;
    if (checkpoint_list_read(&list, folder, err) != 0)
        return -1;
    for (size_t i = 0; i < list.count; i++) {
        const struct checkpoint_item *item = &list.items[i];
        if (!item->readable || item->place.step == step || kept++ < CHECKPOINT_KEEP)
            continue;
        if (remove_item(folder, item, err) != 0)
            return -1;
    }
    return 0;
}

static bool is_valid(const char *folder, const struct checkpoint_item *item) {
    char path[CHECKPOINT_PATH_MAX];
    struct safetensors file;
    if (checkpoint_path(folder, item->place.step, path, NULL) != 0 ||
        checkpoint_open(path, &file, NULL) != 0)
        return false;
    safetensors_done(&file);
    return true;
}

/* Removes the oldest checkpoint that is not the newest valid one. */
static int make_room(const char *folder, bool *ret_made, struct buf *notes, struct error *err) {
    cleanup_checkpoint_list struct checkpoint_list list = {0};
    *ret_made = false;
    if (checkpoint_list_read(&list, folder, err) != 0)
        return -1;
    size_t needed = 0;
    while (needed < list.count &&
           !(list.items[needed].readable && is_valid(folder, &list.items[needed])))
        needed++;
    for (size_t i = list.count; i-- > 0;) {
        const struct checkpoint_item *item = &list.items[i];
        if (i == needed || !item->readable)
            continue;
        if (remove_item(folder, item, err) != 0)
            return -1;
        *ret_made = true;
        return notes == NULL ? 0
                             : buf_printf(notes, err,
                                          "no room in %s: its oldest checkpoint, step %lld, went\n",
                                          folder, (long long)item->place.step);
    }
    return 0;
}

static bool is_full(const struct error *err) {
    return err->os_errno == ENOSPC || err->os_errno == EDQUOT;
}

static int write_with_room(const char *folder, const char *path, const struct array *arrays,
                           size_t count, const struct checkpoint_words *words, struct buf *notes,
                           struct error *err) {
    const struct safetensors_note texts[] = {{CHECKPOINT_STATE, words->state},
                                             {FORMAT_VERSION_KEY, FORMAT_VERSION_TEXT},
                                             {CHECKPOINT_CONFIG, words->config}};
    const size_t text_count = words->config != NULL ? 3 : 2;
    for (;;) {
        struct error failure = {0};
        bool made = false;
        if (safetensors_write(path, arrays, count, texts, text_count, &failure) == 0)
            return 0;
        if (is_full(&failure) && make_room(folder, &made, notes, err) != 0)
            return -1;
        if (made)
            continue;
        if (err != NULL)
            *err = failure;
        return is_full(&failure)
                   ? error_wrap(err, "no room for it beside the newest checkpoint, which is kept")
                   : -1;
    }
}

int checkpoint_save(const char *folder, int64_t step, const struct array *arrays, size_t count,
                    const struct checkpoint_words *words, char ret_path[CHECKPOINT_PATH_MAX],
                    struct buf *notes, struct error *err) {
    char path[CHECKPOINT_PATH_MAX];
    if (step < 0 || step > CHECKPOINT_STEP_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "no checkpoint of step %lld", (long long)step);
    if (checkpoint_path(folder, step, path, err) != 0 || file_make_dirs(folder, err) != 0)
        return error_wrap(err, "checkpoint");
    file_tidy(folder, checkpoint_is_name);
    if (write_with_room(folder, path, arrays, count, words, notes, err) != 0 ||
        remove_old(folder, step, err) != 0)
        return error_wrap(err, "checkpoint");
    if (ret_path != NULL)
        memcpy(ret_path, path, strlen(path) + 1);
    return 0;
}

int checkpoint_open(const char *path, struct safetensors *file, struct error *err) {
    struct checkpoint_place place;
    bool newer = false;
    if (safetensors_open(file, path, err) != 0)
        return -1;
    if (format_version_check_file(file, &newer, err) == 0 && safetensors_verify(file, err) == 0 &&
        checkpoint_place_of(file, &place, err) == 0)
        return 0;
    safetensors_done(file);
    return -1;
}

static int refuse_newer(const char *folder, const struct checkpoint_list *list, struct error *err) {
    char path[CHECKPOINT_PATH_MAX];
    struct safetensors file;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].newer &&
            (checkpoint_path(folder, list->items[i].place.step, path, err) != 0 ||
             checkpoint_open(path, &file, err) != 0))
            return -1;
    return 0;
}

int checkpoint_find(const char *folder, const struct checkpoint_place *below,
                    struct safetensors *file, struct checkpoint_place *ret_place, bool *ret_found,
                    struct buf *notes, struct error *err) {
    cleanup_checkpoint_list struct checkpoint_list list = {0};
    *ret_found = false;
    if (checkpoint_list_read(&list, folder, err) != 0 || refuse_newer(folder, &list, err) != 0)
        return -1;
    for (size_t i = 0; i < list.count; i++) {
        const struct checkpoint_item *item = &list.items[i];
        char path[CHECKPOINT_PATH_MAX];
        struct error damage;
        if (below != NULL &&
            (!item->readable || checkpoint_place_compare(&item->place, below) >= 0))
            continue;
        if (checkpoint_path(folder, item->place.step, path, err) != 0)
            return -1;
        if (checkpoint_open(path, file, &damage) == 0) {
            *ret_place = item->place;
            *ret_found = true;
            return 0;
        }
        if (notes != NULL && buf_printf(notes, err, "%s\n", damage.text) != 0)
            return -1;
    }
    return 0;
}

int checkpoint_newest(const char *folder, struct checkpoint_place *ret_place, bool *ret_found,
                      struct error *err) {
    cleanup_checkpoint_list struct checkpoint_list list = {0};
    *ret_found = false;
    if (checkpoint_list_read(&list, folder, err) != 0 || refuse_newer(folder, &list, err) != 0)
        return -1;
    for (size_t i = 0; i < list.count && !*ret_found; i++) {
        *ret_found = list.items[i].readable;
        *ret_place = list.items[i].place;
    }
    return 0;
}
