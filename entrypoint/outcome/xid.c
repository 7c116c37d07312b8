#include "entrypoint/outcome/xid.h"

#include "common/str.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
#define XID(number, name, action, again, means, why, act) {number, name, action, again, means},
/* clang-format on */
static const struct xid_row table[] = {
#include "entrypoint/outcome/explain_xids.def"
};
#undef XID

const struct xid_row *xid_find(int number) {
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].number == number)
            return &table[i];
    return NULL;
}

const char *xid_action_text(enum xid_action action) {
    static const char *const texts[] = {[XID_WATCH] = "watch it",
                                        [XID_RESET] = "reset the GPU",
                                        [XID_REBOOT] = "restart the machine",
                                        [XID_ISOLATE] = "leave the machine out",
                                        [XID_TEXT] = "do what the line says"};
    return texts[action];
}

/* "... GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)" */
static bool asks_for_recovery(const char *line) {
    const char *to = strstr(line, " to 0x");
    return to != NULL && (strstr(to, "Reset") != NULL || strstr(to, "Reboot") != NULL);
}

/* The row of a line "NVRM: Xid (PCI:0000:41:00): 79, ..."; NULL if it is none. */
static const struct xid_row *row_of(const char *line, char ret_bus[XID_BUS_SIZE]) {
    static const char front[] = "Xid (";
    static const char bus[] = "PCI:";
    char digits[8];
    int64_t number = 0;
    const char *at = strstr(line, front);
    const char *end = at != NULL ? strstr(at, "): ") : NULL;
    if (end == NULL)
        return NULL;
    at += strlen(front);
    at += str_starts_with(at, bus) ? strlen(bus) : 0;
    (void)snprintf(ret_bus, XID_BUS_SIZE, "%.*s", (int)(end - at), at);
    end += sizeof("): ") - 1;
    (void)snprintf(digits, sizeof(digits), "%.*s", (int)strspn(end, "0123456789"), end);
    return str_parse_int(digits, 0, INT_MAX, &number, NULL) == 0 ? xid_find((int)number) : NULL;
}

const struct xid_row *xid_in_vain(const char *evidence, char ret_bus[XID_BUS_SIZE]) {
    char line[512];
    for (const char *at = evidence; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
        (void)snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
        const struct xid_row *row = row_of(line, ret_bus);
        if (row != NULL && (row->action == XID_TEXT ? asks_for_recovery(line) : !row->again))
            return row;
    }
    return NULL;
}

void xid_describe(const struct xid_row *row, const char *bus, const char *of, char *ret,
                  size_t size) {
    (void)snprintf(ret, size, "GPU %s%.64s cannot be used before this is done: %s (Xid %d, %s)",
                   bus, of, xid_action_text(row->action), row->number, row->name);
}
