#include "trainer/app/command/output/output.h"

#include "common/clock.h"
#include "trainer/telemetry/status_text.h"

#include <errno.h>
#include <stdio.h>

int output_finish(struct error *err) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    if (errno != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "writing to standard output");
    /* The error of an earlier failed write is not known any more. */
    return error_set(err, EXIT_CODE_CONFIG, "writing to standard output: some of it was lost");
}

int output_text(const char *text, struct error *err) {
    errno = 0;
    if (fputs(text, stdout) < 0 && errno != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "writing to standard output");
    return output_finish(err);
}

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
