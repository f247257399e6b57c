/* Inside pkg/verify: rows that apply in every step, before and after those of the stage. */
#ifndef DV_VERIFY_TABLES_H
#define DV_VERIFY_TABLES_H

#include "verify/turn.h"

extern const struct verify_row verify_early_rows[];
extern const size_t verify_early_row_count;
extern const struct verify_row verify_late_rows[];
extern const size_t verify_late_row_count;

#endif
