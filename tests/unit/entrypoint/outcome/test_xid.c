#include "entrypoint/outcome/explain.h"
#include "entrypoint/outcome/xid.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* What is explained and what decides on restarts is one table. */
static void every_row_is_explained_and_has_an_action(void) {
    size_t count = 0;
    size_t xids = 0;
    const struct explain_row *table = explain_table(&count);
    for (size_t i = 0; i < count; i++) {
        if (table[i].kind != EXPLAIN_XID)
            continue;
        const struct xid_row *row = xid_find(table[i].number);
        CU_ASSERT_PTR_NOT_NULL_FATAL(row);
        CU_ASSERT_STRING_EQUAL(row->name, table[i].name);
        CU_ASSERT(strlen(xid_action_text(row->action)) > 0);
        CU_ASSERT(row->again || row->action != XID_WATCH);
        CU_ASSERT_EQUAL(strstr(table[i].act, "no other attempt makes sense") == NULL, row->again);
        xids++;
    }
    CU_ASSERT(xids >= 40);
    CU_ASSERT_PTR_NULL(xid_find(1));
}

static char bus[XID_BUS_SIZE];

static int vain(const char *evidence) {
    const struct xid_row *row = xid_in_vain(evidence, bus);
    return row != NULL ? row->number : 0;
}

static void a_gpu_that_is_gone_makes_attempts_vain(void) {
    CU_ASSERT_EQUAL(vain(""), 0);
    CU_ASSERT_EQUAL(vain("kernel: NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen"), 79);
    CU_ASSERT_STRING_EQUAL(bus, "0000:41:00");
    CU_ASSERT_EQUAL(vain("kernel: NVRM: Xid (PCI:0000:41:00): 13, pid=1\n"
                         "kernel: NVRM: Xid (PCI:0000:41:00): 119, Timeout"),
                    119);
    CU_ASSERT_EQUAL(vain("nvml: NVRM: Xid (PCI:0000:41:00): 95"), 95);
}

static void the_gpu_and_what_to_do_are_told(void) {
    char text[XID_TEXT_SIZE];
    xid_describe(xid_find(79), "0000:42:00", " of algo-2", text, sizeof(text));
    CU_ASSERT_STRING_EQUAL(text, "GPU 0000:42:00 of algo-2 cannot be used before this is done: "
                                 "restart the machine (Xid 79, xid-off-the-bus)");
    char cut[8];
    xid_describe(xid_find(79), "0000:42:00", "", cut, sizeof(cut));
    CU_ASSERT_STRING_EQUAL(cut, "GPU 000");
    CU_ASSERT_EQUAL(vain("Xid (PCI:0123456789012345678901234567890123456789): 79, x"), 79);
    CU_ASSERT_EQUAL(strlen(bus), XID_BUS_SIZE - 1);
}

static void other_lines_are_none(void) {
    CU_ASSERT_EQUAL(vain("kernel: NVRM: Xid (PCI:0000:41:00): 31, pid=7"), 0);
    CU_ASSERT_EQUAL(vain("the program printed ): 79, by chance"), 0);
    CU_ASSERT_EQUAL(vain("Xid (PCI:0000:41:00): "), 0);
    CU_ASSERT_EQUAL(vain("Xid (PCI:0000:41:00): 79999999999999"), 0);
    CU_ASSERT_EQUAL(vain("Xid (PCI:0000:41:00): 999, unknown"), 0);
}

static void xid_154_says_itself_what_it_asks_for(void) {
    static const char front[] = "kernel: NVRM: Xid (PCI:0000:41:00): 154, GPU recovery action "
                                "changed from 0x0 (None) to ";
    char line[256];
    (void)snprintf(line, sizeof(line), "%s0x2 (Node Reboot Required)", front);
    CU_ASSERT_EQUAL(vain(line), 154);
    (void)snprintf(line, sizeof(line), "%s0x1 (GPU Reset Required)", front);
    CU_ASSERT_EQUAL(vain(line), 154);
    (void)snprintf(line, sizeof(line), "%s0x0 (None)", front);
    CU_ASSERT_EQUAL(vain(line), 0);
}

UNIT_SUITE("outcome.xid", UNIT(every_row_is_explained_and_has_an_action),
           UNIT(a_gpu_that_is_gone_makes_attempts_vain), UNIT(other_lines_are_none),
           UNIT(the_gpu_and_what_to_do_are_told), UNIT(xid_154_says_itself_what_it_asks_for))
