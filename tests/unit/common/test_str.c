#include "common/str.h"
#include "tests/support/unit.h"

#include <stdint.h>
#include <string.h>

/* The parsers of common/str.c are the gate for every setting, flag and field of a protocol, so the
 * tables below list what C's own functions would let through: blanks, '+', hexadecimal, "inf" and
 * numbers that overflow. A refused text must leave the caller's value alone, which each loop checks
 * by a value that no text could give. */

/* Each refused text is quoted in the error, so that a user finds it in a long command line. "101"
 * has the right form and is out of range; the number of twenty digits overflows every type. */
static void whole_numbers_are_whole_strings(void) {
    int64_t value = 0;
    CU_ASSERT_EQUAL(str_parse_int("42", 0, 100, &value, NULL), 0);
    CU_ASSERT_EQUAL(value, 42);
    CU_ASSERT_EQUAL(str_parse_int("-7", -10, 100, &value, NULL), 0);
    CU_ASSERT_EQUAL(value, -7);
    static const char *const bad[] = {
        "", " 1", "1 ", "+1", "0x10", "1.0", "-", "--1", "101", "99999999999999999999", "1e3"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(str_parse_int(bad[i], 0, 100, &value, &err), -1);
        ASSERT_CONTAINS(err.text, bad[i]);
        CU_ASSERT_EQUAL(value, -7);
    }
}

/* strtoll clamps such a number to the greatest one, which is allowed here: only errno tells the two
 * apart. The ends of the range themselves are numbers. */
static void what_no_number_holds_is_refused(void) {
    int64_t value = 5;
    struct error err = {0};
    CU_ASSERT_EQUAL(str_parse_int("9223372036854775807", 0, INT64_MAX, &value, &err), 0);
    CU_ASSERT_EQUAL(value, INT64_MAX);
    CU_ASSERT_EQUAL(str_parse_int("-9223372036854775808", INT64_MIN, 0, &value, &err), 0);
    CU_ASSERT_EQUAL(value, INT64_MIN);
    CU_ASSERT_EQUAL(str_parse_int("9223372036854775808", 0, INT64_MAX, &value, &err), -1);
    ASSERT_CONTAINS(err.text, "9223372036854775808 is not between 0 and 9223372036854775807");
    CU_ASSERT_EQUAL(str_parse_int("-9223372036854775809", INT64_MIN, 0, &value, &err), -1);
    CU_ASSERT_EQUAL(str_parse_int("0", 0, 0, &value, &err), 0);
    CU_ASSERT_EQUAL(value, 0);
}

/* Tuners of hyperparameters write whole numbers as floating-point ones. The values at the ends of
 * int64_t and beyond 2^53 show that no double is used on the way. Three tables: accepted, no whole
 * number, and whole but out of range, as the messages differ. */
