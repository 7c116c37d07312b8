/* What lies in a data set's folder and is not read: counted by kind, with an example each, so that
 * nobody trains on a part of his pictures without knowing it. */
#ifndef TRAINER_DATA_SET_LEFT_OUT_H
#define TRAINER_DATA_SET_LEFT_OUT_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    LEFT_OUT_KINDS = 12,              /* told apart; further ones count as the last */
    LEFT_OUT_WHAT_MAX = 32,           /* bytes */
    LEFT_OUT_NAME_MAX = 128,          /* of an example; longer ones are cut */
    LEFT_OUT_NAMES_MAX = 1024 * 1024, /* bytes of names kept */
};

struct left_out_kind {
    char what[LEFT_OUT_WHAT_MAX]; /* ".webp", "beside the class folders" */
    size_t count;
    char example[LEFT_OUT_NAME_MAX]; /* below the set's folder */
};

struct left_out {
    size_t count;
    size_t pictures; /* of these, as far as suffix or place say so */
    size_t kinds;
    struct left_out_kind kind[LEFT_OUT_KINDS];
    struct buf names; /* one a line, below the set's folder, up to the ceiling */
};

void left_out_done(struct left_out *out);

/* A file or folder of kind WHAT at PATH below the set's folder. */
int left_out_add(struct left_out *out, const char *what, bool picture, const char *path,
                 struct error *err);
/* The same for a file, whose suffix is its kind. */
int left_out_add_file(struct left_out *out, const char *path, struct error *err);

/* "52 left out: 50 .webp (a/1.webp), 2 beside the class folders (loose.jpg)"; cut to SIZE bytes.
 * Empty when there is nothing. */
void left_out_text(const struct left_out *out, char *text, size_t size);

#endif
