#include "common/warnings.h"

#include <stdarg.h>
#include <stdio.h>

/* A warning never fails: a text that is too long is cut by vsnprintf(), and one for which there is
 * no line is counted. Readers of settings call this deep in a parser, where an error would end the
 * job. */
void warnings_add(struct warnings *w, const char *format, ...) {
    if (w == NULL)
        return;
    if (w->count == WARNINGS_MAX) {
        w->dropped++;
        return;
    }
    /* The lines are in an array of the caller's, so that no warning is lost for want of memory. */
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(w->text[w->count++], WARNING_SIZE, format, arguments);
    va_end(arguments);
}

/* The text of MORE goes through "%s", as it may hold a percent sign of the user's. Lines that do
 * not fit any more are counted, in addition to those that MORE had dropped itself. */
void warnings_join(struct warnings *w, const struct warnings *more) {
    for (size_t i = 0; i < more->count; i++)
        warnings_add(w, "%s", more->text[i]);
    /* Lines that did not fit here have been counted by warnings_add(). */
    w->dropped += more->dropped;
}
