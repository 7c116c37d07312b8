/* Last words of a process in a slot. */
#ifndef COMMON_SLOTS_SLOT_LOG_H
#define COMMON_SLOTS_SLOT_LOG_H

#include <stddef.h>

/* Writes the last error of rank RANK's log in FOLDER to RET, without time and level, else its last
 * line; "" if there is no such file here. At most SIZE bytes, valid UTF-8. */
void slot_log_last(const char *folder, int rank, char *ret, size_t size);

#endif
