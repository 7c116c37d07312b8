#include "entrypoint/outcome/explain_table.h"

#include "common/exit_code.h"

#include <signal.h>

/* One array of four files, in the order of the page. An Xid's row is also found by the kernel's
 * line, in which its number stands between a parenthesis and a comma. */
static const struct explain_row table[] = {
#include "entrypoint/outcome/explain_ends.def"

#include "entrypoint/outcome/explain_libraries.def"

/* clang-format off */
#define XID_AGAIN_true ""
#define XID_AGAIN_false "; no other attempt makes sense before"
#define XID(number, name, action, again, means, why, act)                                          \
    {EXPLAIN_XID, number, name, {"): " #number ","}, means,                                        \
     "\"NVRM: Xid (PCI:...): " #number "\"", why, act XID_AGAIN_##again},
/* clang-format on */
#include "entrypoint/outcome/explain_xids.def"
#undef XID

#include "entrypoint/outcome/explain_words.def"
};

const struct explain_row *explain_table(size_t *ret_count) {
    *ret_count = sizeof(table) / sizeof(table[0]);
    return table;
}
