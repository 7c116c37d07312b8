/* The ranks' program in a root without glibc (test_static_musl.sh): the ranks meet over TCP at
 * MASTER_ADDR, a name, and MASTER_PORT, add up their numbers and print the sum. A thread of each
 * rank asks the resolver.
 *
 *     meeting              then every rank exits with 0
 *     meeting fail RANK    then that rank says why it cannot go on, and exits with 3
 *     meeting wait         then all wait for a message of rank 0 that never comes, or for SIGTERM
 *
 * Exit codes: 64 wrong arguments or variables, 70 the ranks did not meet within 60 s. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { RANKS_MAX = 64, TRIES = 600, TRY_MS = 100 };

static struct addrinfo *found; /* set by look_up() */

static void pause_a_moment(void) {
    nanosleep(&(struct timespec){.tv_nsec = TRY_MS * 1000 * 1000}, NULL);
}

static int number_of(const char *name) {
    const char *text = getenv(name);
    return text != NULL ? atoi(text) : -1;
}

static void *look_up(void *unused) {
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    (void)unused;
    for (int i = 0; i < TRIES; i++) {
        if (getaddrinfo(getenv("MASTER_ADDR"), getenv("MASTER_PORT"), &hints, &found) == 0)
            break;
        pause_a_moment();
    }
    return NULL;
}

/* Connects to rank 0 as soon as it listens; -1: it never does. */
static int reach(void) {
    for (int i = 0; i < TRIES; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, found->ai_addr, found->ai_addrlen) == 0)
            return fd;
        close(fd);
        pause_a_moment();
    }
    return -1;
}

/* On rank 0: accepts every connection, adds up the numbers and sends the sum to each rank. */
static int gather(int world, int peers[RANKS_MAX], int32_t *sum) {
    int one = 1;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(listener, found->ai_addr, found->ai_addrlen) != 0 || listen(listener, RANKS_MAX) != 0)
        return -1;
    for (int i = 1; i < world; i++) {
        struct pollfd p = {.fd = listener, .events = POLLIN};
        int32_t number = 0;
        peers[i] = poll(&p, 1, TRIES * TRY_MS) == 1 ? accept(listener, NULL, NULL) : -1;
        if (peers[i] < 0 || recv(peers[i], &number, sizeof(number), MSG_WAITALL) != sizeof(number))
            return -1;
        *sum += number;
    }
    for (int i = 1; i < world; i++)
        if (send(peers[i], sum, sizeof(*sum), MSG_NOSIGNAL) != sizeof(*sum))
            return -1;
    return 0;
}

static int give(int peer, int rank, int32_t *sum) {
    int32_t number = rank;
    return peer >= 0 && send(peer, &number, sizeof(number), MSG_NOSIGNAL) == sizeof(number) &&
                   recv(peer, sum, sizeof(*sum), MSG_WAITALL) == sizeof(*sum)
               ? 0
               : -1;
}

static void stop(int number) {
    (void)number;
    _exit(0);
}

int main(int argc, char **argv) {
    const int rank = number_of("RANK"), world = number_of("WORLD_SIZE");
    int peers[RANKS_MAX] = {0};
    int32_t sum = 0;
    pthread_t resolver;
    signal(SIGTERM, stop);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (rank < 0 || world < 1 || world > RANKS_MAX || getenv("MASTER_ADDR") == NULL)
        return 64;
    if (pthread_create(&resolver, NULL, look_up, NULL) != 0 || pthread_join(resolver, NULL) != 0 ||
        found == NULL) {
        fprintf(stderr, "%s is not known\n", getenv("MASTER_ADDR"));
        return 70;
    }
    if (rank > 0)
        peers[0] = reach();
    if ((rank == 0 ? gather(world, peers, &sum) : give(peers[0], rank, &sum)) != 0) {
        fprintf(stderr, "rank %d has not met the others: %s\n", rank, strerror(errno));
        return 70;
    }
    printf("rank %d of %d: the sum is %d\n", rank, world, (int)sum);
    if (argc == 3 && strcmp(argv[1], "fail") == 0 && rank == atoi(argv[2])) {
        fprintf(stderr, "no such file\n");
        return 3;
    }
    while (argc > 1)
        (void)pause();
    return 0;
}
