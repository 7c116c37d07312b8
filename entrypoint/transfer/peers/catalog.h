/* What this host has fetched and other hosts may ask for (peer_server.h): which files a task
 * brings, by their paths, and of each that is here and verified its size, ETag and SHA-256. Filled
 * by the thread that fetches, asked by those that hand out; every call is safe from any of them.
 * Files lie where they were fetched to and are opened when they are asked for. */
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
    uint64_t steps; /* how far this host has got, for those that wait */
    bool over;      /* no task is added any more */
};

int catalog_open(struct catalog *s, struct error *err);
void catalog_done(struct catalog *s);

/* The task called WHAT, whose files lie below the folder ROOT; NULL on failure. */
struct catalog_task *catalog_begin(struct catalog *s, const char *what, int root,
                                   struct error *err);
/* A file that is to come, before catalog_listed(). */
int catalog_expect(struct catalog *s, struct catalog_task *t, const char *path, struct error *err);
void catalog_listed(struct catalog *s, struct catalog_task *t);

/* PATH is here. KEEP: it is held open, as it goes from its folder. */
struct catalog_facts {
    int64_t size;
    char etag[CATALOG_ETAG_MAX];
    char sha256[DIGEST_HEX_MAX];
};
void catalog_put(struct catalog *s, struct catalog_task *t, const char *path,
                 const struct catalog_facts *facts, bool keep);
/* Nothing more of it comes. */
void catalog_end(struct catalog *s, struct catalog_task *t);
/* Nothing more comes at all. */
void catalog_end_all(struct catalog *s);

/* This host has got further. */
void catalog_step(struct catalog *s);

enum catalog_answer { CATALOG_HERE, CATALOG_LATER, CATALOG_NEVER };

struct catalog_file {
    int fd; /* the caller's; where it is here */
    struct catalog_facts facts;
    uint64_t steps;
};

/* Waits until the file is here or will never be, or until the time UNTIL (clock_now()). */
enum catalog_answer catalog_take(struct catalog *s, const char *what, const char *path,
                                 int64_t until, struct catalog_file *ret);

#endif
