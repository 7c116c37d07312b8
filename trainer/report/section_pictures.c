#include "trainer/report/section.h"

#include <inttypes.h>
#include <string.h>

static void put_pictures(struct html *h, const struct run_folder *run, bool mistakes) {
    html_put(h, "<div class=pictures>");
    for (size_t i = 0; i < run->picture_count; i++) {
        const struct run_picture *picture = &run->pictures[i];
        html_put(h, "<figure><img alt=\"%s %" PRId64 "\" src=\"data:image/jpeg;base64,",
                 mistakes ? "mistake" : "image", picture->id);
        html_base64(h, picture->jpeg.data, picture->jpeg.size);
        html_put(h, "\"><figcaption>%s %" PRId64 ", step %" PRId64 "</figcaption></figure>",
                 mistakes ? "mistake" : "image", picture->id, run->pictures_step);
    }
    html_put(h, "</div>");
}

void section_pictures(struct html *h, const struct page_runs *runs) {
    size_t count = 0;
    bool objects = false;
    for (size_t i = 0; i < runs->count; i++) {
        count += runs->list[i]->picture_count;
        objects = objects || strcmp(section_text(runs->list[i], "task"), "detect") == 0;
    }
    section_open(h, objects ? "Detections" : "Worst mistakes",
                 count == 0 ? "There are no pictures: an evaluation writes them to --out."
                 : objects  ? "Beside the ground truth."
                            : "The class on green, what the network took it for on red.");
    for (size_t i = 0; i < runs->count; i++) {
        const struct run_folder *run = runs->list[i];
        if (run->picture_count == 0)
            continue;
        if (runs->count > 1) {
            html_put(h, "<h3>");
            section_run_name(h, runs, i);
            html_put(h, "</h3>");
        }
        put_pictures(h, run, strcmp(section_text(run, "task"), "detect") != 0);
    }
    html_put(h, "</section>");
}
