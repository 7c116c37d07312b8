/* What this host has fetched and other hosts may ask for (handout.h): which files a task brings, by
 * their paths, and of each that is here and verified its size, ETag and SHA-256. Filled by the
 * thread that fetches, asked by those that hand out; every call is safe from any of them. Files lie
 * where they were fetched to and are opened when they are asked for. */
#ifndef PEERS_SHELF_H
#define PEERS_SHELF_H

#include "entrypoint/transfer/disk/digest.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHELF_TASKS_MAX = 128, SHELF_ETAG_MAX = 256 };

struct shelf_task;

struct shelf {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct shelf_task *tasks[SHELF_TASKS_MAX]; /* owned */
    size_t count;
    uint64_t steps; /* how far this host has got, for those that wait */
    bool over;      /* no task is added any more */
};

int shelf_open(struct shelf *s, struct error *err);
void shelf_done(struct shelf *s);

/* The task called WHAT, whose files lie below the folder ROOT; NULL on failure. */
struct shelf_task *shelf_begin(struct shelf *s, const char *what, int root, struct error *err);
/* A file that is to come, before shelf_listed(). */
int shelf_expect(struct shelf *s, struct shelf_task *t, const char *path, struct error *err);
void shelf_listed(struct shelf *s, struct shelf_task *t);

/* PATH is here. KEEP: it is held open, as it goes from its folder. */
struct shelf_facts {
    int64_t size;
    char etag[SHELF_ETAG_MAX];
    char sha256[DIGEST_HEX_MAX];
};
void shelf_put(struct shelf *s, struct shelf_task *t, const char *path,
               const struct shelf_facts *facts, bool keep);
/* Nothing more of it comes. */
void shelf_end(struct shelf *s, struct shelf_task *t);
/* Nothing more comes at all. */
void shelf_end_all(struct shelf *s);

/* This host has got further. */
void shelf_step(struct shelf *s);

enum shelf_answer { SHELF_HERE, SHELF_LATER, SHELF_NEVER };

struct shelf_file {
    int fd; /* the caller's; where it is here */
    struct shelf_facts facts;
    uint64_t steps;
};

/* Waits until the file is here or will never be, or until the time UNTIL (clock_now()). */
enum shelf_answer shelf_take(struct shelf *s, const char *what, const char *path, int64_t until,
                             struct shelf_file *ret);

#endif
