#include "entrypoint/study/study_words.h"

#include "common/buf.h"
#include "common/file/file.h"
#include "common/str.h"
#include "common/table.h"
#include "common/text/nearest.h"
#include "entrypoint/study/study_variant.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

/* Options are rows of a table: for which command, of which type, and into which member of struct
 * study_words they go. One reader serves both commands. Both forms, "--name value" and
 * "--name=value", are accepted, and everything after "--" belongs to the user's program.
 *
 * The words are read twice: by the launcher before a job starts, so that a mistake costs nothing,
 * and again by each rank, which gets the same words. Nothing is copied: texts point into the
 * command line, which outlives them. */

/* The kernel's own limit for one word of a command line (MAX_ARG_STRLEN). */
enum { WORD_MAX = 128 * 1024 };

/* What a program's word may hold to get a folder of its own for each run. */
#define FOLDER_MARK "{dir}"
#define ONCE_PER_HOST "--once-per-host"

/* By enum study_kind. They are the names of the commands, and the default of --out. */
static const char *const NAMES[] = {"trials", "scaling"};
/* For errors that leave open what was meant; the manual has the whole. */
static const char *const USAGE[] = {
    "ringmaster trials FILE [--out DIR] [--then-best] -- PROGRAM ARGS",
    "ringmaster scaling [--ranks 1,2,4] [--metric NAME] [--variant NAME=WORDS]... -- PROGRAM "
    "ARGS"};

enum option_type { SWITCH, TEXT, AMOUNT, VARIANT };

/* OFFSET is that of the member, and its C type follows from TYPE: see put(). An option may be given
 * several times; the last one counts, except for VARIANT, which adds one. */
struct option {
    enum study_kind kind;
    const char *name;
    enum option_type type;
    size_t offset;
};

#define FIELD(name) offsetof(struct study_words, name)

/* --once-per-host and --out have a row for each command, so that a search needs only one
 * condition. */
static const struct option OPTIONS[] = {
    {STUDY_TRIALS, ONCE_PER_HOST, SWITCH, FIELD(once_per_host)},
    {STUDY_TRIALS, "--out", TEXT, FIELD(out)},
    {STUDY_TRIALS, "--then-best", SWITCH, FIELD(then_best)},
    {STUDY_SCALING, ONCE_PER_HOST, SWITCH, FIELD(once_per_host)},
    {STUDY_SCALING, "--out", TEXT, FIELD(out)},
    {STUDY_SCALING, "--ranks", TEXT, FIELD(ranks)},
    {STUDY_SCALING, "--metric", TEXT, FIELD(metric)},
    {STUDY_SCALING, "--per-rank", SWITCH, FIELD(per_rank)},
    {STUDY_SCALING, "--variant", VARIANT, FIELD(variants)},
    {STUDY_SCALING, "--unit", TEXT, FIELD(unit)},
    {STUDY_SCALING, "--samples", AMOUNT, FIELD(samples)},
    {STUDY_SCALING, "--limit", AMOUNT, FIELD(limit)},
    {STUDY_SCALING, "--project", TEXT, FIELD(project)},
    {STUDY_SCALING, "--prices", TEXT, FIELD(prices)},
};

enum { OPTION_COUNT = sizeof(OPTIONS) / sizeof(OPTIONS[0]) };

/* The value is an enum study_kind; a plain int, because -1 is none of them. */
int study_kind_of(const char *name) {
    const size_t kind = TABLE_INDEX(NAMES, name);
    return kind < TABLE_COUNT(NAMES) ? (int)kind : -1;
}

/* SIZE is the length of the option's name in WORD, without "=" and a value. An unknown option is
 * refused with the nearest one of the same command. */
static const struct option *find(enum study_kind kind, const char *word, size_t size,
                                 struct error *err) {
    struct nearest nearest = nearest_begin(word, size);
    char words[NEAREST_WORDS_MAX];
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option *o = &OPTIONS[i];
        if (o->kind != kind)
            continue;
        if (strlen(o->name) == size && memcmp(o->name, word, size) == 0)
            return o;
        nearest_try(&nearest, o->name);
    }
    (void)error_set(err, EXIT_CODE_USAGE, "%s: unknown option %.64s%s", NAMES[kind], word,
                    nearest_words(&nearest, words));
    return NULL;
}

/* From 1 on: an amount of 0 would mean not given (struct study_words). The error is made anew, with
 * the code of a wrong command line. */
static int put_amount(const char *name, const char *value, double *ret, struct error *err) {
    struct error why = {0};
    return str_parse_double(value, 1, 1e18, ret, &why) == 0
               ? 0
               : error_set(err, EXIT_CODE_USAGE, "%s: %.200s", name, why.text);
}

/* The name part is checked here, against those before it; the words of a variant when it runs
 * (study_variant.c). */
static int put_variant(struct study_words *w, const char *value, struct error *err) {
    if (study_variant_name(value, &w->names, err) != 0)
        return -1;
    w->variants[w->names.count - 1] = value;
    return 0;
}

