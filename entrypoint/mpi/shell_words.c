#include "entrypoint/mpi/shell_words.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* mpirun writes a line for a login shell on the remote host: perhaps a frame that reads ./.profile,
 * then settings of paths, then the daemon with its words. This file recognises exactly that. The
 * grammar is closed: whatever does not fit is refused, with the place where it stopped.
 *
 * Words are cut in place. The text is a copy, and each word ends with a NUL that is written over
 * the byte after it. */

/* Neither alphabet has a dollar sign, a backslash or a quote: nothing in a word would be expanded.
 */
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/* Bytes of bare words: flags, names and numbers. Quoted words also hold URIs and node expressions.
 */
static const char bare_bytes[] = LETTERS "_.,:^/=+@-";
static const char quoted_bytes[] = LETTERS "_.,:;^/=+@()[]-";
/* Bytes in the values of path settings, which are dropped: "/usr/lib:${LD_LIBRARY_PATH:-}". */
static const char setting_bytes[] = LETTERS "_./:+-${}";

/* Variables that mpirun sets before the daemon. They are dropped: this host has its own paths. */
static const char *const settings[] = {"PATH", "PRTE_PREFIX", "PMIX_PREFIX", "LD_LIBRARY_PATH",
                                       "DYLD_LIBRARY_PATH"};

/* The words point into the text, so they go with it. */
void shell_words_done(struct shell_words *w) {
    free(w->text);
    *w = (struct shell_words){0};
}

/* At most 80 bytes of WORD are shown, as the rest of a line may follow it. */
int shell_words_refuse(const char *word, size_t size, const char *why, struct error *err) {
    return error_set(err, EXIT_CODE_INTERNAL, "launch request refused: \"%.*s\" %s",
                     (int)(size < 80 ? size : 80), word, why);
}

/* Only blanks: a tab or a line end is no separator here, and is refused as a byte of a word. */
static void skip_blanks(char **at) {
    while (**at == ' ')
        (*at)++;
}

/* Moves AT past WORD if it is there, followed by a blank, ';' or the end. A longer word that begins
 * with WORD is another word. */
static bool take_word(char **at, const char *word) {
    size_t size = strlen(word);
    if (strncmp(*at, word, size) != 0)
        return false;
    char next = (*at)[size];
    if (next != ' ' && next != ';' && next != '\0')
        return false;
    *at += size;
    skip_blanks(at);
    return true;
}

/* Moves AT past a semicolon and the blanks after it. */
static bool take_semicolon(char **at) {
    if (**at != ';')
        return false;
    (*at)++;
    skip_blanks(at);
    return true;
}

/* Skips "( test ! -r ./.profile || . ./.profile;", which mpirun writes if the login shell is sh.
 * *RET_FRAMED: a ")" must close it. There may be any number of blanks between the words. */
static int skip_frame(char **at, bool *ret_framed, struct error *err) {
    static const char *const words[] = {"test", "!", "-r", "./.profile", "||", ".", "./.profile"};
    *ret_framed = take_word(at, "(");
    if (!*ret_framed)
        return 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!take_word(at, words[i]))
            return shell_words_refuse(*at, strlen(*at), "is not the known start of a login shell",
                                      err);
    return take_semicolon(at)
               ? 0
               : shell_words_refuse(*at, strlen(*at), "stands where a ';' is expected", err);
}

/* The name of the setting that starts at AT, or NULL. */
static const char *setting_at(const char *at) {
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        size_t size = strlen(settings[i]);
        if (strncmp(at, settings[i], size) == 0 && at[size] == '=')
            return settings[i];
    }
    return NULL;
}

/* Skips any number of "NAME=VALUE ; export NAME ;". An error shows the setting and all that follows
 * it, as far as there is room. */
static int skip_settings(char **at, struct error *err) {
    for (const char *name = setting_at(*at); name != NULL; name = setting_at(*at)) {
        const char *start = *at;
        *at += strlen(name) + 1;
        *at += strspn(*at, setting_bytes);
        skip_blanks(at);
        if (!take_semicolon(at) || !take_word(at, "export") || !take_word(at, name) ||
            !take_semicolon(at))
            return shell_words_refuse(start, strlen(start), "is not a known path setting", err);
    }
    return 0;
}

/* Cuts off one word and ends it in place with a NUL. *RET points into the text, without quotes. */
static int cut_word(char **at, const char **ret, struct error *err) {
    bool quoted = **at == '"';
    char *start = *at + quoted;
    size_t size = strspn(start, quoted ? quoted_bytes : bare_bytes);
    char *end = start + size;
    if (quoted && *end != '"')
        return shell_words_refuse(start, size + (*end != '\0'), "holds a byte that is not allowed",
                                  err);
    if (!quoted && (size == 0 || (*end != ' ' && *end != '\0')))
        return shell_words_refuse(start, size + (*end != '\0'), "holds a byte that is not allowed",
                                  err);
    *at = end + quoted;
    if (quoted && **at != ' ' && **at != '\0')
        return shell_words_refuse(start, size, "continues after its closing quote", err);
    skip_blanks(at);
    *end = '\0'; /* last: AT has moved past the word, and past the blank after a bare word */
    *ret = start;
    return 0;
}

/* A word that begins with ")" closes the frame only where one is open. */
static int cut_words(char *at, bool framed, struct shell_words *ret, struct error *err) {
    while (*at != '\0') {
        if (framed && take_word(&at, ")")) {
            framed = false;
            if (*at != '\0')
                return shell_words_refuse(at, strlen(at), "follows the closing ')'", err);
            break;
        }
        if (ret->count == SHELL_WORDS_MAX)
            return shell_words_refuse(at, strlen(at), "is one word too many", err);
        if (cut_word(&at, &ret->items[ret->count], err) != 0)
            return -1;
        ret->count++;
    }
    if (framed)
        return shell_words_refuse("", 0, "ends without its ')'", err);
    return ret->count > 0 ? 0 : shell_words_refuse("", 0, "holds no word", err);
}

/* Nothing that was allocated is freed here on failure; the caller does so. */
static int split(const char *command, size_t size, struct shell_words *ret, struct error *err) {
    if (size > GATE_COMMAND_MAX)
        return shell_words_refuse(command, size, "... is too long", err);
    ret->text = strndup(command, size);
    if (ret->text == NULL)
        return error_no_memory(err, "a launch request");
    /* A NUL would hide what follows it from every check below. */
    if (strlen(ret->text) != size)
        return shell_words_refuse(ret->text, strlen(ret->text), "holds a NUL", err);
    bool framed = false;
    char *at = ret->text;
    skip_blanks(&at);
    if (skip_frame(&at, &framed, err) != 0 || skip_settings(&at, err) != 0)
        return -1;
    return cut_words(at, framed, ret, err);
}

int shell_words_split(const char *command, size_t size, struct shell_words *ret,
                      struct error *err) {
    *ret = (struct shell_words){0};
    if (split(command, size, ret, err) == 0)
        return 0;
    shell_words_done(ret);
    return -1;
}
