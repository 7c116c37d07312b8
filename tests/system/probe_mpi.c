/* An MPI program for the system tests: ranks meet in an all-reduce every 20 ms until the seconds
 * are over or one of them was told to stop.
 *
 *     probe_mpi FOLDER SECONDS [RANK exit CODE | RANK abort CODE | RANK segv | RANK memory |
 *                              RANK truncate]
 *
 * Each rank leaves FOLDER/in-main-RANK, which holds its process number and the time in ms, once it
 * is in main, FOLDER/met-RANK once it has met all others, and FOLDER/out-RANK when it leaves. With
 * a RANK that one leaves FOLDER/failed-RANK and fails, 500 ms after all have met and not before
 * FOLDER/fail is there. SIGTERM at any rank lets all of them leave together with 0.
 */
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop_asked;

static void on_term(int signal) {
    (void)signal;
    stop_asked = 1;
}

static int64_t now_ms(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Written to another name and renamed, so that a reader never sees part of the file. */
static int leave_mark(const char *folder, const char *name, const char *rank) {
    char path[4096], part[4200];
    snprintf(path, sizeof(path), "%s/%s-%s", folder, name, rank);
    snprintf(part, sizeof(part), "%s.part", path);
    FILE *file = fopen(part, "w");
    if (!file)
        return -1;
    fprintf(file, "%ld %lld\n", (long)getpid(), (long long)now_ms(CLOCK_REALTIME));
    return fclose(file) == 0 && rename(part, path) == 0 ? 0 : -1;
}

/* Three times what its host may have. */
static void take_memory(void) {
    const size_t size = 900000000;
    volatile char *memory = malloc(size);
    for (size_t i = 0; memory != NULL && i < size; i += 1024)
        memory[i] = 'x';
    pause();
}

/* A message longer than its receiver expects. */
static void truncate_message(void) {
    MPI_Request request;
    int rank = 0, sent[4] = {0}, received = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Isend(sent, 4, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
    MPI_Recv(&received, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int is_told_to_fail(const char *folder) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/fail", folder);
    return access(path, F_OK) == 0;
}

static void fail_as_told(char **words, int count) {
    if (strcmp(words[0], "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(words[0], "memory") == 0)
        take_memory();
    if (strcmp(words[0], "truncate") == 0)
        truncate_message();
    if (strcmp(words[0], "exit") == 0 && count > 1)
        _exit(atoi(words[1]));
    if (strcmp(words[0], "abort") == 0 && count > 1)
        MPI_Abort(MPI_COMM_WORLD, atoi(words[1]));
}

/* The greatest of all ranks' values. A waiting rank sleeps: ranks that spin for one that is gone
 * would take the cores from everything that is timed. */
static int greatest(int mine) {
    MPI_Request request;
    int all = 0, done = 0;
    MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
    for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done;
         MPI_Test(&request, &done, MPI_STATUS_IGNORE))
        nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
    return all;
}

int main(int argc, char **argv) {
    const char *name = getenv("RANK");
    if (argc < 3 || !name || leave_mark(argv[1], "in-main", name) != 0)
        return 64;
    signal(SIGTERM, on_term);
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d of %d has joined\n", rank, size);
    fflush(stdout);

    const int64_t start = now_ms(CLOCK_MONOTONIC), seconds = atoi(argv[2]);
    const int failing = argc > 4 ? atoi(argv[3]) : -1;
    int leave = greatest(0);
    leave_mark(argv[1], "met", name);
    while (!leave) {
        const int64_t passed = now_ms(CLOCK_MONOTONIC) - start;
        if (rank == failing && passed > 500 && is_told_to_fail(argv[1])) {
            leave_mark(argv[1], "failed", name);
            fail_as_told(argv + 4, argc - 4);
        }
        int mine = stop_asked || (rank == 0 && passed > seconds * 1000);
        leave = greatest(mine);
        nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
    }
    MPI_Finalize();
    return leave_mark(argv[1], "out", name) == 0 ? 0 : 70;
}
