#include "entrypoint/mpi/mpi_error_text.h"

#include "common/str.h"

#include <string.h>

static const char call[] = "An error occurred in ";
static const char error_class[] = "MPI_ERR_";
static const char aborted[] = "MPI_ABORT was invoked";

static bool begins(const char *line, size_t size, const char *sign) {
    return size >= strlen(sign) && memcmp(line, sign, strlen(sign)) == 0;
}

/* Moves past the prefix that names the process: "[algo-2:123] *** An error occurred in ...". */
static void skip_speaker(const char **line, size_t *size) {
    static const char mark[] = "*** ";
    const char *at = memmem(*line, *size, mark, strlen(mark));
    if (at == NULL)
        return;
    at += strlen(mark);
    *size -= (size_t)(at - *line);
    *line = at;
}

static void append(struct mpi_error_text *c, const char *text, size_t size) {
    size_t used = strlen(c->text);
    size = str_utf8_prefix(text, size, sizeof(c->text) - 1 - used);
    memcpy(c->text + used, text, size);
    c->text[used + size] = '\0';
}

bool mpi_error_text_add(struct mpi_error_text *c, const char *line, size_t size) {
    skip_speaker(&line, &size);
    const bool of_class = begins(line, size, error_class);
    if (!of_class && !begins(line, size, call) && !begins(line, size, aborted))
        return false;
    if (c->text[0] == '\0') {
        append(c, line, size);
    } else if (of_class && begins(c->text, strlen(c->text), call) &&
               strstr(c->text, error_class) == NULL) {
        append(c, "; ", 2);
        append(c, line, size);
    }
    return true;
}
