#include "trainer/telemetry/tfevents.h"

#include "common/binary/protobuf.h"
#include "common/binary/tfrecord.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "trainer/telemetry/tfevents_format.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Messages are nested, and protobuf's wire format has the length of a message before its bytes. So
 * each is built in a buffer of its own from the inside out: value, summary, event, record. Buffers
 * have maxima that follow from what is put in; a message beyond that is a mistake of the caller and
 * an error.
 *
 * Files are only appended to. app/board/board.c owns them: one folder for training and one for
 * evaluations. */

/* Bytes of an event beside its picture, text or scalars. All names, numbers and lengths of an event
 * fit into it. */
enum { AROUND = 1024 };

/* Appends the EVENT as a record, in one write: a killed run leaves whole records, except possibly
 * the last. */
static int write_record(int fd, const struct buf *event, struct error *err) {
    /* The record is made as a whole first, for a single write. */
    cleanup_buf struct buf record = {.max = event->size + TFRECORD_HEAD + TFRECORD_FOOT};
    if (tfrecord_write(&record, event->data, event->size, err) != 0 ||
        file_write_all(fd, record.data, record.size, err) != 0)
        return error_wrap(err, "TensorBoard events");
    return 0;
}

/* An event begins with its time and step, whatever it holds. */
static int begin_event(struct buf *event, int64_t wall, int64_t step, struct error *err) {
    return protobuf_add_double(event, EVENT_WALL_TIME, (double)wall / (double)CLOCK_SECOND, err) !=
                   0
               ? -1
               : protobuf_add_varint(event, EVENT_STEP, (uint64_t)step, err);
}

/* Writes the event of one summary. */
static int write_summary(int fd, int64_t wall, int64_t step, const struct buf *summary,
                         struct error *err) {
    /* Time, step and lengths are the rest of an event. */
    cleanup_buf struct buf event = {.max = summary->size + AROUND};
    return begin_event(&event, wall, step, err) != 0 ||
                   protobuf_add_message(&event, EVENT_SUMMARY, summary, err) != 0
               ? -1
               : write_record(fd, &event, err);
}

/* Writes the event of a summary of one value. One value to an event: pictures, texts and histograms
 * are large enough for one of their own. */
static int write_value(int fd, int64_t wall, int64_t step, const struct buf *value,
                       struct error *err) {
    cleanup_buf struct buf summary = {.max = value->size + AROUND};
    return protobuf_add_message(&summary, SUMMARY_VALUE, value, err) != 0
               ? -1
               : write_summary(fd, wall, step, &summary, err);
}

/* Tags are made by this program, so one that is too long is its own mistake. */
static int check_tag(const char *tag, struct error *err) {
    size_t length = strlen(tag);
    if (length <= TFEVENTS_TAG_MAX)
        return 0;
    return error_set(err, EXIT_CODE_INTERNAL, "%s: a tag of %zu bytes is too long", tag, length);
}

/* Every file begins with an event of the version, as TensorFlow's own writer begins it. O_NONBLOCK
 * keeps a FIFO of that name from blocking. */
int tfevents_open(struct tfevents *events, const char *folder, const char *host, int64_t wall,
                  struct error *err) {
    char path[PATH_MAX];
    events->fd = -1;
    /* TensorBoard recognizes event files by this beginning of their names. */
    int length = snprintf(path, sizeof(path), "%s/" EVENTS_NAME "%010lld.%s", folder,
                          (long long)(wall / CLOCK_SECOND), host);
    if (length < 0 || (size_t)length >= sizeof(path))
        return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", folder);
    if (file_make_dirs(folder, err) != 0)
        return -1;
    events->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644);
    if (events->fd < 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", path);
    cleanup_buf struct buf event = {.max = AROUND};
    if (protobuf_add_double(&event, EVENT_WALL_TIME, (double)wall / (double)CLOCK_SECOND, err) ==
            0 &&
        protobuf_add_text(&event, EVENT_FILE_VERSION, "brain.Event:2", err) == 0 &&
        write_record(events->fd, &event, err) == 0)
        return 0;
    tfevents_done(events);
    return error_wrap(err, "%s", path);
}

