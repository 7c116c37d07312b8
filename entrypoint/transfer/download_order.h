/* Order of one run of the transfer program, and its execution. It is JSON in sealed memory:
 *
 *   {"environment": ["AWS_REGION=...", ...], "seconds": 3600, "tasks": [
 *    {"what": "code",  "from": "s3://...", "to": "/opt/ml/code", "unpack": true},
 *    {"what": "train", "from": "s3://...", "to": "/opt/ml/input/data/train",
 *     "shard": 0, "shards": 2},
 *    {"what": "checkpoints", "from": "s3://...", "to": "/opt/ml/checkpoints", "back": true},
 *    {"what": "output", "to": "s3://...", "target": true, "tidy": true}]}
 *
 * "back" restores what an earlier run has uploaded: nothing is fine, and a newer local file is
 * kept. "target" tests if files can be uploaded there, and so does "back". With "tidy" the
 * unfinished uploads of a killed run are aborted, unless the file is here to resume them. An order
 * with "uploads" is upload_order.h's, one with "status" status_order.h's, one with "web"
 * web_order.h's.
 *
 * With "sharing" files come from another host or are served to others (peers/sharing.h); then the
 * program prints "all is here" and stays until it is ended. This concerns tasks with "pass".
 *
 * s3:// is the object of that name, else all objects in the directory of that name. https:// is a
 * file. file:// is a local directory, which becomes a link, or an archive, which is unpacked.
 * first:// is a directory of the first host, which is a link there and is fetched from it by the
 * others. */
#ifndef ENTRYPOINT_TRANSFER_DOWNLOAD_ORDER_H
#define ENTRYPOINT_TRANSFER_DOWNLOAD_ORDER_H

#include "common/argv.h"
#include "common/error.h"
#include "common/json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The last progress line, if this program stays to serve other hosts. */
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
    const json_t *sharing; /* the same */
    const json_t *status;  /* the same */
    const json_t *web;     /* the same */
};

void download_order_done(struct download_order *w);
/* Parses an order. Secrets in the environment are registered with redact.h. */
int download_order_parse(const char *text, size_t size, struct download_order *ret,
                         struct error *err);

/* Carries it out as far as possible, and with "sharing" stays for the rest of its time. SAY gets
 * lines for the log, without a line end; MARK (may be NULL) gets a line about once a second while
 * there is progress. */
int download_order_run(const struct download_order *w, void (*say)(const char *line),
                       void (*mark)(const char *line), struct error *err);

#endif
