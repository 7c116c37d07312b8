#include "entrypoint/outcome/explain.h"

#include "common/exit_code.h"
#include "common/str.h"
#include "common/text/nearest.h"
#include "common/text/wrap.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The same rows answer three questions. `ringmaster explain WORD` looks for a row by its number,
 * name or sign, then for all rows that mention the word. The failure file gets the one row that
 * fits a verdict (explain_verdict), as a hint. And a page of the manual has them all.
 *
 * Signs are parts of lines as programs, libraries or the kernel print them, and are compared byte
 * by byte. Names are compared without regard to case, since people type them. */

/* The index is enum explain_kind. TITLE is a heading, COLUMN the head of the first column of the
 * page. */
static const struct kind {
    const char *word; /* prefix of a number, and name of the whole kind; NULL: none */
    const char *title;
    const char *column;
} kinds[EXPLAIN_KINDS] = {
    [EXPLAIN_CODE] = {"code", "Exit codes", "code"},
    [EXPLAIN_SIGNAL] = {"signal", "Signals: exit code 128 + n", "signal"},
    [EXPLAIN_MPI] = {"mpi", "Errors of MPI", "error class"},
    [EXPLAIN_NCCL] = {"nccl", "Errors of NCCL", "ncclResult_t"},
    [EXPLAIN_CUDA] = {"cuda", "Errors of CUDA", "cudaError_t"},
    [EXPLAIN_XID] = {"xid", "Xids: what NVIDIA's driver tells the kernel's log", "Xid"},
    [EXPLAIN_TEXT] = {"text", "Messages of programs and of the kernel", "sign"},
};

/* The codes of ringmaster's own have their meaning in one place, the table of exit codes. */
const char *explain_means(const struct explain_row *row) {
    size_t count = 0;
    const struct exit_code_row *codes = exit_code_table(&count);
    for (size_t i = 0; row->means == NULL && i < count; i++)
        if (codes[i].code == row->number)
            return codes[i].meaning;
    return row->means != NULL ? row->means : "";
}

/* A code is its number and a signal its name, as people meet them; a number of a library needs the
 * library before it. */
void explain_key(const struct explain_row *row, char key[EXPLAIN_KEY_SIZE]) {
    if (row->kind == EXPLAIN_CODE)
        (void)snprintf(key, EXPLAIN_KEY_SIZE, "%d", row->number);
    else if (row->kind == EXPLAIN_SIGNAL || row->kind == EXPLAIN_TEXT)
        (void)snprintf(key, EXPLAIN_KEY_SIZE, "%s", row->name);
    else
        (void)snprintf(key, EXPLAIN_KEY_SIZE, "%s:%d", kinds[row->kind].word, row->number);
}

/* --- finding --------------------------------------------------------------------------------- */

/* Rows that are known by signs alone have no number. */
static const struct explain_row *find_number(enum explain_kind kind, int64_t number) {
    size_t count = 0;
    const struct explain_row *table = explain_table(&count);
    for (size_t i = 0; i < count; i++)
        if (table[i].kind == kind && kind != EXPLAIN_TEXT && table[i].number == number)
            return &table[i];
    return NULL;
}

/* Python reports a signal as a negative number. A code that has a row of its own comes first: 130
 * and more are usually signals, but 255 is not. */
static const struct explain_row *find_code(int64_t number) {
    const struct explain_row *row = find_number(EXPLAIN_CODE, number);
    if (row == NULL && number > 128)
        row = find_number(EXPLAIN_SIGNAL, number - 128);
    return row == NULL && number < 0 ? find_number(EXPLAIN_SIGNAL, -number) : row;
}

/* Names are unique in the table. */
static const struct explain_row *find_name(const char *text) {
    size_t count = 0;
    const struct explain_row *table = explain_table(&count);
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(table[i].name, text) == 0)
            return &table[i];
    return NULL;
}

/* The kind named by TEXT, SIZE bytes; -1: none. Every kind has a word, so that it can be listed as
 * a whole. */
