/* What the kernel says while an attempt runs that explains failures: GPUs' Xids, errors of the
 * hardware, and of a rank that crashed or lacked memory, what it noted then. Read from /dev/kmsg,
 * which most containers do not have and which takes rights: then there is nothing. It is the log of
 * the whole machine, so that a line may be about a neighbour. */
#ifndef WATCH_KERNEL_WORDS_H
#define WATCH_KERNEL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum { KERNEL_WORDS_LINES = 3, KERNEL_WORDS_LINE_SIZE = 161 };

/* What a line is about. */
enum kernel_words_kind {
    KERNEL_WORDS_MACHINE,
    KERNEL_WORDS_CRASH,
    KERNEL_WORDS_MEMORY,
    KERNEL_WORDS_KINDS
};

struct kernel_line {
    char text[KERNEL_WORDS_LINE_SIZE];
    enum kernel_words_kind kind;
};

struct kernel_words {
    int fd; /* a read is one record; -1: not readable */
    /* Since the attempt began, in their order: the first of each kind. */
    struct kernel_line lines[KERNEL_WORDS_KINDS * KERNEL_WORDS_LINES];
    unsigned count;
    unsigned of_kind[KERNEL_WORDS_KINDS];
};

/* From here on. PATH is /dev/kmsg but in tests; what is no such device is not read. */
void kernel_words_open(struct kernel_words *k, const char *path);
void kernel_words_close(struct kernel_words *k);

/* From here on again: what was said before is another attempt's. */
void kernel_words_forget(struct kernel_words *k);

/* Up to three lines of those since it was opened or forgot, '\n' between; "" where there are none.
 * CRASHED and MEMORY say which lines about programs count. The same lines come to whoever asks: of
 * ranks that fail one after the other any may be the one that is judged. Never waits. */
void kernel_words_read(struct kernel_words *k, bool crashed, bool memory, char *ret, size_t size);

#endif