static void whole_numbers_of_tuners_are_taken(void) {
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"32", 32},
                {"32.0", 32},
                {"32.", 32},
                {"-32.000", -32},
                {"1e3", 1000},
                {"1E+3", 1000},
                {"1.5e1", 15},
                {"0.15e2", 15},
                {"150e-1", 15},
                {"0", 0},
                {"-0.0", 0},
                {"0e99999999999999999999", 0},
                {"0.000e-400", 0},
                {"007", 7},
                {"9007199254740993.0", INT64_C(9007199254740993)},
                {"9223372036854775807.0", INT64_MAX},
                {"-9223372036854775808.0", INT64_MIN},
                {"9223372036854775807000e-3", INT64_MAX}};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        int64_t value = 77;
        CU_ASSERT_EQUAL(str_parse_whole(good[i].text, INT64_MIN, INT64_MAX, &value, NULL), 0);
        CU_ASSERT_EQUAL(value, good[i].value);
    }
    /* Numbers with a fraction, and texts that are no decimal numbers. */
    static const char *const fractions[] = {"32.5", "1e-1",  "15.5e0", "1.55e1", "0.1", "",
                                            " 32",  "32 ",   "+32",    "0x20",   "nan", "inf",
                                            "1e",   "32.0x", "-",      "."};
    for (size_t i = 0; i < sizeof(fractions) / sizeof(fractions[0]); i++) {
        int64_t value = 77;
        struct error err = {0};
        CU_ASSERT_EQUAL(str_parse_whole(fractions[i], INT64_MIN, INT64_MAX, &value, &err), -1);
        ASSERT_CONTAINS(err.text, "is not a whole number");
        CU_ASSERT_EQUAL(value, 77);
    }
    /* Whole in form, but outside 0 .. 100, most of them outside int64_t as well. */
    static const char *const beyond[] = {"101",
                                         "101.0",
                                         "-1.0",
                                         "1e18",
                                         "1e19",
                                         "1e400",
                                         "1e99999999999999999999",
                                         "9223372036854775808.0",
                                         "-9223372036854775809"};
    for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
        int64_t value = 77;
        struct error err = {0};
        CU_ASSERT_EQUAL(str_parse_whole(beyond[i], 0, 100, &value, &err), -1);
        ASSERT_CONTAINS(err.text, "is not between 0 and 100");
        CU_ASSERT_EQUAL(value, 77);
    }
}

/* "1e400" is decimal in form and infinite in value; "0x1p3" is what strtod would accept. The bounds
 * are part of the range. Forms without digits before or after the point are numbers, a point alone
 * is none. */
static void numbers_are_decimal_and_finite(void) {
    double value = 0;
    CU_ASSERT_EQUAL(str_parse_double("1e-5", 0, 1, &value, NULL), 0);
    CU_ASSERT_EQUAL(value, 1e-5);
    CU_ASSERT_EQUAL(str_parse_double(".5", 0, 1, &value, NULL), 0);
    CU_ASSERT_EQUAL(value, 0.5);
    static const struct {
        const char *text;
        double value;
    } good[] = {{"-0.25", -0.25}, {"1.", 1},    {"1.5E+1", 15}, {"12e0", 12},
                {"007", 7},       {"-15", -15}, {"15.000", 15}, {"150e-1", 15}};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        CU_ASSERT_EQUAL(str_parse_double(good[i].text, -15, 15, &value, NULL), 0);
        CU_ASSERT_EQUAL(value, good[i].value);
    }
    CU_ASSERT_EQUAL(str_parse_double("15.1", -15, 15, &value, NULL), -1);
    CU_ASSERT_EQUAL(str_parse_double("-15.1", -15, 15, &value, NULL), -1);
    CU_ASSERT_EQUAL(value, 15);
    static const char *const bad[] = {"",  ".", "nan", "inf", "1e400", "0x1p3", "1e",  "1 ",
                                      "2", "-", "e5",  ".e5", "1.5.",  "1e+",   "1e5x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CU_ASSERT_EQUAL(str_parse_double(bad[i], 0, 1, &value, NULL), -1);
}

/* VALUE starts as the opposite, so a parser that writes nothing fails. Spellings of other languages
 * and of capitals are refused. */
static void truth_has_six_spellings(void) {
    bool value = false;
    static const char *const spellings[] = {"true", "True", "1", "false", "False", "0"};
    for (size_t i = 0; i < 6; i++) {
        value = i >= 3;
        CU_ASSERT_EQUAL(str_parse_bool(spellings[i], &value, NULL), 0);
        CU_ASSERT_EQUAL(value, i < 3);
    }
    CU_ASSERT_EQUAL(str_parse_bool("yes", &value, NULL), -1);
    CU_ASSERT_EQUAL(str_parse_bool("TRUE", &value, NULL), -1);
}

/* Hosts of SageMaker are named algo-1, algo-2 and so on, and all hosts have to agree on the order.
 * The last pair has more digits than any integer type holds, so runs are compared as text of equal
 * length. */
