#include "trainer/data/prepare/folder_make.h"

#include "common/file/file.h"
#include "trainer/data/archive/member_path.h"
#include "trainer/data/codec/picture.h"
#include "trainer/data/prepare/staging.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The path of a picture; SUFFIX is added to its name. */
static int name_picture(const struct shard_order *order, size_t sample, const char *suffix,
                        char path[PATH_MAX], struct error *err) {
    char name[PATH_MAX];
    const struct dataset *set = order->set;
    const char *class_name = set->class_names[set->labels[sample]];
    picture_make_name(order->options, set, sample, name);
    if (!member_path_is_name(class_name) || class_name[0] == '.' || !member_path_is_safe(name))
        return error_set(err, EXIT_CODE_DATA,
                         "class '%.200s', picture '%.200s': cannot be the names of a folder and of "
                         "a file in it; write shards (--format tar)",
                         class_name, name);
    return snprintf(path, PATH_MAX, "%s/%s/%s/%s%s", order->options->target, order->part,
                    class_name, name, suffix) < PATH_MAX
               ? 0
               : error_set(err, EXIT_CODE_DATA, "%.200s: path too long", name);
}

/* What a block holds so far. */
struct block {
    struct shard_maker *maker;
    const struct shard_order *order;
    int64_t kept;
    int64_t bytes;
    int64_t counts[2]; /* pictures that are done, and those that are bad */
};

static int is_there(struct block *b, const char *path, bool *ret, struct error *err) {
    struct stat status;
    *ret = stat(path, &status) == 0;
    if (!*ret)
        return errno == ENOENT || errno == ENOTDIR
                   ? 0
                   : error_set_errno(err, EXIT_CODE_CONFIG, "%s", path);
    b->kept++;
    b->bytes += status.st_size;
    return 0;
}

/* Writes one picture, whose name waits in the maker's records. */
static int add(struct block *b, size_t sample, struct error *err) {
    char path[PATH_MAX];
    char temp[PATH_MAX];
    char own[64];
    const struct buf *bytes = NULL;
    const char *suffix = "";
    bool there = false;
    bool bad = false;
    if (name_picture(b->order, sample, "", path, err) != 0)
        return -1;
    const bool has_suffix = picture_suffix_ends(path);
    if (has_suffix && is_there(b, path, &there, err) != 0)
        return -1;
    if (!there && picture_make(&b->maker->picture, b->order->options, b->order->set, sample, &bytes,
                               &bad, err) != 0)
        return -1;
    b->counts[bad]++;
    if (!there && !bad && !has_suffix) {
        suffix = picture_suffix_of((const uint8_t *)bytes->data, bytes->size);
        if (name_picture(b->order, sample, suffix, path, err) != 0 ||
            is_there(b, path, &there, err) != 0)
            return -1;
    }
    if (there || bad)
        return 0;
    b->bytes += (int64_t)bytes->size;
    (void)snprintf(own, sizeof(own), "%s-%zu", b->order->part, sample);
    return staging_add(b->order->options->target, own, path, &b->maker->records, temp, err) != 0
               ? -1
               : file_put(temp, bytes->data, bytes->size, 0644, err);
}

int folder_make(struct shard_maker *maker, const struct shard_order *order, int64_t *ret_kept,
                int64_t *ret_bytes, struct error *err) {
    struct block b = {.maker = maker, .order = order};
    const int64_t count = (int64_t)order->set->count;
    const int64_t end = (order->shard + 1) * count / order->shards;
    buf_consume(&maker->records, maker->records.size);
    for (int64_t i = order->shard * count / order->shards; i < end; i++)
        if (atomic_load(order->stop))
            return 0;
        else if (add(&b, (size_t)i, err) != 0)
            return -1;
    if (staging_publish(order->options->target, &maker->records, err) != 0)
        return -1;
    order->progress(order->context, b.counts[0], b.counts[1]);
    *ret_kept = b.kept;
    *ret_bytes = b.bytes;
    return 0;
}
