#include "common/text/roff.h"

#include "tests/support/unit.h"

static struct buf text;

static void begin(void) {
    buf_done(&text);
    buf_init(&text, 1 << 12);
}

static void a_head_names_the_program(void) {
    begin();
    CU_ASSERT_EQUAL(roff_head(&text, "ringtrain", 1, "ringtrain", "1.2", "trains networks", NULL),
                    0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text),
                           ".TH RINGTRAIN 1 \"\" \"ringtrain 1.2\"\n.SH NAME\nringtrain \\- trains "
                           "networks\n");
    begin();
    CU_ASSERT_EQUAL(roff_head(&text, "ring-files", 7, "ring", "1.2", "files of a ring", NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), ".TH RING-FILES 7 \"\" \"ring 1.2\"\n.SH NAME\n"
                                            "ring-files \\- files of a ring\n");
}

static void no_text_becomes_a_command(void) {
    begin();
    CU_ASSERT_EQUAL(roff_text(&text, ".so /etc/passwd", NULL), 0);
    CU_ASSERT_EQUAL(roff_text(&text, "'it is \\fBbold\\fR --really", NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text),
                           "\\&.so /etc/passwd\n\\&'it is \\efBbold\\efR \\-\\-really\n");
}

static void an_item_has_its_words_below_its_name(void) {
    begin();
    CU_ASSERT_EQUAL(roff_item(&text, "--lr", "", "rate", NULL), 0);
    CU_ASSERT_EQUAL(roff_item(&text, "--out", "DIR", "folder", NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), ".TP\n.B \\-\\-lr\nrate\n"
                                            ".TP\n.B \\-\\-out\n.br\nDIR\nfolder\n");
}

static void a_full_buffer_is_an_error(void) {
    cleanup_buf struct buf small;
    struct error err = {0};
    buf_init(&small, 8);
    CU_ASSERT_EQUAL(roff_item(&small, "a long name", "", "text", &err), -1);
    CU_ASSERT(err.text[0] != '\0');
}

UNIT_SUITE("common.roff", UNIT(a_head_names_the_program), UNIT(no_text_becomes_a_command),
           UNIT(an_item_has_its_words_below_its_name), UNIT(a_full_buffer_is_an_error))
