#include "entrypoint/transfer/s3/xml.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char seen[4096];

static void begun(struct xml *x, const char *name) {
    size_t used = strlen(seen);
    (void)snprintf(seen + used, sizeof(seen) - used, "<%u%s>", x->depth, name);
}

static void ended(struct xml *x, const char *name) {
    size_t used = strlen(seen);
    (void)snprintf(seen + used, sizeof(seen) - used, "%.64s</%u%s>", x->text, x->depth, name);
    if (strcmp(name, "stop") == 0)
        xml_fail(x, "is to stop here");
}

static int read_text(const char *document, struct error *err) {
    struct xml *x = calloc(1, sizeof(*x));
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    x->what = "the letter";
    x->begin = begun;
    x->end = ended;
    seen[0] = '\0';
    int result = xml_read(x, document, strlen(document), err);
    free(x);
    return result;
}

static void elements_come_with_their_texts(void) {
    CU_ASSERT_EQUAL(read_text("<a>lost<b> one&amp;two </b><c/>also lost<d>3</d></a>", NULL), 0);
    CU_ASSERT_STRING_EQUAL(seen, "<1a><2b> one&two </2b><2c></2c><2d>3</2d></1a>");
}

static void what_is_wrong_is_reported_once(void) {
    static const struct {
        const char *document, *words;
    } rows[] = {
        {"", "the letter is not XML"},
        {"<a>\n<b></a>", "the letter is not XML: mismatched tag at line 2"},
        {"<a><stop/><stop/><b>", "the letter is to stop here"},
        {"<!DOCTYPE a><a/>", "the letter has a document type"},
        {"<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>", "the letter is nested too deep"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(read_text(rows[i].document, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, rows[i].words);
    }
    CU_ASSERT_PTR_NULL(strstr(seen, "17")); /* elements that are too deep are not passed on */
}

/* Tries the longest text that is accepted, and one byte more. */
static void a_text_has_a_ceiling(void) {
    static char document[XML_TEXT_MAX + 16];
    struct error err = {0};
    for (int more = 0; more < 2; more++) {
        size_t length = XML_TEXT_MAX - 1 + (size_t)more;
        memcpy(document, "<a>", 3);
        memset(document + 3, 'x', length);
        memcpy(document + 3 + length, "</a>", 5);
        CU_ASSERT_EQUAL(read_text(document, &err), more == 0 ? 0 : -1);
    }
    ASSERT_CONTAINS(err.text, "the letter has a text that is too long");
}

UNIT_SUITE("transfer.xml", UNIT(elements_come_with_their_texts),
           UNIT(what_is_wrong_is_reported_once), UNIT(a_text_has_a_ceiling))
