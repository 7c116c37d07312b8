/* Build ID of the running program, as the linker computes it (--build-id=sha1).
 *
 * Two different builds of one version have different IDs. Copying, stripping and renaming the
 * program do not change its ID. */
#ifndef ENTRYPOINT_OS_BUILD_ID_H
#define ENTRYPOINT_OS_BUILD_ID_H

enum { BUILD_ID_BYTES = 20, BUILD_ID_SIZE = 2 * BUILD_ID_BYTES + 1, BUILD_ID_SHORT = 12 };

/* In hexadecimal digits; "" where it was linked without one. As many as BUILD_ID_SHORT are enough
 * to tell people which it is. */
void build_id(char ret[BUILD_ID_SIZE]);

#endif
