#include "entrypoint/command/help.h"

#include "common/buf.h"
#include "common/text/exit_code_print.h"
#include "entrypoint/command/command_output.h"
#include "entrypoint/command/manual.h"
#include "entrypoint/command/manual_topics.h"
#include "entrypoint/outcome/explain.h"

#include <stdio.h>
#include <string.h>

static int print_help(void) {
    cleanup_buf struct buf text;
    buf_init(&text, COMMAND_OUTPUT_MAX);
    (void)manual_help(&text, NULL);
    (void)printf("%s\nExit codes:\n", buf_text(&text));
    exit_code_print(stdout, false);
    return command_output_end();
}

int help_print_of(const char *command) {
    cleanup_buf struct buf text;
    buf_init(&text, COMMAND_OUTPUT_MAX);
    return manual_help_of(command, &text) ? command_output_print(&text) : print_help();
}

int help_run(const char *const *words, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, COMMAND_OUTPUT_MAX);
    if (words[0] == NULL)
        return print_help();
    if (manual_refuse_words(words + 1, err) != 0)
        return -1;
    return manual_help_of(words[0], &text) ? command_output_print(&text)
                                           : manual_refuse_command(words[0], err);
}

bool help_is_asked(const char *const *words) {
    for (; *words != NULL && strcmp(*words, "--") != 0; words++)
        if (strcmp(*words, "--help") == 0 || strcmp(*words, "-h") == 0)
            return true;
    return false;
}

int help_man(const char *const *words, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, COMMAND_OUTPUT_MAX);
    if (words[0] != NULL && manual_refuse_words(words + 1, err) != 0)
        return -1;
    return (words[0] != NULL ? manual_topic(words[0], &text, err) : manual_page(&text, err)) == 0
               ? command_output_print(&text)
               : -1;
}

int help_completion(const char *const *words, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, COMMAND_OUTPUT_MAX);
    if (manual_refuse_words(words, err) != 0)
        return -1;
    return manual_completion(&text, err) == 0 ? command_output_print(&text) : -1;
}

/* Several words are a line of a program's output. */
int help_explain(const char *const *words, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, COMMAND_OUTPUT_MAX);
    cleanup_buf struct buf line;
    buf_init(&line, COMMAND_OUTPUT_MAX);
    for (size_t i = 0; words[0] != NULL && words[i] != NULL; i++)
        if (buf_printf(&line, err, "%s%s", i > 0 ? " " : "", words[i]) != 0)
            return -1;
    return explain_print(words[0] != NULL ? buf_text(&line) : NULL, &text, err) == 0
               ? command_output_print(&text)
               : -1;
}

void help_list(void) {
    cleanup_buf struct buf text;
    buf_init(&text, COMMAND_OUTPUT_MAX);
    if (manual_commands(&text, NULL) == 0)
        (void)fprintf(stderr, "%s\n", buf_text(&text));
}
