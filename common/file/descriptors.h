/* Closing of all open descriptors from a number on.
 *
 * For children, before they continue or exec.
 *
 * Kernels before 5.9 have no close_range(), before 5.11 none that marks, and a container's filter
 * may refuse it: then /proc/self/fd names what is open, and without /proc each number up to the
 * limit is tried, at most 65536 of them. Source: close_range(2). */
#ifndef COMMON_FILE_DESCRIPTORS_H
#define COMMON_FILE_DESCRIPTORS_H

/* Closes FIRST and all above it. */
void descriptors_close(int first);

/* Marks FIRST and all above it close-on-exec. */
void descriptors_close_on_exec(int first);

#endif
