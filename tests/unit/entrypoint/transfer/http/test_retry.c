#include "common/clock.h"
#include "entrypoint/transfer/http/retry.h"
#include "tests/support/unit.h"

#include <curl/curl.h>

static void what_may_get_better_is_tried_again(void) {
    static const long again[] = {408, 425, 429, 500, 502, 503, 504};
    static const long never[] = {200, 206, 301, 307, 400, 401, 403, 404, 412, 416, 501, 505};
    for (size_t i = 0; i < sizeof(again) / sizeof(again[0]); i++)
        CU_ASSERT_TRUE(retry_status(again[i]));
    for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
        CU_ASSERT_FALSE(retry_status(never[i]));
    CU_ASSERT_TRUE(retry_failure(CURLE_PARTIAL_FILE));
    CU_ASSERT_TRUE(retry_failure(CURLE_COULDNT_RESOLVE_HOST));
    CU_ASSERT_TRUE(retry_failure(CURLE_OPERATION_TIMEDOUT));
    CU_ASSERT_FALSE(retry_failure(CURLE_PEER_FAILED_VERIFICATION));
    CU_ASSERT_FALSE(retry_failure(CURLE_TOO_MANY_REDIRECTS));
    CU_ASSERT_FALSE(retry_failure(CURLE_UNSUPPORTED_PROTOCOL));
    CU_ASSERT_FALSE(retry_failure(CURLE_WRITE_ERROR));
}

static void pauses_double_up_to_their_ceiling(void) {
    int64_t most = 250 * CLOCK_MILLISECOND;
    for (unsigned tried = 1; tried < 40; tried++) {
        CU_ASSERT_EQUAL(retry_pause(tried, 0, -1), 0);
        CU_ASSERT_EQUAL(retry_pause(tried, (uint64_t)most - 1, -1), most - 1);
        CU_ASSERT_EQUAL(retry_pause(tried, (uint64_t)most + 5, -1), 5);
        most = 2 * most < RETRY_PAUSE_SECONDS * CLOCK_SECOND ? 2 * most
                                                             : RETRY_PAUSE_SECONDS * CLOCK_SECOND;
    }
}

static void a_server_may_ask_for_a_pause(void) {
    CU_ASSERT_EQUAL(retry_pause(1, 7, 0), 0);
    CU_ASSERT_EQUAL(retry_pause(5, 7, 3), 3 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(retry_pause(5, 7, 100000), RETRY_ASKED_SECONDS * CLOCK_SECOND);
}

UNIT_SUITE("transfer.retry", UNIT(what_may_get_better_is_tried_again),
           UNIT(pauses_double_up_to_their_ceiling), UNIT(a_server_may_ask_for_a_pause))
