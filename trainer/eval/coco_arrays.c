#include "trainer/eval/coco_arrays.h"

#include "common/buf.h"
#include "common/file/file.h"
#include "common/file/output_path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* NumPy wants the data to begin at a multiple of 64. */
enum { HEAD_SIZE = 128, HEAD_FIXED = 10 };

static int write_array(const char *path, const double *numbers, size_t count, const char *shape,
                       struct error *err) {
    char text[HEAD_SIZE - HEAD_FIXED];
    memset(text, ' ', sizeof(text));
    int size = snprintf(text, sizeof(text),
                        "{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }", shape);
    if (size < 0 || (size_t)size >= sizeof(text) - 1)
        return error_set(err, EXIT_CODE_INTERNAL, "%s: a shape too long", path);
    text[size] = ' ';
    text[sizeof(text) - 1] = '\n';
    size_t bytes = count * sizeof(*numbers);
    cleanup_buf struct buf out = {.max = HEAD_SIZE + bytes};
    if (buf_add(&out, "\x93NUMPY\x01\x00\x76\x00", HEAD_FIXED, err) != 0 ||
        buf_add(&out, text, sizeof(text), err) != 0 || buf_add(&out, numbers, bytes, err) != 0)
        return -1;
    return file_publish(path, out.data, out.size, 0644, err);
}

int coco_arrays_check(const char *folder, struct error *err) {
    static const char *const STARTS[] = {"\x93NUMPY", NULL};
    static const struct output_path_kind KIND = {"a NumPy array", STARTS};
    static const char *const NAMES[] = {"bbox.precision", "bbox.scores", "bbox.recall",
                                        "segm.precision", "segm.scores", "segm.recall"};
    if (file_make_dirs(folder, err) != 0)
        return error_wrap(err, "--arrays");
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof(path), "%s/%s.npy", folder, NAMES[i]) >= (int)sizeof(path))
            return error_set(err, EXIT_CODE_CONFIG, "--arrays: a path too long: %.64s...", folder);
        if (output_path_check(path, &KIND, "--arrays", err) != 0)
            return -1;
    }
    return 0;
}

int coco_arrays_write(const struct coco_curves *curves, const char *folder, const char *kind,
                      struct error *err) {
    const struct {
        const char *name;
        const double *numbers;
        size_t recalls;
    } arrays[] = {
        {"precision", curves->precision, COCO_RECALLS},
        {"scores", curves->score, COCO_RECALLS},
        {"recall", curves->recall, 0},
    };
    if (file_make_dirs(folder, err) != 0)
        return -1;
    size_t rest = curves->category_count * COCO_AREAS * COCO_LIMITS;
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        char path[PATH_MAX], shape[96], recalls[32] = "";
        if (snprintf(path, sizeof(path), "%s/%s.%s.npy", folder, kind, arrays[i].name) >=
            (int)sizeof(path))
            return error_set(err, EXIT_CODE_USAGE, "a path too long: %.64s...", folder);
        if (arrays[i].recalls > 0)
            snprintf(recalls, sizeof(recalls), "%zu, ", arrays[i].recalls);
        snprintf(shape, sizeof(shape), "%d, %s%zu, %d, %d", COCO_THRESHOLDS, recalls,
                 curves->category_count, COCO_AREAS, COCO_LIMITS);
        size_t planes = arrays[i].recalls > 0 ? arrays[i].recalls : 1;
        if (write_array(path, arrays[i].numbers, COCO_THRESHOLDS * planes * rest, shape, err) != 0)
            return -1;
    }
    return 0;
}
