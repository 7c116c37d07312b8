#include "common/scaling/comm_reading.h"

#include "common/file/file.h"
#include "common/json/json.h"

#include <string.h>

enum { OUTPUT_MAX = 4 * 1024 * 1024 };

static double number_of(const json_t *row, const char *name) {
    return json_number_value(json_object_get(row, name));
}

/* The object that begins a line of TEXT; NULL: there is none. Owned by the caller. */
static json_t *find_object(const char *text) {
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        json_t *found = line[0] == '{' ? json_loads(line, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
        if (found != NULL)
            return found;
    }
    return NULL;
}

int comm_reading_parse(const char *text, const char *where, struct scaling_reduce *ret, size_t room,
                       struct error *err) {
    cleanup_json json_t *report = find_object(text);
    const json_t *sizes = json_object_get(report, "sizes");
    size_t count = 0;
    if (!json_is_array(sizes))
        return error_set(err, EXIT_CODE_DATA, "%s: no times of all-reduces", where);
    for (size_t i = 0; i < json_array_size(sizes) && count < room; i++) {
        const json_t *row = json_array_get(sizes, i);
        const struct scaling_reduce one = {(int)number_of(row, "ranks"), number_of(row, "bytes"),
                                           1e-6 * number_of(row, "microseconds")};
        if (one.ranks > 1 && one.bytes > 0 && one.seconds > 0)
            ret[count++] = one;
    }
    return (int)count;
}

int comm_reading_read(const char *path, struct scaling_reduce *ret, size_t room,
                      struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, OUTPUT_MAX);
    return file_read(path, &text, err) != 0
               ? -1
               : comm_reading_parse(buf_text(&text), path, ret, room, err);
}
