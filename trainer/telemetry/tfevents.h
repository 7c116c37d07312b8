/* TensorBoard event files, written without TensorFlow: records of u64 length, masked CRC32C of the
 * length, data, masked CRC32C of the data; the data is an Event message in protobuf's wire format
 * (tensorflow/core/util/event.proto, tensorflow/core/framework/summary.proto, record framing in
 * tensorflow/core/lib/io/record_writer.cc). Scalars and pictures.
 *
 * Each add is one write, so a killed run leaves whole records but for the last. */
#ifndef TRAINER_TELEMETRY_TFEVENTS_H
#define TRAINER_TELEMETRY_TFEVENTS_H

#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

enum { TFEVENTS_TAG_MAX = 128, TFEVENTS_SCALARS_MAX = 64, TFEVENTS_PICTURE_MAX = 1 << 26 };

struct tfevents {
    int fd; /* -1 when not open */
};

struct tfevents_scalar {
    const char *tag; /* "train/loss" */
    double value;    /* stored as float */
};

#define TFEVENTS_CLOSED                                                                            \
    { .fd = -1 }

/* Makes FOLDER and in it events.out.tfevents.SECONDS.HOST; WALL is clock_wall(). */
int tfevents_open(struct tfevents *events, const char *folder, const char *host, int64_t wall,
                  struct error *err);
/* A run begins with STEP: readers drop what earlier files of the folder hold of this step and later
 * ones, which a run that was killed behind its last checkpoint has left. */
int tfevents_start(struct tfevents *events, int64_t wall, int64_t step, struct error *err);
int tfevents_add(struct tfevents *events, int64_t wall, int64_t step,
                 const struct tfevents_scalar *scalars, size_t count, struct error *err);

/* A picture, as TensorBoard shows under "Images": its encoded bytes, PNG or JPEG, are copied as
 * they are. */
struct tfevents_picture {
    const char *tag;
    int height;
    int width;
    const void *bytes; /* borrowed */
    size_t size;       /* 1 .. TFEVENTS_PICTURE_MAX */
};
int tfevents_add_picture(struct tfevents *events, int64_t wall, int64_t step,
                         const struct tfevents_picture *picture, struct error *err);
void tfevents_done(struct tfevents *events);

#endif
