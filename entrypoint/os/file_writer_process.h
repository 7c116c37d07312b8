/* Child process of a file writer (file_writer.h): appends lines from a socket to files.
 *
 * It reads frames and appends what they hold to the files that they name, until the other end of
 * the socket is closed.
 *
 * What cannot be written is discarded, and the reason is sent back once on the same socket, as
 * text. A file that failed is tried again after a while. */
#ifndef ENTRYPOINT_OS_FILE_WRITER_PROCESS_H
#define ENTRYPOINT_OS_FILE_WRITER_PROCESS_H

#include "entrypoint/os/line_splitter.h"
#include "entrypoint/os/log_file.h"

#include <stdint.h>

/* Precedes a name and a line. Both ends are one program. */
struct file_writer_frame {
    uint32_t name; /* bytes, below LOG_FILE_NAME_SIZE */
    uint32_t line; /* bytes, LINE_SPLITTER_MAX at most */
    int64_t limit; /* of the file */
};

/* In place of a limit: the line, which may be several, becomes the whole file. */
#define FILE_WRITER_WHOLE INT64_C(-1)

enum { FILE_WRITER_FILES_MAX = 1025, FILE_WRITER_SAID_SIZE = 512 };

/* FOLDER is made, but not its parent BASE. Never returns. */
_Noreturn void file_writer_child(int socket, const char *base, const char *folder);

/* How the child's words end where the base folder does not exist. */
#define FILE_WRITER_NO_BASE "the directory does not exist and is not created"

#endif
