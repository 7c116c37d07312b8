#include "trainer/app/options/flag.h"

#include "common/str.h"
#include "common/text/nearest.h"
#include "trainer/app/options/flag_word.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The table is searched by walking its rows: it has about 130 of them, and a command line names a
 * few. Every command of ringtrain that takes flags parses them here, with a table of its own or,
 * where it computes with a network, with that of options.c.
 *
 * Two readers walk a command line. flags_take is strict, and stops at the first error. next_flag
 * passes over what it does not know, so that a flag can be looked up before the line is checked:
 * options_parse.c needs the recipe and the network first, because they set defaults. Both consume a
 * word after a known name as its value, whatever it looks like, so that they agree on which words
 * are flags. */

static char plain(char c) {
    return c == '_' ? '-' : c;
}

/* Compares SIZE bytes of TEXT with a flag's name, '-' and '_' being equal. */
static bool same_name(const char *name, const char *text, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (name[i] == '\0' || name[i] != plain(text[i]))
            return false;
    return name[size] == '\0';
}

/* Limits the names in messages, which may be any word of the command line, to what fits. */
static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Returns the first row of one of the commands in COMMAND with the name of SIZE bytes at TEXT. A
 * flag with a row for each task is found by its first row; type and field are the same in all of
 * them. */
static const struct flag *find(const struct flag *flags, size_t count, unsigned command,
                               const char *text, size_t size) {
    for (size_t i = 0; i < count; i++)
        if ((flags[i].commands & command) != 0 && same_name(flags[i].name, text, size))
            return &flags[i];
    return NULL;
}

const struct flag *flags_find(const struct flag *flags, size_t count, unsigned command,
                              const char *name) {
    return find(flags, count, command, name, strlen(name));
}

bool flags_known(const struct flag *flags, size_t count, unsigned command, const char *name) {
    return flags_find(flags, count, command, name) != NULL;
}

/* Sets the error for a name that no row of COMMAND has. A flag of another command is reported as
 * such: a suggestion by spelling would be misleading there. */
static int unknown(const struct flag *flags, size_t count, unsigned command, const char *text,
                   size_t size, struct error *err) {
    struct nearest nearest = nearest_begin(text, size);
    if (find(flags, count, ~0U, text, size) != NULL)
        return error_set(err, EXIT_CODE_USAGE, "--%.*s: this command has no such flag",
                         (int)smaller(size, 64), text);
    for (size_t i = 0; i < count; i++)
        if ((flags[i].commands & command) != 0)
            nearest_try(&nearest, flags[i].name);
    if (nearest.name == NULL)
        return error_set(err, EXIT_CODE_USAGE, "unknown flag --%.*s", (int)smaller(size, 64), text);
    return error_set(err, EXIT_CODE_USAGE, "unknown flag --%.*s; did you mean --%s?",
                     (int)smaller(size, 64), text, nearest.name);
}

/* Looks first among the flag names of other trainers: the nearest spelling alone would suggest an
 * unrelated flag. Hints without a flag are about networks: only commands that compute with one
 * print them, and those have --backend. */
static int refuse(const struct flag *flags, size_t count, unsigned command, const char *text,
                  size_t size, struct error *err) {
    const struct flag_word *w = flag_word_find(text, size);
    if (w != NULL && w->flag == NULL && flags_known(flags, count, command, "backend"))
        return error_set(err, EXIT_CODE_USAGE, "unknown flag --%s: %s", w->word, w->hint);
    if (w != NULL && w->flag != NULL && flags_known(flags, count, command, w->flag))
        return error_set(err, EXIT_CODE_USAGE, "unknown flag --%s; did you mean --%s?", w->word,
                         w->flag);
    return unknown(flags, count, command, text, size, err);
}

/* Stores the index of the choice. Choices are compared exactly, unlike names of flags: case and '_'
 * count. The list in the message is cut off at 255 bytes. */
static int set_choice(const struct flag *f, const char *text, int *field, struct error *err) {
    char all[256] = "", words[NEAREST_WORDS_MAX];
    struct nearest nearest = nearest_begin(text, strlen(text));
    for (int i = 0; f->choices[i] != NULL; i++) {
        if (strcmp(f->choices[i], text) == 0) {
            *field = i;
            return 0;
        }
        nearest_try(&nearest, f->choices[i]);
        size_t used = strlen(all);
        (void)snprintf(all + used, sizeof(all) - used, "%s%s", used > 0 ? ", " : "", f->choices[i]);
    }
    return error_set(err, EXIT_CODE_USAGE, "unknown value '%.64s'; expected one of %s%s", text, all,
                     nearest_words(&nearest, words));
}

/* Parses TEXT into the field. Text is not copied: it must live as long as the struct, as words of
 * argv and literals do. Bounds are doubles in the table and whole numbers here, so those of a
 * FLAG_INT stay below 2^53, up to which a double holds every whole number. */
static int set_value(const struct flag *f, const char *text, void *into, struct error *err) {
    void *field = (char *)into + f->offset;
    switch (f->type) {
    case FLAG_TEXT:
        *(const char **)field = text;
        return 0;
    case FLAG_INT:
        return str_parse_whole(text, (int64_t)f->min, (int64_t)f->max, field, err);
    case FLAG_REAL:
        return str_parse_double(text, f->min, f->max, field, err);
    case FLAG_BOOL:
        return str_parse_bool(text, field, err);
    case FLAG_CHOICE:
        return set_choice(f, text, field, err);
    }
    return error_set(err, EXIT_CODE_INTERNAL, "flag --%s has no type", f->name);
}

/* Sets the field of F; the message begins with the flag's name. Each failure has EXIT_CODE_USAGE,
 * even one that the parser of the value reports with another code: the user gave the value, on the
 * command line or in a recipe. */
