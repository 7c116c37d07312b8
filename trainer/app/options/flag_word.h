/* Flags of other trainers, with the flag here that does the same.
 *
 * The names are those of torchrun, torchvision, timm, Lightning, Detectron2 and Hugging Face's
 * Trainer. They improve the error for an unknown flag; none of them is accepted as a flag. */
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
