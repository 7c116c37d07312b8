/* Error file of a rank: JSON in which PyTorch's @record (torch.distributed.elastic) leaves the
 * exception that ended it, at the path in TORCHELASTIC_ERROR_FILE.
 *
 *   {"message": {"message": "ValueError: no such shard", "extraInfo": {"py_callstack": "Traceback
 *    (most recent call last):\n  File \"train.py\", line 7, in main\n..."}}}
 *
 * "message" may also be a string. A program writes the file, so anything may be in it: what is not
 * understood is left out. */
#ifndef ENTRYPOINT_OUTCOME_ERROR_FILE_H
#define ENTRYPOINT_OUTCOME_ERROR_FILE_H

#include "entrypoint/outcome/traceback.h"

#include <stdbool.h>
#include <stddef.h>

#define ERROR_FILE_VARIABLE "TORCHELASTIC_ERROR_FILE"

enum { ERROR_FILE_MAX = 256 * 1024, ERROR_FILE_LINE_SIZE = TRACEBACK_TEXT_SIZE };

/* Writes the exception that SIZE bytes describe as one line of UTF-8, "ValueError: no such shard
 * (train.py, line 7)", with the line that tells most of those in the call stack (traceback.h), if
 * there is one. Returns false, and writes "", if they describe none. */
bool error_file_parse(const char *bytes, size_t size, const struct traceback_folders *folders,
                      char ret[ERROR_FILE_LINE_SIZE]);

/* error_file_parse for a file. Links, files that are not regular, and those of more than
 * ERROR_FILE_MAX bytes are not read. */
bool error_file_read(const char *path, const struct traceback_folders *folders,
                     char ret[ERROR_FILE_LINE_SIZE]);

#endif
