#include "entrypoint/command/trainer_flags.h"

#include "common/cleanup.h"
#include "common/str.h"
#include "common/text/nearest.h"
#include "entrypoint/command/program_answer.h"

#include <stdbool.h>
#include <string.h>

enum { NAME_SIZE = NEAREST_SIZE_MAX + 1 };

/* Reads the name of the flag at the start of a line of help, "  --epochs N  ...". Returns false if
 * there is none. */
static bool read_name(const char *line, char ret[NAME_SIZE]) {
    static const char front[] = "  --";
    if (!str_starts_with(line, front))
        return false;
    line += sizeof(front) - 1;
    size_t size = strcspn(line, " \n");
    if (size == 0 || size >= NAME_SIZE)
        return false;
    memcpy(ret, line, size);
    ret[size] = '\0';
    return true;
}

static bool is_same(const char *name, const char *text, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (name[i] == '\0' || name[i] != (text[i] == '_' ? '-' : text[i]))
            return false;
    return name[size] == '\0';
}

static const char *next_line(const char *line) {
    const char *end = strchr(line, '\n');
    return end != NULL ? end + 1 : line + strlen(line);
}

static int check_flag(const char *help, const char *text, size_t size, struct error *err) {
    struct nearest nearest = nearest_begin(text, size);
    char best[NAME_SIZE] = "";
    char name[NAME_SIZE];
    for (const char *line = help; *line != '\0'; line = next_line(line)) {
        if (!read_name(line, name))
            continue;
        if (is_same(name, text, size))
            return 0;
        nearest_try(&nearest, name);
        if (nearest.name == name) {
            memcpy(best, name, sizeof(best));
            nearest.name = best;
        }
    }
    int shown = (int)(size < NEAREST_SIZE_MAX ? size : NEAREST_SIZE_MAX);
    return error_set(err, EXIT_CODE_USAGE,
                     "unknown flag --%.*s; %s%s%s`ringtrain train --help` lists them", shown, text,
                     best[0] != '\0' ? "did you mean --" : "", best, best[0] != '\0' ? "? " : "");
}

int trainer_flags_check(const struct job *job, struct error *err) {
    cleanup_buf struct buf help;
    const struct argv *words = &job->program.user_args;
    buf_init(&help, PROGRAM_ANSWER_MAX);
    if (!job->program.is_trainer || words->count == 0)
        return 0;
    const char *const question[] = {job->program.argv.items[0], "train", "--help", NULL};
    if (program_answer(question, &help, NULL) != 0 || help.size == 0)
        return 0;
    for (size_t i = 0; i < words->count; i++) {
        const char *word = words->items[i];
        if (!str_starts_with(word, "--"))
            continue;
        size_t size = strcspn(word + 2, "=");
        if (check_flag(buf_text(&help), word + 2, size, err) != 0)
            return -1;
        i += word[2 + size] == '\0'; /* every flag has a value, here or in the next word */
    }
    return 0;
}
