/* What a checkpoint holds of its run: a state that is read can be written, and what was written is
 * read as the same. */
#include "tests/fuzz/check.h"
#include "trainer/app/run/run_state.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STATE_MAX = 1 << 24 };

static void write_again(const struct run_state *state, char *const *names) {
    struct run_state again;
    struct error err = {0};
    cleanup_buf struct buf text = {.max = STATE_MAX}, second = {.max = STATE_MAX};
    CHECK(run_state_format(&text, state, names, &err) == 0);
    CHECK(run_state_parse(&again, buf_text(&text), "again", &err) == 0);
    CHECK(run_state_format(&second, &again, names, &err) == 0);
    CHECK(text.size == second.size && memcmp(text.data, second.data, text.size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct run_state state;
    struct error err = {0};
    char **names = NULL;
    size_t count = 0;
    char *text = malloc(size + 1);
    CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    if (run_state_parse(&state, text, "state", &err) != 0) {
        CHECK(err.code == EXIT_CODE_DATA && err.text[0] != '\0');
    } else if (run_state_classes(text, &names, &count, &err) == 0) {
        int length = 0;
        (void)run_state_option(&state, "lr", &length);
        if (count == (size_t)state.classes)
            write_again(&state, names);
    } else {
        CHECK(err.code == EXIT_CODE_DATA && err.text[0] != '\0');
    }
    run_state_free_classes(names, count);
    free(text);
    return 0;
}