static void natural_order_counts_digits_by_value(void) {
    CU_ASSERT(str_compare_natural("algo-2", "algo-10") < 0);
    CU_ASSERT(str_compare_natural("algo-2-plf6b", "algo-10-plf6b") < 0);
    CU_ASSERT(str_compare_natural("algo-1", "algo-1") == 0);
    CU_ASSERT(str_compare_natural("algo-01", "algo-1") < 0); /* equal values: compared as text */
    CU_ASSERT(str_compare_natural("algo-1", "algo-01") > 0);
    CU_ASSERT(str_compare_natural("algo-01", "algo-2") < 0);
    CU_ASSERT(str_compare_natural("a", "b") < 0);
    CU_ASSERT(str_compare_natural("a", "a1") < 0);
    CU_ASSERT(str_compare_natural("a99999999999999999999999", "a99999999999999999999998") > 0);
}

/* A stray continuation byte, a surrogate and an overlong NUL; a tab stays, and a carriage return,
 * which would overwrite a line of the log, does not. Characters of two, three and four bytes pass
 * unchanged. */
static void bytes_that_are_not_utf8_are_replaced(void) {
    cleanup_buf struct buf out;
    buf_init(&out, 1000);
    static const char in[] =
        "a\x83z \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xed\xa0\x80 \xc0\x80\t\r";
    CU_ASSERT_EQUAL(str_add_utf8(&out, in, sizeof(in) - 1, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out),
                           "a\xef\xbf\xbdz \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 "
                           "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\t?");
}

/* Programs write in pieces, and a piece may end within a character. Each byte of such a rest is
 * replaced by itself. */
