/* Examination of a device, by a child of its own.
 *
 * A driver or library may hang or crash. `ringmaster examine PART` therefore runs apart, with its
 * own limit, so that no other part is lost with it. */
#ifndef ENTRYPOINT_HOST_PREFLIGHT_DEVICE_PROBE_H
#define ENTRYPOINT_HOST_PREFLIGHT_DEVICE_PROBE_H

#include "common/argv.h"
#include "common/error.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/os/subprocess.h"

#include <jansson.h>
#include <stdint.h>

struct device_probe {
    const char *part; /* NULL: never started */
    struct subprocess task;
    int64_t limit;
    json_t *found; /* what it has reported, {} at first */
    void (*done)(void *context, const json_t *found);
    void *context;
};

struct device_probe_options {
    const char *part;               /* "plugin", ...: see preflight_child.h */
    const struct argv *environment; /* the child's */
    int64_t limit;                  /* ns */
    /* Called once: FOUND, borrowed, is the child's object of the name PART. A child that failed
     * before it reported anything has the text `fault` there, and `lost`: true. */
    void (*done)(void *context, const json_t *found);
    void *context;
};

int device_probe_start(struct device_probe *p, const struct services *services,
                       const struct device_probe_options *options, struct error *err);
/* Kills it; DONE is not called any more. P may be zeroed. */
void device_probe_close(struct device_probe *p);

#endif
