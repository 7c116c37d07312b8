/* Words for a number of errno, safe between threads.
 *
 * They are those of strerror(). glibc and musl declare strerror_r differently. */
#ifndef COMMON_OS_ERROR_TEXT_H
#define COMMON_OS_ERROR_TEXT_H

#include <string.h>

enum { OS_ERROR_TEXT_SIZE = 128 };

/* Returns the words, in ROOM or static. */
static inline const char *os_error_text(int number, char room[OS_ERROR_TEXT_SIZE]) {
#ifdef __GLIBC__
    return strerror_r(number, room, OS_ERROR_TEXT_SIZE);
#else
    return strerror_r(number, room, OS_ERROR_TEXT_SIZE) == 0 ? room : "unknown error";
#endif
}

#endif
