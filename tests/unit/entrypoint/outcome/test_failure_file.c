#include "common/clock.h"
#include "common/file/file.h"
#include "common/str.h"
#include "common/text/redact.h"
#include "entrypoint/outcome/failure_file.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct verdict failed(const char *log_tail) {
    struct verdict v = {.code = 42, .host = 2, .rank = 2, .class_name = "program"};
    snprintf(v.text, sizeof(v.text), "algo-3 rank 2: exited with 42");
    snprintf(v.log_tail, sizeof(v.log_tail), "%s", log_tail);
    return v;
}

static const char *text_of(const struct verdict *v) {
    static char text[FAILURE_FILE_MAX + 1];
    cleanup_buf struct buf got;
    buf_init(&got, FAILURE_FILE_MAX);
    CU_ASSERT_EQUAL(failure_file_text(v, &got, NULL), 0);
    memcpy(text, buf_text(&got), got.size + 1);
    return text;
}

static void the_first_line_says_it_all(void) {
    struct verdict v = failed("");
    CU_ASSERT_STRING_EQUAL(text_of(&v), "program: algo-3 rank 2: exited with 42\n");
    v = failed("Traceback\nValueError: x");
    CU_ASSERT_STRING_EQUAL(text_of(&v),
                           "program: algo-3 rank 2: exited with 42\nTraceback\nValueError: x\n");
}

static void long_stories_keep_their_last_whole_lines(void) {
    struct verdict v = failed("");
    for (int i = 0; i < 90; i++)
        snprintf(v.log_tail + strlen(v.log_tail), sizeof(v.log_tail) - strlen(v.log_tail),
                 "line %03d of it\n", i);
    const char *text = text_of(&v);
    CU_ASSERT(strlen(text) <= FAILURE_FILE_MAX && strlen(text) > FAILURE_FILE_MAX - 40);
    ASSERT_CONTAINS(text, "exited with 42\nline 0");
    ASSERT_CONTAINS(text, "line 089 of it\n");
    memset(v.log_tail, 'x', sizeof(v.log_tail) - 1);
    CU_ASSERT_EQUAL(strlen(text_of(&v)), FAILURE_FILE_MAX);
}

static void add_noise(struct verdict *v, const char *line, int count) {
    for (int i = 0; i < count; i++)
        snprintf(v->log_tail + strlen(v->log_tail), sizeof(v->log_tail) - strlen(v->log_tail),
                 "\n%s %02d", line, i);
}

/* What a program says of its end may come many lines after what ended it. */
static void the_last_line_that_tells_of_an_error_is_kept(void) {
    struct verdict v = failed("step 8\nAssertionError: first\nValueError: the cause");
    add_noise(&v, "closing the connection to the server of metrics and waiting for it to answer",
              14);
    const char *text = text_of(&v);
    ASSERT_CONTAINS(text, "exited with 42\nValueError: the cause\n...\nclosing the connection");
    ASSERT_CONTAINS(text, "to answer 13\n");
    CU_ASSERT_PTR_NULL(strstr(text, "first"));
    CU_ASSERT(strlen(text) <= FAILURE_FILE_MAX);
    /* Not where what comes anyway tells of one. */
    add_noise(&v, "fatal: gone", 1);
    CU_ASSERT_PTR_NULL(strstr(text_of(&v), "the cause"));
    /* The beginning of a long message is kept. */
    v = failed("Error: ");
    memset(v.log_tail + 7, 'e', 350);
    v.log_tail[357] = '\0';
    add_noise(&v, "closing the connection to the server of metrics and waiting for it to answer",
              16);
    ASSERT_CONTAINS(text_of(&v), "exited with 42\nError: eeeeeeeee");
    ASSERT_CONTAINS(text_of(&v), "e\n...\nclosing");
    CU_ASSERT(strlen(text_of(&v)) <= FAILURE_FILE_MAX);
    CU_ASSERT(strlen(text_of(&v)) > FAILURE_FILE_MAX - 100);
    /* Only the end is kept if there is no room for both. */
    for (size_t size = 0; size + 1 < sizeof(v.text); size += 3) {
        memset(v.text, 't', sizeof(v.text) - 1);
        v.text[size] = '\0';
        memset(v.evidence, 'v', sizeof(v.evidence) - 1);
        CU_ASSERT(strlen(text_of(&v)) <= FAILURE_FILE_MAX);
    }
    ASSERT_CONTAINS(text_of(&v), "tt\nvv");
    CU_ASSERT_PTR_NULL(strstr(text_of(&v), "Error"));
}

