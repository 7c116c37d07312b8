/* Examination of this host for `ringmaster check`.
 *
 * A child does it (preflight_child.h), so that its supervisor waits for no disk and no other host.
 *
 * The listener is opened before the host joins, so that it is there when other hosts connect. */
#ifndef ENTRYPOINT_HOST_PREFLIGHT_PREFLIGHT_PROBE_H
#define ENTRYPOINT_HOST_PREFLIGHT_PREFLIGHT_PROBE_H

#include "common/net_address.h"
#include "entrypoint/host/preflight/device_probe.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/job/job.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/os/subprocess.h"

#include <jansson.h>
#include <stdint.h>

/* Then the child is killed, and what it has written by then counts. The whole check should take
 * less than 5 s. */
enum { PREFLIGHT_PROBE_MS = 4000, PREFLIGHT_PROBE_PARTS = 2 };

struct preflight_probe {
    const struct services *services; /* NULL: never started */
    struct subprocess task;
    struct device_probe parts[PREFLIGHT_PROBE_PARTS];
    size_t running; /* children that have not ended */
    int listener;   /* 0: none */
    json_t *found;
    /* FOUND is borrowed. */
    void (*done)(void *context, const json_t *found);
    void *context;
};

/* Listens at ADDRESS on the first free port of those for MPI data. */
int preflight_probe_listen(struct preflight_probe *e, const struct net_address *address,
                           const struct ports *ports, uint16_t *ret_port, struct error *err);

struct preflight_probe_options {
    const char *interface;
    const json_t *order;            /* the master's: peers, ask, answer */
    const struct argv *environment; /* of ranks; NULL: parts that need it are left out */
    void (*done)(void *context, const json_t *found);
    void *context;
};
int preflight_probe_start(struct preflight_probe *e, const struct services *services,
                          const struct preflight_probe_options *options, struct error *err);
void preflight_probe_close(struct preflight_probe *e);

#endif
