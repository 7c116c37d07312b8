/* A tar of tars, each of which holds the pictures of one class: ImageNet's training archive,
 * ILSVRC2012_img_train.tar, as it is published.
 *
 *     n01440764.tar          the class: the name without ".tar"
 *         n01440764_18.JPEG  a picture
 *
 * Samples are found and read where they lie; nothing is unpacked. Damage within one of the inner
 * archives leaves out the rest of that class alone. */
#include "common/cleanup.h"
#include "common/str.h"
#include "trainer/data/codec/picture.h"
#include "trainer/data/format/format.h"
#include "trainer/data/format/tar_walk.h"

#include <inttypes.h>
#include <string.h>

enum { NAME_SIZE = 100, SUFFIX_SIZE = sizeof(".tar") - 1 };

/* The first member is an archive itself. */
static bool is_nested(const char *name, const uint8_t *bytes, size_t size) {
    char first[NAME_SIZE + 1] = "";
    (void)name;
    if (size < FORMAT_HEAD_SIZE || !tar_walk_is(bytes, size) || bytes[0] == 0x1f)
        return false;
    memcpy(first, bytes, NAME_SIZE);
    return str_ends_with(first, ".tar");
}

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The rest of the archive OUTER, from BEGIN on, cannot be found. */
static int report_lost(const struct shard_sink *sink, const struct tar_member *outer,
                       uint64_t begin, const struct error *why, struct error *err) {
    const struct shard_loss rest = {.begin = begin, .end = outer->offset + outer->size};
    return format_report_lost(sink, &rest, why, err);
}

static int report_bad(const struct shard_sink *sink, const struct shard_file *file,
                      const struct tar_member *m, const char *what, struct error *err) {
    struct error why = {0};
    (void)shard_file_bad(file, m->header, &why, "%s: %s", m->path, what);
    return format_report_bad(sink, &why, err);
}

static int add_picture(const struct shard_file *file, const struct shard_sink *sink,
                       const struct shard_text *class_name, const struct tar_member *m,
                       struct error *err) {
    const char *name = file_name(m->path);
    if (!m->regular || name[0] == '.' || !picture_suffix_ends(name))
        return 0;
    if (m->size == 0 || m->size > UINT32_MAX)
        return report_bad(sink, file, m, "empty, or too large for a picture", err);
    const struct shard_sample sample = {
        .offset = m->offset,
        .bytes = m->size,
        .picture_bytes = m->size,
        .label = SHARD_NO_LABEL,
        .class_name = *class_name,
        .name = {name, strlen(name)},
    };
    return sink->add(sink->context, &sample, err);
}

/* Reports the pictures of the archive that is the data of OUTER. */
static int scan_inner(struct tar_walk *walk, const struct tar_member *outer,
                      const struct shard_sink *sink, struct error *err) {
    const struct shard_file *file = walk->window->file;
    const uint64_t end = outer->offset + outer->size;
    const char *name = file_name(outer->path);
    const struct shard_text class_name = {name, strlen(name) - SUFFIX_SIZE};
    struct tar_member m;
    struct error why = {0};
    int more = 1;
    uint64_t begin = outer->offset;
    walk->at = begin;
    while (walk->at < end && (more = tar_walk_next(walk, &m, &why)) == 1) {
        if (m.offset + m.size > end) {
            (void)shard_file_bad(file, m.header, &why,
                                 "%s: ends beyond the archive in which it lies", m.path);
            return report_lost(sink, outer, begin, &why, err);
        }
        if (add_picture(file, sink, &class_name, &m, err) != 0)
            return -1;
        begin = walk->at;
    }
    return more >= 0 ? 0 : report_lost(sink, outer, begin, &why, err);
}

static int scan(const struct shard_file *file, const struct shard_sink *sink, struct error *err) {
    struct shard_window windows[2] = {{.file = file}, {.file = file}};
    struct tar_member outer;
    struct error why = {0};
    int more = 0;
    cleanup_free struct tar_walk *walks = calloc(2, sizeof(*walks));
    if (walks == NULL)
        return error_no_memory(err, "reading a tar file");
    walks[0].window = &windows[0];
    walks[1].window = &windows[1];
    uint64_t begin = 0;
    for (; (more = tar_walk_next(&walks[0], &outer, &why)) == 1; begin = walks[0].at)
        if (outer.regular && str_ends_with(outer.path, ".tar") && file_name(outer.path)[0] != '.' &&
            scan_inner(&walks[1], &outer, sink, err) != 0)
            return -1;
    return more == 0 ? 0 : format_report_rest(sink, file, begin, &why, err);
}

const struct format FORMAT_NESTED_TAR = {
    .name = "tar of tars",
    .is = is_nested,
    .scan = scan,
    .read = shard_file_load,
    .indexed = true,
};