/* Beside a long first line and facts there is room for the end alone. */
static void a_narrow_story_has_its_end_alone(void) {
    struct verdict v = failed("ValueError: the cause");
    add_noise(&v, "closing the connection to the server of metrics and waiting for it to answer",
              16);
    for (size_t facts = 0; facts < 360; facts++) {
        memset(v.text, 't', 640);
        v.text[640] = '\0';
        memset(v.evidence, 'k', facts);
        v.evidence[facts] = '\0';
        const char *text = text_of(&v);
        CU_ASSERT(strlen(text) <= FAILURE_FILE_MAX);
        CU_ASSERT_PTR_NULL(strstr(text, "the cause"));
        CU_ASSERT_PTR_NULL(strstr(text, "..."));
    }
}

static void a_hint_stands_between_where_there_is_room(void) {
    struct verdict v = failed("step 3\nRuntimeError: CUDA out of memory");
    ASSERT_CONTAINS(text_of(&v), "exited with 42\nhint: the GPU's memory is used up: a smaller");
    ASSERT_CONTAINS(text_of(&v), "(ringmaster explain cuda:2)\nstep 3\nRuntimeError: ");
    /* The class says what it means, and the advice is all that is new. */
    v = (struct verdict){.code = 73, .host = 1, .rank = -1, .class_name = "host-lost"};
    (void)snprintf(v.text, sizeof(v.text), "algo-2: lost: its link closed");
    ASSERT_CONTAINS(text_of(&v), "its link closed\nhint: look at the platform's events");
    /* A long first line leaves room for the story alone. */
    v = failed("RuntimeError: CUDA out of memory");
    memset(v.log_tail, 'x', 1500);
    memcpy(v.log_tail + 1500, "\nCUDA out of memory", 20);
    memset(v.text, 'y', 500);
    v.text[500] = '\0';
    CU_ASSERT_PTR_NULL(strstr(text_of(&v), "hint: "));
    ASSERT_CONTAINS(text_of(&v), "\nCUDA out of memory\n");
    CU_ASSERT(strlen(text_of(&v)) <= FAILURE_FILE_MAX);
}

static void what_the_kernel_says_comes_before_the_hint(void) {
    struct verdict v = failed("step 3");
    (void)snprintf(v.evidence, sizeof(v.evidence),
                   "kernel: NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\n"
                   "kernel: second \x1b");
    ASSERT_CONTAINS(text_of(&v), "exited with 42\nkernel: NVRM: Xid (PCI:0000:41:00): 79, GPU has "
                                 "fallen off the bus.\nkernel: second ?\nhint: the GPU cannot be");
    ASSERT_CONTAINS(text_of(&v), "(ringmaster explain xid:79)\nstep 3\n");
    memset(v.evidence, 'k', sizeof(v.evidence) - 1);
    memset(v.log_tail, 's', sizeof(v.log_tail) - 1);
    memset(v.text, 't', sizeof(v.text) - 1);
    CU_ASSERT(strlen(text_of(&v)) <= FAILURE_FILE_MAX);
    v.text[100] = '\0';
    CU_ASSERT_EQUAL(strlen(text_of(&v)), FAILURE_FILE_MAX);
    ASSERT_CONTAINS(text_of(&v), "sss");
}

static void characters_are_never_cut(void) {
    for (int shift = 0; shift < 4; shift++) {
        struct verdict v = failed("");
        memset(v.log_tail, 'x', (size_t)shift);
        for (size_t at = (size_t)shift; at + 4 < sizeof(v.log_tail); at += 4)
            memcpy(v.log_tail + at, "\xf0\x9f\x92\xa9", 5);
        const char *text = text_of(&v);
        cleanup_buf struct buf again;
        buf_init(&again, (size_t)4 * FAILURE_FILE_MAX);
        const char *body = strchr(text, '\n') + 1;
        CU_ASSERT_EQUAL(str_add_utf8(&again, body, strlen(body) - 1, NULL), 0);
        CU_ASSERT_EQUAL(again.size, strlen(body) - 1);
        CU_ASSERT_PTR_NULL(strstr(buf_text(&again), "\xef\xbf\xbd"));
    }
}

static void hostile_text_becomes_valid_and_secrets_go(void) {
    CU_ASSERT_EQUAL(redact_add("hunter2hunter2", NULL), 0);
    struct verdict v = failed("a\x83z \x1b[0m token=hunter2hunter2");
    ASSERT_CONTAINS(text_of(&v), "a\xef\xbf\xbdz ?[0m token=***");
    memset(v.text, 0x83, sizeof(v.text) - 1);
    CU_ASSERT(strlen(text_of(&v)) <= FAILURE_FILE_MAX);
    redact_done();
}

