#include "entrypoint/evidence/stack_reading.h"

#include "tests/support/unit.h"

#include <string.h>

static struct stack_reading take(const char *text) {
    struct stack_reading r;
    stack_reading_take(text, strlen(text), &r);
    return r;
}

/* py-spy 0.4, a rank in torch.distributed.all_reduce. */
static void py_spy_is_read(void) {
    struct stack_reading r =
        take("== pid 71 python3\n-- /opt/venv/bin/py-spy\nProcess 71: python3 train.py\n"
             "Python v3.11.2 (/usr/bin/python3.11)\n\n"
             "Thread 71 (idle): \"MainThread\"\n"
             "    all_reduce (torch/distributed/distributed_c10d.py:2806)\n"
             "    wrapper (torch/distributed/c10d_logger.py:81)\n"
             "    <module> (train.py:9)\n"
             "Thread 80 (idle): \"Thread-1\"\n    wait (threading.py:320)\n");
    CU_ASSERT_STRING_EQUAL(r.collective, "all_reduce");
    CU_ASSERT_STRING_EQUAL(r.place, "all_reduce (torch/distributed/distributed_c10d.py:2806) < "
                                    "wrapper (torch/distributed/c10d_logger.py:81) < <module> "
                                    "(train.py:9)");
}

/* A function of the program with the name of one of torch's is none. */
static void names_of_the_program_are_no_collectives(void) {
    struct stack_reading r = take("== pid 71 python3\nThread 71 (idle): \"MainThread\"\n"
                                  "    all_reduce (mine.py:3)\n    gather (torch/nn/x.py:1)\n");
    CU_ASSERT_STRING_EQUAL(r.collective, "");
    CU_ASSERT_STRING_EQUAL(r.place, "all_reduce (mine.py:3) < gather (torch/nn/x.py:1)");
}

static void gdb_is_read(void) {
    struct stack_reading r =
        take("== pid 11 probe\n-- /usr/bin/gdb\n[New LWP 12]\n\n"
             "Thread 2 (Thread 0x7f01 (LWP 12) \"probe\"):\n"
             "#0  0x00007f0a in epoll_wait (epfd=...) at ../sysdeps/x.c:30\n\n"
             "Thread 1 (Thread 0x7f02 (LWP 11) \"probe\"):\n"
             "#0  0x00007f0b in ?? () from /lib/x86_64-linux-gnu/libopen-pal.so.40\n"
             "#1  0x00007f0c in opal_progress () from /lib/libopen-pal.so.40\n"
             "#2  0x00007f0d in ompi_request_default_wait () from /lib/libmpi.so.40\n"
             "#3  0x00007f0e in PMPI_Allreduce () from /lib/libmpi.so.40\n"
             "#4  0x00000000 in main (argc=..., argv=...) at probe.c:7\n");
    CU_ASSERT_STRING_EQUAL(r.collective, "MPI_Allreduce");
    CU_ASSERT_STRING_EQUAL(r.place, "opal_progress < ompi_request_default_wait < PMPI_Allreduce");
}

static void eu_stack_is_read(void) {
    struct stack_reading r = take("== pid 11 probe\nPID 11 - process\nTID 11:\n"
                                  "#0  0x00007f0a clock_nanosleep\n#1  0x00007f0b nanosleep\n"
                                  "#2  0x00007f0c sleep\n#3  0x0 main\nTID 12:\n"
                                  "#0  0x00007f0a gloo::allreduce(gloo::AllreduceOptions&)\n");
    CU_ASSERT_STRING_EQUAL(r.collective, "all_reduce (gloo)");
    CU_ASSERT_STRING_EQUAL(r.place, "clock_nanosleep < nanosleep < sleep");
}

/* Workers of the program are other processes: they say nothing about where it is. */
static void the_first_process_counts_for_the_place(void) {
    struct stack_reading r = take("== pid 11 a\nTID 11:\n#0  0x1 one\n"
                                  "== pid 12 b\nTID 12:\n#0  0x1 MPI_Barrier\n");
    CU_ASSERT_STRING_EQUAL(r.place, "one");
    CU_ASSERT_STRING_EQUAL(r.collective, "MPI_Barrier");
}

static void a_stopped_process_is_reported(void) {
    struct stack_reading r = take("== pid 11 a\nstopped by a signal\n");
    CU_ASSERT_STRING_EQUAL(r.place, "stopped by a signal");
    CU_ASSERT_STRING_EQUAL(r.collective, "");
}

static void anything_else_is_nothing(void) {
    static const char *const texts[] = {"",      "\n",   "#",          "#1",
                                        "#1 0x", "#x y", "Thread 1 (", "== pid "};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct stack_reading r = take(texts[i]);
        CU_ASSERT_STRING_EQUAL(r.collective, "");
        CU_ASSERT_STRING_EQUAL(r.place, "");
    }
}

static void long_and_hostile_names_are_cut(void) {
    char text[4096] = "== pid 1 a\nTID 1:\n#0  0x1 \x1b[0m\xff";
    size_t used = strlen(text);
    memset(text + used, 'x', sizeof(text) - used - 1);
    struct stack_reading r = take(text);
    CU_ASSERT_EQUAL(strncmp(r.place, "?[0m\xef\xbf\xbdxxx", 10), 0);
    CU_ASSERT(strlen(r.place) < sizeof(r.place));
}

UNIT_SUITE("evidence.stack_reading", UNIT(py_spy_is_read),
           UNIT(names_of_the_program_are_no_collectives), UNIT(gdb_is_read), UNIT(eu_stack_is_read),
           UNIT(the_first_process_counts_for_the_place), UNIT(a_stopped_process_is_reported),
           UNIT(anything_else_is_nothing), UNIT(long_and_hostile_names_are_cut))