static int apply(const struct flag *f, const char *text, void *into, struct error *err) {
    if (set_value(f, text, into, err) == 0)
        return 0;
    (void)error_wrap(err, "--%s", f->name);
    return error_recode(err, EXIT_CODE_USAGE);
}

int flags_defaults(const struct flag *flags, size_t count, void *into, struct error *err) {
    for (size_t i = 0; i < count; i++)
        if (flags[i].standard != NULL && apply(&flags[i], flags[i].standard, into, err) != 0)
            return -1;
    return 0;
}

/* An unknown name is a fault of this program, not of the user, hence EXIT_CODE_INTERNAL: names in
 * the tables of recipes and networks are this program's own, and recipe_file.c checks those of a
 * file. */
int flags_set(const struct flag *flags, size_t count, unsigned command, const char *name,
              const char *value, void *into, struct error *err) {
    const struct flag *f = flags_find(flags, count, command, name);
    if (f == NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "unknown flag --%s", name);
    return apply(f, value, into, err);
}

int flags_take(const struct flag *flags, size_t count, unsigned command, int argc,
               char *const *argv, void *into, struct error *err) {
    for (int i = 0; i < argc; i++) {
        if (!str_starts_with(argv[i], "--") || argv[i][2] == '\0')
            return error_set(err, EXIT_CODE_USAGE, "'%.64s' is not a flag; flags begin with --",
                             argv[i]);
        const char *name = argv[i] + 2;
        size_t size = strcspn(name, "=");
        const struct flag *f = find(flags, count, command, name, size);
        if (f == NULL)
            return refuse(flags, count, command, name, size, err);
        /* A value of its own word may begin with "--": a file's name or a negative number needs no
         * quoting. The words may end after a name, so both NULL and the index are checked. */
        const char *text = name[size] == '=' ? name + size + 1 : argv[++i];
        if (text == NULL || i >= argc)
            return error_set(err, EXIT_CODE_USAGE, "--%s needs a value (%s)", f->name, f->value);
        if (apply(f, text, into, err) != 0)
            return -1;
    }
    return 0;
}

int flags_parse(const struct flag *flags, size_t count, unsigned command, int argc,
                char *const *argv, void *into, struct error *err) {
    return flags_defaults(flags, count, into, err) != 0
               ? -1
               : flags_take(flags, count, command, argc, argv, into, err);
}

/* Advances *AT past the flag there and its value. Returns NULL if ARGV[*AT] is no known flag; then
 * only that word is passed over, and the next one is read as a flag again. *RET_VALUE is NULL if
 * the line ends before the value. */
static const struct flag *next_flag(const struct flag *flags, size_t count, unsigned command,
                                    int argc, char *const *argv, int *at, const char **ret_value) {
    const char *word = argv[(*at)++];
    if (!str_starts_with(word, "--"))
        return NULL;
    size_t size = strcspn(word + 2, "=");
    const struct flag *f = find(flags, count, command, word + 2, size);
    *ret_value = NULL;
    if (word[2 + size] == '=')
        *ret_value = word + 2 + size + 1;
    else if (f != NULL && *at < argc)
        *ret_value = argv[(*at)++];
    return f;
}

void flags_split(int argc, char *const *argv, char **flags_argv, int *ret_flags, char **words,
                 int *ret_words) {
    bool flags = true;
    *ret_flags = *ret_words = 0;
    for (int i = 0; i < argc; i++) {
        if (flags && strcmp(argv[i], "--") == 0) {
            flags = false;
        } else if (flags && str_starts_with(argv[i], "--")) {
            flags_argv[(*ret_flags)++] = argv[i];
            /* No table says here which flags exist. Every flag takes a value, so the next word is
             * one, and a misspelled flag does not turn its value into a positional word. */
            if (strchr(argv[i], '=') == NULL && i + 1 < argc)
                flags_argv[(*ret_flags)++] = argv[++i];
        } else {
            words[(*ret_words)++] = argv[i];
        }
    }
}

/* The same rule as in flags_take: the last value of a repeated flag counts. */
const char *flags_given(const struct flag *flags, size_t count, unsigned command, const char *name,
                        int argc, char *const *argv) {
    const char *given = NULL, *value = NULL;
    for (int i = 0; i < argc;) {
        const struct flag *f = next_flag(flags, count, command, argc, argv, &i, &value);
        if (f != NULL && value != NULL && strcmp(f->name, name) == 0)
            given = value;
    }
    return given;
}

/* A flag can have one row for each task; any of them may match. */
static bool is_for(const struct flag *flags, size_t count, unsigned command, unsigned tasks,
                   const char *name) {
    for (size_t i = 0; i < count; i++)
        if ((flags[i].commands & command) != 0 && strcmp(flags[i].name, name) == 0 &&
            (flags[i].tasks == 0 || (flags[i].tasks & tasks) != 0))
            return true;
    return false;
}

/* Only called for a line that flags_take has accepted, so each word that begins with "--" is a
 * known flag or a value. */
const struct flag *flags_foreign(const struct flag *flags, size_t count, unsigned command,
                                 unsigned tasks, int argc, char *const *argv) {
    const char *value = NULL;
    for (int i = 0; i < argc;) {
        const struct flag *f = next_flag(flags, count, command, argc, argv, &i, &value);
        if (f != NULL && !is_for(flags, count, command, tasks, f->name))
            return f;
    }
    return NULL;
}

/* For commands that decide by one flag which table the rest of the line is for, such as `eval
 * --coco`. */
bool flags_has_word(int argc, char *const *argv, const char *name) {
    for (int i = 0; i < argc; i++)
        if (str_starts_with(argv[i], "--") &&
            same_name(name, argv[i] + 2, strcspn(argv[i] + 2, "=")))
            return true;
    return false;
}
