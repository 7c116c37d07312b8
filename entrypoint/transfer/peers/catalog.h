/* Catalog of the downloaded files that this host serves to others (peer_server.h). It has the paths
 * of each task, and size, ETag and SHA-256 of each file that is here and verified.
 *
 * The downloading thread fills it, serving threads read it; every call is thread safe. Files stay
 * where they were downloaded and are opened on request. */
#ifndef ENTRYPOINT_TRANSFER_PEERS_CATALOG_H
#define ENTRYPOINT_TRANSFER_PEERS_CATALOG_H

#include "entrypoint/transfer/disk/digest.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CATALOG_TASKS_MAX = 128, CATALOG_ETAG_MAX = 256 };

struct catalog_task;

struct catalog {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct catalog_task *tasks[CATALOG_TASKS_MAX]; /* owned */
    size_t count;
    uint64_t steps; /* this host's progress, for waiting peers */
    bool over;      /* no task is added any more */
};

int catalog_open(struct catalog *s, struct error *err);
void catalog_done(struct catalog *s);

/* Begins the task WHAT, with files below the directory ROOT; NULL on failure. */
struct catalog_task *catalog_begin(struct catalog *s, const char *what, int root,
                                   struct error *err);
/* Adds an expected file, before catalog_listed(). */
int catalog_expect(struct catalog *s, struct catalog_task *t, const char *path, struct error *err);
void catalog_listed(struct catalog *s, struct catalog_task *t);

/* PATH is here. KEEP: keep it open, as it will be moved. */
struct catalog_facts {
    int64_t size;
    char etag[CATALOG_ETAG_MAX];
    char sha256[DIGEST_HEX_MAX];
};
void catalog_put(struct catalog *s, struct catalog_task *t, const char *path,
                 const struct catalog_facts *facts, bool keep);
/* The same for a file that is not below the task's directory; takes FD, a descriptor of it. */
void catalog_put_open(struct catalog *s, struct catalog_task *t, const char *path,
                      const struct catalog_facts *facts, int fd);
/* The task has ended. */
void catalog_end(struct catalog *s, struct catalog_task *t);
/* All tasks have ended. */
void catalog_end_all(struct catalog *s);

/* Records progress of this host. */
void catalog_step(struct catalog *s);

enum catalog_answer { CATALOG_HERE, CATALOG_LATER, CATALOG_NEVER };

struct catalog_file {
    int fd; /* owned by the caller; valid if it is here */
    struct catalog_facts facts;
    uint64_t steps;
};

/* Waits until the file is here or will never be, or until the time UNTIL (clock_now()). */
enum catalog_answer catalog_take(struct catalog *s, const char *what, const char *path,
                                 int64_t until, struct catalog_file *ret);

#endif