static int find_kind(const char *text, size_t size) {
    for (int i = 0; i < EXPLAIN_KINDS; i++)
        if (strlen(kinds[i].word) == size && strncasecmp(kinds[i].word, text, size) == 0)
            return i;
    return -1;
}

/* A word that is no name may be a line that a user has copied. */
static const struct explain_row *find_sign(const char *lines);

/* A number that is written as one is never looked for as a text. */
const struct explain_row *explain_find(const char *text) {
    int64_t number = 0;
    /* A line may have a colon, too: it is a key only if a kind is before it and a number after. */
    const char *colon = strchr(text, ':');
    if (str_parse_int(text, INT_MIN, INT_MAX, &number, NULL) == 0)
        return find_code(number);
    int kind = colon != NULL ? find_kind(text, (size_t)(colon - text)) : -1;
    if (kind >= 0 && str_parse_int(colon + 1, 0, INT_MAX, &number, NULL) == 0)
        return kind == EXPLAIN_CODE ? find_code(number)
                                    : find_number((enum explain_kind)kind, number);
    const struct explain_row *row = find_name(text);
    return row != NULL ? row : find_sign(text);
}

/* The end of the last of ROW's signs in LINES; NULL if LINES has none. */
static const char *last_sign(const struct explain_row *row, const char *lines) {
    const char *last = NULL;
    for (size_t i = 0; i < EXPLAIN_SIGNS_MAX && row->signs[i] != NULL; i++) {
        size_t size = strlen(row->signs[i]);
        for (const char *at = lines; (at = strstr(at, row->signs[i])) != NULL; at++)
            if (last == NULL || at + size > last)
                last = at + size;
    }
    return last;
}

/* The sign that ends last decides: it is nearest to the end of the program. At the same end the
 * earlier row wins. An Xid's sign is a bare number, so it counts only in text that mentions Xids.
 */
static const struct explain_row *find_sign(const char *lines) {
    size_t count = 0;
    const struct explain_row *table = explain_table(&count);
    const struct explain_row *found = NULL;
    const char *last = lines;
    bool tells_xids = strstr(lines, "Xid") != NULL;
    for (size_t i = 0; i < count; i++) {
        const char *at = last_sign(&table[i], lines);
        if (at == NULL || at <= last || (table[i].kind == EXPLAIN_XID && !tells_xids))
            continue;
        found = &table[i];
        last = at;
    }
    return found;
}

/* Evidence holds lines of several sources; verdict.h has the words before mpirun's. */
static bool is_mpiruns(const char *line) {
    return strncmp(line, VERDICT_MPIRUN, strlen(VERDICT_MPIRUN)) == 0;
}

/* The kernel's first line is the cause of those after it. */
static const struct explain_row *find_first_line(const char *evidence) {
    char line[RANK_REPORT_EVIDENCE_SIZE];
    size_t size = strcspn(evidence, "\n");
    /* A line that was cut may have lost its sign. */
    if (size == 0 || size >= sizeof(line) || is_mpiruns(evidence))
        return NULL;
    memcpy(line, evidence, size);
    line[size] = '\0';
    return find_sign(line);
}

/* An abort has a reason, which the rank itself may have reported. */
static const struct explain_row *find_mpiruns_line(const char *evidence) {
    const char *last = strrchr(evidence, '\n');
    last = last != NULL ? last + 1 : evidence;
    return is_mpiruns(last) ? find_sign(last) : NULL;
}

/* The order follows how much a source tells: the kernel's line, the rank's own last lines, mpirun's
 * words, and only then the code. A hint that repeats the verdict's class is none. */
