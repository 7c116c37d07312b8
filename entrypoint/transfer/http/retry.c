#include "entrypoint/transfer/http/retry.h"

#include "common/clock.h"

#include <curl/curl.h>
#include <stddef.h>

enum { FIRST_PAUSE_MS = 250 };

bool retry_status(long status) {
    static const long again[] = {408, 425, 429, 500, 502, 503, 504};
    for (size_t i = 0; i < sizeof(again) / sizeof(again[0]); i++)
        if (again[i] == status)
            return true;
    return false;
}

bool retry_failure(int code) {
    static const CURLcode again[] = {
        CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT,   CURLE_PARTIAL_FILE,
        CURLE_OPERATION_TIMEDOUT,   CURLE_SSL_CONNECT_ERROR, CURLE_GOT_NOTHING,
        CURLE_SEND_ERROR,           CURLE_RECV_ERROR,
    };
    for (size_t i = 0; i < sizeof(again) / sizeof(again[0]); i++)
        if ((int)again[i] == code)
            return true;
    return false;
}

int64_t retry_pause(unsigned tried, uint64_t random, int64_t asked) {
    if (asked >= 0)
        return (asked < RETRY_ASKED_SECONDS ? asked : RETRY_ASKED_SECONDS) * CLOCK_SECOND;
    int64_t most = FIRST_PAUSE_MS * CLOCK_MILLISECOND;
    for (unsigned i = 1; i < tried && most < RETRY_PAUSE_SECONDS * CLOCK_SECOND; i++)
        most *= 2;
    if (most > RETRY_PAUSE_SECONDS * CLOCK_SECOND)
        most = RETRY_PAUSE_SECONDS * CLOCK_SECOND;
    return (int64_t)(random % (uint64_t)most);
}
