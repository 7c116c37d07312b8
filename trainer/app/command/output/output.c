#include "trainer/app/command/output/output.h"

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