/* A session log of status START is what TensorBoard takes for a restart at that step. */
int tfevents_start(struct tfevents *events, int64_t wall, int64_t step, struct error *err) {
    cleanup_buf struct buf session = {.max = AROUND};
    cleanup_buf struct buf event = {.max = AROUND};
    return protobuf_add_varint(&session, SESSION_STATUS, SESSION_START, err) != 0 ||
                   begin_event(&event, wall, step, err) != 0 ||
                   protobuf_add_message(&event, EVENT_SESSION, &session, err) != 0
               ? -1
               : write_record(events->fd, &event, err);
}

/* Appends one value to a summary; it is stored as a float. */
static int add_scalar(struct buf *summary, const struct tfevents_scalar *scalar,
                      struct error *err) {
    cleanup_buf struct buf value = {.max = AROUND};
    return check_tag(scalar->tag, err) != 0 ||
                   protobuf_add_text(&value, VALUE_TAG, scalar->tag, err) != 0 ||
                   protobuf_add_float(&value, VALUE_SIMPLE, (float)scalar->value, err) != 0
               ? -1
               : protobuf_add_message(summary, SUMMARY_VALUE, &value, err);
}

/* All scalars of a step are one event, and so one write. */
int tfevents_add(struct tfevents *events, int64_t wall, int64_t step,
                 const struct tfevents_scalar *scalars, size_t count, struct error *err) {
    /* Numbers and lengths of tags are limited, so the maximum is known in advance. */
    cleanup_buf struct buf summary = {.max = TFEVENTS_SCALARS_BYTES_MAX};
    if (count > TFEVENTS_SCALARS_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "%zu scalars at once; at most %d are allowed",
                         count, TFEVENTS_SCALARS_MAX);
    for (size_t i = 0; i < count; i++)
        if (add_scalar(&summary, &scalars[i], err) != 0)
            return -1;
    return write_summary(events->fd, wall, step, &summary, err);
}

/* The numbers are those of the encoded picture, which is not looked into. */
int tfevents_add_picture(struct tfevents *events, int64_t wall, int64_t step,
                         const struct tfevents_picture *picture, struct error *err) {
    cleanup_buf struct buf image = {.max = picture->size + AROUND};
    cleanup_buf struct buf value = {.max = picture->size + AROUND};
    if (check_tag(picture->tag, err) != 0)
        return -1;
    /* Callers make their pictures themselves, so any other size is a mistake of theirs. */
    if (picture->size < 1 || picture->size > TFEVENTS_PICTURE_MAX || picture->height < 1 ||
        picture->width < 1)
        return error_set(err, EXIT_CODE_INTERNAL, "%s: a picture of %d x %d in %zu bytes",
                         picture->tag, picture->width, picture->height, picture->size);
    return protobuf_add_varint(&image, IMAGE_HEIGHT, (uint64_t)picture->height, err) != 0 ||
                   protobuf_add_varint(&image, IMAGE_WIDTH, (uint64_t)picture->width, err) != 0 ||
                   protobuf_add_varint(&image, IMAGE_COLORSPACE, COLORSPACE_RGB, err) != 0 ||
                   protobuf_add_bytes(&image, IMAGE_BYTES, picture->bytes, picture->size, err) !=
                       0 ||
                   protobuf_add_text(&value, VALUE_TAG, picture->tag, err) != 0 ||
                   protobuf_add_message(&value, VALUE_IMAGE, &image, err) != 0
               ? -1
               : write_value(events->fd, wall, step, &value, err);
}

/* The metadata that makes TensorBoard show a value by PLUGIN; CONTENT, the plugin's own, may be
 * NULL. A plugin that needs no content of its own is named alone. */
static int add_plugin(struct buf *value, const char *plugin, const struct buf *content,
                      struct error *err) {
    const size_t size = content != NULL ? content->size : 0;
    cleanup_buf struct buf data = {.max = size + AROUND};
    cleanup_buf struct buf metadata = {.max = size + AROUND};
    return protobuf_add_text(&data, PLUGIN_NAME, plugin, err) != 0 ||
                   (content != NULL &&
                    protobuf_add_message(&data, PLUGIN_CONTENT, content, err) != 0) ||
                   protobuf_add_message(&metadata, METADATA_PLUGIN, &data, err) != 0
               ? -1
               : protobuf_add_message(value, VALUE_METADATA, &metadata, err);
}