const struct explain_row *explain_verdict(const struct verdict *v) {
    const struct explain_row *row = find_first_line(v->evidence);
    if (row == NULL && v->rank >= 0)
        row = find_sign(v->log_tail);
    if (row == NULL)
        row = find_mpiruns_line(v->evidence);
    if (row != NULL)
        return row;
    /* From here on only the code is left. */
    row = find_code(v->code);
    /* The class of a program's code is "program", unlike the row's, where both have the same
     * number. */
    bool own = row != NULL && strcmp(row->name, v->class_name) == 0;
    bool killed = row != NULL && row->kind == EXPLAIN_SIGNAL;
    if (v->code == EXIT_CODE_OK || v->code == EXIT_CODE_STOPPED ||
        strcmp(v->class_name, "program") == 0)
        return NULL;
    /* A process that was killed although memory was available was killed from outside, for unknown
     * reasons. */
    if (killed && strstr(v->text, "not for lack of memory") != NULL)
        return NULL;
    return own || killed ? row : NULL;
}

/* --- printing -------------------------------------------------------------------------------- */

/* "  because  the container's memory was used up (...), or", and lines below the text. */
static int print_column(const char *name, const char *text, struct buf *ret, struct error *err) {
    enum { INDENT = 11 };
    const struct wrap wrap = {.at = INDENT, .indent = INDENT, .width = WRAP_WIDTH};
    return buf_printf(ret, err, "  %-9s", name) != 0 || wrap_add(ret, text, wrap, err) != 0
               ? -1
               : buf_add_text(ret, "\n", err);
}

/* A key that is the name already is not repeated. */
static int print_row(const struct explain_row *row, struct buf *ret, struct error *err) {
    char key[EXPLAIN_KEY_SIZE];
    explain_key(row, key);
    if (row->kind == EXPLAIN_SIGNAL) {
        if (buf_printf(ret, err, "%s: signal %d, exit code %d\n", key, row->number,
                       128 + row->number) != 0)
            return -1;
    } else if (buf_printf(ret, err, "%s%s%s\n", key, strcmp(key, row->name) != 0 ? ": " : "",
                          strcmp(key, row->name) != 0 ? row->name : "") != 0) {
        return -1;
    }
    return print_column("meaning", explain_means(row), ret, err) != 0 ||
                   print_column("you see", row->see, ret, err) != 0 ||
                   print_column("because", row->why, ret, err) != 0
               ? -1
               : print_column("do", row->act, ret, err);
}

/* An empty line stands before each row, after the title. */
static int print_kind(int kind, struct buf *ret, struct error *err) {
    size_t count = 0;
    const struct explain_row *table = explain_table(&count);
    if (buf_printf(ret, err, "%s\n", kinds[kind].title) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if ((int)table[i].kind == kind &&
            (buf_add_text(ret, "\n", err) != 0 || print_row(&table[i], ret, err) != 0))
            return -1;
    return 0;
}

/* The part of a row that mentions a word: its subject, or only its possible causes. */
enum mention { MENTION_NONE, MENTION_SUBJECT, MENTION_CAUSE };

/* Signs and the first columns say what a row is about; the causes of many rows name the same few
 * things. */
static enum mention mentions(const struct explain_row *row, const char *text) {
    const char *const parts[] = {row->name, explain_means(row), row->see};
    for (size_t i = 0; i < EXPLAIN_SIGNS_MAX && row->signs[i] != NULL; i++)
        if (strcasestr(row->signs[i], text) != NULL)
            return MENTION_SUBJECT;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strcasestr(parts[i], text) != NULL)
            return MENTION_SUBJECT;
    return strcasestr(row->why, text) != NULL ? MENTION_CAUSE : MENTION_NONE;
}

/* The same for "oom", which is short for "out of memory". */
static enum mention mentions_word(const struct explain_row *row, const char *text) {
    enum mention word = mentions(row, text);
    if (strcasecmp(text, "oom") != 0 || word == MENTION_SUBJECT)
        return word;
    enum mention words = mentions(row, "out of memory");
    return words != MENTION_NONE ? words : word;
}

/* Prints all rows that mention TEXT, first those that are about it, because many an error may have
 * it as one of its causes. Returns false if there are none. After an error of RET it returns true:
 * something was found, and what fits is there. */