static void the_file_is_written_once_and_never_over_the_programs(void) {
    char base[4200], path[4400];
    snprintf(base, sizeof(base), "%s/ml", unit_temp_dir());
    snprintf(path, sizeof(path), "%s/output/failure", base);
    struct verdict v = failed("");
    struct error none = {0};
    bool kept = true;
    CU_ASSERT_EQUAL(failure_file_write(base, &v, &kept, &none), -1); /* no such folder is made */
    ASSERT_CONTAINS(none.text, "/ml: No such file or directory");
    CU_ASSERT_NOT_EQUAL(access(base, F_OK), 0);
    CU_ASSERT_EQUAL(file_make_dirs(base, NULL), 0);
    v.code = 0;
    CU_ASSERT_EQUAL(failure_file_write(base, &v, &kept, NULL), 0);
    struct stat st;
    CU_ASSERT_NOT_EQUAL(stat(path, &st), 0);
    v.code = 42;
    CU_ASSERT_EQUAL(failure_file_write(base, &v, &kept, NULL), 0);
    CU_ASSERT_FALSE(kept);
    cleanup_buf struct buf text;
    buf_init(&text, FAILURE_FILE_MAX);
    CU_ASSERT_EQUAL(file_read(path, &text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "program: algo-3 rank 2: exited with 42\n");
    CU_ASSERT_EQUAL(file_publish(path, "mine", 4, 0644, NULL), 0);
    CU_ASSERT_EQUAL(failure_file_write(base, &v, &kept, NULL), 0);
    CU_ASSERT(kept);
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_size, 4);
    CU_ASSERT_EQUAL(file_publish(path, "", 0, 0644, NULL), 0);
    CU_ASSERT_EQUAL(failure_file_write(base, &v, &kept, NULL), 0);
    CU_ASSERT_FALSE(kept);
    CU_ASSERT_EQUAL(failure_file_write("/proc/nowhere", &v, &kept, NULL), -1);
}

static void a_file_of_an_earlier_run_is_removed(void) {
    char base[4200];
    char path[4400];
    snprintf(base, sizeof(base), "%s/earlier", unit_temp_dir());
    snprintf(path, sizeof(path), "%s/output/failure", base);
    struct verdict v = failed("");
    bool kept = true;
    CU_ASSERT_EQUAL(file_make_dirs(base, NULL), 0);
    failure_file_clear(base, clock_now() + CLOCK_SECOND);
    v.code = 42;
    CU_ASSERT_EQUAL(failure_file_write(base, &v, &kept, NULL), 0);
    CU_ASSERT_EQUAL(access(path, F_OK), 0);
    CU_ASSERT(failure_file_exists(base));
    failure_file_clear(base, clock_now()); /* too late: it may be the program's */
    CU_ASSERT_EQUAL(access(path, F_OK), 0);
    failure_file_clear(base, clock_now() + CLOCK_SECOND);
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
    CU_ASSERT_FALSE(failure_file_exists(base));
    CU_ASSERT_EQUAL(file_publish(path, "", 0, 0644, NULL), 0);
    CU_ASSERT_FALSE(failure_file_exists(base)); /* an empty file is nothing */
}

/* A FIFO nobody reads, a link to somewhere: the program made them, and neither is opened. */
static void what_is_no_file_is_left_alone(void) {
    char base[4200];
    char path[4400];
    char aim[4400];
    snprintf(base, sizeof(base), "%s/odd", unit_temp_dir());
    snprintf(path, sizeof(path), "%s/output", base);
    snprintf(aim, sizeof(aim), "%s/aim", base);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    snprintf(path, sizeof(path), "%s/output/failure", base);
    struct verdict v = failed("");
    struct stat st;
    bool kept = false;
    CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
    CU_ASSERT_EQUAL(failure_file_write(base, &v, &kept, NULL), 0);
    CU_ASSERT(kept);
    CU_ASSERT(lstat(path, &st) == 0 && S_ISFIFO(st.st_mode));
    (void)unlink(path);
    CU_ASSERT_EQUAL(file_publish(aim, "", 0, 0600, NULL), 0);
    CU_ASSERT_EQUAL(symlink(aim, path), 0);
    CU_ASSERT_EQUAL(failure_file_write(base, &v, &kept, NULL), 0);
    CU_ASSERT(kept);
    CU_ASSERT(stat(path, &st) == 0 && st.st_size == 0);
    (void)unlink(path);
    /* Nor is a link in the reserve's place followed. */
    snprintf(path, sizeof(path), "%s/output/.failure-reserve", base);
    CU_ASSERT_EQUAL(symlink(aim, path), 0);
    CU_ASSERT_EQUAL(failure_file_write(base, &v, &kept, NULL), 0);
    CU_ASSERT_FALSE(kept);
    CU_ASSERT(stat(aim, &st) == 0 && st.st_size == 0);
}

