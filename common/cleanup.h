/* Cleanup attributes for local variables, so that early returns leak nothing.
 *
 *     cleanup_free char *text = NULL;
 *     cleanup_fd int fd = -1;
 *
 * TAKE_PTR and take_fd pass a local variable's value on and disarm it. Structs that own things have
 * a NOUN_done() of their own, which accepts zeroed and half-built objects. */
#ifndef COMMON_CLEANUP_H
#define COMMON_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_at(void *slot) {
    free(*(void **)slot);
}

static inline void cleanup_fd_at(const int *fd) {
    if (*fd >= 0)
        (void)close(*fd);
}

static inline void cleanup_file_at(FILE **file) {
    if (*file != NULL)
        (void)fclose(*file);
}

#define cleanup_free __attribute__((cleanup(cleanup_free_at)))
#define cleanup_fd __attribute__((cleanup(cleanup_fd_at)))
#define cleanup_file __attribute__((cleanup(cleanup_file_at)))

static inline int take_fd(int *fd) {
    int taken = *fd;
    *fd = -1;
    return taken;
}

static inline void *take_ptr_at(void *slot) {
    void *taken = *(void **)slot;
    *(void **)slot = NULL;
    return taken;
}
#define TAKE_PTR(pointer) take_ptr_at(&(pointer))

#endif
