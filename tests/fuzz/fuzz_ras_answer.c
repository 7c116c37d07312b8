/* What something says that listens at the address of NCCL RAS: counts and names stay within their
 * room. */
#include "entrypoint/evidence/ras_answer.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char name[RAS_NAME_SIZE]) {
    CHECK(memchr(name, '\0', RAS_NAME_SIZE) != NULL);
    for (; *name != '\0'; name++)
        CHECK(*name >= ' ' && *name < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct ras_answer answer;
    if (!ras_answer_read((const char *)data, size, &answer))
        CHECK(answer.count == 0);
    CHECK(answer.count <= RAS_LAGS_MAX);
    for (size_t i = 0; i < answer.count; i++) {
        const struct ras_lag *lag = &answer.lags[i];
        check_name(lag->communicator);
        check_name(lag->operation);
        CHECK(lag->count > 0 && lag->behind_count <= RAS_PROCESSES_MAX);
        CHECK(lag->operation[0] == '\0' || lag->least < lag->ahead);
        for (size_t r = 0; r < lag->behind_count; r++) {
            CHECK(lag->behind[r].rank >= 0);
            check_name(lag->behind[r].host);
        }
    }
    return 0;
}
