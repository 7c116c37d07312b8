#include "trainer/app/task/tasks.h"

#include <inttypes.h>

const struct task *task_of(enum model_task task) {
    return task == MODEL_DETECT ? &TASK_DETECT : &TASK_CLASSIFY;
}

int task_open(struct task_data *ret, const struct task_request *request, struct error *err) {
    *ret = (struct task_data){.task = task_of(request->model->task), .model = request->model};
    if (sample_health_parse_allowed(request->options->bad_samples, &ret->bad_allowed, err) != 0)
        return -1;
    return ret->task->open(ret, request, err);
}

void task_close(struct task_data *data) {
    bad_samples_done(&data->validation.faults);
    bad_samples_done(&data->training.faults);
    if (data->task != NULL && data->own != NULL)
        data->task->close(data);
    *data = (struct task_data){0};
}

int task_print(const struct task *task, struct buf *out, double epoch, const struct evaluation *e,
               struct error *err) {
    if (task->print != NULL)
        return task->print(out, epoch, e, err);
    if (buf_printf(out, err, "evaluation: epoch %.4g", epoch) != 0)
        return -1;
    for (int i = 0; i < e->count; i++)
        if (buf_printf(out, err, ", %s %.4f", e->figures[i].name, e->figures[i].value) != 0)
            return -1;
    return buf_printf(out, err, ", %" PRId64 " images", e->images);
}
