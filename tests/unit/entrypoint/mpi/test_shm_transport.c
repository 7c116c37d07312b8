#include "entrypoint/mpi/shm_transport.h"
#include "tests/support/refused_call.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t mib = 1024 * 1024;
static char shared[] = "OMPI_MCA_btl_vader_backing_directory=/dev/shm/run-1";
static char shared_5[] = "OMPI_MCA_btl_sm_backing_directory=/dev/shm/run-1";
static char temporary[] = "TMPDIR=/run/r/tmp";
static char launched_5[] = "PRTE_LAUNCHED=1";
static char *const by_4_1[] = {shared, temporary, NULL};
static char *const by_5_0[] = {shared_5, temporary, launched_5, NULL};

static struct shm_transport_facts facts_of(int read_errno, int64_t room, int64_t other) {
    return (struct shm_transport_facts){.read_errno = read_errno,
                                        .shared = "/dev/shm/run-1",
                                        .shared_room = room,
                                        .other = "/run/r/tmp",
                                        .other_room = other};
}

/* VARIABLE's value after the choice, "" if none was made. */
static const char *chosen(const struct shm_transport_facts *f, unsigned ranks,
                          char *const *launched, const char *variable,
                          struct shm_transport_choice *ret) {
    static char value[256];
    cleanup_argv struct argv environment = {0};
    CU_ASSERT_EQUAL(shm_transport_add(f, ranks, launched, &environment, ret, NULL), 0);
    const char *got = argv_get_env(&environment, variable);
    (void)snprintf(value, sizeof(value), "%s", got != NULL ? got : "");
    return value;
}

static const char mechanism[] = "OMPI_MCA_btl_vader_single_copy_mechanism";
static const char place[] = "OMPI_MCA_btl_vader_backing_directory";
static const char transports[] = "OMPI_MCA_btl";

static void memory_is_read_where_that_is_allowed(void) {
    struct shm_transport_choice c;
    struct shm_transport_facts may = facts_of(0, 64 * mib, 64 * mib);
    struct shm_transport_facts may_not = facts_of(EPERM, 64 * mib, 64 * mib);
    CU_ASSERT_STRING_EQUAL(chosen(&may, 2, by_4_1, mechanism, &c), "cma");
    CU_ASSERT_FALSE(c.worse);
    ASSERT_CONTAINS(c.said, "copied once");
    CU_ASSERT_STRING_EQUAL(chosen(&may_not, 2, by_4_1, mechanism, &c), "none");
    ASSERT_CONTAINS(c.said, "copied twice (Operation not permitted)");
    CU_ASSERT_STRING_EQUAL(chosen(&may, 2, by_5_0, "OMPI_MCA_smsc", &c), "");
    CU_ASSERT_STRING_EQUAL(chosen(&may_not, 2, by_5_0, "OMPI_MCA_smsc", &c), "^cma");
    CU_ASSERT_STRING_EQUAL(chosen(&may_not, 2, by_5_0, mechanism, &c), "");
    /* One rank is left as it is. */
    CU_ASSERT_STRING_EQUAL(chosen(&may, 1, by_4_1, mechanism, &c), "");
    CU_ASSERT_STRING_EQUAL(c.said, "");
}

/* What a rank's file takes was asked for by Open MPI 4.1.4: 4,194,312 bytes each. */
static void files_lie_where_there_is_room(void) {
    struct shm_transport_choice c;
    struct shm_transport_facts enough = facts_of(0, 9 * mib, mib);
    struct shm_transport_facts small = facts_of(0, 8 * mib, 9 * mib);
    struct shm_transport_facts nowhere = facts_of(0, mib, 8 * mib);
    struct shm_transport_facts absent = facts_of(0, -1, -1);
    CU_ASSERT_STRING_EQUAL(chosen(&enough, 2, by_4_1, place, &c), "");
    CU_ASSERT_FALSE(c.worse);
    CU_ASSERT_STRING_EQUAL(chosen(&small, 2, by_4_1, place, &c), "/run/r/tmp");
    CU_ASSERT(c.worse);
    ASSERT_CONTAINS(c.said, "/dev/shm has 8 MiB left, and 2 ranks share 9: what they share lies in "
                            "/run/r/tmp (docker run --shm-size=17m); ranks here read");
    CU_ASSERT_STRING_EQUAL(chosen(&small, 2, by_5_0, "OMPI_MCA_btl_sm_backing_directory", &c),
                           "/run/r/tmp");
    CU_ASSERT_STRING_EQUAL(chosen(&nowhere, 2, by_4_1, transports, &c), "tcp,self");
    CU_ASSERT_STRING_EQUAL(chosen(&nowhere, 2, by_4_1, place, &c), "");
    CU_ASSERT(c.worse);
    ASSERT_CONTAINS(c.said, "by TCP alone");
    CU_ASSERT_STRING_EQUAL(chosen(&absent, 2, by_4_1, transports, &c), "tcp,self");
    ASSERT_CONTAINS(c.said, "has 0 MiB left");
    /* The same folder again would not help. */
    small.other = small.shared;
    CU_ASSERT_STRING_EQUAL(chosen(&small, 2, by_4_1, transports, &c), "tcp,self");
}

