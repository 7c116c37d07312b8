/* Types of the values that ranks sum. */
#ifndef TRAINER_COMM_COMM_TYPE_H
#define TRAINER_COMM_COMM_TYPE_H

enum comm_type { COMM_F32, COMM_F64 };

#endif
