#include "entrypoint/outcome/explain.h"
#include "tests/support/paper.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char *name_of(const char *text) {
    const struct explain_row *row = explain_find(text);
    return row != NULL ? row->name : "nothing";
}

static void rows_are_found_by_what_people_have(void) {
    static const char *const rows[][2] = {
        {"73", "host-lost"},
        {"host-lost", "host-lost"},
        {"Host-Lost", "host-lost"},
        {"code:73", "host-lost"},
        {"139", "SIGSEGV"},
        {"SIGSEGV", "SIGSEGV"},
        {"sigsegv", "SIGSEGV"},
        {"-9", "SIGKILL"},
        {"137", "SIGKILL"},
        {"signal:7", "SIGBUS"},
        {"143", "stopped"},
        {"mpi:15", "MPI_ERR_TRUNCATE"},
        {"mpi_err_truncate", "MPI_ERR_TRUNCATE"},
        {"15", "nothing"},
        {"nccl:2", "ncclSystemError"},
        {"NCCL:2", "ncclSystemError"},
        {"ncclSystemError", "ncclSystemError"},
        {"cuda:700", "cudaErrorIllegalAddress"},
        {"xid:79", "xid-off-the-bus"},
        {"120", "flush"},
        {"xid:120", "xid-gsp-error"},
        {"disk-full", "disk-full"},
        {"CUDA out of memory", "cudaErrorMemoryAllocation"},
        {"OSError: [Errno 28] No space left on device", "disk-full"},
        {"./a is built for arm64, and this host runs programs for x86-64: Exec format error",
         "exec-format"},
        {"./a exists, but its loader /lib64/ld-linux-x86-64.so.2 does not", "loader-missing"},
        {"Error loading shared library libm.so.6: No such file or directory (needed by ./a)",
         "not-found"},
        {"Error relocating ./a: __res_init: symbol not found", "libc-too-old"},
        {"1", "program"},
        {"42", "nothing"},
        {"", "nothing"},
        {"nccl:", "nothing"},
        {"nccl:x", "nothing"},
        {"text:0", "nothing"},
        {"99999999999999999999", "nothing"},
        {":2", "nothing"},
        {"-0", "success"},
        {"255", "minus-one"},
        {"254", "nothing"},
        {"xid", "nothing"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CU_ASSERT_STRING_EQUAL(name_of(rows[i][0]), rows[i][1]);
}

/* Each key leads back to its row. */
static void keys_are_unlike_one_another(void) {
    size_t count = 0;
    const struct explain_row *table = explain_table(&count);
    for (size_t i = 0; i < count; i++) {
        char key[EXPLAIN_KEY_SIZE];
        explain_key(&table[i], key);
        CU_ASSERT_PTR_EQUAL(explain_find(key), &table[i]);
        CU_ASSERT_PTR_EQUAL(explain_find(table[i].name), &table[i]);
    }
}

static const char *of_verdict(int code, const char *class_name, const char *text,
                              const char *log_tail) {
    struct verdict v = {.code = code, .host = 0, .rank = 0};
    (void)snprintf(v.class_name, sizeof(v.class_name), "%s", class_name);
    (void)snprintf(v.text, sizeof(v.text), "%s", text);
    (void)snprintf(v.log_tail, sizeof(v.log_tail), "%s", log_tail);
    const struct explain_row *row = explain_verdict(&v);
    return row != NULL ? row->name : "nothing";
}

static void a_verdict_is_explained_by_what_was_said_last(void) {
    static const char lines[] = "Connection refused, trying again\n"
                                "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried ...";
    CU_ASSERT_STRING_EQUAL(of_verdict(1, "program", "exited with 1", lines),
                           "cudaErrorMemoryAllocation");
    CU_ASSERT_STRING_EQUAL(
        of_verdict(1, "program", "exited with 1", "ncclSystemError: x\nConnection timed out"),
        "unreachable");
    CU_ASSERT_STRING_EQUAL(of_verdict(134, "signal", "killed by signal 6",
                                      "terminate called after throwing an instance of "
                                      "'std::bad_alloc'"),
                           "python-memory");
    CU_ASSERT_STRING_EQUAL(of_verdict(139, "signal", "killed by signal 11", "step 3"), "SIGSEGV");
    CU_ASSERT_STRING_EQUAL(of_verdict(73, "host-lost", "algo-2: lost", ""), "host-lost");
    CU_ASSERT_STRING_EQUAL(of_verdict(137, "signal", "killed by signal 9 (SIGKILL)", ""),
                           "SIGKILL");
}

static void what_mpirun_says_counts_where_nothing_else_is_known(void) {
    struct verdict v = {.code = 42, .host = 0, .rank = 1, .class_name = "program"};
    (void)snprintf(v.evidence, sizeof(v.evidence), "kernel: x\nmpirun: MPI_ABORT was invoked on");
    CU_ASSERT_STRING_EQUAL(explain_verdict(&v)->name, "MPI_ABORT");
    (void)snprintf(v.evidence, sizeof(v.evidence), "mpirun: MPI_ABORT was invoked on rank 1");
    CU_ASSERT_STRING_EQUAL(explain_verdict(&v)->name, "MPI_ABORT");
    (void)snprintf(v.log_tail, sizeof(v.log_tail), "CUDA out of memory");
    CU_ASSERT_STRING_EQUAL(explain_verdict(&v)->name, "cudaErrorMemoryAllocation");
}

/* The texts are as mpi/mpi_error_text.h passes them on, with the call alone if the class was
 * lost. */
static void a_class_of_mpi_is_distinguished_from_every_other(void) {
    static const char *const said[][2] = {
        {"An error occurred in MPI_Recv; MPI_ERR_TRUNCATE: message truncated", "MPI_ERR_TRUNCATE"},
        {"An error occurred in MPI_Send; MPI_ERR_RANK: invalid rank", "MPI_ERR_RANK"},
        {"An error occurred in MPI_Alloc_mem; MPI_ERR_NO_MEM: out of memory", "MPI_ERR_NO_MEM"},
        {"An error occurred in MPI_File_open; MPI_ERR_NO_SUCH_FILE: no such file", "mpi-error"},
        {"An error occurred in MPI_Recv", "mpi-error"},
        {"MPI_ERR_COMM: invalid communicator", "MPI_ERR_COMM"},
        {"MPI_ERR_COMMITTED: no such class", "mpi-error"}};
    struct verdict v = {.code = 9, .host = 0, .rank = 1, .class_name = "program"};
    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
        (void)snprintf(v.evidence, sizeof(v.evidence), "%s%s", VERDICT_MPIRUN, said[i][0]);
        CU_ASSERT_STRING_EQUAL(explain_verdict(&v)->name, said[i][1]);
    }
    CU_ASSERT_STRING_EQUAL(of_verdict(1, "program", "exited with 1",
                                      "mpi4py.MPI.Exception: MPI_ERR_TRUNCATE: message truncated"),
                           "MPI_ERR_TRUNCATE");
}

static void where_nothing_is_known_nothing_is_reported(void) {
    CU_ASSERT_STRING_EQUAL(of_verdict(42, "program", "exited with 42", "step 3"), "nothing");
    CU_ASSERT_STRING_EQUAL(of_verdict(1, "program", "exited with 1", "oops"), "nothing");
    CU_ASSERT_STRING_EQUAL(of_verdict(73, "program", "exited with 73", ""), "nothing");
    CU_ASSERT_STRING_EQUAL(of_verdict(143, "stopped", "stopped on request", ""), "nothing");
    CU_ASSERT_STRING_EQUAL(of_verdict(0, "success", "all 2 ranks", ""), "nothing");
    CU_ASSERT_STRING_EQUAL(
        of_verdict(137, "signal", "killed by signal 9 (SIGKILL); not for lack of memory", ""),
        "nothing");
    /* A number that is also an Xid's does not make an Xid. */
    CU_ASSERT_STRING_EQUAL(of_verdict(1, "program", "exited with 1", "f(x): 79, 80"), "nothing");
    CU_ASSERT_STRING_EQUAL(
        of_verdict(1, "program", "exited with 1", "NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has"),
        "xid-off-the-bus");
}

static void assert_prints(const char *text, const char *part) {
    cleanup_buf struct buf got;
    buf_init(&got, 1 << 18);
    CU_ASSERT_EQUAL(explain_print(text, &got, NULL), 0);
    ASSERT_CONTAINS(buf_text(&got), part);
}

static void one_row_one_kind_or_all_are_printed(void) {
    struct error err = {0};
    cleanup_buf struct buf none;
    buf_init(&none, 1 << 18);
    assert_prints("74", "74: stalled\n  meaning  the job made no progress");
    assert_prints("SIGBUS", "SIGBUS: signal 7, exit code 135\n");
    assert_prints("disk-full", "disk-full\n  meaning  ");
    assert_prints("nccl", "nccl:7: ncclInProgress\n");
    assert_prints("mpi", "mpi:15: MPI_ERR_TRUNCATE\n");
    assert_prints(NULL, "Exit codes\n\n0: success\n");
    assert_prints(NULL, "\n\nErrors of CUDA\n\ncuda:2: ");
    CU_ASSERT_EQUAL(explain_print("42", &none, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "42: not known");
    CU_ASSERT_PTR_NULL(strstr(err.text, "did you mean"));
    CU_ASSERT_EQUAL(explain_print("SIGBUSS", &none, &err), -1);
    ASSERT_CONTAINS(err.text, "; did you mean SIGBUS?");
    CU_ASSERT_EQUAL(none.size, 0);
}

static void the_page_is_this_table(void) {
    assert_paper_has("docs/reference/failures.md", "failures", explain_page);
}

/* People ask for a word, which several rows may contain. */
static void a_word_finds_all_that_speak_of_it(void) {
    static const char *const words[] = {"oom", "OOM", "out of memory"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        cleanup_buf struct buf got;
        buf_init(&got, 1024 * 1024);
        CU_ASSERT_EQUAL(explain_print(words[i], &got, NULL), 0);
        ASSERT_CONTAINS(buf_text(&got), "SIGKILL");
        ASSERT_CONTAINS(buf_text(&got), "cudaErrorMemoryAllocation");
        CU_ASSERT_PTR_NULL(strstr(buf_text(&got), "ncclSystemError"));
    }
    /* What has it as one of several causes comes after what is about it. */
    cleanup_buf struct buf oom;
    buf_init(&oom, 1024 * 1024);
    CU_ASSERT_EQUAL(explain_print("oom", &oom, NULL), 0);
    CU_ASSERT_EQUAL(strncmp(buf_text(&oom), "SIGKILL: signal 9", 17), 0);
    const char *lost = strstr(buf_text(&oom), "73: host-lost");
    const char *gpu = strstr(buf_text(&oom), "cuda:2: cudaErrorMemoryAllocation");
    CU_ASSERT(lost != NULL && gpu != NULL && gpu < lost);
    cleanup_buf struct buf none;
    buf_init(&none, 1024);
    CU_ASSERT_EQUAL(explain_print("nothing of the kind", &none, NULL), -1);
    CU_ASSERT_EQUAL(explain_print("-1234567", &none, NULL), -1);
}

UNIT_SUITE("outcome.explain", UNIT(a_word_finds_all_that_speak_of_it),
           UNIT(rows_are_found_by_what_people_have), UNIT(keys_are_unlike_one_another),
           UNIT(a_verdict_is_explained_by_what_was_said_last),
           UNIT(what_mpirun_says_counts_where_nothing_else_is_known),
           UNIT(a_class_of_mpi_is_distinguished_from_every_other),
           UNIT(where_nothing_is_known_nothing_is_reported),
           UNIT(one_row_one_kind_or_all_are_printed), UNIT(the_page_is_this_table))
