/* Not a test: a program that leaks a limiter, so that run.sh can see that its memory checker would find one. */

#include <stddef.h>

#include "tidegate.h"

int main(void) {
    tidegate_rate_limiter *limiter = NULL;
    int32_t status = tidegate_rate_limiter_parse("1/s", 3, NULL, &limiter, NULL, 0);
    limiter = NULL;
    return status;
}