static void a_sequence_cut_at_the_end_is_replaced(void) {
    cleanup_buf struct buf out;
    buf_init(&out, 100);
    CU_ASSERT_EQUAL(str_add_utf8(&out, "\xe2\x82", 2, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "\xef\xbf\xbd\xef\xbf\xbd");
    /* Valid sequences with bytes at their bounds, then bytes that are invalid in their place. */
    static const char good[] = "\xe2\x82\xad\xe2\x82\xbf\xf0\x9f\x98\x81\xf0\x9f\xbf\xbf";
    buf_consume(&out, SIZE_MAX);
    CU_ASSERT_EQUAL(str_add_utf8(&out, good, strlen(good), NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), good);
    static const char *const bad[] = {"\xe2\x82\x41", "\xe2\x82\xc0", "\xf0\x9f\x98\x7f",
                                      "\xf0\x9f\xc1\x80", "\xc3\xc3"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        buf_consume(&out, SIZE_MAX);
        CU_ASSERT_EQUAL(str_add_utf8(&out, bad[i], strlen(bad[i]), NULL), 0);
        CU_ASSERT_EQUAL(strncmp(buf_text(&out), "\xef\xbf\xbd", 3), 0);
    }
}

/* Returns the character that SIZE bytes encode, or -1 unless they do so in the shortest way and it
 * is neither a surrogate nor beyond the last character. It works by the value and not by ranges of
 * bytes, so it shares no mistake with the code under test. */
static int32_t spelled(const unsigned char *bytes, size_t size) {
    static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int32_t point = bytes[0] & (0x7f >> size);
    if ((bytes[0] & (0xff << (7 - size))) != ((0xff << (8 - size)) & 0xff))
        return -1;
    for (size_t i = 1; i < size; i++) {
        if (bytes[i] >> 6 != 2)
            return -1;
        point = point << 6 | (bytes[i] & 0x3f);
    }
    bool surrogate = point >= 0xd800 && point < 0xe000;
    return point < least[size] || surrogate || point > 0x10ffff ? -1 : point;
}

/* All pairs of first and second byte in all three lengths, against an independent decoder, because
 * the exceptions of UTF-8 all lie in these two bytes. Wrong ones are counted, as an assertion for
 * each of the 200,000 cases would be slow. */
static void every_first_and_second_byte_is_judged_by_what_it_spells(void) {
    cleanup_buf struct buf out;
    buf_init(&out, 1000);
    size_t wrong = 0;
    for (unsigned lead = 0x80; lead <= 0xff; lead++)
        for (unsigned second = 0; second <= 0xff; second++)
            for (size_t size = 2; size <= 4; size++)
                for (unsigned last = 0x80; last <= 0xbf; last += 0x3f) {
                    const unsigned char bytes[4] = {(unsigned char)lead, (unsigned char)second,
                                                    (unsigned char)last, (unsigned char)last};
                    buf_consume(&out, SIZE_MAX);
                    (void)str_add_utf8(&out, (const char *)bytes, size, NULL);
                    bool kept = out.size == size && memcmp(out.data, bytes, size) == 0;
                    wrong += kept != (spelled(bytes, size) >= 0);
                }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* Every cut within the last character, which has three bytes, falls before it. A cut at the end
 * cuts nothing. */
static void prefixes_cut_no_character(void) {
    static const char text[] = "ab\xe2\x82\xac";
    CU_ASSERT_EQUAL(str_utf8_prefix(text, 5, 5), 5);
    CU_ASSERT_EQUAL(str_utf8_prefix(text, 5, 4), 2);
    CU_ASSERT_EQUAL(str_utf8_prefix(text, 5, 3), 2);
    CU_ASSERT_EQUAL(str_utf8_prefix(text, 5, 2), 2);
    CU_ASSERT_EQUAL(str_utf8_prefix(text, 5, 0), 0);
}

/* A text that is shorter than the end, one that equals it, and one that only holds it. The last has
 * a blank after it. */
static void ends_are_compared_whole(void) {
    CU_ASSERT_TRUE(str_ends_with("a.tar.gz", ".tar.gz"));
    CU_ASSERT_TRUE(str_ends_with(".gz", ".gz"));
    CU_ASSERT_FALSE(str_ends_with("gz", ".gz"));
    CU_ASSERT_FALSE(str_ends_with("a.gz ", ".gz"));
}

/* The values are those that the authors of FNV publish. They must never change: hashes are stored
 * in files and compared between hosts. */
static void the_hash_has_its_published_values(void) {
    /* FNV-1a 64 test vectors: "" and "a" and "foobar" */
    CU_ASSERT_EQUAL(str_hash(STR_HASH_START, "", 0), UINT64_C(0xcbf29ce484222325));
    CU_ASSERT_EQUAL(str_hash(STR_HASH_START, "a", 1), UINT64_C(0xaf63dc4c8601ec8c));
    CU_ASSERT_EQUAL(str_hash(STR_HASH_START, "foobar", 6), UINT64_C(0x85944171f73967e8));
}

/* The macro compares any type of number. Nothing is plural, too: 0 ranks. */
static void one_thing_has_no_plural(void) {
    CU_ASSERT_STRING_EQUAL(STR_PLURAL(0), "s");
    CU_ASSERT_STRING_EQUAL(STR_PLURAL(1), "");
    CU_ASSERT_STRING_EQUAL(STR_PLURAL((size_t)2), "s");
}

UNIT_SUITE("common.str", UNIT(one_thing_has_no_plural), UNIT(whole_numbers_are_whole_strings),
           UNIT(whole_numbers_of_tuners_are_taken), UNIT(what_no_number_holds_is_refused),
           UNIT(numbers_are_decimal_and_finite), UNIT(truth_has_six_spellings),
           UNIT(natural_order_counts_digits_by_value), UNIT(bytes_that_are_not_utf8_are_replaced),
           UNIT(a_sequence_cut_at_the_end_is_replaced),
           UNIT(every_first_and_second_byte_is_judged_by_what_it_spells),
           UNIT(prefixes_cut_no_character), UNIT(ends_are_compared_whole),
           UNIT(the_hash_has_its_published_values))
