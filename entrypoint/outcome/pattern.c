#include "entrypoint/outcome/pattern.h"

#include <stdbool.h>
#include <string.h>

struct walk {
    const struct pattern *p;
    struct pattern_room *room;
    const char *line;
    size_t size;
    size_t steps;
};

static bool is_word(const struct walk *w, size_t at) {
    if (at >= w->size)
        return false;
    char c = w->line[at];
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool holds(const struct walk *w, enum pattern_what what, size_t at) {
    bool edge = (at > 0 && is_word(w, at - 1)) != is_word(w, at);
    switch (what) {
    case PATTERN_BEGIN:
        return at == 0;
    case PATTERN_END:
        return at == w->size;
    case PATTERN_WORD_EDGE:
        return edge;
    default:
        return !edge;
    }
}

static void push(struct pattern_room *room, size_t *depth, size_t pc) {
    if (room->marks[pc] == room->mark)
        return;
    room->marks[pc] = room->mark;
    room->stack[(*depth)++] = (uint16_t)pc;
}

/* Adds what can be reached from PC without a byte to LIST, each step once; true: the end can. */
static bool add(struct walk *w, size_t pc, size_t at, uint16_t *list, size_t *count) {
    size_t depth = 0;
    push(w->room, &depth, pc);
    while (depth > 0) {
        pc = w->room->stack[--depth];
        const struct pattern_step *step = &w->p->code[pc];
        w->steps++;
        switch (step->what) {
        case PATTERN_DONE:
            return true;
        case PATTERN_SPLIT:
            push(w->room, &depth, pc + 1);
            push(w->room, &depth, (size_t)((int)pc + step->by));
            break;
        case PATTERN_JUMP:
            push(w->room, &depth, (size_t)((int)pc + step->by));
            break;
        case PATTERN_CHAR:
        case PATTERN_ANY:
        case PATTERN_SET:
            list[(*count)++] = (uint16_t)pc;
            break;
        default:
            if (holds(w, step->what, at))
                push(w->room, &depth, pc + 1);
        }
    }
    return false;
}

static bool takes(const struct walk *w, const struct pattern_step *step, uint8_t byte) {
    switch (step->what) {
    case PATTERN_CHAR:
        return step->value == byte;
    case PATTERN_SET:
        return (w->p->sets[step->value].bits[byte / 8] >> (byte % 8) & 1) != 0;
    default:
        return true;
    }
}

static void next_mark(struct pattern_room *room) {
    if (++room->mark != 0)
        return;
    memset(room->marks, 0, sizeof(room->marks));
    room->mark = 1;
}

enum pattern_answer pattern_match(const struct pattern *p, const char *line, size_t size,
                                  struct pattern_room *room) {
    struct walk w = {.p = p, .room = room, .line = line, .size = size};
    size_t count = 0;
    if (p->literal_size > 0 && memmem(line, size, p->literal, p->literal_size) == NULL)
        return PATTERN_NO;
    next_mark(room);
    for (size_t at = 0;; at++) {
        uint16_t *now = room->lists[at % 2];
        uint16_t *then = room->lists[1 - at % 2];
        size_t next = 0;
        if (add(&w, 0, at, now, &count)) /* it may begin anywhere */
            return PATTERN_YES;
        if (at == size)
            return PATTERN_NO;
        next_mark(room);
        for (size_t i = 0; i < count; i++)
            if (takes(&w, &p->code[now[i]], (uint8_t)line[at]) &&
                add(&w, now[i] + 1U, at + 1, then, &next))
                return PATTERN_YES;
        count = next;
        w.steps += count;
        if (w.steps > PATTERN_STEPS_MAX)
            return PATTERN_COSTLY;
    }
}
