/* Order to fetch single files of the web into one folder.
 *
 * It is the member "web" of an order (download_order.h). `ringtrain prepare` gives it:
 *
 *   {"to": FOLDER, "files": [{"url": "https://...", "name": NAME, "sha256": HEX}, ...],
 *    "user": TEXT, "password": TEXT, "plain": false, "spare": 100}
 *
 * All but "to" and "files" may be absent, and "sha256" in each file. The user and the password go
 * by basic authentication to the host of each address, and to no other that it redirects to.
 * "plain" permits http://. "spare" is room to be left on the disk for what is made of the files, in
 * percent of their sizes.
 *
 * All sizes are asked for and the room is checked before the first byte is fetched. A file has its
 * name once it is complete. One that is there is kept if it has the server's size, and refused if
 * it has another. An interrupted download continues where it was (fetch/fetch_file.h). */
#ifndef ENTRYPOINT_TRANSFER_WEB_ORDER_H
#define ENTRYPOINT_TRANSFER_WEB_ORDER_H

#include "common/error.h"
#include "common/json/json.h"
#include "entrypoint/transfer/s3/address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEB_ORDER_FILES_MAX = 64, WEB_ORDER_SPARE_MAX = 1000, WEB_ORDER_SHA256_SIZE = 64 };

struct web_order_file {
    struct address at;  /* owned */
    const char *name;   /* borrowed from the order */
    const char *sha256; /* in lower case; NULL: not known */
};

struct web_order {
    const char *folder; /* borrowed from the order, as all texts */
    const char *user;   /* NULL: none */
    const char *password;
    const char *certificates; /* file of certificates; NULL: the system's */
    bool plain;
    int64_t spare; /* percent */
    struct web_order_file files[WEB_ORDER_FILES_MAX];
    size_t count;
};

void web_order_done(struct web_order *o);
/* The password is registered with redact.h. */
int web_order_parse(const json_t *web, struct web_order *ret, struct error *err);

/* Fetches all files within SECONDS. SAY gets lines for the log, without a line end. MARK gets
 * "BYTES OF": how many bytes are here, of how many (-1: not known), about once a second.
 * Errors: EXIT_CODE_DATA for what a server says or sends, EXIT_CODE_CONFIG for the disk. */
int web_order_run(const struct web_order *o, int64_t seconds, void (*say)(const char *line),
                  void (*mark)(const char *line), struct error *err);

#endif
