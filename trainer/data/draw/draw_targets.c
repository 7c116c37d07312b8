#include "trainer/data/draw/draw_targets.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/file/output_path.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void draw_targets_done(struct draw_targets *targets) {
    for (size_t i = 0; i < targets->count; i++)
        free(targets->list[i].path);
    free(targets->list);
    *targets = (struct draw_targets){0};
}

/* Copies NAME without its suffix, and without anything that leads out of a folder: "..", a leading
 * slash. */
static void clean_stem(const char *name, char *ret, size_t size) {
    size_t used = 0;
    ret[0] = '\0';
    while (*name != '\0') {
        size_t length = strcspn(name, "/");
        bool climbs = length == 0 || (length == 1 && name[0] == '.') ||
                      (length == 2 && name[0] == '.' && name[1] == '.');
        if (!climbs && used + length + 2 < size)
            used += (size_t)snprintf(ret + used, size - used, "%s%.*s", used > 0 ? "/" : "",
                                     (int)length, name);
        name += length;
        name += strspn(name, "/");
    }
    char *last = strrchr(ret, '/');
    char *dot = strrchr(last != NULL ? last + 1 : ret, '.');
    if (dot != NULL && dot != ret && dot[-1] != '/')
        *dot = '\0';
    if (ret[0] == '\0')
        (void)snprintf(ret, size, "image");
}

/* State shared by the paths of all pictures. */
struct place {
    const struct coco_index *index;
    const char *out, *extension;
    size_t skip; /* bytes of the names to skip */
};

static int set_path(struct draw_target *target, const struct place *p, bool with_id,
                    struct error *err) {
    char stem[PATH_MAX], id[32] = "", path[PATH_MAX];
    clean_stem(coco_index_name(p->index, target->image->name) + p->skip, stem, sizeof(stem));
    if (with_id)
        (void)snprintf(id, sizeof(id), "-%" PRId64, target->image->id);
    if (snprintf(path, sizeof(path), "%s/%s%s.%s", p->out, stem, id, p->extension) >=
        (int)sizeof(path))
        return error_set(err, EXIT_CODE_CONFIG, "--out: %.64s...: path too long", p->out);
    free(target->path);
    target->path = strdup(path);
    return target->path != NULL ? 0 : error_no_memory(err, "pictures to draw");
}

static int by_path(const void *a, const void *b) {
    const struct draw_target *const *x = a, *const *y = b;
    return strcmp((*x)->path, (*y)->path);
}

/* Appends ids to images that share a path; the result may still collide with the name of an image
 * that ends like that. */
static int part(struct draw_target **sorted, size_t count, const struct place *p,
                struct error *err) {
    qsort(sorted, count, sizeof(*sorted), by_path);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && by_path(&sorted[first], &sorted[end]) == 0;)
            end++;
        for (size_t i = first; end - first > 1 && i < end; i++)
            if (set_path(sorted[i], p, true, err) != 0)
                return -1;
    }
    qsort(sorted, count, sizeof(*sorted), by_path);
    for (size_t i = 1; i < count; i++)
        if (by_path(&sorted[i - 1], &sorted[i]) == 0)
            return error_set(err, EXIT_CODE_CONFIG,
                             "--out: images %" PRId64 " and %" PRId64 " would both be %s",
                             sorted[i - 1]->image->id, sorted[i]->image->id, sorted[i]->path);
    return 0;
}

static int check(const struct draw_target *target, struct error *err) {
    char folder[PATH_MAX];
    const char *slash = strrchr(target->path, '/');
    (void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - target->path), target->path);
    if (file_make_dirs(folder[0] != '\0' ? folder : "/", err) != 0)
        return error_wrap(err, "--out");
    return output_path_check(target->path, NULL, "--out", err);
}

size_t draw_targets_shared(const struct coco_index *index, size_t first, size_t count) {
    size_t shared = 0;
    const char *a = count > 0 ? coco_index_name(index, index->images[first].name) : "";
    const char *slash = strrchr(a, '/');
    shared = slash != NULL ? (size_t)(slash - a) + 1 : 0;
    for (size_t i = 1; i < count && shared > 0; i++) {
        const char *b = coco_index_name(index, index->images[first + i].name);
        size_t same = 0;
        for (size_t at = 0; at < shared && a[at] == b[at]; at++)
            if (a[at] == '/')
                same = at + 1;
        shared = same;
    }
    return shared;
}

int draw_targets_make(struct draw_targets *ret, const struct coco_index *index, size_t first,
                      size_t count, size_t skip, const char *out, const char *extension,
                      struct error *err) {
    const struct place place = {index, out, extension, skip};
    cleanup_draw_targets struct draw_targets targets = {0};
    cleanup_free struct draw_target **sorted = calloc(count + 1, sizeof(struct draw_target *));
    targets.list = calloc(count + 1, sizeof(*targets.list));
    if (sorted == NULL || targets.list == NULL)
        return error_no_memory(err, "pictures to draw");
    for (size_t i = 0; i < count; i++) {
        targets.count = i + 1;
        targets.list[i].image = &index->images[first + i];
        sorted[i] = &targets.list[i];
        if (set_path(sorted[i], &place, false, err) != 0)
            return -1;
    }
    if (part(sorted, count, &place, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (check(&targets.list[i], err) != 0)
            return -1;
    *ret = targets;
    targets = (struct draw_targets){0};
    return 0;
}
