/* What one start of the transfer program does: its order, which comes as JSON in sealed memory, and
 * the walk through it. An order is
 *
 *   {"environment": ["AWS_REGION=...", ...], "seconds": 3600, "tasks": [
 *      {"what": "code",  "from": "s3://...", "to": "/opt/ml/code", "unpack": true},
 *      {"what": "train", "from": "s3://...", "to": "/opt/ml/input/data/train",
 *       "shard": 0, "shards": 2},
 *      {"what": "checkpoints", "from": "s3://...", "to": "/opt/ml/checkpoints", "back": true},
 *      {"what": "output", "to": "s3://...", "target": true, "tidy": true}]}
 *
 * "back" brings back what an earlier start has uploaded: nothing is fine, and a file that is newer
 * here stays. "target" asks whether files can be uploaded there, as "back" does; with "tidy" what a
 * killed start has begun to upload is given up, unless the file is here to go on with. An order
 * with "uploads" is upload_order.h's.
 *
 * With "door" files come from another host, or are handed to others (peers/sharing.h); then the
 * program says "all is here" to whoever started it, and stays until it is ended. Tasks with "pass"
 * are such.
 *
 * s3:// is the object of that name, else all that lie in the folder of that name; https:// a file;
 * file:// a folder of this machine, which becomes a link (or an archive, which is unpacked). */
#ifndef ENTRYPOINT_TRANSFER_DOWNLOAD_ORDER_H
#define ENTRYPOINT_TRANSFER_DOWNLOAD_ORDER_H

#include "common/argv.h"
#include "common/error.h"
#include "common/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The last mark, where this program stays for other hosts' sake. */
#define DOWNLOAD_ORDER_ALL_HERE "all is here"

enum { DOWNLOAD_ORDER_TASKS_MAX = 128, DOWNLOAD_ORDER_SECONDS_MAX = 7 * 86400 };

struct download_order_task {
    const char *what; /* borrowed from the order */
    const char *from;
    const char *to;
    bool unpack;
    bool back;
    bool target;
    bool tidy;
    bool pass;
    int64_t shard;
    int64_t shards; /* below 2: all of it */
};

struct download_order {
    void *root; /* owned; the order */
    struct argv environment;
    int64_t seconds;
    struct download_order_task tasks[DOWNLOAD_ORDER_TASKS_MAX];
    size_t count;
    const json_t *uploads; /* borrowed from the order; NULL: none */
    const json_t *door;    /* the same */
};

void download_order_done(struct download_order *w);
/* Secrets of the environment are registered with redact.h. */
int download_order_parse(const char *text, size_t size, struct download_order *ret,
                         struct error *err);

/* Does all of it, or as much as goes well, and with a door stays for the rest of its time; SAY gets
 * a line now and then, without a line end, MARK (which may be NULL) one about once a second, as
 * long as it gets further. */
int download_order_run(const struct download_order *w, void (*say)(const char *line),
                       void (*mark)(const char *line), struct error *err);

#endif
