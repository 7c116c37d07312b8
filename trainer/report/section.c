#include "trainer/report/section.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void section_open(struct html *h, const char *heading, const char *intro) {
    html_put(h, "<section><h2>%s</h2>", heading);
    if (intro[0] != '\0')
        html_put(h, "<p class=intro>%s</p>", intro);
}

void section_run_name(struct html *h, const struct page_runs *runs, size_t run) {
    if (runs->count > 1)
        html_put(h, "<i class=\"key s%zu\"></i>", run);
    html_text(h, runs->list[run]->name);
}

void section_time(struct html *h, const char *time) {
    enum { DATE = 10, SECONDS = 19 };
    char text[SECONDS + 1];
    (void)snprintf(text, sizeof(text), "%s", time);
    if (strlen(text) == SECONDS && text[DATE] == 'T')
        text[DATE] = ' ';
    html_put(h, "<span class=time>");
    html_text(h, text);
    html_put(h, "</span>");
}

const char *section_text(const struct run_folder *run, const char *name) {
    const char *text = json_string_value(json_object_get(run->history.run, name));
    return text != NULL ? text : "";
}

double section_number(const struct run_folder *run, const char *name) {
    const json_t *value = json_object_get(run->history.run, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}