static void what_the_user_wants_stays(void) {
    static const char *const wanted[][2] = {{"OMPI_MCA_btl", "self,vader"},
                                            {"OMPI_MCA_btl_vader_backing_directory", "/mine"},
                                            {"OMPI_MCA_btl_vader_single_copy_mechanism", "knem"}};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        cleanup_argv struct argv environment = {0};
        struct shm_transport_choice c;
        struct shm_transport_facts poor = facts_of(EPERM, 0, 0);
        CU_ASSERT_EQUAL(argv_set_env(&environment, wanted[i][0], wanted[i][1], NULL), 0);
        CU_ASSERT_EQUAL(shm_transport_add(&poor, 4, by_4_1, &environment, &c, NULL), 0);
        CU_ASSERT_STRING_EQUAL(argv_get_env(&environment, wanted[i][0]), wanted[i][1]);
        /* A list of transports is the user's whole wish. */
        if (i == 0)
            CU_ASSERT(environment.count == 1 && c.said[0] == '\0');
    }
}

/* A child that is late on a busy machine says nothing about the kernel: it is asked again. */
static int may_read(void) {
    int result = ETIMEDOUT;
    for (int tries = 0; tries < 20 && result == ETIMEDOUT; tries++)
        result = shm_transport_may_read();
    return result;
}

/* The kernel's own word, asked for another way: a brother reads a brother. */
static void the_kernel_is_asked(void) {
    static char target = 'b';
    int expected = 0;
    pid_t brother = fork();
    if (brother == 0) {
        (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
        for (;;)
            (void)pause();
    }
    pid_t reader = fork();
    if (reader == 0) {
        char got = '\0';
        struct iovec local = {.iov_base = &got, .iov_len = 1};
        struct iovec remote = {.iov_base = &target, .iov_len = 1};
        _exit(process_vm_readv(brother, &local, 1, &remote, 1, 0) == 1 && got == 'b' ? 0 : errno);
    }
    int status = 0;
    CU_ASSERT_EQUAL(waitpid(reader, &status, 0), reader);
    expected = WEXITSTATUS(status);
    (void)kill(brother, SIGKILL);
    (void)waitpid(brother, NULL, 0);
    CU_ASSERT_EQUAL(may_read(), expected);
    /* Also for a process that nobody may look into, as a shim is. */
    (void)prctl(PR_SET_DUMPABLE, 0);
    CU_ASSERT_EQUAL(may_read(), expected);
    (void)prctl(PR_SET_DUMPABLE, 1);
    CU_ASSERT_EQUAL(waitpid(-1, NULL, 0), -1); /* no child remains */
}

/* A container engine's filter refuses the call like this. */
static void a_filter_is_heard(void) {
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(refuse_call(SYS_process_vm_readv, EACCES) ? may_read() : 99);
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(WEXITSTATUS(status), EACCES);
}

static int held[2];
static volatile int is_held;

/* Called while the child waits to be read: this process closes its end. Does any other process
 * still hold it? */
static void look_at_the_childs_end(int number) {
    struct pollfd p = {.fd = held[0], .events = POLLIN};
    (void)number;
    (void)close(held[1]);
    is_held = poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0 ? 0 : 1;
}

/* A process that may read the child's memory finds nothing there that its parent holds. */
static void the_child_holds_nothing_of_its_parents(void) {
    struct sigaction looks = {.sa_handler = look_at_the_childs_end};
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        is_held = -1;
        if (pipe(held) != 0 || sigaction(SIGSYS, &looks, NULL) != 0 ||
            !filter_call(SYS_process_vm_readv, SECCOMP_RET_TRAP))
            _exit(99);
        (void)may_read();
        _exit(is_held == 0 ? 0 : is_held + 2);
    }
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(status, 0);
}

static void places_are_looked_at(void) {
    struct shm_transport_facts f;
    char here[600];
    (void)snprintf(here, sizeof(here), "TMPDIR=%s", unit_temp_dir());
    char *const launched[] = {shared, here, NULL};
    shm_transport_look(launched, &f);
    CU_ASSERT_STRING_EQUAL(f.shared, "/dev/shm/run-1");
    CU_ASSERT_EQUAL(f.shared_room, -1);
    CU_ASSERT_STRING_EQUAL(f.other, unit_temp_dir());
    CU_ASSERT(f.other_room > 0);
    /* Without a folder of ours Open MPI takes TMPDIR. */
    shm_transport_look(launched + 1, &f);
    CU_ASSERT_STRING_EQUAL(f.shared, unit_temp_dir());
    CU_ASSERT_EQUAL(shm_transport_room("/no/such/folder"), -1);
}

UNIT_SUITE("mpi.shm_transport", UNIT(memory_is_read_where_that_is_allowed),
           UNIT(files_lie_where_there_is_room), UNIT(what_the_user_wants_stays),
           UNIT(the_kernel_is_asked), UNIT(a_filter_is_heard),
           UNIT(the_child_holds_nothing_of_its_parents), UNIT(places_are_looked_at))
