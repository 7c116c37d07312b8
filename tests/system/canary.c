/* A library that no process should load: each one that does adds the line "PID PROGRAM FIRST-WORD"
 * to the file that has the library's name with ".sings" appended. It also serves as an auditor of
 * the dynamic linker (LD_AUDIT). */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The first word after the program's name on its command line. */
static void first_word(char *ret, size_t size) {
    char words[4096];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, words, sizeof(words) - 2) : 0;
    if (fd >= 0)
        (void)close(fd);
    memset(words + (got > 0 ? got : 0), 0, 2);
    (void)snprintf(ret, size, "%s", words + strlen(words) + 1);
}

static void sing(void) {
    Dl_info here;
    char path[4096];
    char self[4096];
    char word[256];
    char line[8192];
    if (dladdr((void *)(uintptr_t)sing, &here) == 0)
        return;
    ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[size > 0 ? size : 0] = '\0';
    first_word(word, sizeof(word));
    (void)snprintf(path, sizeof(path), "%s.sings", here.dli_fname);
    int length = snprintf(line, sizeof(line), "%d %s %s\n", (int)getpid(), self, word);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd >= 0 && length > 0)
        (void)!write(fd, line, (size_t)length);
    if (fd >= 0)
        (void)close(fd);
}

__attribute__((constructor)) static void loaded(void) {
    sing();
}

unsigned la_version(unsigned version);
unsigned la_version(unsigned version) {
    return version;
}
