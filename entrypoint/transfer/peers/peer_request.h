/* Parser of a request from another host: the head of its GET, as libcurl writes it.
 *
 * The path is "/TASK/PATH", both percent-encoded, or "/" alone, which only asks if this host is
 * available. Pure. */
#ifndef ENTRYPOINT_TRANSFER_PEERS_PEER_REQUEST_H
#define ENTRYPOINT_TRANSFER_PEERS_PEER_REQUEST_H

#include <stddef.h>
#include <stdint.h>

enum { PEER_REQUEST_HEAD_MAX = 8 * 1024, PEER_REQUEST_ETAG_MAX = 256 };

struct peer_request {
    char task[256]; /* "": nothing */
    char path[PEER_REQUEST_HEAD_MAX];
    int64_t from;                     /* the first byte; 0 without a range */
    int64_t to;                       /* the last one; -1: to the end */
    char etag[PEER_REQUEST_ETAG_MAX]; /* required ETag; "": any */
};

/* Returns the size of the head at TEXT, its empty line included; 0: incomplete. */
size_t peer_request_head(const char *text, size_t size);

/* Parses HEAD, of the SIZE that peer_request_head() returned. Returns -1 if it is invalid. */
int peer_request_parse(const char *head, size_t size, struct peer_request *ret);

#endif
