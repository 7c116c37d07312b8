/* The program of a random job (tests/system/chaos): it does what the plan says and keeps a record
 * of when it ran.
 *
 *   chaos_rank FOLDER KIND SECONDS CODE CHOSEN UNTIL STAGGER
 *
 * Each process writes FOLDER/RUN.ATTEMPT.RANK.HOST.ROLE.BEGIN, one line of fixed width that it
 * overwrites twenty times a second: when it began, when it was last alive, when and with what it
 * ended, all in ms of the machine's monotonic clock, which no test sets. A process that was killed
 * leaves no end.
 *
 * KIND says how rank CHOSEN behaves in attempts 1 to UNTIL; all other ranks run for SECONDS, and
 * STAGGER for each rank before them, and return 0:
 *   - good: the same as all others
 *   - exit: exits with CODE after its time
 *   - crash: dies of signal CODE after its time
 *   - hang: runs until it is asked to end
 *   - stubborn: runs on and ignores SIGTERM
 *   - deaf: ignores SIGTERM and returns 0 after its time
 *   - flood: prints as much as it can, then returns 0
 *   - daemon: leaves a child in a session of its own that ignores SIGTERM, then dies of CODE
 *   - tidy: deletes what it can in /dev/shm, then dies of signal CODE, or returns 0 for 0
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BEAT_MS = 50, LINE = 160, DAEMON_SECONDS = 120 };

static struct {
    int fd, code;
    long long begin, end;
} record;
static volatile sig_atomic_t asked;

static void on_term(int signal) {
    (void)signal;
    asked = 1;
}

static long long now_ms(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value != NULL ? value : "none";
}

static void beat(void) {
    char line[LINE + 1];
    int length = snprintf(
        line, sizeof(line), "begin=%015lld alive=%015lld end=%015lld code=%04d asked=%d world=%s ",
        record.begin, now_ms(), record.end, record.code, (int)asked, variable("WORLD_SIZE"));
    if (length < 0 || length >= LINE)
        return;
    memset(line + length, ' ', (size_t)(LINE - length));
    line[LINE - 1] = '\n';
    if (pwrite(record.fd, line, LINE, 0) != LINE)
        perror("the record");
}

static void begin(const char *folder, const char *role) {
    char path[4096];
    record.begin = now_ms();
    record.code = -1;
    (void)snprintf(path, sizeof(path), "%s/%s.%s.%s.%s.%s.%lld", folder,
                   variable("RINGMASTER_RUN_ID"), variable("RINGMASTER_ATTEMPT"), variable("RANK"),
                   variable("SM_CURRENT_HOST"), role, record.begin);
    record.fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (record.fd < 0) {
        perror(path);
        _exit(99);
    }
    beat();
}

static void run_until(long long end) {
    while (!asked && (end < 0 || now_ms() < end)) {
        (void)nanosleep(&(struct timespec){.tv_nsec = BEAT_MS * 1000000L}, NULL);
        beat();
    }
}

static void leave(int code) {
    record.end = now_ms();
    record.code = code;
    beat();
    printf("rank %s ends with %d\n", variable("RANK"), code);
    (void)fflush(stdout);
    _exit(code);
}

static void die_of(int signal_number) {
    beat();
    (void)signal(signal_number, SIG_DFL);
    (void)raise(signal_number);
    _exit(98);
}

static void start_daemon(const char *folder) {
    if (fork() != 0)
        return;
    (void)setsid();
    if (fork() != 0)
        _exit(0);
    (void)signal(SIGTERM, SIG_IGN);
    begin(folder, "daemon");
    run_until(record.begin + DAEMON_SECONDS * 1000LL);
    _exit(0);
}

static void flood(long long end) {
    char line[1000];
    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    for (long lines = 0; !asked && now_ms() < end && lines < 20000; lines++) {
        if (lines % 100 == 0)
            beat();
        (void)fwrite(line, sizeof(line), 1, stdout);
    }
}

static void empty(const char *path) {
    DIR *folder = opendir(path);
    if (folder == NULL)
        return;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char below[4096];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        int length = snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
        if (length < 0 || (size_t)length >= sizeof(below) || unlink(below) == 0)
            continue;
        empty(below);
        (void)rmdir(below);
    }
    (void)closedir(folder);
}

/* What the odd rank does; returns where all ranks go on alike. */
static void misbehave(const char *folder, const char *kind, long long end, int code) {
    if (strcmp(kind, "stubborn") == 0 || strcmp(kind, "deaf") == 0)
        (void)signal(SIGTERM, SIG_IGN);
    if (strcmp(kind, "hang") == 0 || strcmp(kind, "stubborn") == 0)
        run_until(-1);
    if (strcmp(kind, "flood") == 0)
        flood(end);
    if (strcmp(kind, "daemon") == 0)
        start_daemon(folder);
    run_until(end);
    if (strcmp(kind, "tidy") == 0)
        empty("/dev/shm");
    if (asked)
        return;
    if (strcmp(kind, "exit") == 0)
        leave(code);
    bool dies =
        strcmp(kind, "crash") == 0 || strcmp(kind, "daemon") == 0 || strcmp(kind, "tidy") == 0;
    if (dies && code > 0)
        die_of(code);
}

int main(int argc, char **argv) {
    if (argc != 8)
        return 64;
    const char *folder = argv[1], *kind = argv[2];
    bool is_odd = atoi(argv[5]) == atoi(variable("RANK")) &&
                  atoi(variable("RINGMASTER_ATTEMPT")) <= atoi(argv[6]);
    (void)signal(SIGTERM, on_term);
    (void)umask(0);
    begin(folder, "rank");
    double seconds = atof(argv[3]) + atof(argv[7]) * atoi(variable("RANK"));
    long long end = record.begin + (long long)(seconds * 1000);
    if (is_odd)
        misbehave(folder, kind, end, atoi(argv[4]));
    run_until(end);
    leave(0);
}
