#include "entrypoint/command/command_output.h"

#include "common/exit_code.h"
#include "common/file/file.h"
#include "common/log/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The last flush reports only its own error; an earlier failure, on a full disk, leaves just the
 * stream's error flag. */
int command_output_end(void) {
    errno = 0;
    bool whole = fflush(stdout) == 0;
    int number = errno != 0 ? errno : ENOSPC;
    if (whole && ferror(stdout) == 0)
        return EXIT_CODE_OK;
    log_error("standard output: cannot be written: %s", strerror(number));
    return (int)file_write_code(number);
}

int command_output_print(const struct buf *text) {
    (void)fwrite(buf_text(text), 1, text->size, stdout);
    return command_output_end();
}
