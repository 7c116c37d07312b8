/* Flag names of other trainers (torchrun, torchvision, timm, Lightning, Detectron2, Hugging Face's
 * Trainer) and the flag here that does the same. They improve the error for an unknown flag. */
#ifndef TRAINER_APP_OPTIONS_FLAG_WORD_H
#define TRAINER_APP_OPTIONS_FLAG_WORD_H

#include <stddef.h>

struct flag_word {
    const char *word; /* without "--", with '-' */
    const char *flag; /* our name for it; NULL: no such flag... */
    const char *hint; /* ...and HINT says what to do instead */
};

/* Returns the row for SIZE bytes of TEXT, or NULL. Ignores case; '-' and '_' are the same. */
const struct flag_word *flag_word_find(const char *text, size_t size);
/* Returns all rows. */
const struct flag_word *flag_word_table(size_t *ret_count);

#endif
