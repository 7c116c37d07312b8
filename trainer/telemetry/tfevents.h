/* Writer of TensorBoard event files, without TensorFlow. It knows scalars, pictures, texts,
 * settings, histograms and a graph.
 *
 * A file is a sequence of records: u64 length, masked CRC32C of the length, data, masked CRC32C of
 * the data. The data is an Event message in protobuf's wire format
 * (tensorflow/core/util/event.proto, tensorflow/core/framework/summary.proto; framing in
 * tensorflow/core/lib/io/record_writer.cc).
 *
 * Each add is one write, so a killed run leaves whole records, except possibly the last. */
#ifndef TRAINER_TELEMETRY_TFEVENTS_H
#define TRAINER_TELEMETRY_TFEVENTS_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/telemetry/histogram.h"

#include <stddef.h>
#include <stdint.h>

enum { TFEVENTS_TAG_MAX = 128, TFEVENTS_SCALARS_MAX = 64, TFEVENTS_PICTURE_MAX = 1 << 26 };
enum { TFEVENTS_TEXT_MAX = 1 << 20, TFEVENTS_SETTINGS_MAX = 128 };
enum { TFEVENTS_GRAPH_MAX = 1 << 24 };

/* Maximum number of bytes of the scalars of one event, each a value of tag and float. */
enum { TFEVENTS_SCALARS_BYTES_MAX = TFEVENTS_SCALARS_MAX * (TFEVENTS_TAG_MAX + 16) };

struct tfevents {
    int fd; /* -1 when not open */
};

struct tfevents_scalar {
    const char *tag; /* "train/loss" */
    double value;    /* stored as float */
};

#define TFEVENTS_CLOSED                                                                            \
    { .fd = -1 }

/* Creates FOLDER, and in it events.out.tfevents.SECONDS.HOST; WALL is clock_wall(). */
int tfevents_open(struct tfevents *events, const char *folder, const char *host, int64_t wall,
                  struct error *err);
/* Marks the begin of a run at STEP: readers then ignore what earlier files of the folder hold of
 * this step and later ones, written by a run that was killed after its last checkpoint. */
int tfevents_start(struct tfevents *events, int64_t wall, int64_t step, struct error *err);
int tfevents_add(struct tfevents *events, int64_t wall, int64_t step,
                 const struct tfevents_scalar *scalars, size_t count, struct error *err);

/* A picture for TensorBoard's "Images"; its encoded bytes, PNG or JPEG, are copied unchanged. */
struct tfevents_picture {
    const char *tag;
    int height;
    int width;
    const void *bytes; /* borrowed */
    size_t size;       /* 1 .. TFEVENTS_PICTURE_MAX */
};
int tfevents_add_picture(struct tfevents *events, int64_t wall, int64_t step,
                         const struct tfevents_picture *picture, struct error *err);

/* Adds a text for TensorBoard's "Text", which renders it as Markdown. Longer ones than
 * TFEVENTS_TEXT_MAX bytes are an error. */
int tfevents_add_text(struct tfevents *events, int64_t wall, int64_t step, const char *tag,
                      const char *text, struct error *err);
/* A setting of the run for TensorBoard's "HParams". */
struct tfevents_setting {
    const char *name;
    const char *text; /* stored as a number, or as a truth value, if it is one */
};
/* Adds the settings of the run that has its scalars in the same folder. Runs with the same GROUP
 * are one row of the table. */
int tfevents_add_settings(struct tfevents *events, int64_t wall, int64_t step, const char *group,
                          const struct tfevents_setting *settings, size_t count, struct error *err);
int tfevents_add_histogram(struct tfevents *events, int64_t wall, int64_t step, const char *tag,
                           const struct histogram *histogram, struct error *err);
/* Adds a GraphDef (graph_def.h) of at most TFEVENTS_GRAPH_MAX bytes. */
int tfevents_add_graph(struct tfevents *events, int64_t wall, const struct buf *graph,
                       struct error *err);
void tfevents_done(struct tfevents *events);

#endif
