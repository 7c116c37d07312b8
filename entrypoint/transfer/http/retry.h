/* What is tried again, and after which pause. Pure: tables of libcurl's and HTTP's codes, and a
 * back-off with jitter, so that many hosts do not come back at once. */
#ifndef ENTRYPOINT_TRANSFER_HTTP_RETRY_H
#define ENTRYPOINT_TRANSFER_HTTP_RETRY_H

#include <stdbool.h>
#include <stdint.h>

enum {
    RETRY_TRIES = 8,          /* in all, of one request that gets nowhere */
    RETRY_PAUSE_SECONDS = 20, /* the longest one of our own */
    RETRY_ASKED_SECONDS = 60, /* the longest that a server may ask for (Retry-After) */
};

/* Of an answer with this status: a server that is busy, or broke down. */
bool retry_status(long status);
/* Of a request that got no whole answer: CODE is a CURLcode. What will not get better (a refused
 * certificate, too many redirects, a full disk) is not tried again. */
bool retry_failure(int code);

/* Nanoseconds to wait before the next try, TRIED of which are over. RANDOM is any number; ASKED is
 * in seconds, below 0 where the server has not asked. */
int64_t retry_pause(unsigned tried, uint64_t random, int64_t asked);

#endif
