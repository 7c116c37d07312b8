/* Waits for what a test waits for most, in one process: a shell that polls starts two for each
 * look.
 *
 *     await SECONDS line REGEX FILE    until FILE has a line that matches the basic regular
 *                                      expression, as of grep in the C locale
 *     await SECONDS files FILE...      until all of them exist
 *
 * Exits with 0, with 1 after SECONDS, and with 64 for other arguments. */
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A file that grows. OFFSET is where its first line begins that is not known to be whole. */
struct log {
    const char *path;
    regex_t wanted;
    ino_t file;
    off_t offset, size;
    char *line;
    size_t room;
};

static bool matches(const struct log *log, size_t length) {
    regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)length};
    return regexec(&log->wanted, log->line, 1, &range, REG_STARTEND) == 0;
}

/* Returns true if a line that came since the last call matches, or the unfinished one at the end.
 */
static bool line_came(struct log *log) {
    struct stat now;
    if (stat(log->path, &now) != 0)
        return false;
    if (now.st_ino != log->file || now.st_size < log->size)
        log->offset = log->size = 0; /* another file, or it begins again */
    if (now.st_size == log->size)
        return false;
    FILE *f = fopen(log->path, "re");
    if (!f)
        return false;
    log->file = now.st_ino;
    log->size = now.st_size;
    bool found = false;
    ssize_t length = 0;
    if (fseeko(f, log->offset, SEEK_SET) == 0)
        while (!found && (length = getline(&log->line, &log->room, f)) > 0) {
            bool whole = log->line[length - 1] == '\n';
            log->offset += whole ? length : 0;
            found = matches(log, (size_t)length - whole);
        }
    fclose(f);
    return found;
}

static bool all_exist(char *const *paths) {
    for (; *paths; paths++)
        if (access(*paths, F_OK) != 0)
            return false;
    return true;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    char *end = NULL;
    double seconds = argc > 3 ? strtod(argv[1], &end) : -1;
    bool line = argc == 5 && strcmp(argv[2], "line") == 0;
    struct log log = {.path = line ? argv[4] : NULL};
    if (seconds < 0 || *end || !(line || (argc > 3 && strcmp(argv[2], "files") == 0)) ||
        (line && regcomp(&log.wanted, argv[3], 0) != 0)) {
        fputs("usage: await SECONDS line REGEX FILE | await SECONDS files FILE...\n", stderr);
        return 64;
    }
    double until = now() + seconds;
    bool came;
    while (!(came = line ? line_came(&log) : all_exist(argv + 3)) && now() < until)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    if (line)
        regfree(&log.wanted);
    free(log.line);
    return came ? 0 : 1;
}
