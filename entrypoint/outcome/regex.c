#define PCRE2_CODE_UNIT_WIDTH 8
#include "entrypoint/outcome/regex.h"

#include "entrypoint/outcome/regex_dialect.h"

#include <pcre2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct regex_scratch {
    pcre2_match_context *limits;
    pcre2_match_data *data;
    size_t items; /* of the expression that were tried on this line so far */
    size_t bytes; /* of the line that these passed over */
    size_t at;    /* where in the line the last item was tried */
};

/* PCRE2 allocates with functions of this program, so that tests can make them fail. */
static void *allocate(size_t size, void *context) {
    (void)context;
    return malloc(size);
}

static void release(void *memory, void *context) {
    (void)context;
    free(memory);
}

/* --- compiling -------------------------------------------------------------------------------- */

static int refuse(const struct regex_text *text, int code, size_t offset, struct error *err) {
    PCRE2_UCHAR words[256];
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return error_no_memory(err, "a regular expression");
    if (pcre2_get_error_message(code, words, sizeof(words)) < 0)
        return error_set(err, EXIT_CODE_INTERNAL, "error %d of PCRE2", code);
    return error_set(err, EXIT_CODE_CONFIG, "%s at offset %zu", (const char *)words,
                     (size_t)text->origin[offset < text->size ? offset : text->size]);
}

/* Every item is preceded by a callout, in which regex_match counts steps: PCRE2's own match limit
 * begins anew at each place where a match may begin. */
static int compile(const struct regex_text *text, pcre2_compile_context *context, struct regex *ret,
                   struct error *err) {
    int code = 0;
    size_t offset = 0;
    (void)pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    (void)pcre2_set_parens_nest_limit(context, REGEX_NEST_MAX);
    ret->code = pcre2_compile((PCRE2_SPTR)text->bytes, text->size,
                              PCRE2_AUTO_CALLOUT | PCRE2_NEVER_UTF | PCRE2_NEVER_UCP |
                                  PCRE2_NEVER_BACKSLASH_C,
                              &code, &offset, context);
    return ret->code != NULL ? 0 : refuse(text, code, offset, err);
}

int regex_compile(const char *text, struct regex *ret, struct error *err) {
    struct regex_text translated;
    *ret = (struct regex){0};
    if (regex_dialect_translate(text, &translated, err) != 0)
        return -1;
    pcre2_general_context *memory = pcre2_general_context_create(allocate, release, NULL);
    pcre2_compile_context *context = pcre2_compile_context_create(memory);
    int result = memory != NULL && context != NULL ? compile(&translated, context, ret, err)
                                                   : error_no_memory(err, "a regular expression");
    pcre2_compile_context_free(context);
    pcre2_general_context_free(memory);
    return result;
}

void regex_done(struct regex *r) {
    pcre2_code_free(r->code);
    *r = (struct regex){0};
}

/* --- matching --------------------------------------------------------------------------------- */

static int count_steps(pcre2_callout_block *block, void *context) {
    struct regex_scratch *s = context;
    size_t at = block->current_position;
    s->items++;
    s->bytes += at > s->at ? at - s->at : 0;
    s->at = at;
    return s->items + s->bytes / REGEX_STEP_BYTES > REGEX_STEPS_MAX ? PCRE2_ERROR_CALLOUT : 0;
}

static void set_limits(struct regex_scratch *s) {
    (void)pcre2_set_match_limit(s->limits, REGEX_MATCH_MAX);
    (void)pcre2_set_depth_limit(s->limits, REGEX_DEPTH_MAX);
    (void)pcre2_set_heap_limit(s->limits, REGEX_HEAP_MAX);
    (void)pcre2_set_callout(s->limits, count_steps, s);
}

struct regex_scratch *regex_scratch_new(void) {
    struct regex_scratch *s = calloc(1, sizeof(*s));
    pcre2_general_context *memory = pcre2_general_context_create(allocate, release, NULL);
    if (s != NULL && memory != NULL) {
        s->limits = pcre2_match_context_create(memory);
        s->data = pcre2_match_data_create(1, memory);
    }
    pcre2_general_context_free(memory);
    if (s == NULL || s->limits == NULL || s->data == NULL) {
        regex_scratch_free(s);
        return NULL;
    }
    set_limits(s);
    return s;
}

void regex_scratch_free(struct regex_scratch *s) {
    if (s == NULL)
        return;
    pcre2_match_context_free(s->limits);
    pcre2_match_data_free(s->data);
    free(s);
}

enum regex_answer regex_match(const struct regex *r, const char *line, size_t size,
                              struct regex_scratch *s) {
    s->items = 0;
    s->bytes = 0;
    s->at = 0;
    int result = pcre2_match(r->code, (PCRE2_SPTR)line, size, 0, 0, s->data, s->limits);
    if (result >= 0)
        return REGEX_YES;
    return result == PCRE2_ERROR_NOMATCH ? REGEX_NO : REGEX_COSTLY;
}
