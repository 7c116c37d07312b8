/* Retry rules for HTTP requests: what is retried, and after which pause. Pure: tables of libcurl's
 * and HTTP's codes, and a back-off with jitter, so that many hosts do not come back at once. */
#ifndef ENTRYPOINT_TRANSFER_HTTP_RETRY_H
#define ENTRYPOINT_TRANSFER_HTTP_RETRY_H

#include <stdbool.h>
#include <stdint.h>

enum {
    RETRY_TRIES = 8,          /* in all, of one request without progress */
    RETRY_PAUSE_SECONDS = 20, /* the longest unless a server asks for more */
    RETRY_ASKED_SECONDS = 60, /* the longest accepted from a server (Retry-After) */
};

/* Returns true for the status of a server that is busy or has failed. */
bool retry_status(long status);
/* Returns true for a request without a complete answer that is worth a retry: CODE is a CURLcode.
 * What will not improve (a refused certificate, too many redirects, a full disk) is not retried. */
bool retry_failure(int code);

/* Returns the nanoseconds to wait before the next try, after TRIED tries. RANDOM is any number;
 * ASKED is in seconds, below 0 if the server has not asked. */
int64_t retry_pause(unsigned tried, uint64_t random, int64_t asked);

#endif