/* A tensor of one string. Its shape is [1]. */
static int add_string_tensor(struct buf *value, const char *text, struct error *err) {
    /* The shape is a message with a message for each axis. */
    cleanup_buf struct buf dim = {.max = AROUND};
    cleanup_buf struct buf shape = {.max = AROUND};
    cleanup_buf struct buf tensor = {.max = TFEVENTS_TEXT_MAX + AROUND};
    return protobuf_add_varint(&dim, DIM_SIZE, 1, err) != 0 ||
                   protobuf_add_message(&shape, SHAPE_DIM, &dim, err) != 0 ||
                   protobuf_add_varint(&tensor, TENSOR_TYPE, TYPE_STRING, err) != 0 ||
                   protobuf_add_message(&tensor, TENSOR_SHAPE, &shape, err) != 0 ||
                   protobuf_add_text(&tensor, TENSOR_STRING, text, err) != 0
               ? -1
               : protobuf_add_message(value, VALUE_TENSOR, &tensor, err);
}

/* The plugin's name in the metadata makes TensorBoard show the tensor as a text. */
int tfevents_add_text(struct tfevents *events, int64_t wall, int64_t step, const char *tag,
                      const char *text, struct error *err) {
    cleanup_buf struct buf value = {.max = TFEVENTS_TEXT_MAX + AROUND};
    const size_t size = strlen(text);
    if (check_tag(tag, err) != 0)
        return -1;
    if (size > TFEVENTS_TEXT_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "%s: a text of %zu bytes is too long", tag, size);
    return protobuf_add_text(&value, VALUE_TAG, tag, err) != 0 ||
                   add_plugin(&value, "text", NULL, err) != 0 ||
                   add_string_tensor(&value, text, err) != 0
               ? -1
               : write_value(events->fd, wall, step, &value, err);
}

/* Appends TEXT as the kind of value that it looks like. Everything of strtod() but NaN and infinity
 * counts as a number, so "0x10" and "1e-3" do as well. */
static int add_setting_value(struct buf *value, const char *text, struct error *err) {
    /* The kind decides how TensorBoard sorts and filters the column. */
    char *end = NULL;
    const double number = strtod(text, &end);
    if (text[0] != '\0' && *end == '\0' && isfinite(number))
        return protobuf_add_double(value, SETTING_NUMBER, number, err);
    const bool yes = strcmp(text, "true") == 0;
    return yes || strcmp(text, "false") == 0 ? protobuf_add_varint(value, SETTING_BOOL, yes, err)
                                             : protobuf_add_text(value, SETTING_STRING, text, err);
}

/* An entry of a protobuf map is a message with a key and a value. */
static int add_setting(struct buf *start, const struct tfevents_setting *setting,
                       struct error *err) {
    /* Name and text may have any length; only the list as a whole is limited. */
    const size_t most = strlen(setting->name) + strlen(setting->text) + AROUND;
    cleanup_buf struct buf value = {.max = most};
    cleanup_buf struct buf entry = {.max = most};
    return add_setting_value(&value, setting->text, err) != 0 ||
                   protobuf_add_text(&entry, ENTRY_KEY, setting->name, err) != 0 ||
                   protobuf_add_message(&entry, ENTRY_VALUE, &value, err) != 0
               ? -1
               : protobuf_add_message(start, START_SETTING, &entry, err);
}

/* The settings are the content of the plugin "hparams", under a tag of its own. Too long a list
 * overruns the buffer's maximum, which is an error. */
int tfevents_add_settings(struct tfevents *events, int64_t wall, int64_t step, const char *group,
                          const struct tfevents_setting *settings, size_t count,
                          struct error *err) {
    cleanup_buf struct buf start = {.max = TFEVENTS_TEXT_MAX};
    cleanup_buf struct buf content = {.max = TFEVENTS_TEXT_MAX + AROUND};
    cleanup_buf struct buf value = {.max = TFEVENTS_TEXT_MAX + 3 * AROUND};
    /* Their bytes are limited by the buffer above: no more than TFEVENTS_TEXT_MAX. */
    if (count > TFEVENTS_SETTINGS_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "%zu settings at once; at most %d are allowed",
                         count, TFEVENTS_SETTINGS_MAX);
    for (size_t i = 0; i < count; i++)
        if (add_setting(&start, &settings[i], err) != 0)
            return -1;
    /* From the inside out: the session's start, the plugin's content, and the value around it. */
    return protobuf_add_text(&start, START_GROUP, group, err) != 0 ||
                   protobuf_add_double(&start, START_TIME, (double)wall / (double)CLOCK_SECOND,
                                       err) != 0 ||
                   protobuf_add_message(&content, HPARAMS_START, &start, err) != 0 ||
                   protobuf_add_text(&value, VALUE_TAG, HPARAMS_TAG, err) != 0 ||
                   add_plugin(&value, "hparams", &content, err) != 0
               ? -1
               : write_value(events->fd, wall, step, &value, err);
}

