#include "trainer/app/serve/http/deadlines.h"

void deadlines_add(struct deadlines *list, struct connection_deadline *entry) {
    entry->before = NULL;
    entry->next = list->first;
    if (list->first != NULL)
        list->first->before = entry;
    list->first = entry;
    list->count++;
}

void deadlines_remove(struct deadlines *list, struct connection_deadline *entry) {
    if (entry->before != NULL)
        entry->before->next = entry->next;
    else
        list->first = entry->next;
    if (entry->next != NULL)
        entry->next->before = entry->before;
    list->count--;
}

int64_t deadlines_next(const struct deadlines *list) {
    int64_t next = INT64_MAX;
    for (const struct connection_deadline *e = list->first; e != NULL; e = e->next)
        next = e->at < next ? e->at : next;
    return next;
}

struct connection_deadline *deadlines_late(struct deadlines *list, int64_t now) {
    for (struct connection_deadline *e = list->first; e != NULL; e = e->next) {
        if (e->at > now)
            continue;
        e->at = INT64_MAX;
        return e;
    }
    return NULL;
}
