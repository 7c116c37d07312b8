#include "entrypoint/outcome/traceback.h"

#include "common/buf.h"
#include "tests/support/unit.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct traceback_folders folders = {.script = "/code"};

#define HEAD "Traceback (most recent call last):\n"
#define FRAME(file, line) "  File \"" file "\", line " #line ", in f\n    call()\n    ^^^^^^\n"
#define SITE "/venv/lib/python3.11/site-packages/"

static void last_of(const char *lines, char ret[TRACEBACK_TEXT_SIZE]) {
    struct traceback t;
    traceback_init(&t, &folders);
    traceback_add_text(&t, lines);
    const struct traceback_exception *e = traceback_last(&t);
    ret[0] = '\0';
    if (e != NULL)
        traceback_text(e->words, &e->frame, ret);
}

/* Output of Python 3.11 and PyTorch 2.15, shortened. */
static void the_exception_and_the_program_s_own_line_are_found(void) {
    static const struct {
        const char *lines, *text;
    } rows[] = {
        /* os.makedirs */
        {HEAD FRAME("/code/train.py", 5) "  File \"<frozen os>\", line 225, in makedirs\n"
                                         "NotADirectoryError: [Errno 20] Not a directory: 'x'\n",
         "NotADirectoryError: [Errno 20] Not a directory: 'x' (/code/train.py, line 5)"},
        {HEAD FRAME("/code/train.py", 5) FRAME("/code/net.py", 7)
             FRAME(SITE "torch/nn.py", 9) "torch.OutOfMemoryError: CUDA out of memory.\n",
         "torch.OutOfMemoryError: CUDA out of memory. (/code/net.py, line 7)"},
        /* third-party code that is not in a package */
        {HEAD FRAME("/usr/local/bin/run", 8) FRAME("/opt/NeMo/core.py", 7)
             FRAME(SITE "torch/nn.py", 9) "KeyError: 7\n",
         "KeyError: 7 (/opt/NeMo/core.py, line 7)"},
        {HEAD FRAME("/usr/local/bin/run", 8) FRAME(SITE "run/main.py", 9) "KeyboardInterrupt\n",
         "KeyboardInterrupt (" SITE "run/main.py, line 9)"},
        {HEAD "  File \"<string>\", line 1, in <module>\nValueError\n",
         "ValueError (<string>, line 1)"},
        /* with PyTorch's prefix, and after a chained exception */
        {"[rank3]: " HEAD "[rank3]:   File \"/code/train.py\", line 13, in <module>\n"
         "[rank3]: ZeroDivisionError: division by zero\n[rank3]: \n"
         "[rank3]: The above exception was the direct cause of the following exception:\n[rank3]: "
         "\n"
         "[rank3]: " HEAD "[rank3]:   File \"/code/train.py\", line 14, in <module>\n"
         "[rank3]: RuntimeError: outer\n",
         "RuntimeError: outer (/code/train.py, line 14)"},
        /* from a DataLoader worker */
        {HEAD FRAME("/code/train.py", 22) FRAME(
             SITE "torch/_utils.py",
             804) "ValueError: Caught ValueError in DataLoader worker process 0.\nOriginal " HEAD
             FRAME(SITE "torch/utils/data/_utils/fetch.py", 54)
                 FRAME("/code/data.py", 21) "ValueError: bad sample 0\n\n",
         "ValueError: bad sample 0 (/code/data.py, line 21)"},
        /* the same in a library: the program's line is in the outer traceback */
        {HEAD FRAME("/code/train.py", 22) "ValueError: Caught ValueError.\nOriginal " HEAD FRAME(
             SITE "data.py", 21) "ValueError: bad sample 0\n",
         "ValueError: bad sample 0 (/code/train.py, line 22)"},
        {"  + Exception Group " HEAD "  |   File \"/code/train.py\", line 11, in <module>\n"
         "  | ExceptionGroup: eg (1 sub-exception)\n  +-+---------------- 1 ----------------\n"
         "    | ValueError: 1\n    +------------------------------------\n",
         "ExceptionGroup: eg (1 sub-exception) (/code/train.py, line 11)"},
        {"  File \"/code/train.py\", line 2\n    foo bar\n        ^^^\nSyntaxError: invalid "
         "syntax\n",
         "SyntaxError: invalid syntax (/code/train.py, line 2)"},
        {HEAD
         "  File \033[35m\"/code/train.py\"\033[0m, line \033[35m5\033[0m, in \033[35mf\033[0m\n"
         "\033[1;35mValueError\033[0m: \033[35mred\033[0m\r\n",
         "ValueError: red (/code/train.py, line 5)"},
        /* further lines of the message are indented */
        {HEAD FRAME("/code/train.py", 5) "RuntimeError: Error(s) in loading state_dict for Net:\n"
                                         "\tMissing key(s) in state_dict: \"w\".\nbye\n",
         "RuntimeError: Error(s) in loading state_dict for Net: Missing key(s) in state_dict: "
         "\"w\". "
         "(/code/train.py, line 5)"},
        /* lines of other output in between */
        {"ERROR:root:" HEAD FRAME("/code/train.py",
                                  5) "step 7 done\n\nINFO:root:x\nValueError: x\n",
         "ValueError: x (/code/train.py, line 5)"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[TRACEBACK_TEXT_SIZE];
        last_of(rows[i].lines, text);
        CU_ASSERT_STRING_EQUAL(text, rows[i].text);
    }
}

/* What torchrun prints after the exception of a process, with PROCESSES in its list, and returns
 * the last exception that counts. */
static void last_under_torchrun(const char *lines, int processes, char ret[TRACEBACK_TEXT_SIZE]) {
    cleanup_buf struct buf all;
    buf_init(&all, 65536);
    CU_ASSERT_EQUAL(
        buf_printf(
            &all, NULL,
            "%sE0801 13:23:20.000000 32974 torch/distributed/elastic/multiprocessing/"
            "api.py:874] failed (exitcode: 1) local_rank: 3 (pid: 33054) of binary: "
            "/venv/bin/python3\n" HEAD FRAME("/venv/bin/torchrun",
                                             10) FRAME(SITE "torch/distributed/run.py", 892)
                FRAME(SITE "torch/distributed/launcher/api.py",
                      270) "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
                           "============================================================\n"
                           "train.py FAILED\n"
                           "------------------------------------------------------------\n"
                           "Failures:\n",
            lines),
        0);
    for (int i = 0; i < processes; i++)
        CU_ASSERT_EQUAL(
            buf_printf(&all, NULL,
                       "[%d]:\n  time      : 2026-08-01_11:36:44\n  host      : algo-3\n"
                       "  rank      : %d (local_rank: %d)\n  exitcode  : 1 (pid: 11377)\n"
                       "  error_file: <N/A>\n  traceback : To enable traceback see: "
                       "https://pytorch.org/docs/stable/elastic/errors.html\n",
                       i, i, i),
            0);
    last_of(buf_text(&all), ret);
}

static void the_summary_of_torchrun_does_not_hide_the_exception(void) {
    static const char boom[] =
        "[rank3]: " HEAD "[rank3]:   File \"/code/train.py\", line 13, in <module>\n"
        "[rank3]: RuntimeError: boom\n";
    char text[TRACEBACK_TEXT_SIZE];
    /* Eight processes have 56 lines, after a few of torchrun itself. */
    last_under_torchrun(boom, 8, text);
    CU_ASSERT_STRING_EQUAL(text, "RuntimeError: boom (/code/train.py, line 13)");
    /* One that was killed has printed none. */
    last_under_torchrun("step=3\n", 1, text);
    CU_ASSERT_STRING_EQUAL(text,
                           "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "
                           "(" SITE "torch/distributed/launcher/api.py, line 270)");
    last_of(HEAD FRAME("/code/train.py", 5) "ValueError: x\n" HEAD FRAME("/venv/bin/accelerate", 8)
                FRAME(SITE "accelerate/commands/launch.py",
                      9) "subprocess.CalledProcessError: Command '['python3', 'train.py']' "
                         "returned non-zero exit status 1.\n",
            text);
    CU_ASSERT_STRING_EQUAL(text, "ValueError: x (/code/train.py, line 5)");
    /* The program's own call of another one is its own failure. */
    last_of(HEAD FRAME("/code/train.py", 5) "ValueError: x\n" HEAD FRAME(
                "/code/train.py", 8) "subprocess.CalledProcessError: Command 'make' returned\n",
            text);
    ASSERT_CONTAINS(text, "subprocess.CalledProcessError: Command 'make'");
}

static void what_does_not_end_the_program_is_passed_over(void) {
    static const char first[] = HEAD FRAME("/code/train.py", 5) "ValueError: main\n";
    static const char *const others[] = {
        "Exception ignored in: <function X.__del__ at 0x7f93>\n" HEAD FRAME("/code/train.py",
                                                                            3) "KeyError: 'late'\n",
        "Exception ignored in atexit callback: <function f>\n" HEAD FRAME("/code/train.py",
                                                                          3) "KeyError: 'late'\n",
        "Error in atexit._run_exitfuncs:\n" HEAD FRAME("/code/train.py", 3) "KeyError: 'late'\n",
        "Exception in thread Thread-1 (work):\n" HEAD FRAME("/code/train.py",
                                                            3) "KeyError: 'late'\n",
        "bye\n  File \"/code/train.py\", line 3\nKeyError: 'late'\n",
        HEAD FRAME("/code/train.py", 3),
        "KeyError: 'late'\n",
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        char lines[1024], text[TRACEBACK_TEXT_SIZE];
        (void)snprintf(lines, sizeof(lines), "%s%s", first, others[i]);
        last_of(lines, text);
        CU_ASSERT_STRING_EQUAL(text, "ValueError: main (/code/train.py, line 5)");
    }
}

static void a_thread_s_exception_counts_where_it_is_the_only_one(void) {
    char text[TRACEBACK_TEXT_SIZE];
    last_of(
        "Exception in thread Thread-1 (work):\n" HEAD FRAME("/code/train.py", 3) "KeyError: 7\n",
        text);
    CU_ASSERT_STRING_EQUAL(text, "KeyError: 7 (/code/train.py, line 3)");
}

/* The program must have caught it. */
static void an_exception_after_which_the_program_has_gone_on_is_forgotten(void) {
    struct traceback t;
    traceback_init(&t, &folders);
    traceback_add_text(&t, HEAD FRAME("/code/train.py", 5) "ValueError: caught\n");
    for (int i = 0; i < TRACEBACK_LINES_AFTER; i++)
        traceback_add_text(&t, "step done\n");
    CU_ASSERT_PTR_NOT_NULL(traceback_last(&t));
    traceback_add_text(&t, "step done\n");
    CU_ASSERT_PTR_NULL(traceback_last(&t));
    traceback_add_text(&t,
                       "Exception in thread T:\n" HEAD FRAME("/code/train.py", 6) "KeyError: 7\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(traceback_last(&t));
    CU_ASSERT_STRING_EQUAL(traceback_last(&t)->words, "KeyError: 7");
}

/* Text is cut between characters; the end of a path is kept. */
static void long_words_and_paths_are_cut(void) {
    struct traceback t;
    char text[TRACEBACK_TEXT_SIZE];
    cleanup_buf struct buf lines;
    buf_init(&lines, 16384);
    traceback_init(&t, &folders);
    traceback_begin(&t);
    CU_ASSERT_EQUAL(buf_add_text(&lines, "  File \"/", NULL), 0);
    for (int i = 0; i < 500; i++)
        CU_ASSERT_EQUAL(buf_add_text(&lines, "folder/", NULL), 0);
    CU_ASSERT_EQUAL(buf_add_text(&lines, "end.py\", line 40, in f\nValueError: a", NULL), 0);
    for (int i = 0; i < 1500; i++)
        CU_ASSERT_EQUAL(buf_add_text(&lines, "\xc3\xa4", NULL), 0);
    traceback_add_text(&t, buf_text(&lines));
    const struct traceback_exception *e = traceback_last(&t);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    traceback_text(e->words, &e->frame, text);
    CU_ASSERT(strlen(text) < 300);
    CU_ASSERT_STRING_EQUAL(strrchr(text, '/'), "/end.py, line 40)");
    CU_ASSERT_EQUAL(strncmp(strchr(text, '(') - 3, "\xc3\xa4 (", 4), 0);
}

/* Most lines are skipped at once. A colour code prevents that, but must not change the result. */
static void a_line_that_is_passed_over_is_none_that_is_looked_for(void) {
    static const char *const lines[] = {
        "Exception ignored in: x",
        "Traceback (most recent call last):",
        "  File \"a.py\", line 3, in f",
        "  File \"a.py\", line 3",
        "ValueError: x",
        "SyntaxError: x",
        "Exception in thread T:",
        "Error in atexit._run_exitfuncs:",
        "[rank3]: Traceback (most recent call last):",
        "  | Traceback (most recent call last):",
        "Original Traceback (most recent call last):",
        "x Traceback (most recent call last):\r\r",
        "step=1 loss=2",
        "",
        "\r",
        "    more",
        "[rank1]: KeyError: 7",
        "Traceback (most recent call last):\nx",
    };
    enum { LINES = sizeof(lines) / sizeof(lines[0]), TURNS = 20000 };
    struct traceback plain, coloured;
    const struct traceback_folders none = {0};
    uint32_t seed = 7;
    traceback_init(&plain, &none);
    traceback_init(&coloured, &none);
    for (int i = 0; i < TURNS; i++) {
        char line[128];
        seed = seed * 1664525 + 1013904223;
        const char *text = lines[(seed >> 16) % LINES];
        (void)snprintf(line, sizeof(line), "\033[0m%s", text);
        traceback_add(&plain, text, strlen(text));
        traceback_add(&coloured, line, strlen(line));
        CU_ASSERT_EQUAL_FATAL(plain.state, coloured.state);
        CU_ASSERT_EQUAL_FATAL(plain.announced, coloured.announced);
        CU_ASSERT_EQUAL_FATAL(plain.after, coloured.after);
        CU_ASSERT_STRING_EQUAL(plain.last.words, coloured.last.words);
    }
}

UNIT_SUITE("outcome.traceback", UNIT(a_line_that_is_passed_over_is_none_that_is_looked_for),
           UNIT(the_exception_and_the_program_s_own_line_are_found),
           UNIT(the_summary_of_torchrun_does_not_hide_the_exception),
           UNIT(what_does_not_end_the_program_is_passed_over),
           UNIT(a_thread_s_exception_counts_where_it_is_the_only_one),
           UNIT(an_exception_after_which_the_program_has_gone_on_is_forgotten),
           UNIT(long_words_and_paths_are_cut))
