/* tf.train.Example messages of labelled pictures.
 *
 * They are as the converters of ImageNet and of flowers to TFRecord write them:
 *
 *     image/encoded        bytes   the picture, JPEG or PNG
 *     image/class/label    int64   ImageNet's converter counts from 1, others from 0
 *     image/class/synset   bytes   class name
 *     image/class/text     bytes   class name in words
 *     image/filename       bytes   path of the picture
 *
 * Written as well, as the readers of these converters' files ask for them:
 *
 *     image/height, image/width        int64   pixels; left out if the picture's header is damaged
 *     image/colorspace, image/channels         "RGB" and 3, which pictures are decoded to
 *     image/format                     bytes   JPEG, PNG or PNM
 *
 * Other features are skipped. Source: tensorflow/core/example/{example,feature}.proto. */
#ifndef TRAINER_DATA_FORMAT_EXAMPLE_H
#define TRAINER_DATA_FORMAT_EXAMPLE_H

#include "common/binary/protobuf.h"
#include "common/buf.h"
#include "trainer/data/format/shard_file.h"

#include <stdbool.h>
#include <stdint.h>

/* Texts are borrowed from the message; size 0: absent. */
struct example {
    struct protobuf_view encoded;
    struct protobuf_view synset, text, filename;
    int64_t label;
    bool labelled;
    int width, height; /* 0: not known; not parsed */
};

/* Parses a whole message. Errors are EXIT_CODE_DATA without a place. */
int example_parse(struct example *ret, struct protobuf_view message, struct error *err);

/* Parses one entry of the map of features into RET, and leaves the other features as they are. */
int example_parse_entry(struct example *ret, struct protobuf_view entry, struct error *err);

/* Longest text of a feature that example_look keeps. */
enum { EXAMPLE_TEXT_MAX = 1024 };

/* What example_look finds, without the picture's bytes. */
struct example_look {
    struct example example;              /* `encoded` has a size and no bytes */
    uint64_t picture_bytes;              /* size of the picture */
    uint8_t texts[3 * EXAMPLE_TEXT_MAX]; /* of `example` */
    size_t texts_used;
};

/* Reads the small features of the message of SIZE bytes at OFFSET in a shard, and skips the
 * picture. Errors are EXIT_CODE_DATA without a place, or of the system. */
int example_look(struct example_look *ret, struct shard_window *window, uint64_t offset,
                 uint64_t size, struct error *err);

/* Appends a message with all these features. */
int example_write(struct buf *out, const struct example *example, struct error *err);

#endif
