/* The text of an expression becomes steps. Every piece is relative to where it begins, so that one
 * can be moved to make room in front of it, or copied to be repeated. */
#include "entrypoint/outcome/pattern.h"

#include "common/str.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    const char *text;
    const char *at;
    struct pattern_step code[PATTERN_CODE_MAX];
    struct pattern_step piece[PATTERN_CODE_MAX]; /* that is repeated */
    size_t size;
    struct pattern_set sets[PATTERN_SETS_MAX];
    size_t set_count;
    unsigned depth;
    bool fold; /* (?i) */
    struct error *err;
};

static int refuse(struct parser *p, const char *what) {
    return error_set(p->err, EXIT_CODE_CONFIG, "%s at character %zu", what,
                     (size_t)(p->at - p->text) + 1);
}

/* --- steps ------------------------------------------------------------------------------------ */

static int make_room(struct parser *p, size_t steps) {
    if (p->size + steps < PATTERN_CODE_MAX) /* the last one says that it is done */
        return 0;
    return refuse(p, "it repeats too much");
}

static int insert(struct parser *p, size_t at, enum pattern_what what, uint8_t value, int by) {
    if (make_room(p, 1) != 0)
        return -1;
    memmove(&p->code[at + 1], &p->code[at], (p->size - at) * sizeof(p->code[0]));
    p->code[at] = (struct pattern_step){.what = (uint8_t)what, .value = value, .by = (int16_t)by};
    p->size++;
    return 0;
}

static int emit(struct parser *p, enum pattern_what what, uint8_t value, int by) {
    return insert(p, p->size, what, value, by);
}

static int copy_piece(struct parser *p, size_t size) {
    if (make_room(p, size) != 0)
        return -1;
    memcpy(&p->code[p->size], p->piece, size * sizeof(p->piece[0]));
    p->size += size;
    return 0;
}

/* --- sets ------------------------------------------------------------------------------------- */

static void set_add(struct pattern_set *set, unsigned byte) {
    set->bits[byte / 8] |= (uint8_t)(1U << (byte % 8));
}

static bool set_has(const struct pattern_set *set, unsigned byte) {
    return (set->bits[byte / 8] >> (byte % 8) & 1) != 0;
}

static void set_invert(struct pattern_set *set) {
    for (size_t i = 0; i < sizeof(set->bits); i++)
        set->bits[i] = (uint8_t)~set->bits[i];
}

static void set_fold(struct pattern_set *set) {
    for (unsigned c = 'a'; c <= 'z'; c++)
        if (set_has(set, c) || set_has(set, c - 'a' + 'A')) {
            set_add(set, c);
            set_add(set, c - 'a' + 'A');
        }
}

static bool is_of_class(unsigned byte, char class) {
    bool digit = byte >= '0' && byte <= '9';
    bool letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z' && byte < 0x80;
    bool blank = byte == ' ' || (byte >= '\t' && byte <= '\r');
    return class == 'd' ? digit : class == 'w' ? digit || letter || byte == '_' : blank;
}

/* Digits, words, blanks, and with a capital letter all but these. */
static bool set_class(struct pattern_set *ret, char name) {
    char class = (char)(name | 0x20);
    if (class != 'd' && class != 'w' && class != 's')
        return false;
    *ret = (struct pattern_set){0};
    for (unsigned byte = 0; byte < 256; byte++)
        if (is_of_class(byte, class) == (name == class))
            set_add(ret, byte);
    return true;
}

static int emit_set(struct parser *p, const struct pattern_set *set) {
    size_t i = 0;
    while (i < p->set_count && memcmp(&p->sets[i], set, sizeof(*set)) != 0)
        i++;
    if (i == PATTERN_SETS_MAX)
        return refuse(p, "too many sets of characters");
    if (i == p->set_count)
        p->sets[p->set_count++] = *set;
    return emit(p, PATTERN_SET, (uint8_t)i, 0);
}