/* An empty text is refused, as it is mostly a variable of a script that was not set. */
static int put(struct study_words *w, const struct option *o, const char *value,
               struct error *err) {
    void *field = (char *)w + o->offset;
    switch (o->type) {
    case SWITCH:
        *(bool *)field = true;
        return 0;
    case TEXT:
        *(const char **)field = value;
        return value[0] != '\0' ? 0 : error_set(err, EXIT_CODE_USAGE, "%s is empty", o->name);
    case VARIANT:
        return put_variant(w, value, err);
    case AMOUNT:
        return put_amount(o->name, value, field, err);
    }
    return -1;
}

/* Takes the option at WORDS; returns how many words it has, -1 on error. "--" is never taken as a
 * value, because it would then not begin the program. */
static int take(struct study_words *w, const char *const *words, struct error *err) {
    const size_t size = strcspn(words[0], "=");
    const struct option *o = find(w->kind, words[0], size, err);
    const char *value = words[0][size] == '=' ? words[0] + size + 1 : NULL;
    if (o == NULL)
        return -1;
    if (o->type == SWITCH && value != NULL)
        return error_set(err, EXIT_CODE_USAGE, "%s takes no value", o->name);
    if (o->type == SWITCH || value != NULL)
        return put(w, o, value, err) != 0 ? -1 : 1;
    if (words[1] == NULL || strcmp(words[1], "--") == 0)
        return error_set(err, EXIT_CODE_USAGE, "%s lacks its value", o->name);
    return put(w, o, words[1], err) != 0 ? -1 : 2;
}

/* The plan itself is read later, by rank 0 alone. Without "--" there is no program, even if words
 * are left. */
static int check(const struct study_words *w, struct error *err) {
    if (w->program == NULL || w->program[0] == NULL)
        return error_set(err, EXIT_CODE_USAGE, "the program is missing: %s", USAGE[w->kind]);
    if (w->kind == STUDY_TRIALS && w->file == NULL)
        return error_set(err, EXIT_CODE_USAGE, "FILE, the plan as JSON, is missing: %s",
                         USAGE[w->kind]);
    return 0;
}

/* Defaults are set first: the folder is named after the command, and a size may take half an hour.
 * A word that is no option is the plan of trials, once, and an error otherwise. */
int study_words_read(enum study_kind kind, const char *const *words, struct study_words *ret,
                     struct error *err) {
    *ret = (struct study_words){
        .kind = kind, .out = NAMES[kind], .metric = "images_per_second", .limit = 1800};
    while (*words != NULL && strcmp(*words, "--") != 0) {
        int used = 1;
        if (str_starts_with(*words, "--"))
            used = take(ret, words, err);
        else if (kind == STUDY_TRIALS && ret->file == NULL)
            ret->file = *words;
        else
            return error_set(err, EXIT_CODE_USAGE, "unexpected %.128s: %s", *words, USAGE[kind]);
        if (used < 0)
            return -1;
        words += used;
    }
    ret->program = *words != NULL ? words + 1 : NULL;
    return check(ret, err);
}

/* The ranks get the words as they were given, and not the values that were read, so that both
 * readers see the same. */
int study_words_job(enum study_kind kind, const char *const *words, struct argv *ret,
                    struct error *err) {
    char self[PATH_MAX];
    struct study_words w;
    if (study_words_read(kind, words, &w, err) != 0 || file_self(self, sizeof(self), err) != 0)
        return -1;
    const char *const head[] = {"--", self, "study", NAMES[kind], NULL};
    if ((w.once_per_host && argv_add(ret, ONCE_PER_HOST, err) != 0) ||
        argv_add_all(ret, head, err) != 0)
        return -1;
    return argv_add_all(ret, words, err);
}

/* Each {dir} is replaced, several in one word, too. A folder that holds "{dir}" itself is not
 * looked at again. WORDS may be NULL, which adds nothing. */
static int fill(const char *const *words, const char *folder, struct argv *ret, struct error *err) {
    for (size_t i = 0; words != NULL && words[i] != NULL; i++) {
        cleanup_buf struct buf word;
        buf_init(&word, WORD_MAX);
        const char *at = words[i], *mark = NULL;
        while ((mark = strstr(at, FOLDER_MARK)) != NULL) {
            if (buf_add(&word, at, (size_t)(mark - at), err) != 0 ||
                buf_add_text(&word, folder, err) != 0)
                return -1;
            at = mark + strlen(FOLDER_MARK);
        }
        if (buf_add_text(&word, at, err) != 0 || argv_add(ret, buf_text(&word), err) != 0)
            return -1;
    }
    return 0;
}

/* MORE are words of a variant (study_variant.c) and have their {dir} replaced, too. */
int study_words_program(const struct study_words *w, const char *const *more, const char *folder,
                        struct argv *ret, struct error *err) {
    return fill(w->program, folder, ret, err) != 0 ? -1 : fill(more, folder, ret, err);
}
