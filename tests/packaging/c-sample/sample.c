// Two of three requests are let through.

#include <stdio.h>
#include <string.h>
#include <tidegate.h>

int main(void) {
    const char *quota = "2/h";
    char error[TIDEGATE_ERROR_SIZE];
    tidegate_rate_limiter *per_hour;
    if (tidegate_rate_limiter_parse(quota, strlen(quota), NULL, &per_hour, error, sizeof error) < 0) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    int allowed = 0;
    for (int request = 0; request < 3; request++) {
        allowed += tidegate_rate_limiter_try_acquire(per_hour, 1) == TIDEGATE_ALLOWED;
    }
    tidegate_rate_limiter_free(per_hour);
    printf("%d of 3 allowed\n", allowed);
    return 0;
}
