#include "trainer/checkpoint/checkpoint.h"

#include "common/file/file.h"
#include "common/file/file_look.h"
#include "trainer/checkpoint/format_version.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Everything here works on the names in the folder; there is no index of checkpoints that could get
 * out of step with the files. Each call reads the folder anew (checkpoint_list.h), since another
 * process may write to it, and decides by what the headers say.
 *
 * Two kinds of trouble are kept apart throughout by os_errno. With 0 the file's own bytes are
 * wrong: it is damaged, now and later. Any other value is the system's: the file may be valid, and
 * nothing that depends on its being damaged may be done.
 *
 * checkpoint_save runs on the writer's thread of rank 0 (writer.h); searches run when a training
 * starts (app/run/resume.c). */

/* A file that is gone already is no error: another process may tidy the same folder. */
static int remove_item(const char *folder, const struct checkpoint_item *item, struct error *err) {
    char path[CHECKPOINT_PATH_MAX];
    if (checkpoint_path(folder, item->position.step, path, err) != 0)
        return -1;
    if (unlink(path) != 0 && errno != ENOENT)
        return error_set_errno(err, file_write_code(errno), "%s: cannot be removed", path);
    return 0;
}

/* Removes all but the newest few, but never the one of STEP, which has just been written. Files
 * without a position are kept, as it is not known what they are. `kept` begins at 1 for the new
 * one, wherever it stands in the order. */
static int remove_old(const char *folder, int64_t step, int keep, struct error *err) {
    cleanup_checkpoint_list struct checkpoint_list list = {0};
    int kept = 1;
    if (checkpoint_list_read(&list, folder, err) != 0)
        return -1;
    for (size_t i = 0; i < list.count; i++) {
        const struct checkpoint_item *item = &list.items[i];
        if (!item->readable || item->position.step == step || kept++ < keep)
            continue;
        if (remove_item(folder, item, err) != 0)
            return -1;
    }
    return 0;
}

/* Returns true if ITEM is known to be damaged. A file that the system refuses to read may be valid.
 * It is opened and verified in full, which takes as long as reading it. */
static bool is_damaged(const char *folder, const struct checkpoint_item *item) {
    char path[CHECKPOINT_PATH_MAX];
    struct safetensors file;
    struct error why = {0};
    if (!item->readable)
        return item->os_errno == 0;
    if (checkpoint_path(folder, item->position.step, path, &why) != 0 ||
        checkpoint_open(path, &file, &why) != 0)
        return why.os_errno == 0;
    safetensors_done(&file);
    return false;
}

/* Removes the oldest checkpoint that is not the newest valid one. *RET_HELD: there is one.
 * *RET_MADE: a file was removed, and writing is worth another try. Newer files that are damaged do
 * not count as the one to keep, since a resumed run would skip them. */
static int make_room(const char *folder, bool *ret_made, bool *ret_held, struct buf *notes,
                     struct error *err) {
    cleanup_checkpoint_list struct checkpoint_list list = {0};
    *ret_made = false;
    if (checkpoint_list_read(&list, folder, err) != 0)
        return -1;
    /* The first of the list that is not damaged is the newest valid one, or may be. */
    size_t needed = 0;
    while (needed < list.count && is_damaged(folder, &list.items[needed]))
        needed++;
    *ret_held = needed < list.count;
    if (needed < list.count && !list.items[needed].readable)
        return 0; /* unknown whether it is the newest */
    /* From the oldest on. */
    for (size_t i = list.count; i-- > 0;) {
        const struct checkpoint_item *item = &list.items[i];
        if (i == needed || !item->readable)
            continue;
        if (remove_item(folder, item, err) != 0)
            return -1;
        *ret_made = true;
        return notes == NULL
                   ? 0
                   : buf_printf(notes, err,
                                "no room in %s: removed its oldest checkpoint, step %lld\n", folder,
                                (long long)item->position.step);
    }
    return 0;
}

/* A quota that is used up is a full disk, too: removing files helps against both. */
static bool is_full(const struct error *err) {
    return err->os_errno == ENOSPC || err->os_errno == EDQUOT;
}

/* The size of a checkpoint, without its header, for messages. */
static double mib_of(const struct array *arrays, size_t count) {
    int64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += array_bytes(&arrays[i]);
    return (double)bytes / (1024 * 1024);
}

/* Writes the file, and as long as the disk is full removes one older checkpoint and tries again. It
 * ends because every repetition has one file less to remove. Other failures are not repeated. */
static int write_with_room(const char *folder, const char *path, const struct array *arrays,
                           size_t count, const struct checkpoint_words *words, struct buf *notes,
                           struct error *err) {
    const struct safetensors_note texts[] = {{CHECKPOINT_STATE, words->state},
                                             {FORMAT_VERSION_KEY, FORMAT_VERSION_TEXT},
                                             {CHECKPOINT_CONFIG, words->config}};
    const size_t text_count = words->config != NULL ? 3 : 2;
    for (;;) {
        struct error failure = {0};
        bool made = false, held = false;
        if (safetensors_write(path, arrays, count, texts, text_count, &failure) == 0)
            return 0;
        if (is_full(&failure) && make_room(folder, &made, &held, notes, err) != 0)
            return -1;
        if (made)
            continue;
        if (err != NULL)
            *err = failure;
        return is_full(&failure)
                   ? error_wrap(err, "no room for it%s; %s needs %.1f MiB for each of two",
                                held ? " beside the newest checkpoint, which is kept" : "", folder,
                                mib_of(arrays, count))
                   : -1;
    }
}

