#include "common/clock.h"
#include "entrypoint/os/answer.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <string.h>

static struct program_reply reply;

static int ask(const char *script, int64_t limit, struct error *err) {
    const char *const words[] = {"/bin/sh", "-c", script, NULL};
    cleanup_argv struct argv environment = {0};
    CU_ASSERT_EQUAL(argv_set_env(&environment, "WORD", "said", NULL), 0);
    reply = (struct program_reply){.code = -1};
    buf_init(&reply.words, 64);
    return answer_ask(words, &environment, limit, &reply, err);
}

static void lines_of_both_streams_are_taken(void) {
    CU_ASSERT_EQUAL(ask("echo $WORD; exit 3", 60 * CLOCK_SECOND, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&reply.words), "said\n");
    CU_ASSERT_EQUAL(reply.code, 3);
    CU_ASSERT_EQUAL(reply.signal, 0);
    buf_done(&reply.words);
    CU_ASSERT_EQUAL(ask("echo wrong >&2", 60 * CLOCK_SECOND, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&reply.words), "wrong\n");
    buf_done(&reply.words);
}

static void a_signal_is_reported(void) {
    CU_ASSERT_EQUAL(ask("kill -SEGV $$", 60 * CLOCK_SECOND, NULL), 0);
    CU_ASSERT_EQUAL(reply.signal, SIGSEGV);
    CU_ASSERT_FALSE(reply.late);
    buf_done(&reply.words);
}

static void one_that_cannot_be_started_is_an_error(void) {
    const char *const words[] = {"/no/such/program", NULL};
    struct argv environment = {0};
    struct error err = {0};
    reply = (struct program_reply){.code = -1};
    buf_init(&reply.words, 64);
    CU_ASSERT_EQUAL(answer_ask(words, &environment, CLOCK_SECOND, &reply, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_NOT_FOUND);
    buf_done(&reply.words);
}

UNIT_SUITE("os.answer", UNIT(lines_of_both_streams_are_taken), UNIT(a_signal_is_reported),
           UNIT(one_that_cannot_be_started_is_an_error))
