/* Result of platform_table_read as one line of text.
 *
 * It says what the function makes of variables, for the tests of its rows. */
#ifndef TESTS_SUPPORT_PLATFORM_READING_H
#define TESTS_SUPPORT_PLATFORM_READING_H

#include "common/buf.h"
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/job/cluster/platform_table.h"
#include "tests/support/unit.h"

#include <stdint.h>
#include <string.h>

/* The machine that reads. */
static const struct local_names platform_own = {
    .names = {{"task-1"}, {"10.0.0.3"}, {"fd00::3"}}, .count = 3, .has_kernel_name = true};

enum { PLATFORM_VARIABLES_MAX = 8 };

/* The hosts of a cluster in its order, this host's own with a star, slots after a colon if there
 * are some; "alone", or the error. */
static inline const char *platform_read_as(const char *only, const char *const *variables) {
    static char text[ERROR_TEXT_MAX + 512];
    char *environment[PLATFORM_VARIABLES_MAX + 1] = {0};
    for (size_t i = 0; i < PLATFORM_VARIABLES_MAX && variables[i] != NULL; i++)
        environment[i] = (char *)(uintptr_t)variables[i];
    struct platform_description d = {0};
    struct cluster c = {0};
    struct error err = {0};
    cleanup_buf struct buf said;
    int result = platform_table_read(environment, only, &platform_own, &d, &err);
    if (result == 0 && cluster_make(&d, d.job[0] != '\0' ? d.job : "job", &c, &err) != 0)
        result = -1;
    platform_description_done(&d);
    buf_init(&said, sizeof(text) - 1);
    if (result != 0)
        CU_ASSERT_EQUAL(buf_add_text(&said, result > 0 ? "alone" : err.text, NULL), 0);
    for (size_t i = 0; i < c.count; i++) {
        CU_ASSERT_EQUAL(
            buf_printf(&said, NULL, "%s%s", c.hosts[i].name.text, i == c.self ? "*" : ""), 0);
        if (c.hosts[i].slots > 0)
            CU_ASSERT_EQUAL(buf_printf(&said, NULL, ":%u", c.hosts[i].slots), 0);
        CU_ASSERT_EQUAL(buf_add_text(&said, " ", NULL), 0);
    }
    CU_ASSERT_EQUAL(buf_add_text(&said, c.count > 0 ? c.job : "", NULL), 0);
    memcpy(text, buf_text(&said), said.size + 1);
    cluster_done(&c);
    return text;
}

/* The value of Vertex AI's variable, after its name, for a host of TYPE. */
#define PLATFORM_SPEC(type, index)                                                                 \
    "={\"cluster\":{\"workerpool1\":[\"w-0:2222\",\"w-1:2222\"],\"workerpool0\":[\"z:2222\"],"     \
    "\"workerpool2\":[\"r:2222\"]},\"task\":{\"type\":\"" type "\",\"index\":" index               \
    ",\"trial\":\"t\"},\"environment\":\"cloud\"}"

#endif
