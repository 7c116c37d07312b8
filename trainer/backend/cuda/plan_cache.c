#include "cuda/plan_cache.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_SIZE = 512 };

static void key_of(const struct cuda *cuda, const struct conv_choice *choice, char key[KEY_SIZE]) {
    const struct dnn_conv *c = &choice->conv;
    snprintf(key, KEY_SIZE,
             "%zu|%s|%s %s n%" PRId64 " h%" PRId64 " w%" PRId64 " c%" PRId64 " k%" PRId64
             " r%" PRId64 " s%" PRId64 " p%" PRId64,
             cudnnGetVersion(), cuda->convs->device.name, dnn_pattern_name(choice->pattern),
             dtype_name(choice->type), c->batch, c->height, c->width, c->in_channels,
             c->out_channels, c->kernel, c->stride, c->padding);
}

/* The place that LINE, "KEY\tENGINE\tINDEX\t...", names for this choice, or -1. */
static int place_in(const char *line, const char *key, const struct conv_choice *choice) {
    size_t length = strlen(key);
    if (strncmp(line, key, length) != 0 || line[length] != '\t')
        return -1;
    char *end = NULL;
    long engine = strtol(line + length + 1, &end, 10);
    if (*end != '\t')
        return -1;
    long index = strtol(end + 1, NULL, 10);
    if (index < 0 || index >= choice->plans.count ||
        choice->plans.plans[index].engine != (int64_t)engine)
        return -1;
    return (int)index;
}

int plan_cache_find(const struct cuda *cuda, const struct conv_choice *choice) {
    cleanup_buf struct buf text;
    buf_init(&text, PLAN_CACHE_MAX);
    if (cuda->options.plan_cache == NULL || file_read(cuda->options.plan_cache, &text, NULL) != 0)
        return -1;
    char key[KEY_SIZE];
    key_of(cuda, choice, key);
    int found = -1;
    for (const char *line = buf_text(&text); line != NULL && found < 0;) {
        found = place_in(line, key, choice);
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return found;
}

int plan_cache_add(const struct cuda *cuda, const struct conv_choice *choice, float ms,
                   struct error *err) {
    const char *path = cuda->options.plan_cache;
    if (path == NULL)
        return 0;
    char key[KEY_SIZE];
    char line[KEY_SIZE + 64];
    key_of(cuda, choice, key);
    int length = snprintf(line, sizeof(line), "%s\t%" PRId64 "\t%d\t%.4f\n", key,
                          choice->plans.plans[choice->chosen].engine, choice->chosen, (double)ms);
    cleanup_fd int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", path);
    if (file_write_all(fd, line, (size_t)length, err) != 0)
        return error_wrap(err, "%s", path);
    return 0;
}
