#include "common/text/roff.h"

#include <ctype.h>
#include <string.h>

int roff_head(struct buf *ret, const char *name, int section, const char *program,
              const char *version, const char *summary, struct error *err) {
    if (buf_add_text(ret, ".TH ", err) != 0)
        return -1;
    for (const char *at = name; *at != '\0'; at++) {
        char c = (char)toupper((unsigned char)*at);
        if (buf_add(ret, &c, 1, err) != 0)
            return -1;
    }
    return buf_printf(ret, err, " %d \"\" \"%s %s\"\n.SH NAME\n%s \\- %s\n", section, program,
                      version, name, summary);
}

int roff_section(struct buf *ret, const char *title, struct error *err) {
    return buf_printf(ret, err, ".SH %s\n", title);
}

int roff_text(struct buf *ret, const char *text, struct error *err) {
    if ((*text == '.' || *text == '\'') && buf_add_text(ret, "\\&", err) != 0)
        return -1;
    for (; *text != '\0'; text++) {
        int failed = *text == '\\'  ? buf_add_text(ret, "\\e", err)
                     : *text == '-' ? buf_add_text(ret, "\\-", err)
                                    : buf_add(ret, text, 1, err);
        if (failed != 0)
            return -1;
    }
    return buf_add(ret, "\n", 1, err);
}

int roff_item(struct buf *ret, const char *name, const char *words, const char *text,
              struct error *err) {
    if (buf_add_text(ret, ".TP\n.B ", err) != 0 || roff_text(ret, name, err) != 0)
        return -1;
    if (words[0] != '\0' &&
        (buf_add_text(ret, ".br\n", err) != 0 || roff_text(ret, words, err) != 0))
        return -1;
    return roff_text(ret, text, err);
}
