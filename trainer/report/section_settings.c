#include "trainer/report/section.h"

#include <string.h>

static const char *flag_of(const struct run_folder *run, const char *name) {
    const json_t *flags = json_object_get(run->history.run, "flags");
    return json_string_value(json_object_get(flags, name));
}

/* Returns true if OWN_FLAGS, " --lr 0.1 --epochs 5", has the flag. */
static bool is_own(const struct run_folder *run, const char *name) {
    const size_t size = strlen(name);
    for (const char *at = section_text(run, "own_flags"); (at = strstr(at, "--")) != NULL; at += 2)
        if (strncmp(at + 2, name, size) == 0 && at[2 + size] == ' ')
            return true;
    return false;
}

static bool differs(const struct page_runs *runs, const char *name) {
    const char *first = flag_of(runs->list[0], name);
    for (size_t i = 1; i < runs->count; i++) {
        const char *other = flag_of(runs->list[i], name);
        if ((first == NULL) != (other == NULL) || (first != NULL && strcmp(first, other) != 0))
            return true;
    }
    return false;
}

static bool is_own_of_some(const struct page_runs *runs, const char *name) {
    for (size_t i = 0; i < runs->count; i++)
        if (is_own(runs->list[i], name))
            return true;
    return false;
}

static void put_flag(struct html *h, const struct page_runs *runs, const char *name,
                     bool different) {
    html_put(h, "<tr%s><td class=name>--", different ? " class=differs" : "");
    html_text(h, name);
    for (size_t i = 0; i < runs->count; i++) {
        const char *value = flag_of(runs->list[i], name);
        html_put(h, "<td class=value>");
        html_text(h, value != NULL ? value : "–");
    }
    html_put(h, "</tr>");
}

/* Rows of the flags that were chosen, else of the others. */
static void put_flags(struct html *h, const struct page_runs *runs, bool chosen) {
    const char *name = NULL;
    json_t *value = NULL;
    html_put(h, "<div class=scroll><table><thead><tr><th>Flag");
    for (size_t i = 0; i < runs->count; i++) {
        html_put(h, "<th>");
        if (runs->count > 1)
            section_run_name(h, runs, i);
        else
            html_put(h, "Value");
    }
    html_put(h, "</tr></thead><tbody>");
    for (size_t i = 0; i < runs->count; i++) {
        json_t *flags = json_object_get(runs->list[i]->history.run, "flags");
        json_object_foreach(flags, name, value) {
            bool shown = false; /* an earlier run has it */
            for (size_t k = 0; k < i; k++)
                shown = shown || flag_of(runs->list[k], name) != NULL;
            const bool different = differs(runs, name);
            if (!shown && (different || is_own_of_some(runs, name)) == chosen)
                put_flag(h, runs, name, different);
        }
    }
    html_put(h, "</tbody></table></div>");
}

static void put_recipe(struct html *h, const struct page_runs *runs, size_t i) {
    const char *recipe = section_text(runs->list[i], "recipe");
    html_put(h, "<p class=words>");
    if (runs->count > 1) {
        section_run_name(h, runs, i);
        html_put(h, ": ");
    }
    if (recipe[0] != '\0') {
        html_put(h, "recipe <b>");
        html_text(h, recipe);
        html_put(h, "</b>");
    } else {
        html_put(h, "no recipe");
    }
    html_put(h, "</p>");
}

void section_settings(struct html *h, const struct page_runs *runs) {
    section_open(h, "Settings",
                 runs->count > 1
                     ? "Flags that differ between the runs, from their recipe or the defaults."
                     : "Flags that differ from the recipe or the defaults.");
    bool recipes = false;
    for (size_t i = 0; i < runs->count; i++)
        recipes = recipes || section_text(runs->list[i], "recipe")[0] != '\0';
    for (size_t i = 0; recipes && i < runs->count; i++)
        put_recipe(h, runs, i);
    if (!recipes)
        html_put(h, "<p class=words>no recipe</p>");
    put_flags(h, runs, true);
    html_put(h, "<details><summary>All other flags</summary>");
    put_flags(h, runs, false);
    html_put(h, "</details></section>");
}
