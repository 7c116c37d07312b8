#include "entrypoint/command/command_output.h"

#include "common/exit_code.h"
#include "common/file/file.h"
#include "common/log/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The last flush reports only its own error; an earlier failure, on a full disk, leaves just the
 * stream's error flag. Its number is lost then, and ENOSPC is the likely one. The error is logged
 * here, since the caller has only a code to return. */
int command_output_end(void) {
    errno = 0; /* fflush() sets it only if it fails */
    bool whole = fflush(stdout) == 0;
    int number = errno != 0 ? errno : ENOSPC;
    /* Both are asked: a flush with nothing left to write succeeds on a stream that has lost some.
     */
    if (whole && ferror(stdout) == 0)
        return EXIT_CODE_OK;
    log_error("standard output: cannot be written: %s", strerror(number));
    return (int)file_write_code(number);
}

/* The stream keeps the error of a failed write, so only the end of the output looks at it. TEXT may
 * hold NUL bytes. */
int command_output_print(const struct buf *text) {
    (void)fwrite(buf_text(text), 1, text->size, stdout);
    return command_output_end();
}
