#include "trainer/data/prepare/shard_make.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "trainer/data/codec/jpeg.h"
#include "trainer/data/order/sampler.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A shard is written to a temporary file and gets its name when it is complete and on the disk. A
 * later run therefore takes every shard with a name as it is, whatever ended the run before. Its
 * size is not compared: the plan of the target (target.h) says that it is of this set.
 *
 * shard_set.c calls shard_make from several threads, each with a maker of its own. */

/* PIECE: bytes of records that are collected for one write. TELL_EVERY: pictures after which
 * progress is reported. */
enum { PIECE = 1 << 20, TELL_EVERY = 64 };

int shard_maker_init(struct shard_maker *maker, struct error *err) {
    *maker = (struct shard_maker){0};
    buf_init(&maker->records, (size_t)2 * JPEG_BYTES_MAX);
    buf_init(&maker->index, (size_t)64 << 20);
    return picture_maker_init(&maker->picture, err);
}

/* Safe after a failed shard_maker_init. */
void shard_maker_done(struct shard_maker *maker) {
    picture_maker_done(&maker->picture);
    buf_done(&maker->records);
    buf_done(&maker->index);
}

/* Appends the record of a sample to the buffer. OFFSET is where the buffer will be written in the
 * shard, for the index of the format. *RET_BAD: the picture cannot be used, and nothing was
 * appended. */
static int add(struct shard_maker *m, const struct shard_order *order, size_t sample,
               int64_t offset, bool *ret_bad, struct error *err) {
    const struct dataset *set = order->set;
    const struct shard_set_options *o = order->options;
    const struct buf *bytes = NULL;
    char name[PATH_MAX];
    if (picture_make(&m->picture, o, set, sample, &bytes, ret_bad, err) != 0)
        return -1;
    /* The number of a sample is that of its set, so that gaps show what was left out. */
    if (*ret_bad)
        return 0;
    picture_make_name(o, set, sample, name);
    const struct shard_record record = {
        .class_name = set->class_names[set->labels[sample]],
        .name = name,
        .label = set->labels[sample] + o->label_base,
        .number = sample,
        .picture = (const uint8_t *)bytes->data,
        .size = bytes->size,
    };
    if (o->format->index_suffix != NULL && buf_printf(&m->index, err, "%zu\t%" PRId64 "\n", sample,
                                                      offset + (int64_t)m->records.size) != 0)
        return -1;
    return o->format->write(&m->records, &record, err);
}

/* Writes the buffer to the end of the file and empties it. */
static int flush(struct shard_maker *m, int fd, int64_t *offset, struct error *err) {
    if (file_write_all(fd, buf_text(&m->records), m->records.size, err) != 0)
        return -1;
    *offset += (int64_t)m->records.size;
    buf_consume(&m->records, m->records.size);
    return 0;
}

/* Writes the shard's samples, at places BEGIN to END of the permuted set. The permutation has the
 * seed 0, so that the same set always has the same shards. Ends early, without an error, if another
 * thread has failed. */
static int fill(struct shard_maker *m, const struct shard_order *order, int fd, int64_t *ret_bytes,
                struct error *err) {
    const int64_t count = (int64_t)order->set->count;
    /* Shards differ by one sample at most. */
    const int64_t begin = order->shard * count / order->shards;
    const int64_t end = (order->shard + 1) * count / order->shards;
    const struct format *format = order->options->format;
    int64_t counts[2] = {0};
    int64_t offset = 0;
    for (int64_t place = begin; place < end && !atomic_load(order->stop); place++) {
        bool bad = false;
        const size_t sample = sampler_permute(0, 0, (size_t)count, (size_t)place);
        if (add(m, order, sample, offset, &bad, err) != 0 ||
            (m->records.size >= PIECE && flush(m, fd, &offset, err) != 0))
            return -1;
        counts[bad]++;
        /* The last sample always reports, so that the sum of all reports is right. */
        if ((place + 1 - begin) % TELL_EVERY != 0 && place + 1 < end)
            continue;
        order->progress(order->context, counts[0], counts[1]);
        counts[0] = counts[1] = 0;
    }
    if ((format->finish != NULL && format->finish(&m->records, err) != 0) ||
        flush(m, fd, &offset, err) != 0)
        return -1;
    *ret_bytes = offset;
    return 0;
}

/* Five digits, as converters to TFRecord name their shards; SHARD_SET_SHARDS_MAX keeps to them. */
int shard_make_name(const struct shard_order *order, const char *suffix, char path[PATH_MAX],
                    struct error *err) {
    const int length =
        snprintf(path, PATH_MAX, "%s/%s-%05" PRId64 "-of-%05" PRId64 "%s", order->options->target,
                 order->part, order->shard, order->shards, suffix);
    return length > 0 && length < PATH_MAX
               ? 0
               : error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", order->options->target);
}

/* Gives the shard its name, after the index of its format, if that has one: a shard that is there
 * is not made again, and its index would stay missing. */
static int commit(struct shard_maker *m, const struct shard_order *order, int fd, const char *temp,
                  const char *path, struct error *err) {
    const struct format *format = order->options->format;
    char index[PATH_MAX];
    if (format->index_suffix != NULL &&
        (shard_make_name(order, format->index_suffix, index, err) != 0 ||
         file_publish(index, buf_text(&m->index), m->index.size, 0644, err) != 0)) {
        file_publish_abort(fd, temp);
        return -1;
    }
    return file_publish_commit(fd, temp, path, err);
}

/* Makes the file under a temporary name. If another thread has failed it is thrown away: it may be
 * incomplete. The result is 0 then, as that thread reports the error. */
static int publish(struct shard_maker *m, const struct shard_order *order, const char *path,
                   int64_t *ret_bytes, struct error *err) {
    char temp[4096];
    const int fd = file_publish_open(path, temp, 0644, err);
    if (fd < 0)
        return -1;
    if (fill(m, order, fd, ret_bytes, err) == 0 && !atomic_load(order->stop))
        return commit(m, order, fd, temp, path, err);
    file_publish_abort(fd, temp);
    return atomic_load(order->stop) ? 0 : -1;
}

/* A shard that is there counts with all of its pictures, though some may have been left out when it
 * was made. */
int shard_make(struct shard_maker *maker, const struct shard_order *order, bool *ret_kept,
               int64_t *ret_bytes, struct error *err) {
    const struct format *format = order->options->format;
    const int64_t count = (int64_t)order->set->count;
    char path[PATH_MAX];
    struct stat status;
    *ret_kept = false;
    buf_consume(&maker->records, maker->records.size);
    buf_consume(&maker->index, maker->index.size);
    if (shard_make_name(order, format->suffix, path, err) != 0)
        return -1;
    if (stat(path, &status) == 0) {
        *ret_kept = true;
        *ret_bytes = status.st_size;
        order->progress(
            order->context,
            (order->shard + 1) * count / order->shards - order->shard * count / order->shards, 0);
        return 0;
    }
    /* Anything but a missing file, such as a lost mount, must not look like a shard that is still
     * to be made. */
    if (errno != ENOENT)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", path);
    return publish(maker, order, path, ret_bytes, err);
}
