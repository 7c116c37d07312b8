#include "trainer/report/section.h"

#include <math.h>

static void put_end(struct html *h, const struct history_attempt *a, bool last) {
    if (a->ended)
        html_put(h,
                 a->code == 0     ? "complete"
                 : a->code == 143 ? "stopped on request"
                                  : "exit code %.0f",
                 a->code);
    else
        html_put(h, last ? "none recorded" : "killed or lost");
}

static void put_attempt(struct html *h, const struct page_runs *runs, size_t run, size_t i) {
    const struct run_history *of = &runs->list[run]->history;
    const struct history_attempt *a = &of->attempts[i];
    html_put(h, "<tr><td class=name>");
    if (runs->count > 1) {
        section_run_name(h, runs, run);
        html_put(h, "<td class=n>");
    }
    html_put(h, "%zu<td>", of->attempts_dropped + i + 1);
    section_time(h, a->begun);
    html_put(h, "<td class=n>");
    html_put_number(h, a->started ? a->from : (double)NAN);
    html_put(h, "<td class=n>");
    html_put_number(h, a->started ? a->to : (double)NAN);
    html_put(h, "<td class=n>");
    html_put_number(h, a->ranks);
    html_put(h, "<td class=n>");
    html_put_duration(h, a->parts[HISTORY_ALL]);
    html_put(h, "<td>");
    put_end(h, a, i + 1 == of->attempt_count);
    html_put(h, "</tr>");
}

void section_attempts(struct html *h, const struct page_runs *runs) {
    section_open(h, "Restarts", "Each process that trained in the folder.");
    html_put(h,
             "<div class=scroll><table><thead><tr>%s<th%s>#<th>Begun (UTC)<th class=n>From step"
             "<th class=n>To step<th class=n>Ranks<th class=n>Time<th>End</tr></thead><tbody>",
             runs->count > 1 ? "<th>Run" : "", runs->count > 1 ? " class=n" : "");
    for (size_t run = 0; run < runs->count; run++)
        for (size_t i = 0; i < runs->list[run]->history.attempt_count; i++)
            put_attempt(h, runs, run, i);
    html_put(h, "</tbody></table></div></section>");
}
