/* The run.jsonl of another's run: its lines become a bounded history and a page in which no text is
 * markup. */
#include "tests/fuzz/check.h"
#include "trainer/report/page.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct run_folder run;
    const struct run_folder *const list[] = {&run, &run};
    const char *at = (const char *)data, *end = at + size;
    run = (struct run_folder){.name = "a run"};
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        CHECK(run_history_line(&run.history, at, (size_t)(stop - at), NULL) == 0);
        at = stop + 1;
    }
    CHECK(run.history.bad <= run.history.lines);
    CHECK(run.history.curve_count <= HISTORY_CURVES_MAX);
    for (size_t i = 0; i < run.history.curve_count; i++)
        CHECK(run.history.curves[i].count < HISTORY_POINTS_MAX);
    for (size_t count = 1; count <= 2; count++) {
        cleanup_html struct html h;
        html_open(&h);
        page_put(&h, list, count);
        CHECK(html_error(&h, NULL) == 0);
        CHECK(memmem(h.out.data, h.out.size, "<script", 7) == NULL);
    }
    run_folder_done(&run);
    return 0;
}
