/* What a start of the transfer program has to do with other hosts, where files are fetched from
 * their source once and passed on (RINGMASTER_FETCH_ONCE): what it hands out itself (peer_server.h)
 * and whom it asks (peer_client.h). The order's member is
 *
 *   "door": {"listener": 5, "key": "96 digits", "from": "https://algo-1:7074", "name": "algo-1",
 *            "patience": 60}
 *
 * without "from" on the first host, which asks the source. */
#ifndef ENTRYPOINT_TRANSFER_PEERS_SHARING_H
#define ENTRYPOINT_TRANSFER_PEERS_SHARING_H

#include "common/json.h"
#include "entrypoint/transfer/peers/peer_client.h"
#include "entrypoint/transfer/peers/peer_server.h"

struct sharing {
    struct catalog catalog;
    struct peer_server peer_server;
    struct peer_client peer; /* its url is NULL on the first host */
    bool no_md5;             /* the source has shown that its ETags are none, though they look so */
};

/* DOOR outlives it. The listener is taken. */
int sharing_open(struct sharing *p, const json_t *door, struct error *err);
/* Ends all that others still fetch. */
void sharing_close(struct sharing *p);

/* Whether there is another host to be asked now. The first time it is waited for; where it does not
 * come SAY gets a line. */
bool sharing_has_peer(struct sharing *p, void (*say)(const char *line));
/* It failed, for the reason WHY: it is asked for nothing more. */
void sharing_lose_peer(struct sharing *p, const struct error *why, void (*say)(const char *line));

/* Until the time DEADLINE, or until somebody ends this process. */
void sharing_linger(int64_t deadline);

#endif
