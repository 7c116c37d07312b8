#include "trainer/data/order/picture_sizes.h"

#include "common/str.h"

#include <stdio.h>
#include <string.h>

enum { ITEM_SIZE = 64, EPOCHS_MAX = 1000000 };

/* Appends the size ITEM, "128:6". */
static int add(struct picture_sizes *sizes, char *item, int full, struct error *err) {
    int64_t side = 0, until = 0;
    char *colon = strchr(item, ':');
    const int last = sizes->count - 1;
    if (colon != NULL)
        *colon = '\0';
    if (colon == NULL || str_parse_whole(item, 1, full - 1, &side, NULL) != 0 ||
        str_parse_whole(colon + 1, 1, EPOCHS_MAX, &until, NULL) != 0)
        return error_set(err, EXIT_CODE_USAGE,
                         "'%s%s%s' is no SIDE:EPOCH with a side below --image-size %d (160:12)",
                         item, colon != NULL ? ":" : "", colon != NULL ? colon + 1 : "", full);
    if (last >= 0 && until <= sizes->until[last])
        return error_set(err, EXIT_CODE_USAGE, "epoch %d follows epoch %d; expected a later one",
                         (int)until, (int)sizes->until[last]);
    if (sizes->count == PICTURE_SIZES_MAX)
        return error_set(err, EXIT_CODE_USAGE, "more sizes than allowed; expected at most %d",
                         PICTURE_SIZES_MAX);
    sizes->side[sizes->count] = (int)side;
    sizes->until[sizes->count++] = (uint32_t)until;
    return 0;
}

int picture_sizes_parse(struct picture_sizes *ret, const char *text, int full, struct error *err) {
    *ret = (struct picture_sizes){0};
    if (strcmp(text, "none") == 0)
        return 0;
    for (const char *at = text;; at++) {
        char item[ITEM_SIZE];
        const size_t length = strcspn(at, ",");
        (void)snprintf(item, sizeof(item), "%.*s", (int)length, at);
        if (add(ret, item, full, err) != 0)
            return error_wrap(err, "--progressive");
        at += length;
        if (*at == '\0')
            return 0;
    }
}

int picture_sizes_canvas(const struct picture_sizes *sizes, uint32_t epoch) {
    for (int i = 0; i < sizes->count; i++)
        if (epoch < sizes->until[i])
            return i + 1;
    return 0;
}

int picture_sizes_text(struct buf *out, const struct picture_sizes *sizes, int full,
                       struct error *err) {
    for (int i = 0; i < sizes->count; i++)
        if (buf_printf(out, err, "%d px up to epoch %u, ", sizes->side[i],
                       (unsigned)sizes->until[i]) != 0)
            return -1;
    return buf_printf(out, err, "then %d px", full);
}
