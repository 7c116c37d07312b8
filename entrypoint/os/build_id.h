/* Which build this program is: the GNU build ID that the linker has worked out of all that is in it
 * (--build-id=sha1). Two builds of one version have two of them; copying, stripping and renaming
 * change nothing. */
#ifndef ENTRYPOINT_OS_BUILD_ID_H
#define ENTRYPOINT_OS_BUILD_ID_H

enum { BUILD_ID_BYTES = 20, BUILD_ID_SIZE = 2 * BUILD_ID_BYTES + 1, BUILD_ID_SHORT = 12 };

/* In hexadecimal digits; "" where it was linked without one. As many as BUILD_ID_SHORT are enough
 * to tell people which it is. */
void build_id(char ret[BUILD_ID_SIZE]);

#endif
