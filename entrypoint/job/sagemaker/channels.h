/* The input channels of inputdataconfig.json, or none without that file. Names are checked
 * (`[A-Za-z0-9._-]`, 1 to 64, not starting with a dot), so BASE/input/data/NAME stays in its
 * folder. The FIFOs of a channel in Pipe mode (BASE/input/data/NAME_0 ...) are for the program to
 * open, and never opened here. */
#ifndef ENTRYPOINT_JOB_SAGEMAKER_CHANNELS_H
#define ENTRYPOINT_JOB_SAGEMAKER_CHANNELS_H

#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { CHANNELS_MAX = 20, CHANNEL_NAME_MAX = 64 };

struct channels {
    const char *names[CHANNELS_MAX]; /* borrowed from config; in byte order */
    size_t count;
    const char *piped; /* one in Pipe mode; NULL: none is */
    json_t *config;    /* owned; the object as read, NULL if there was no file */
};

void channels_done(struct channels *c);
int channels_read(const char *path, struct channels *ret, struct error *err);
/* One that we fetch ourselves; NAME must not be there yet. */
int channels_add(struct channels *c, const char *name, bool sharded, struct error *err);
int channels_parse(const char *bytes, size_t size, const char *source, struct channels *ret,
                   struct error *err);

#endif
