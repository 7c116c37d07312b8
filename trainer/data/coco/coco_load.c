#include "trainer/data/coco/coco_load.h"

#include "common/cleanup.h"
#include "common/system/sealed_memfd.h"
#include "trainer/data/coco/coco_build.h"
#include "trainer/data/coco/coco_file.h"

#include <fcntl.h>
#include <unistd.h>

int coco_load_index(struct coco_index *ret, const char *path, struct error *err) {
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", path);
    return coco_file_read(ret, fd, path, err);
}

static const char MEMORY[] = "an index of annotations";

static int load_sealed(struct coco_index *ret, const char *json, enum coco_outlines outlines,
                       int *ret_fd, struct error *err) {
    cleanup_fd int fd = sealed_memfd_open(MEMORY, err);
    *ret_fd = -1;
    if (fd < 0 || coco_build(json, fd, false, outlines, err) != 0 ||
        sealed_memfd_seal(fd, MEMORY, err) != 0 || coco_file_map(ret, fd, json, err) != 0)
        return -1;
    *ret_fd = take_fd(&fd);
    return 0;
}

int coco_load_sealed(struct coco_index *ret, const char *json, int *ret_fd, struct error *err) {
    return load_sealed(ret, json, COCO_OUTLINES_ALL, ret_fd, err);
}

int coco_load_shared(struct coco_index *ret, int fd, const char *json, struct error *err) {
    if (!sealed_memfd_is(fd))
        return error_set(err, EXIT_CODE_DATA, "%s: its index is not sealed", json);
    return coco_file_map(ret, fd, json, err);
}

int coco_load_boxes(struct coco_index *ret, const char *json, struct error *err) {
    cleanup_fd int fd = -1;
    return load_sealed(ret, json, COCO_OUTLINES_NONE, &fd, err);
}

/* Returns true if the index file CACHE is valid and was made from the present content of JSON. */
static bool take_cached(struct coco_index *ret, const char *json, const char *cache) {
    cleanup_coco_index struct coco_index index = {0};
    struct coco_key key;
    if (coco_load_index(&index, cache, NULL) != 0)
        return false;
    cleanup_fd int fd = open(json, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || coco_json_key(fd, json, &key, NULL) != 0 || key.size != index.source.size ||
        key.hash != index.source.hash)
        return false;
    *ret = index;
    index = (struct coco_index){0};
    return true;
}

int coco_load(struct coco_index *ret, const char *json, const char *cache, struct error *err) {
    cleanup_fd int fd = -1;
    if (cache == NULL)
        return coco_load_sealed(ret, json, &fd, err);
    if (output_path_check(cache, &COCO_FILE_KIND, "the index", err) != 0)
        return -1;
    if (!take_cached(ret, json, cache) &&
        (coco_build_file(json, cache, err) != 0 || coco_load_index(ret, cache, err) != 0))
        return -1;
    ret->path = json;
    return 0;
}
