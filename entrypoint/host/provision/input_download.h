/* Downloads before the job begins (job/download_sources.h), by a child (transfer_process.h).
 *
 * The child also restores checkpoints and tests if upload targets (job/upload_targets.h) are
 * writable. It is killed when its time is over. With RINGMASTER_FETCH_ONCE, or a channel that is a
 * folder of the first host, it gets from another host what that has downloaded, and serves it to
 * others (peers/peer_server.h): then it stays until input_download_rest(). If hosts are only
 * counted, the master has to name the upstream host: the child starts with input_download_ask(), or
 * without it after as long as it would wait for that host. */
#ifndef ENTRYPOINT_HOST_PROVISION_INPUT_DOWNLOAD_H
#define ENTRYPOINT_HOST_PROVISION_INPUT_DOWNLOAD_H

#include "entrypoint/host/services/services.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/key.h"
#include "entrypoint/job/upload_targets.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/os/subprocess.h"

struct input_download_options {
    /* Key of the servers with which hosts share downloads, KEY_SIZE bytes; NULL: they do not. */
    const unsigned char *key;
    /* An output line of the child, with prefix and line end. */
    void (*line)(void *context, const char *line, size_t size);
    /* Progress, as text with line end. */
    void (*mark)(void *context, const char *line, size_t size);
    /* The end: everything is there, or FAILURE says what is not. */
    void (*done)(void *context, const struct error *failure);
    void *context;
};

struct input_download {
    const struct services *services; /* NULL: never started */
    struct input_download_options o;
    unsigned char key[KEY_SIZE];
    struct subprocess task;
    struct timer deadline;
    bool late;
    bool all_here; /* the child keeps serving other hosts */
    bool waits;    /* for the upstream host to be named */
};

int input_download_start(struct input_download *s, const struct services *services,
                         const struct input_download_options *options, struct error *err);
/* Names the upstream host; called once for a worker that does not know it. */
void input_download_ask(struct input_download *s, const char *address);
/* All hosts have what they need: stops serving. A download under way continues. */
void input_download_rest(struct input_download *s);
void input_download_close(struct input_download *s);

static inline bool input_download_is_needed(const struct job *job) {
    return download_sources_any(&job->sources) || upload_targets_any(&job->settings);
}

/* Returns the address of a target, with '/' at its end, owned by the caller. */
enum input_download_target {
    INPUT_DOWNLOAD_CHECKPOINTS,
    INPUT_DOWNLOAD_MODEL,
    INPUT_DOWNLOAD_OUTPUT,
    INPUT_DOWNLOAD_DATA,
    INPUT_DOWNLOAD_OTHER_MODEL, /* of a host other than the first */
};
json_t *input_download_target(const struct job *job, enum input_download_target which);

/* Returns the order as JSON (transfer/download_order.h), owned by the caller. */
json_t *input_download_order(const struct job *job, char *const *environment);

/* Returns the part of the order about sharing, with LISTENER and KEY, owned by the caller. PARENT
 * is the address of the upstream host, NULL if it was not named: then it is used if it is known. */
json_t *input_download_sharing(const struct job *job, int listener, const unsigned char *key,
                               const char *parent);

static inline bool input_download_passes_on(const struct job *job) {
    return (job->settings.fetch_once || job->sources.of_first) && job->cluster.count > 1 &&
           input_download_is_needed(job);
}

#endif
