#include "trainer/app/command/output/writing.h"

#include "common/clock.h"
#include "trainer/telemetry/status_text.h"

void writing_open(struct writing *w, int fd, int64_t of) {
    *w = (struct writing){.of = of, .begun_at = clock_now()};
    status_line_open(&w->line, fd);
}

void writing_show(void *context, int64_t done) {
    struct writing *w = context;
    int64_t now = clock_now();
    status_text_show(
        &w->line, now,
        &(struct status_work){.verb = "writing",
                              .thing = "pictures",
                              .done = done,
                              .of = w->of,
                              .seconds = (double)(now - w->begun_at) / (double)CLOCK_SECOND});
}

void writing_close(struct writing *w) {
    status_line_close(&w->line);
}
