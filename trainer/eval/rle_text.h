/* COCO's text forms of masks in JSON: a string of the runs, or a list of them.
 *
 * The string holds each run (from the fourth on its difference to the run two before it) as a
 * signed number in groups of five bits, lowest first, one character '0' + 0..63 for each group;
 * bit 32 says that more groups follow, and bit 16 in the last group that the number is negative. */
#ifndef TRAINER_EVAL_RLE_TEXT_H
#define TRAINER_EVAL_RLE_TEXT_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/eval/rle.h"

#include <stddef.h>

/* Reads SIZE characters for a picture of HEIGHT x WIDTH. Errors: a character outside the alphabet,
 * a truncated or too long number, a run below 0, runs that do not add up to the picture. */
int rle_parse(struct rle *ret, const char *text, size_t size, int64_t height, int64_t width,
              struct error *err);

/* Appends the string. */
int rle_format(const struct rle *mask, struct buf *out, struct error *err);

/* Shared by both readers: sets the size of a mask before it is filled, adds a run, and checks the
 * sum at the end. */
int rle_begin(struct rle *mask, int64_t height, int64_t width, struct error *err);
int rle_add(struct rle *mask, int64_t run, struct error *err);
int rle_end(const struct rle *mask, struct error *err);

#endif
