#include "trainer/report/run_folder.h"

#include "common/file/file.h"
#include "common/str.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURE_MAX = 512 * 1024 };

void run_folder_done(struct run_folder *f) {
    run_history_done(&f->history);
    for (size_t i = 0; i < f->picture_count; i++)
        buf_done(&f->pictures[i].jpeg);
    f->picture_count = 0;
}

/* Reads "step-000000120-17.jpg". */
static bool parse_name(const char *name, int64_t *ret_step, int64_t *ret_id) {
    int used = 0;
    return sscanf(name, "step-%9" SCNd64 "-%18" SCNd64 ".jpg%n", ret_step, ret_id, &used) == 2 &&
           used > 0 && name[used] == '\0' && *ret_step >= 0 && *ret_id >= 0;
}

struct list {
    int64_t step;
    int64_t ids[RUN_FOLDER_PICTURES_MAX]; /* the least ones, ascending */
    size_t count, most;
};

static void note(struct list *l, int64_t step, int64_t id) {
    if (step < l->step)
        return;
    if (step > l->step)
        l->count = 0;
    l->step = step;
    size_t at = l->count < l->most ? l->count++ : l->most;
    while (at > 0 && l->ids[at - 1] > id) {
        if (at < l->most)
            l->ids[at] = l->ids[at - 1];
        at--;
    }
    if (at < l->most)
        l->ids[at] = id;
}

/* Lists the pictures of the last step in PATH. A folder that is not there has none. */
static void list_pictures(const char *path, struct list *l) {
    DIR *dir = opendir(path);
    if (dir == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        int64_t step = 0, id = 0;
        if (parse_name(entry->d_name, &step, &id))
            note(l, step, id);
    }
    (void)closedir(dir);
}

static void take_pictures(struct run_folder *f, const char *folder, const struct list *l,
                          size_t bytes) {
    char path[PATH_MAX];
    for (size_t i = 0; i < l->count; i++) {
        struct buf jpeg = {.max = bytes < PICTURE_MAX ? bytes : PICTURE_MAX};
        const int size = snprintf(path, sizeof(path), "%s/step-%09" PRId64 "-%" PRId64 ".jpg",
                                  folder, l->step, l->ids[i]);
        if (size >= (int)sizeof(path) || file_read(path, &jpeg, NULL) != 0 || jpeg.size < 4 ||
            memcmp(jpeg.data, "\xff\xd8\xff", 3) != 0) {
            buf_done(&jpeg);
            continue;
        }
        bytes -= jpeg.size;
        f->pictures[f->picture_count++] = (struct run_picture){l->ids[i], jpeg};
    }
    f->pictures_step = l->step;
}

/* The last two parts of PATH before those that all jobs have. */
static void name_of(char ret[RUN_FOLDER_NAME_SIZE], const char *given) {
    static const char *const common[] = {"/output/data", "/model"};
    char path[PATH_MAX];
    if (realpath(given, path) == NULL)
        (void)snprintf(path, sizeof(path), "%.*s", PATH_MAX - 1, given);
    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
        if (str_ends_with(path, common[i]) && strlen(path) > strlen(common[i]))
            path[strlen(path) - strlen(common[i])] = '\0';
    const size_t end = strlen(path);
    size_t from = end;
    for (int parts = 0; from > 0; from--)
        if (path[from - 1] == '/' && ++parts == 2)
            break;
    if (end - from >= RUN_FOLDER_NAME_SIZE)
        from = end - (RUN_FOLDER_NAME_SIZE - 1);
    (void)snprintf(ret, RUN_FOLDER_NAME_SIZE, "%.*s", (int)(end - from), path + from);
}

int run_folder_read(struct run_folder *ret, const char *folder, const char *pictures_folder,
                    size_t pictures, size_t bytes, struct error *err) {
    char path[PATH_MAX];
    *ret = (struct run_folder){0};
    name_of(ret->name, folder);
    if (snprintf(path, sizeof(path), "%s/run.jsonl", folder) >= (int)sizeof(path))
        return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", folder);
    if (run_history_read(&ret->history, path, err) != 0)
        return -1;
    /* Every container has that folder. */
    const char *model = json_string_value(json_object_get(ret->history.run, "model"));
    if (strcmp(ret->name, "opt/ml") == 0 && model != NULL)
        (void)snprintf(ret->name, sizeof(ret->name), "%s", model);
    struct list l = {.step = -1,
                     .most =
                         pictures < RUN_FOLDER_PICTURES_MAX ? pictures : RUN_FOLDER_PICTURES_MAX};
    if (pictures_folder[0] == '\0' || l.most == 0 ||
        snprintf(path, sizeof(path), "%s/pictures", pictures_folder) >= (int)sizeof(path))
        return 0;
    list_pictures(path, &l);
    take_pictures(ret, path, &l, bytes);
    return 0;
}