/* Appends COUNT doubles as one packed field. Packed: one length, then the bytes of all values, each
 * in little endian as the wire format has it. */
static int add_doubles(struct buf *out, uint32_t number, const double *values, size_t count,
                       struct error *err) {
    cleanup_buf struct buf packed = {.max = count * sizeof(*values)};
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[sizeof(*values)];
        uint64_t bits = 0; /* an IEEE 754 double, as protobuf has it */
        memcpy(&bits, &values[i], sizeof(bits));
        for (size_t k = 0; k < sizeof(bytes); k++)
            bytes[k] = (uint8_t)(bits >> (8 * k));
        if (buf_add(&packed, bytes, sizeof(bytes), err) != 0)
            return -1;
    }
    return protobuf_add_message(out, number, &packed, err);
}

/* Limits and counts are two packed lists of the same length. */
static int add_histogram(struct buf *value, const struct histogram *h, struct error *err) {
    double limits[HISTOGRAM_BINS], counts[HISTOGRAM_BINS];
    /* Only bins from the first to the last that has a value. */
    const size_t count = histogram_bins(h, limits, counts);
    cleanup_buf struct buf out = {.max = 2 * sizeof(limits) + AROUND};
    return protobuf_add_double(&out, HISTOGRAM_MIN, h->min, err) != 0 ||
                   protobuf_add_double(&out, HISTOGRAM_MAX, h->max, err) != 0 ||
                   protobuf_add_double(&out, HISTOGRAM_COUNT, (double)h->count, err) != 0 ||
                   protobuf_add_double(&out, HISTOGRAM_SUM, h->sum, err) != 0 ||
                   protobuf_add_double(&out, HISTOGRAM_SQUARES, h->squares, err) != 0 ||
                   add_doubles(&out, HISTOGRAM_LIMITS, limits, count, err) != 0 ||
                   add_doubles(&out, HISTOGRAM_COUNTS, counts, count, err) != 0
               ? -1
               : protobuf_add_message(value, VALUE_HISTOGRAM, &out, err);
}

/* Its two lists have a value for each bin at most, which is the maximum of the buffer. */
int tfevents_add_histogram(struct tfevents *events, int64_t wall, int64_t step, const char *tag,
                           const struct histogram *histogram, struct error *err) {
    cleanup_buf struct buf value = {.max = 2 * HISTOGRAM_BINS * sizeof(double) + 2 * AROUND};
    return check_tag(tag, err) != 0 || protobuf_add_text(&value, VALUE_TAG, tag, err) != 0 ||
                   add_histogram(&value, histogram, err) != 0
               ? -1
               : write_value(events->fd, wall, step, &value, err);
}

/* The graph is bytes within the event, not a message of its fields. */
int tfevents_add_graph(struct tfevents *events, int64_t wall, const struct buf *graph,
                       struct error *err) {
    cleanup_buf struct buf event = {.max = graph->size + AROUND};
    /* The buffer above takes no memory before its first byte. */
    if (graph->size > TFEVENTS_GRAPH_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "a graph of %zu bytes is too large", graph->size);
    return begin_event(&event, wall, 0, err) != 0 ||
                   protobuf_add_message(&event, EVENT_GRAPH, graph, err) != 0
               ? -1
               : write_record(events->fd, &event, err);
}

/* Nothing is buffered, so nothing can be lost here. Safe when it is closed. */
void tfevents_done(struct tfevents *events) {
    if (events->fd >= 0)
        (void)close(events->fd);
    events->fd = -1;
}
