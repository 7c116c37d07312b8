/* A plan of trials from a file: whatever it holds, each configuration has texts. */
#include "common/json/json.h"
#include "common/trials/trials_plan.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct trials_plan plan;
    struct trials_setting settings[TRIALS_AXES_MAX];
    struct error err = {0};
    json_t *root = NULL;
    if (json_parse((const char *)data, size, "plan", &root, &err) != 0)
        return 0;
    if (trials_plan_parse(&plan, root, "plan", &err) == 0) {
        CHECK(plan.count >= 1 && plan.count <= TRIALS_MAX && plan.rung_count >= 1);
        for (size_t i = 0; i < plan.count; i += 1 + plan.count / 8) {
            trials_plan_config(&plan, i, settings);
            for (size_t k = 0; k < plan.axis_count; k++)
                CHECK(strlen(settings[k].value) < TRIALS_VALUE_SIZE);
        }
        trials_plan_done(&plan);
    } else {
        CHECK(err.code == EXIT_CODE_CONFIG && err.text[0] != '\0');
    }
    json_decref(root);
    return 0;
}
