/* Sharing of downloads between hosts (RINGMASTER_FETCH_ONCE): files are downloaded from their
 * source once; each host serves them (peer_server.h) and asks its upstream host (peer_client.h).
 * The order's member is
 *
 *   "sharing": {"listener": 5, "key": "96 digits", "from": "https://algo-1:7074",
 *               "name": "algo-1", "patience": 60}
 *
 * without "from", but with "first": true, on the first host, which asks the source. */
#ifndef ENTRYPOINT_TRANSFER_PEERS_SHARING_H
#define ENTRYPOINT_TRANSFER_PEERS_SHARING_H

#include "common/json/json.h"
#include "entrypoint/transfer/peers/peer_client.h"
#include "entrypoint/transfer/peers/peer_server.h"

struct sharing {
    struct catalog catalog;
    struct peer_server peer_server;
    struct peer_client peer; /* its url is NULL on the first host */
    bool first;              /* this is the first host */
    bool no_md5;             /* the source's ETags look like MD5s but are not */
};

/* SHARING outlives it. Takes the listener. */
int sharing_open(struct sharing *p, const json_t *sharing, struct error *err);
/* Ends all downloads by others. */
void sharing_close(struct sharing *p);

/* Returns true if the upstream host can be asked now. The first call waits for it; if it does not
 * answer SAY gets a line. */
bool sharing_has_peer(struct sharing *p, void (*say)(const char *line));
/* Marks it as lost for the reason WHY: it is not asked again. */
void sharing_lose_peer(struct sharing *p, const struct error *why, void (*say)(const char *line));

/* Keeps serving until DEADLINE, or until this process is ended. */
void sharing_linger(int64_t deadline);

#endif
