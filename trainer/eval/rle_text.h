/* Masks as COCO writes them in JSON: a string of the runs, or a list of them.
 *
 * The string holds each run (from the fourth on its difference to the run two before it) as a
 * signed number in groups of five bits, lowest first, a character of '0' + 0..63 each; 32 says
 * that more groups follow, and 16 in the last group that the number is negative. */
#ifndef TRAINER_EVAL_RLE_TEXT_H
#define TRAINER_EVAL_RLE_TEXT_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/eval/rle.h"

#include <stddef.h>

/* Reads SIZE characters for a picture of HEIGHT x WIDTH. Refused, with what is wrong: a character
 * outside the alphabet, a number that breaks off or is too long, a run below 0, runs that do not
 * add up to the picture. */
int rle_parse(struct rle *ret, const char *text, size_t size, int64_t height, int64_t width,
              struct error *err);

/* Appends the string. */
int rle_format(const struct rle *mask, struct buf *out, struct error *err);

/* What both readers share: sets the size of a mask that is about to be filled, adds a run, and
 * checks the sum at the end. */
int rle_begin(struct rle *mask, int64_t height, int64_t width, struct error *err);
int rle_add(struct rle *mask, int64_t run, struct error *err);
int rle_end(const struct rle *mask, struct error *err);

#endif
