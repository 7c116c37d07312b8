/* What a run's state says of options, and what another value means for a resume. */
#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#include "trainer/app/options/options.h"

#include <string.h>

enum setting_kind options_kind(const char *name, size_t size) {
    size_t count = 0;
    const struct flag *flags = options_flags(&count);
    for (size_t i = 0; i < count; i++)
        if (flags[i].recorded != 0 && strncmp(flags[i].name, name, size) == 0 &&
            flags[i].name[size] == '\0')
            return (enum setting_kind)(flags[i].recorded & SETTING_ALL);
    return SETTING_MACHINE;
}

static int add_option(struct buf *out, const char *name, const struct options *o,
                      struct error *err) {
    size_t count = 0;
    const struct flag *flags = options_flags(&count);
    if (out->size > 0 && buf_add_text(out, " ", err) != 0)
        return -1;
    return flags_print_value(out, flags, count, name, o, err);
}

/* Appends the options of KINDS, in the order of the table; APART: those with a member of their own,
 * else the others. A recorded option has one row, for all tasks. */
static int add_options(struct buf *out, unsigned kinds, bool apart, const struct options *o,
                       struct error *err) {
    size_t count = 0;
    const struct flag *flags = options_flags(&count);
    for (size_t i = 0; i < count; i++)
        if ((flags[i].recorded & kinds) != 0 &&
            ((flags[i].recorded & SETTING_APART) != 0) == apart &&
            add_option(out, flags[i].name, o, err) != 0)
            return -1;
    return 0;
}

int options_record(struct buf *out, const struct options *o, struct error *err) {
    return add_options(out, SETTING_ALL, false, o, err);
}

int options_learning(struct buf *out, const struct options *o, struct error *err) {
    return add_option(out, "epochs", o, err) != 0 ||
                   add_options(out, SETTING_ALL, true, o, err) != 0 ||
                   add_options(out, SETTING_RECIPE, false, o, err) != 0
               ? -1
               : 0;
}
