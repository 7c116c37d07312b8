/* The flags by which a run differs from its recipe and from the defaults. */
#include "common/table.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#include "trainer/app/options/options.h"

#include <stdbool.h>
#include <string.h>

enum { VALUE_MAX = 16 * 1024 };

static bool is_left_out(const struct flag *flags, size_t i, unsigned command) {
    static const char *const settled[] = {"backend", "fusion"};
    if (TABLE_INDEX(settled, flags[i].name) < TABLE_COUNT(settled))
        return true;
    for (size_t k = 0; k < i; k++) /* a row for each task */
        if (strcmp(flags[k].name, flags[i].name) == 0 && (flags[k].commands & command) != 0)
            return true;
    return (flags[i].commands & command) == 0;
}

/* Appends " --NAME VALUE" if the two values of the flag differ. */
static int add(struct buf *out, const struct flag *flags, size_t count, const char *name,
               const struct options *o, const struct options *base, struct error *err) {
    cleanup_buf struct buf own = {.max = VALUE_MAX};
    cleanup_buf struct buf other = {.max = VALUE_MAX};
    if (flags_print_value(&own, flags, count, name, o, err) != 0 ||
        flags_print_value(&other, flags, count, name, base, err) != 0)
        return -1;
    if (strcmp(buf_text(&own), buf_text(&other)) == 0)
        return 0;
    const char *value = strchr(buf_text(&own), '=') + 1;
    return buf_printf(out, err, "%s--%s %s", out->size > 0 ? " " : "", name,
                      value[0] != '\0' ? value : "\"\"");
}

int options_differences(struct buf *out, unsigned command, const struct options *o,
                        struct error *err) {
    struct options base;
    size_t count = 0;
    const struct flag *flags = options_flags(&count);
    if (options_without_flags(&base, command, o, err) != 0)
        return -1;
    base.recipe = o->recipe;
    for (size_t i = 0; i < count; i++)
        if (!is_left_out(flags, i, command) &&
            add(out, flags, count, flags[i].name, o, &base, err) != 0)
            return -1;
    return 0;
}
