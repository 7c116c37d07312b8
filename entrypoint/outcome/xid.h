/* Remedies for the Xids of NVIDIA's driver.
 *
 * They are what an Xid asks for, and whether another attempt on the same GPU makes sense before
 * that is done. The table, its source and its date: explain_xids.def. Pure. */
#ifndef ENTRYPOINT_OUTCOME_XID_H
#define ENTRYPOINT_OUTCOME_XID_H

#include <stdbool.h>
#include <stddef.h>

enum { XID_BUS_SIZE = 32, XID_TEXT_SIZE = 192 };

enum xid_action {
    XID_WATCH,   /* start the program again, or continue */
    XID_RESET,   /* reset the GPU */
    XID_REBOOT,  /* restart the machine */
    XID_ISOLATE, /* leave the machine out */
    XID_TEXT,    /* what the line says: Xid 154 */
};

struct xid_row {
    int number;
    const char *name; /* as `ringmaster explain` has it */
    enum xid_action action;
    bool again;        /* a new process may use the GPU before that is done */
    const char *means; /* a clause */
};

/* Returns the row of an Xid, or NULL. */
const struct xid_row *xid_find(int number);

/* "watch it", "reset the GPU", "restart the machine", "leave the machine out" */
const char *xid_action_text(enum xid_action action);

/* Returns the first row among the lines of EVIDENCE, the kernel's or NVML's, after which another
 * attempt on that GPU is in vain, with the GPU's address on the bus; NULL: there is none. What Xid
 * 154 asks for counts as the line says. */
const struct xid_row *xid_in_vain(const char *evidence, char ret_bus[XID_BUS_SIZE]);

/* Describes ROW of the GPU at BUS: "GPU 0000:42:00 cannot be used before this is done: restart the
 * machine (Xid 79)". OF is put after the GPU's name: " of algo-2", or "". */
void xid_describe(const struct xid_row *row, const char *bus, const char *of, char *ret,
                  size_t size);

#endif
