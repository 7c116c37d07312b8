#include "entrypoint/outcome/explain_table.h"

#include "common/exit_code.h"

#include <signal.h>

static const struct explain_row table[] = {
#include "entrypoint/outcome/explain_ends.def"

#include "entrypoint/outcome/explain_libraries.def"

#include "entrypoint/outcome/explain_words.def"
};

const struct explain_row *explain_table(size_t *ret_count) {
    *ret_count = sizeof(table) / sizeof(table[0]);
    return table;
}
