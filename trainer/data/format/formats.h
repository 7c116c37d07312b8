/* Table of shard formats: a row for each.
 *
 *     tar        WebDataset's naming, or class folders       (tar_shard.c)
 *     a tar of tars: ImageNet's archive; read only           (nested_tar_shard.c)
 *     tfrecord   tf.train.Example in TFRecord                (tfrecord_shard.c)
 *     recordio   MXNet's image records                       (recordio_shard.c)
 *     cifar10    binary version of CIFAR-10; read only       (cifar_shard.c)
 *     cifar100   the same of CIFAR-100                       (cifar_shard.c)
 *     idx        MNIST and its followers; read only          (idx_shard.c)
 *
 * A new format is one more row and one more file. */
#ifndef TRAINER_DATA_FORMAT_FORMATS_H
#define TRAINER_DATA_FORMAT_FORMATS_H

#include "trainer/data/format/format.h"

extern const struct format FORMAT_TAR;
extern const struct format FORMAT_NESTED_TAR;
extern const struct format FORMAT_TFRECORD;
extern const struct format FORMAT_RECORDIO;
extern const struct format FORMAT_CIFAR10;
extern const struct format FORMAT_CIFAR100;
extern const struct format FORMAT_IDX;

/* Returns the format of the file NAME, without its folder, by its first bytes; NULL: none. */
const struct format *format_of(const char *name, const uint8_t *bytes, size_t size);
/* Returns the format NAME; NULL: none. */
const struct format *format_named(const char *name);
/* Returns the format NAME if it can be written, or NULL with EXIT_CODE_USAGE. */
const struct format *format_need(const char *name, struct error *err);
/* The names of all formats, for messages. */
const char *format_names(void);

#endif
