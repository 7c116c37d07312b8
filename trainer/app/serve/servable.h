/* A network that answers requests: how a picture becomes its input, and its outputs an answer.
 *
 * A table of functions for each task. `decode` runs on many threads at once, each with a worker of
 * its own; `compute` on one. */
#ifndef TRAINER_APP_SERVE_SERVABLE_H
#define TRAINER_APP_SERVE_SERVABLE_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/app/serve/picture_queue.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVABLE_ANSWER_MAX = 64 * 1024 * 1024 };

/* One picture on its way. */
struct served_picture {
    struct queued_picture queued; /* first: the queue hands it back; `group` is set by decode */
    void *request;                /* the server's */
    bool masks;                   /* the answer has masks */
    uint8_t *pixels;              /* owned; input of the network */
    size_t bytes;
    void *own;          /* owned with free(): what else a task keeps of the picture */
    struct buf answer;  /* JSON; set by compute */
    struct error error; /* why there is none */
};

struct servable {
    const struct servable_table *table;
    void *own;
};

struct servable_table {
    int (*worker_open)(const struct servable *servable, void **ret_worker, struct error *err);
    void (*worker_close)(void *worker);
    /* Fills the input and the group of PICTURE. EXIT_CODE_DATA: the bytes are at fault. */
    int (*decode)(const struct servable *servable, void *worker, const uint8_t *bytes, size_t size,
                  struct served_picture *picture, struct error *err);
    /* Answers COUNT pictures of one group in a batch of SIZE, or sets their errors. COUNT 0: a
     * rehearsal with blank ones. An error of its own means that the network cannot compute. */
    int (*compute)(const struct servable *servable, struct served_picture *const *pictures,
                   int count, int size, struct error *err);
    /* No batch of SIZE will be computed any more. */
    void (*drop)(const struct servable *servable, int size);
    void (*close)(struct servable *servable);
};

/* Also closes one that was opened in part, or not at all. */
static inline void servable_close(struct servable *servable) {
    if (servable->own != NULL)
        servable->table->close(servable);
    servable->own = NULL;
}

#endif