static int emit_byte(struct parser *p, uint8_t byte) {
    struct pattern_set set = {0};
    if (!p->fold || (byte | 0x20) < 'a' || (byte | 0x20) > 'z')
        return emit(p, PATTERN_CHAR, byte, 0);
    set_add(&set, byte);
    set_fold(&set);
    return emit_set(p, &set);
}

/* --- escapes ---------------------------------------------------------------------------------- */

static int hex(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Behind a backslash: one byte. */
static int escaped_byte(struct parser *p, uint8_t *ret) {
    static const char names[] = "ntrfv0";
    static const char bytes[] = {'\n', '\t', '\r', '\f', '\v', '\0'};
    const char c = *p->at;
    const char *known = c != '\0' ? strchr(names, c) : NULL;
    if (c == '\0')
        return refuse(p, "a backslash is the last character,");
    if (c == 'x' && hex(p->at[1]) >= 0 && hex(p->at[2]) >= 0) {
        *ret = (uint8_t)(hex(p->at[1]) * 16 + hex(p->at[2]));
        p->at += 3;
        return 0;
    }
    if (c >= '1' && c <= '9')
        return refuse(p, "a back-reference");
    if (known == NULL && (((c | 0x20) >= 'a' && (c | 0x20) <= 'z')))
        return refuse(p, "a letter that means nothing behind a backslash,");
    *ret = (uint8_t)(known != NULL ? bytes[known - names] : c);
    p->at++;
    return 0;
}

static int parse_escape(struct parser *p) {
    static const char names[] = "bBAZz";
    static const enum pattern_what edges[] = {PATTERN_WORD_EDGE, PATTERN_NO_WORD_EDGE,
                                              PATTERN_BEGIN, PATTERN_END, PATTERN_END};
    struct pattern_set set;
    uint8_t byte = 0;
    const char *edge = *p->at != '\0' ? strchr(names, *p->at) : NULL;
    if (edge != NULL) {
        p->at++;
        return emit(p, edges[edge - names], 0, 0);
    }
    if (set_class(&set, *p->at)) {
        p->at++;
        return emit_set(p, &set);
    }
    return escaped_byte(p, &byte) == 0 ? emit_byte(p, byte) : -1;
}

/* --- [...] ------------------------------------------------------------------------------------ */

/* One byte, or a class, which goes straight into SET. */
static int set_item(struct parser *p, struct pattern_set *set, uint8_t *ret, bool *ret_class) {
    struct pattern_set class;
    *ret_class = false;
    if (*p->at == '\0')
        return refuse(p, "a '[' without its ']'");
    if (*p->at != '\\') {
        *ret = (uint8_t)*p->at++;
        return 0;
    }
    p->at++;
    if (!set_class(&class, *p->at))
        return escaped_byte(p, ret);
    for (size_t i = 0; i < sizeof(set->bits); i++)
        set->bits[i] |= class.bits[i];
    p->at++;
    *ret_class = true;
    return 0;
}

static int parse_set(struct parser *p) {
    struct pattern_set set = {0};
    bool inverted = *p->at == '^';
    bool first = true;
    p->at += inverted;
    for (; *p->at != ']' || first; first = false) {
        uint8_t low = 0;
        bool is_class = false;
        if (set_item(p, &set, &low, &is_class) != 0)
            return -1;
        if (is_class)
            continue;
        uint8_t high = low;
        if (p->at[0] == '-' && p->at[1] != ']' && p->at[1] != '\0') {
            p->at++;
            if (set_item(p, &set, &high, &is_class) != 0)
                return -1;
            if (is_class || high < low)
                return refuse(p, "a range of characters that is none, before the one");
        }
        for (unsigned c = low; c <= high; c++)
            set_add(&set, c);
    }
    p->at++;
    if (p->fold)
        set_fold(&set);
    if (inverted)
        set_invert(&set);
    return emit_set(p, &set);
}

/* --- groups and repetition -------------------------------------------------------------------- */

static int parse_alternatives(struct parser *p);

/* Behind "(?": what is only for those who want to know what was captured is passed over. */
static int pass_group_head(struct parser *p) {
    if (*p->at == ':') {
        p->at++;
        return 0;
    }
    const char *name = p->at + (*p->at == 'P');
    if (name[0] == '<' && name[1] != '=' && name[1] != '!') {
        const char *end = strchr(name, '>');
        if (end == NULL)
            return refuse(p, "a name without its '>'");
        p->at = end + 1;
        return 0;
    }
    return refuse(p, "a look-around, condition or option");
}

static int parse_group(struct parser *p) {
    if (++p->depth > PATTERN_DEPTH_MAX)
        return refuse(p, "too many '(' in each other");
    if (*p->at == '?') {
        p->at++;
        if (pass_group_head(p) != 0)
            return -1;
    }
    if (parse_alternatives(p) != 0)
        return -1;
    if (*p->at != ')')
        return refuse(p, "a '(' without its ')'");
    p->at++;
    p->depth--;
    return 0;
}

static int parse_atom(struct parser *p) {
    const char c = *p->at++;
    switch (c) {
    case '.':
        return emit(p, PATTERN_ANY, 0, 0);
    case '^':
        return emit(p, PATTERN_BEGIN, 0, 0);
    case '$':
        return emit(p, PATTERN_END, 0, 0);
    case '[':
        return parse_set(p);
    case '(':
        return parse_group(p);
    case '\\':
        return parse_escape(p);
    case '*':
    case '+':
    case '?':
        p->at--;
        return refuse(p, "nothing to repeat");
    default:
        return emit_byte(p, (uint8_t)c);
    }
}

struct times {
    unsigned least;
    unsigned most;
    bool endless;
};

static bool read_number(const char **at, unsigned *ret) {
    const char *from = *at;
    for (*ret = 0; **at >= '0' && **at <= '9'; (*at)++)
        *ret = *ret < PATTERN_CODE_MAX ? *ret * 10 + (unsigned)(**at - '0') : *ret;
    return *at > from;
}

/* {n}, {n,}, {,m}, {n,m}; what only begins so is text. */
static bool read_braces(struct parser *p, struct times *ret) {
    const char *at = p->at + 1;
    bool low = read_number(&at, &ret->least);
    bool high = false;
    ret->most = ret->least;
    ret->endless = false;
    if (*at == ',') {
        at++;
        high = read_number(&at, &ret->most);
        ret->endless = !high;
    }
    if (*at != '}' || (!low && !high))
        return false;
    p->at = at + 1;
    return true;
}

static bool read_times(struct parser *p, struct times *ret) {
    switch (*p->at) {
    case '*':
        *ret = (struct times){.endless = true};
        break;
    case '+':
        *ret = (struct times){.least = 1, .endless = true};
        break;
    case '?':
        *ret = (struct times){.most = 1};
        break;
    case '{':
        return read_braces(p, ret);
    default:
        return false;
    }
    p->at++;
    return true;
}

/* The piece from START on, once there, as often as TIMES says. */
static int repeat(struct parser *p, size_t start, const struct times *times) {
    size_t size = p->size - start;
    if (!times->endless && times->most < times->least)
        return refuse(p, "a repetition whose most is less than its least, before the one");
    if (size == 0)
        return 0; /* nothing, however often */
    memcpy(p->piece, &p->code[start], size * sizeof(p->piece[0]));
    p->size = start;
    for (unsigned i = 0; i < times->least; i++)
        if (copy_piece(p, size) != 0)
            return -1;
    if (times->endless && times->least > 0)
        return emit(p, PATTERN_SPLIT, 0, -(int)size);
    if (times->endless)
        return emit(p, PATTERN_SPLIT, 0, (int)size + 2) == 0 && copy_piece(p, size) == 0
                   ? emit(p, PATTERN_JUMP, 0, -(int)size - 1)
                   : -1;
    for (unsigned i = times->least; i < times->most; i++)
        if (emit(p, PATTERN_SPLIT, 0, (int)size + 1) != 0 || copy_piece(p, size) != 0)
            return -1;
    return 0;
}

static int parse_sequence(struct parser *p) {
    while (*p->at != '\0' && *p->at != '|' && *p->at != ')') {
        size_t start = p->size;
        struct times times = {0};
        if (parse_atom(p) != 0)
            return -1;
        if (!read_times(p, &times))
            continue;
        if (*p->at == '+')
            return refuse(p, "a possessive repetition");
        p->at += *p->at == '?'; /* as few as can be: for whether a line matches it is the same */
        if (*p->at == '*' || *p->at == '+' || *p->at == '?')
            return refuse(p, "nothing to repeat");
        if (repeat(p, start, &times) != 0)
            return -1;
    }
    return 0;
}

static int parse_alternatives(struct parser *p) {
    size_t start = p->size;
    if (parse_sequence(p) != 0)
        return -1;
    if (*p->at != '|')
        return 0;
    p->at++;
    if (insert(p, start, PATTERN_SPLIT, 0, (int)(p->size - start) + 2) != 0 ||
        emit(p, PATTERN_JUMP, 0, 0) != 0)
        return -1;
    size_t jump = p->size - 1;
    if (parse_alternatives(p) != 0)
        return -1;
    p->code[jump].by = (int16_t)(p->size - jump);
    return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* The longest run of bytes that every way goes through, or the first one if it is long enough,
 * which neighbours may share. Behind a split all ways meet again where it leads, or, where the step
 * before that jumps on, where that one does. */
static void find_literal(const struct parser *p, struct pattern *ret) {
    enum { ENOUGH = 8 };
    char run[PATTERN_LITERAL_SIZE];
    size_t used = 0;
    for (size_t pc = 0; pc < p->size;) {
        const struct pattern_step *step = &p->code[pc];
        if (step->what == PATTERN_CHAR && used < sizeof(run)) {
            run[used++] = (char)step->value;
            if (used > ret->literal_size) {
                memcpy(ret->literal, run, used);
                ret->literal_size = used;
            }
            pc++;
            continue;
        }
        if (ret->literal_size >= ENOUGH)
            return;
        used = 0;
        if (step->what != PATTERN_SPLIT || step->by < 0) {
            pc++;
            continue;
        }
        size_t to = pc + (size_t)step->by;
        const struct pattern_step *last = &p->code[to - 1];
        pc = last->what == PATTERN_JUMP && last->by > 0 ? to - 1 + (size_t)last->by : to;
    }
}

static int keep(struct parser *p, struct pattern *ret) {
    find_literal(p, ret);
    if (emit(p, PATTERN_DONE, 0, 0) != 0)
        return -1;
    ret->size = p->size;
    ret->code = calloc(p->size, sizeof(p->code[0]));
    ret->sets = calloc(p->set_count + 1, sizeof(p->sets[0]));
    if (ret->code == NULL || ret->sets == NULL) {
        pattern_done(ret);
        return error_no_memory(p->err, "an expression");
    }
    memcpy(ret->code, p->code, p->size * sizeof(p->code[0]));
    memcpy(ret->sets, p->sets, p->set_count * sizeof(p->sets[0]));
    return 0;
}

static int parse(struct parser *p, struct pattern *ret) {
    if (strlen(p->text) > PATTERN_TEXT_MAX)
        return error_set(p->err, EXIT_CODE_CONFIG, "longer than %d bytes", PATTERN_TEXT_MAX);
    p->fold = str_starts_with(p->text, "(?i)");
    p->at = p->text + (p->fold ? strlen("(?i)") : 0);
    if (parse_alternatives(p) != 0)
        return -1;
    if (*p->at != '\0')
        return refuse(p, "a ')' without its '('");
    return keep(p, ret);
}

int pattern_parse(const char *text, struct pattern *ret, struct error *err) {
    struct parser *p = calloc(1, sizeof(*p));
    *ret = (struct pattern){0};
    if (p == NULL)
        return error_no_memory(err, "an expression");
    p->text = text;
    p->err = err;
    int result = parse(p, ret);
    free(p);
    return result;
}

void pattern_done(struct pattern *p) {
    free(p->code);
    free(p->sets);
    *p = (struct pattern){0};
}
