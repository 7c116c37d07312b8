#include "tests/support/no_memory.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>

static struct {
    size_t left; /* allocations up to the one that fails; 0: none fails */
    bool for_good;
    bool json;
    bool failed;
} state;

void *__real_malloc(size_t size);

static void *json_malloc(size_t size) {
    return state.json ? malloc(size) : __real_malloc(size);
}

void no_memory_of_json(bool counts) {
    state.json = counts;
}

void no_memory_begin(size_t n, bool for_good) {
    json_set_alloc_funcs(json_malloc, free);
    state.json = false;
    state.left = n;
    state.for_good = for_good;
    state.failed = false;
}

bool no_memory_end(void) {
    state.left = 0;
    return state.failed;
}

static bool fails(void) {
    if (state.left == 0 || --state.left > 0)
        return false;
    state.failed = true;
    state.left = state.for_good ? 1 : 0;
    errno = ENOMEM;
    return true;
}

/* The linker's names. */
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
int __real_vasprintf(char **ret, const char *format, va_list list);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
int __wrap_vasprintf(char **ret, const char *format, va_list list);
int __wrap_asprintf(char **ret, const char *format, ...);

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) {
    return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

char *__wrap_strdup(const char *text) {
    return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size) {
    return fails() ? NULL : __real_strndup(text, size);
}

int __wrap_vasprintf(char **ret, const char *format, va_list list) {
    return fails() ? -1 : __real_vasprintf(ret, format, list);
}

int __wrap_asprintf(char **ret, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int size = __wrap_vasprintf(ret, format, list);
    va_end(list);
    return size;
}
