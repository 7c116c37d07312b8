#include "common/buf.h"
#include "common/json/json.h"
#include "trainer/report/run_history.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 256 * 1024 };

/* Takes the whole lines in TEXT. SKIPPING: the line under way is longer than any that this program
 * writes. */
static int take_lines(struct run_history *h, struct buf *text, bool *skipping, struct error *err) {
    size_t at = 0;
    for (;;) {
        const char *from = text->data + at;
        const char *end = at < text->size ? memchr(from, '\n', text->size - at) : NULL;
        if (end == NULL)
            break;
        const size_t size = (size_t)(end - from);
        if (*skipping)
            h->bad++;
        else if (size > 0 && run_history_line(h, from, size, err) != 0)
            return -1;
        *skipping = false;
        at += size + 1;
    }
    buf_consume(text, at);
    if (text->size > JSON_FILE_MAX) {
        *skipping = true;
        buf_consume(text, text->size);
    }
    return 0;
}

static int read_all(struct run_history *h, int fd, const char *path, struct error *err) {
    cleanup_buf struct buf text = {.max = JSON_FILE_MAX + 2 * PIECE};
    bool skipping = false;
    for (;;) {
        if (buf_reserve(&text, PIECE, err) != 0)
            return -1;
        const ssize_t got = read(fd, text.data + text.size, PIECE);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set_errno(err, EXIT_CODE_DATA, "%s", path);
        text.size += (size_t)got;
        if (take_lines(h, &text, &skipping, err) != 0)
            return -1;
        if (got == 0)
            break;
    }
    /* A line without an end is being written, or was when its process was killed. */
    return 0;
}

int run_history_read(struct run_history *h, const char *path, struct error *err) {
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", path);
    const int result = fstat(fd, &st) != 0 ? error_set_errno(err, EXIT_CODE_DATA, "%s", path)
                       : !S_ISREG(st.st_mode)
                           ? error_set(err, EXIT_CODE_DATA, "%s: not a file", path)
                           : read_all(h, fd, path, err);
    (void)close(fd);
    return result;
}
