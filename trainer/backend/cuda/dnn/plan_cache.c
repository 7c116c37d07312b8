#include "trainer/backend/cuda/dnn/plan_cache.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file is text that a user may delete, copy or read. It is read whole for each question, which
 * happens when operators are bound, and only lines are added to it. Lines of other versions,
 * devices or shapes do not match by their key; damaged lines are skipped. No lock is needed: a line
 * is one write in append mode. */

enum { KEY_SIZE = 512 };

/* Everything that the choice depends on is in the key, versions and device first. */
static void key_of(const struct cuda *cuda, const struct conv_choice *choice, char key[KEY_SIZE]) {
    const struct dnn_conv *c = &choice->conv;
    snprintf(key, KEY_SIZE,
             "%zu|%s|%s %s n%" PRId64 " h%" PRId64 " w%" PRId64 " c%" PRId64 " k%" PRId64
             " r%" PRId64 "x%" PRId64 " s%" PRId64 " p%" PRId64 "x%" PRId64 " g%" PRId64,
             cudnnGetVersion(), cuda->convs->device.name, dnn_pattern_name(choice->pattern),
             dtype_name(choice->type), c->batch, c->height, c->width, c->in_channels,
             c->out_channels, c->kernel[0], c->kernel[1], c->stride, c->padding[0], c->padding[1],
             c->groups);
}

/* Returns the index that VALUE, "ENGINE\tINDEX\tMS", gives for this choice, or -1. */
static int place_in(const char *value, const struct conv_choice *choice, float *ret_ms) {
    char *end = NULL;
    long engine = strtol(value, &end, 10);
    if (end == value || *end != '\t')
        return -1;
    long index = strtol(end + 1, &end, 10);
    if (index < 0 || index >= choice->plans.count ||
        choice->plans.plans[index].engine != (int64_t)engine)
        return -1;
    *ret_ms = *end == '\t' ? strtof(end + 1, NULL) : 0;
    return (int)index;
}

static bool begins(const char *line, const char *word) {
    return strncmp(line, word, strlen(word)) == 0;
}

/* Returns what follows KEY in LINE or a later line, or NULL; *LINE becomes the next one. */
static const char *next_value(const char **line, const char *key) {
    while (*line != NULL) {
        const char *own = *line;
        const char *end = strchr(own, '\n');
        *line = end != NULL ? end + 1 : NULL;
        if (begins(own, key) && own[strlen(key)] == '\t')
            return own + strlen(key) + 1;
    }
    return NULL;
}

/* TEXT is initialized in any case. A missing file is like an empty one. */
static int read_cache(const struct cuda *cuda, struct buf *text) {
    buf_init(text, PLAN_CACHE_MAX);
    return cuda->options.plan_cache == NULL ? -1 : file_read(cuda->options.plan_cache, text, NULL);
}

int plan_cache_find(const struct cuda *cuda, const struct conv_choice *choice, float *ret_ms) {
    cleanup_buf struct buf text;
    char key[KEY_SIZE];
    int found = -1;
    if (read_cache(cuda, &text) != 0)
        return -1;
    key_of(cuda, choice, key);
    const char *line = buf_text(&text), *value;
    while (found < 0 && (value = next_value(&line, key)) != NULL)
        found = place_in(value, choice, ret_ms);
    return found;
}

enum conv_pays plan_cache_find_pays(const struct cuda *cuda, const struct conv_choice *choice) {
    cleanup_buf struct buf text;
    char key[KEY_SIZE];
    if (read_cache(cuda, &text) != 0)
        return CONV_PAYS_UNKNOWN;
    key_of(cuda, choice, key);
    const char *line = buf_text(&text), *value;
    while ((value = next_value(&line, key)) != NULL) {
        if (begins(value, "pays\n"))
            return CONV_PAYS;
        if (begins(value, "loses\n"))
            return CONV_LOSES;
    }
    return CONV_PAYS_UNKNOWN;
}

/* O_NONBLOCK keeps an open from waiting if the path is a pipe. */
static int append(const struct cuda *cuda, const struct conv_choice *choice, const char *value,
                  struct error *err) {
    const char *path = cuda->options.plan_cache;
    if (path == NULL)
        return 0;
    char key[KEY_SIZE], line[KEY_SIZE + 80];
    key_of(cuda, choice, key);
    int length = snprintf(line, sizeof(line), "%s\t%s\n", key, value);
    cleanup_fd int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", path);
    if (file_write_all(fd, line, (size_t)length, err) != 0)
        return error_wrap(err, "%s", path);
    return 0;
}

int plan_cache_add(const struct cuda *cuda, const struct conv_choice *choice, struct error *err) {
    char value[64];
    (void)snprintf(value, sizeof(value), "%" PRId64 "\t%d\t%.4f",
                   choice->plans.plans[choice->chosen].engine, choice->chosen, (double)choice->ms);
    return append(cuda, choice, value, err);
}

int plan_cache_add_pays(const struct cuda *cuda, const struct conv_choice *choice,
                        struct error *err) {
    return append(cuda, choice, choice->pays == CONV_PAYS ? "pays" : "loses", err);
}
