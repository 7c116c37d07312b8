#include "common/cleanup.h"
#include "common/json/json.h"
#include "entrypoint/master/preflight/check_data.h"
#include "tests/support/unit.h"

#define CHANNEL(name, from, here, files, mib, prepared)                                            \
    "{\"name\":\"" name "\",\"from\":\"" from "\",\"here\":" here ",\"files\":" files              \
    ",\"mib\":" mib ",\"more\":false,\"prepared\":" prepared "}"
#define HOST(room, speed, channels)                                                                \
    "{\"means\":{\"disk_free_mib\":" room "},\"data\":{\"read_mib\":" speed                        \
    ",\"channels\":[" channels "]}}"

static struct check_finding find(const char *host, const char *master,
                                 void (*look)(const json_t *host, const json_t *master,
                                              struct check_finding *f)) {
    cleanup_json json_t *one = json_loads(host, 0, NULL), *first = json_loads(master, 0, NULL);
    struct check_finding f = {.status = CHECK_OK};
    CU_ASSERT(one != NULL && first != NULL);
    look(one, first, &f);
    return f;
}

static void channels_are_told_and_compared(void) {
    static const char master[] =
        HOST("9", "1", CHANNEL("train", "first:///set", "true", "3", "70", "true"));
    static const struct {
        const char *host, *value, *advice;
    } cases[] = {
        {master, "train: 3 files, 70 MiB, prepared", ""},
        {HOST("90", "1", CHANNEL("train", "first:///set", "false", "0", "0", "false")),
         "train: fetched from first:///set", ""},
        {HOST("69", "1", CHANNEL("train", "first:///set", "false", "0", "0", "false")),
         "train: fetched from first:///set", "train: 70 MiB are to come, and there is room for 69"},
        {HOST("9", "1", CHANNEL("train", "", "true", "1", "70", "false")), "train: 1 file, 70 MiB",
         "train differs from the master's: hosts that hold parts of a set need --sharded true"},
        {HOST("9", "1", ""), "train: not there", "train is only on other hosts"},
        {HOST("9", "1",
              CHANNEL("a", "", "true", "0", "0", "false") "," CHANNEL("train", "", "true", "3",
                                                                      "70", "true")),
         "a: 0 files, 0 MiB; train: 3 files, 70 MiB, prepared", "a is empty"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct check_finding f = find(cases[i].host, master, check_data_look);
        CU_ASSERT_STRING_EQUAL(f.value, cases[i].value);
        CU_ASSERT_STRING_EQUAL(f.advice, cases[i].advice);
        CU_ASSERT_EQUAL(f.status, cases[i].advice[0] != '\0' ? CHECK_WARNING : CHECK_OK);
    }
}

static void slow_reading_is_a_warning(void) {
    static const char master[] = HOST("9", "800", "");
    struct check_finding f = find(HOST("9", "-1", ""), master, check_data_look_reading);
    CU_ASSERT_STRING_EQUAL(f.value, "");
    f = find(HOST("9", "700", ""), master, check_data_look_reading);
    CU_ASSERT_STRING_EQUAL(f.value, "data comes at 512 MiB/s or more");
    CU_ASSERT_EQUAL(f.status, CHECK_OK);
    f = find(HOST("9", "199", ""), master, check_data_look_reading);
    CU_ASSERT_STRING_EQUAL(f.value, "data comes at 128 MiB/s or more");
    CU_ASSERT_EQUAL(f.status, CHECK_WARNING);
}

UNIT_SUITE("master.check_data", UNIT(channels_are_told_and_compared),
           UNIT(slow_reading_is_a_warning))