static bool print_about(const char *text, struct buf *ret, struct error *err) {
    size_t count = 0;
    bool found = false;
    /* Short words, and numbers, are in too many rows. */
    bool word = strlen(text) >= 3 && text[strspn(text, "-+0123456789")] != '\0';
    const struct explain_row *table = explain_table(&count);
    for (int wanted = MENTION_SUBJECT; word && wanted <= MENTION_CAUSE; wanted++)
        for (size_t i = 0; i < count; i++) {
            if ((int)mentions_word(&table[i], text) != wanted)
                continue;
            if ((found && buf_add_text(ret, "\n", err) != 0) || print_row(&table[i], ret, err) != 0)
                return true;
            found = true;
        }
    return found;
}

/* Finds a near key among names only, because near numbers have nothing in common. WORDS gets the
 * suggestion, with words around it; "" if nothing is near. */
static const char *near_key(const char *text, char words[NEAREST_WORDS_MAX]) {
    struct nearest nearest = nearest_begin(text, strlen(text));
    char found[EXPLAIN_KEY_SIZE];
    size_t count = 0;
    const struct explain_row *table = explain_table(&count);
    for (size_t i = 0; i < count; i++) {
        char key[EXPLAIN_KEY_SIZE];
        const char *before = nearest.name;
        explain_key(&table[i], key);
        /* A key with a digit is a number, or has one. */
        if (key[strcspn(key, "0123456789")] != '\0')
            continue;
        nearest_try(&nearest, key);
        if (nearest.name == before)
            continue;
        /* KEY is gone with this turn of the loop. */
        (void)snprintf(found, sizeof(found), "%s", key);
        nearest.name = found;
    }
    return nearest_words(&nearest, words);
}

/* ONLY is the kind that TEXT names as a whole, -1 if it names none. Fails for a text that no row
 * knows. */
int explain_print(const char *text, struct buf *ret, struct error *err) {
    int only = text != NULL ? find_kind(text, strlen(text)) : -1;
    const struct explain_row *row = text != NULL && only < 0 ? explain_find(text) : NULL;
    if (text != NULL && only < 0 && row == NULL && print_about(text, ret, err))
        return 0;
    char words[NEAREST_WORDS_MAX];
    if (text != NULL && only < 0 && row == NULL)
        return error_set(err, EXIT_CODE_USAGE,
                         "%.64s: not known; the program's own codes mean what it says, and "
                         "`ringmaster explain` lists all that is known%s",
                         text, near_key(text, words));
    if (row != NULL)
        return print_row(row, ret, err);
    for (int i = 0; i < EXPLAIN_KINDS; i++)
        if ((only < 0 || only == i) && ((only < 0 && i > 0 && buf_add_text(ret, "\n", err) != 0) ||
                                        print_kind(i, ret, err) != 0))
            return -1;
    return 0;
}

/* On the page a signal has its number before the name, and a message without number only its name.
 */
static int page_row(const struct explain_row *row, struct buf *ret, struct error *err) {
    char key[EXPLAIN_KEY_SIZE];
    explain_key(row, key);
    if (row->kind == EXPLAIN_SIGNAL)
        (void)snprintf(key, sizeof(key), "%d", row->number);
    bool named = row->kind != EXPLAIN_TEXT;
    return buf_printf(ret, err, "| %s%s`%s` | %s | %s | %s | %s |\n", named ? key : "",
                      named ? " " : "", row->name, explain_means(row), row->see, row->why,
                      row->act);
}

/* Each kind is a section, as the rows of a kind stand together. */
int explain_page(struct buf *ret, struct error *err) {
    size_t count = 0;
    const struct explain_row *table = explain_table(&count);
    for (size_t i = 0; i < count; i++) {
        if ((i == 0 || table[i].kind != table[i - 1].kind) &&
            buf_printf(ret, err,
                       "%s## %s\n\n| %s | meaning | what you see | why | what to do |\n"
                       "| --- | --- | --- | --- | --- |\n",
                       i > 0 ? "\n" : "", kinds[table[i].kind].title,
                       kinds[table[i].kind].column) != 0)
            return -1;
        if (page_row(&table[i], ret, err) != 0)
            return -1;
    }
    return 0;
}
