#include "common/json/json_number.h"

#include "tests/support/unit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_same_as_strtod(const char *text) {
    struct json_number number = {0};
    const char *end = json_number_read(text, &number);
    CU_ASSERT_PTR_EQUAL(end, text + strlen(text));
    double wanted = strtod(text, NULL);
    CU_ASSERT_EQUAL(memcmp(&wanted, &number.value, sizeof(wanted)), 0);
}

static void numbers_are_the_nearest_doubles(void) {
    static const char *const CASES[] = {"0",
                                        "-0",
                                        "0.0",
                                        "1",
                                        "-1",
                                        "123.45",
                                        "1e3",
                                        "1E+3",
                                        "1.5e-3",
                                        "0.1",
                                        "0.3",
                                        "9007199254740993",
                                        "9007199254740992.5",
                                        "0.000001",
                                        "1e22",
                                        "1e23",
                                        "8.5e-23",
                                        "123456789012345678901234567890",
                                        "0.98765432834625244140625",
                                        "2.2250738585072014e-308",
                                        "4.9e-324",
                                        "1e-400",
                                        "1.7976931348623157e308",
                                        "6631.65625",
                                        "0.9876543283462524",
                                        "258.1500072479248"};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
        check_same_as_strtod(CASES[i]);
}

static void numbers_that_programs_write_are_the_nearest_doubles(void) {
    uint64_t state = 12345;
    for (int i = 0; i < 200000; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        double value = (double)(state >> 11) / 9007199254740992.0;
        char text[64];
        snprintf(text, sizeof(text), i % 2 == 0 ? "%.17g" : "%.15f",
                 i % 3 == 0 ? value : 640 * value);
        struct json_number number = {0};
        CU_ASSERT_FATAL(json_number_read(text, &number) != NULL);
        CU_ASSERT_FATAL(number.value == strtod(text, NULL));
    }
}

/* Digits on both sides of what 53 and 64 bits hold, with every power of ten that a double or an
 * 80-bit float has exactly, and those beside them. */
static void every_power_of_ten_is_the_right_one(void) {
    static const char *const DIGITS[] = {"1",
                                         "7",
                                         "9007199254740992",
                                         "9007199254740993",
                                         "12345678901234567",
                                         "1234567890123456789",
                                         "9999999999999999999",
                                         "12345678901234567890"};
    for (size_t i = 0; i < sizeof(DIGITS) / sizeof(DIGITS[0]); i++)
        for (int exponent = -30; exponent <= 30; exponent++) {
            char text[64];
            snprintf(text, sizeof(text), "%se%d", DIGITS[i], exponent);
            check_same_as_strtod(text);
        }
    check_same_as_strtod("900719925474.0993");
}

static void middles_between_two_doubles_go_to_the_even_one(void) {
    /* (2^53 + 2k + 1) / 2^n written out in decimals lies exactly in the middle. */
    check_same_as_strtod("9007199254740993.0");
    check_same_as_strtod("9007199254740995.0");
    check_same_as_strtod("4503599627370497.5");
    check_same_as_strtod("2251799813685249.25");
    check_same_as_strtod("1125899906842625.125");
}

static void whole_numbers_are_exact(void) {
    static const struct {
        const char *text;
        bool whole;
        int64_t value;
    } CASES[] = {
        {"0", true, 0},
        {"-7", true, -7},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9007199254740993", true, INT64_C(9007199254740993)},
        {"9223372036854775808", false, 0},
        {"1.0", true, 1},
        {"1e3", true, 1000},
        {"1.5", false, 0},
        {"1e300", false, 0},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct json_number number = {0};
        CU_ASSERT(json_number_read(CASES[i].text, &number) != NULL);
        CU_ASSERT_EQUAL(number.is_integer, CASES[i].whole);
        if (CASES[i].whole)
            CU_ASSERT_EQUAL(number.integer, CASES[i].value);
    }
}

static void what_is_no_number_is_refused(void) {
    static const char *const CASES[] = {"",   "-",   "+1",  ".5",       "1.",  "01",
                                        "1e", "1e+", "NaN", "Infinity", "abc", "1e999"};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct json_number number = {0};
        CU_ASSERT_PTR_NULL(json_number_read(CASES[i], &number));
    }
}

static void reading_stops_behind_the_number(void) {
    struct json_number number = {0};
    const char *text = "12.5,7";
    CU_ASSERT_PTR_EQUAL(json_number_read(text, &number), text + 4);
    CU_ASSERT(number.value == 12.5);
}

UNIT_SUITE("common.json_number", UNIT(numbers_are_the_nearest_doubles),
           UNIT(numbers_that_programs_write_are_the_nearest_doubles),
           UNIT(every_power_of_ten_is_the_right_one),
           UNIT(middles_between_two_doubles_go_to_the_even_one), UNIT(whole_numbers_are_exact),
           UNIT(what_is_no_number_is_refused), UNIT(reading_stops_behind_the_number))
