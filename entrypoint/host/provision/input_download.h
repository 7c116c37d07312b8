/* What has to be fetched before the job begins (job/download_sources.h), fetched by a child
 * (transfer_process.h), which also brings checkpoints back and asks whether targets
 * (job/upload_targets.h) take files. It is killed when its time is over. With RINGMASTER_FETCH_ONCE
 * it also asks another host for what that one has fetched, and hands it on (peers/peer_server.h):
 * then it stays when all is here, until input_download_rest(). Where hosts are only counted, who
 * that is the master has to say: the child begins with input_download_ask(), or, after as long as
 * that host would be waited for, without.
 */
#ifndef ENTRYPOINT_HOST_PROVISION_INPUT_DOWNLOAD_H
#define ENTRYPOINT_HOST_PROVISION_INPUT_DOWNLOAD_H

#include "entrypoint/job/job.h"
#include "entrypoint/job/key.h"
#include "entrypoint/job/upload_targets.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/os/subprocess.h"

struct input_download_options {
    struct loop *loop;
    struct reaper *reaper;
    const struct job *job;
    char *const *environment; /* this process's own */
    /* Of the doors by which hosts pass on what they have fetched, KEY_SIZE bytes; NULL: they do
     * not.
     */
    const unsigned char *key;
    /* A line of its words, with prefix and line end. */
    void (*line)(void *context, const char *line, size_t size);
    /* It has got further, and how far it is, with line end. */
    void (*mark)(void *context, const char *line, size_t size);
    /* All is there, or FAILURE says what is not. */
    void (*done)(void *context, const struct error *failure);
    void *context;
};

struct input_download {
    struct input_download_options o; /* its loop is NULL: never started */
    unsigned char key[KEY_SIZE];
    struct subprocess task;
    struct timer deadline;
    bool late;
    bool all_here; /* the child stays for others' sake */
    bool waits;    /* to be told whom to ask */
};

int input_download_start(struct input_download *s, const struct input_download_options *options,
                         struct error *err);
/* The host that this one is to ask is at ADDRESS, as a worker is told once where it does not know.
 */
void input_download_ask(struct input_download *s, const char *address);
/* All hosts have what they need: nobody asks this one any more. Fetching that goes on goes on. */
void input_download_rest(struct input_download *s);
void input_download_close(struct input_download *s);

static inline bool input_download_is_needed(const struct job *job) {
    return download_sources_any(&job->sources) || upload_targets_any(&job->settings);
}

/* The address of a target, with '/' at its end; the caller owns it. */
enum input_download_target {
    INPUT_DOWNLOAD_CHECKPOINTS,
    INPUT_DOWNLOAD_MODEL,
    INPUT_DOWNLOAD_OUTPUT,
    INPUT_DOWNLOAD_DATA,
    INPUT_DOWNLOAD_OTHER_MODEL, /* of a host that is not the first one */
};
json_t *input_download_target(const struct job *job, enum input_download_target which);

/* The order as JSON (transfer/download_order.h); the caller owns it. */
json_t *input_download_order(const struct job *job, char *const *environment);

/* What it says of passing on, by LISTENER and KEY; the caller owns it. TOLD is where the host is
 * that this one asks, NULL where nobody has said so: then there is one where it is known. */
json_t *input_download_door(const struct job *job, int listener, const unsigned char *key,
                            const char *told);

static inline bool input_download_passes_on(const struct job *job) {
    return job->settings.fetch_once && job->cluster.count > 1 && input_download_is_needed(job);
}

#endif
