#include "common/scaling/price_table.h"

#include "common/json/json.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const double HOUR = 3600;
static const double PRICE_MOST = 1e6;

static int expect(const char *where, const char *what, struct error *err) {
    return error_set(err, EXIT_CODE_CONFIG, "%s: %s", where, what);
}

/* Refuses members of OBJECT that are not in the NULL-terminated NAMES. */
static int only(const json_t *object, const char *where, const char *const *names,
                struct error *err) {
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        size_t i = 0;
        while (names[i] != NULL && strcmp(names[i], key) != 0)
            i++;
        if (names[i] == NULL)
            return error_set(err, EXIT_CODE_CONFIG, "%s: unknown member \"%.64s\"", where, key);
    }
    return 0;
}

static int copy_text(char *ret, size_t size, const char *text, const char *what, const char *where,
                     struct error *err) {
    if (text == NULL || text[0] == '\0' || strlen(text) >= size)
        return error_set(err, EXIT_CODE_CONFIG, "%s: \"%s\" needs a text of 1 to %zu bytes", where,
                         what, size - 1);
    (void)snprintf(ret, size, "%s", text);
    return 0;
}

static int read_price(struct price *p, const json_t *row, const char *where, struct error *err) {
    static const char *const members[] = {"name", "ranks", "price_per_hour", NULL};
    const char *name = NULL;
    int64_t ranks = 0;
    const json_t *price = json_object_get(row, "price_per_hour");
    if (!json_is_object(row))
        return expect(where, "expected {\"name\": ..., \"ranks\": ..., \"price_per_hour\": ...}",
                      err);
    if (only(row, where, members, err) != 0 ||
        json_member_string(row, where, "name", &name, err) != 0 ||
        json_member_int(row, where, "ranks", &ranks, err) != 0 ||
        copy_text(p->name, sizeof(p->name), name, "name", where, err) != 0)
        return -1;
    if (ranks < 1 || ranks > PRICE_RANKS_MAX)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: \"ranks\" needs a whole number from 1 to %d: how many ranks run on "
                         "such a machine",
                         where, PRICE_RANKS_MAX);
    p->ranks = (int)ranks;
    p->per_hour = json_is_number(price) ? json_number_value(price) : -1;
    if (!(p->per_hour >= 0 && p->per_hour <= PRICE_MOST))
        return expect(where, "\"price_per_hour\" needs a number from 0 to 1000000", err);
    return 0;
}

static int read_list(struct price_table *t, const json_t *list, const char *where,
                     struct error *err) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        char place[128];
        (void)snprintf(place, sizeof(place), "%.90s: instances[%zu]", where, i);
        if (read_price(&t->list[i], json_array_get(list, i), place, err) != 0)
            return -1;
        for (size_t k = 0; k < i; k++)
            if (strcmp(t->list[k].name, t->list[i].name) == 0)
                return error_set(err, EXIT_CODE_CONFIG, "%s: \"%s\" appears twice", where,
                                 t->list[i].name);
        t->count = i + 1;
    }
    return 0;
}

int price_table_parse(struct price_table *ret, const json_t *root, const char *where,
                      struct error *err) {
    static const char *const members[] = {"currency", "instances", NULL};
    const char *currency = "USD";
    const json_t *list = json_object_get(root, "instances");
    *ret = (struct price_table){.count = 0};
    if (!json_is_object(root))
        return expect(where, "expected an object with \"currency\" and \"instances\"", err);
    if (only(root, where, members, err) != 0 ||
        json_member_string(root, where, "currency", &currency, err) != 0 ||
        copy_text(ret->currency, sizeof(ret->currency), currency, "currency", where, err) != 0)
        return -1;
    if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > PRICES_MAX)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: \"instances\" needs a list of 1 to %d machines", where, PRICES_MAX);
    return read_list(ret, list, where, err);
}

int price_table_read(struct price_table *ret, const char *path, struct error *err) {
    cleanup_json json_t *root = NULL;
    if (json_read_file(path, &root, err) != 0)
        return error_recode(err, EXIT_CODE_CONFIG);
    int result = price_table_parse(ret, root, path, err);
    if (result != 0)
        (void)error_recode(err, EXIT_CODE_CONFIG);
    return result;
}

int price_machines(const struct price *p, int ranks) {
    return (ranks + p->ranks - 1) / p->ranks;
}

double price_of(const struct price *p, int ranks, double seconds) {
    return price_machines(p, ranks) * p->per_hour * seconds / HOUR;
}
