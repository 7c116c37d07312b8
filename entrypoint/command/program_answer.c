#include "entrypoint/command/program_answer.h"

#include "common/argv.h"
#include "common/clock.h"
#include "entrypoint/os/answer.h"

#include <stdlib.h>

/* The program gets an environment of its own: messages that can be compared, and the libraries'
 * path of this process, without which it may not start. Nothing of the job, such as its key, is
 * passed on. */
static int ask(const char *const *words, struct program_reply *ret, struct error *err) {
    cleanup_argv struct argv environment = {0};
    const char *libraries = getenv("LD_LIBRARY_PATH");
    if (argv_set_env(&environment, "LANG", "C.UTF-8", err) != 0 ||
        (libraries != NULL && argv_set_env(&environment, "LD_LIBRARY_PATH", libraries, err) != 0))
        return -1;
    return answer_ask(words, &environment, PROGRAM_ANSWER_SECONDS * CLOCK_SECOND, ret, err);
}

int program_answer(const char *const *words, struct buf *ret, struct error *err) {
    struct program_reply a = {.code = -1};
    buf_init(&a.words, PROGRAM_ANSWER_MAX);
    int result = ask(words, &a, err);
    if (result == 0 && a.code != 0)
        result = error_set(err, EXIT_CODE_INTERNAL, "%s %s ended with %d", words[0],
                           words[1] != NULL ? words[1] : "", a.code);
    if (result == 0)
        result = buf_add(ret, a.words.data, a.words.size, err);
    buf_done(&a.words);
    return result;
}
