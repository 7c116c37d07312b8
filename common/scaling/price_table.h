/* Prices of machines, from a JSON file of the user's:
 *
 *     {"currency": "USD",
 *      "instances": [{"name": "eight-gpus", "ranks": 8, "price_per_hour": 32.5},
 *                    {"name": "one-gpu", "ranks": 1, "price_per_hour": 3.1}]}
 *
 * RANKS is how many ranks of the job run on such a machine. Unknown members are errors. */
#ifndef COMMON_SCALING_PRICE_TABLE_H
#define COMMON_SCALING_PRICE_TABLE_H

#include "common/error.h"

#include <jansson.h>
#include <stddef.h>

enum { PRICE_NAME_SIZE = 64, PRICE_CURRENCY_SIZE = 16, PRICES_MAX = 32, PRICE_RANKS_MAX = 1024 };

struct price {
    char name[PRICE_NAME_SIZE];
    int ranks;
    double per_hour;
};

struct price_table {
    char currency[PRICE_CURRENCY_SIZE];
    struct price list[PRICES_MAX];
    size_t count; /* at least 1 */
};

/* Errors have EXIT_CODE_CONFIG and name the file and what is wrong in it. */
int price_table_read(struct price_table *ret, const char *path, struct error *err);
/* The same from a value; WHERE names it. */
int price_table_parse(struct price_table *ret, const json_t *root, const char *where,
                      struct error *err);

/* How many machines RANKS need. */
int price_machines(const struct price *p, int ranks);
/* The price of SECONDS on them; a part of an hour costs that part of its price. */
double price_of(const struct price *p, int ranks, double seconds);

#endif