/* Leftovers of killed writes are removed first, as they may fill the disk. Old checkpoints go last,
 * when the new one is complete. */
int checkpoint_save(const char *folder, int64_t step, int keep, const struct array *arrays,
                    size_t count, const struct checkpoint_words *words,
                    char ret_path[CHECKPOINT_PATH_MAX], struct buf *notes, struct error *err) {
    char path[CHECKPOINT_PATH_MAX];
    if (step < 0 || step > CHECKPOINT_STEP_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "no checkpoint of step %lld", (long long)step);
    if (checkpoint_path(folder, step, path, err) != 0 || file_make_dirs(folder, err) != 0)
        return error_wrap(err, "checkpoint");
    file_tidy(folder, checkpoint_is_name);
    if (write_with_room(folder, path, arrays, count, words, notes, err) != 0 ||
        remove_old(folder, step, keep, err) != 0)
        return error_wrap(err, "checkpoint");
    if (ret_path != NULL)
        memcpy(ret_path, path, strlen(path) + 1);
    return 0;
}

/* The order of the checks puts the cheap ones first; safetensors_verify reads the whole file. A
 * later format version is reported as such, not as damage. */
int checkpoint_open(const char *path, struct safetensors *file, struct error *err) {
    struct checkpoint_position position;
    bool newer = false;
    struct error why = {0};
    if (safetensors_open(file, path, &why) == 0) {
        if (format_version_check_file(file, &newer, &why) == 0 &&
            safetensors_verify(file, &why) == 0 &&
            checkpoint_position_of(file, &position, &why) == 0)
            return 0;
        safetensors_done(file);
    }
    /* A path that does not exist is wrong data for its user, not a fault of the system. */
    if (why.os_errno != 0 && !file_is_absence(why.os_errno))
        why.code = EXIT_CODE_CONFIG;
    if (err != NULL)
        *err = why;
    return -1;
}

/* Fails if a later version of this program has written to the folder. Opening the file again gives
 * the error that names its version. */
static int refuse_newer(const char *folder, const struct checkpoint_list *list, struct error *err) {
    char path[CHECKPOINT_PATH_MAX];
    struct safetensors file;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].newer &&
            (checkpoint_path(folder, list->items[i].position.step, path, err) != 0 ||
             checkpoint_open(path, &file, err) != 0))
            return -1;
    return 0;
}

/* Reads the list of FOLDER; fails if a file that may be valid cannot be placed in the order. */
static int read_settled(struct checkpoint_list *list, const char *folder, struct error *err) {
    return checkpoint_list_read(list, folder, err) != 0 ||
                   checkpoint_list_check(list, folder, err) != 0 ||
                   refuse_newer(folder, list, err) != 0
               ? -1
               : 0;
}

/* With BELOW, files without a position are skipped, as they cannot be known to be older. A file
 * that its writer has removed since the listing is skipped as well. */
int checkpoint_find(const char *folder, const struct checkpoint_position *below,
                    struct safetensors *file, struct checkpoint_position *ret_position,
                    bool *ret_found, struct buf *notes, struct error *err) {
    cleanup_checkpoint_list struct checkpoint_list list = {0};
    *ret_found = false;
    if (read_settled(&list, folder, err) != 0)
        return -1;
    for (size_t i = 0; i < list.count; i++) {
        const struct checkpoint_item *item = &list.items[i];
        char path[CHECKPOINT_PATH_MAX];
        struct error damage = {0};
        if (below != NULL &&
            (!item->readable || checkpoint_position_compare(&item->position, below) >= 0))
            continue;
        if (checkpoint_path(folder, item->position.step, path, err) != 0)
            return -1;
        if (checkpoint_open(path, file, &damage) == 0) {
            *ret_position = item->position;
            *ret_found = true;
            return 0;
        }
        if (damage.os_errno != 0 && checkpoint_is_gone(path))
            continue;
        if (damage.os_errno != 0) {
            if (err != NULL)
                *err = damage;
            return -1;
        }
        if (notes != NULL && buf_printf(notes, err, "%s\n", damage.text) != 0)
            return -1;
    }
    return 0;
}

/* Only headers are read. A run that does not resume begins a new lineage above this position
 * (app/run/resume.c), and a checkpoint with damaged tensors counts for that as well. */
int checkpoint_newest(const char *folder, struct checkpoint_position *ret_position, bool *ret_found,
                      struct error *err) {
    cleanup_checkpoint_list struct checkpoint_list list = {0};
    *ret_found = false;
    if (read_settled(&list, folder, err) != 0)
        return -1;
    for (size_t i = 0; i < list.count && !*ret_found; i++) {
        *ret_found = list.items[i].readable;
        *ret_position = list.items[i].position;
    }
    return 0;
}