static void the_reserve_is_real_and_goes(void) {
    char base[4200];
    char path[4400];
    struct stat st;
    snprintf(base, sizeof(base), "%s/reserved", unit_temp_dir());
    CU_ASSERT_EQUAL(failure_file_reserve(base, NULL),
                    0); /* nothing is made where there is no base */
    CU_ASSERT_NOT_EQUAL(access(base, F_OK), 0);
    CU_ASSERT_EQUAL(file_make_dirs(base, NULL), 0);
    CU_ASSERT_EQUAL(failure_file_reserve(base, NULL), 0);
    CU_ASSERT_EQUAL(failure_file_reserve(base, NULL), 0); /* an earlier run's is replaced */
    snprintf(path, sizeof(path), "%s/output/.failure-reserve", base);
    /* What is no file does not go, and nothing can be reserved. */
    struct error err = {0};
    (void)unlink(path);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    CU_ASSERT_EQUAL(failure_file_reserve(base, &err), -1);
    ASSERT_CONTAINS(err.text, "/output: ");
    CU_ASSERT_EQUAL(rmdir(path), 0);
    CU_ASSERT_EQUAL(failure_file_reserve(base, NULL), 0);
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT(st.st_blocks * 512 >= FAILURE_FILE_ROOM);
    struct verdict v = failed("the story");
    bool kept = true;
    CU_ASSERT_EQUAL(failure_file_write(base, &v, &kept, NULL), 0);
    CU_ASSERT_FALSE(kept);
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
    cleanup_buf struct buf text;
    buf_init(&text, FAILURE_FILE_MAX);
    snprintf(path, sizeof(path), "%s/output/failure", base);
    CU_ASSERT_EQUAL(file_read(path, &text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "program: algo-3 rank 2: exited with 42\nthe story\n");
    CU_ASSERT_EQUAL(failure_file_reserve(base, NULL), 0);
    failure_file_none(base);
    snprintf(path, sizeof(path), "%s/output/.failure-reserve", base);
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
}

static void success_leaves_an_empty_file(void) {
    char base[4200], path[4400], reserved[4400];
    struct stat st;
    snprintf(base, sizeof(base), "%s/success", unit_temp_dir());
    snprintf(path, sizeof(path), "%s/output/success", base);
    snprintf(reserved, sizeof(reserved), "%s/output/.failure-reserve", base);
    failure_file_none(base); /* no folder: nothing is made */
    CU_ASSERT_NOT_EQUAL(access(base, F_OK), 0);
    CU_ASSERT_EQUAL(file_make_dirs(base, NULL), 0);
    CU_ASSERT_EQUAL(failure_file_reserve(base, NULL), 0);
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
    CU_ASSERT_FALSE(failure_file_exists(base)); /* room alone tells nothing */
    failure_file_none(base);
    CU_ASSERT(failure_file_exists(base));
    CU_ASSERT_EQUAL(lstat(path, &st), 0);
    CU_ASSERT(S_ISREG(st.st_mode) && st.st_size == 0);
    CU_ASSERT_NOT_EQUAL(access(reserved, F_OK), 0);
    failure_file_clear(base, clock_now()); /* too late */
    CU_ASSERT_EQUAL(access(path, F_OK), 0);
    failure_file_clear(base, clock_now() + CLOCK_SECOND);
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
}

UNIT_SUITE("outcome.failure_file", UNIT(the_first_line_says_it_all),
           UNIT(long_stories_keep_their_last_whole_lines), UNIT(characters_are_never_cut),
           UNIT(what_the_kernel_says_comes_before_the_hint),
           UNIT(a_hint_stands_between_where_there_is_room),
           UNIT(the_last_line_that_tells_of_an_error_is_kept),
           UNIT(a_narrow_story_has_its_end_alone), UNIT(hostile_text_becomes_valid_and_secrets_go),
           UNIT(the_file_is_written_once_and_never_over_the_programs),
           UNIT(a_file_of_an_earlier_run_is_removed), UNIT(what_is_no_file_is_left_alone),
           UNIT(the_reserve_is_real_and_goes), UNIT(success_leaves_an_empty_file))
