/* Programs that were compiled against an older or a newer header: their structs are smaller or larger than the
 * library's. Each struct lies at the end of its own allocation, so that a memory checker sees any byte read beyond it. */

#include "fixture.h"

static char error_text[TIDEGATE_ERROR_SIZE];

/* A struct of `size` bytes that begins as `whole` does, with zeros beyond that. */
static void *resized(const void *whole, size_t whole_size, uint32_t size) {
    size_t allocated = size < 4 ? 4 : size;
    char *copy = calloc(1, allocated);
    memcpy(copy, whole, whole_size < allocated ? whole_size : allocated);
    memcpy(copy, &size, sizeof size);
    return copy;
}

static int32_t build_rate(void *quota, void *options) {
    tidegate_rate_limiter *limiter = NULL;
    int32_t status = tidegate_rate_limiter_new(quota, 1, options, &limiter, error_text, sizeof error_text);
    CHECK((status == TIDEGATE_OK) == (limiter != NULL));
    tidegate_rate_limiter_free(limiter);
    free(quota);
    free(options);
    return status;
}

static int32_t build_concurrency(void *options) {
    tidegate_concurrency_limiter *limiter = NULL;
    int32_t status = tidegate_concurrency_limiter_new(options, &limiter, error_text, sizeof error_text);
    CHECK((status == TIDEGATE_OK) == (limiter != NULL));
    tidegate_concurrency_limiter_free(limiter);
    free(options);
    return status;
}

static const tidegate_quota quota = {
    .struct_size = sizeof quota, .limit = 5, .period_ns = SECOND, .burst = 3, .algorithm = TIDEGATE_ALGORITHM_GCRA};
static const tidegate_rate_limiter_options rate_options = {.struct_size = sizeof rate_options};
static const tidegate_concurrency_limiter_options options = {.struct_size = sizeof options, .limit = 5};

#define QUOTA(size) resized(&quota, sizeof quota, size)
#define RATE_OPTIONS(size) resized(&rate_options, sizeof rate_options, size)
#define OPTIONS(size) resized(&options, sizeof options, size)

static void a_smaller_struct_is_filled_up_with_defaults(void) {
    /* Without algorithm and anchor; without burst; without options. */
    CHECK_EQUAL(build_rate(QUOTA(32), RATE_OPTIONS(16)), TIDEGATE_OK);
    CHECK_EQUAL(build_rate(QUOTA(24), RATE_OPTIONS(8)), TIDEGATE_OK);
    CHECK_EQUAL(build_concurrency(OPTIONS(16)), TIDEGATE_OK);

    void *small = QUOTA(24);
    char text[TIDEGATE_QUOTA_TEXT_SIZE];
    size_t length;
    CHECK_EQUAL(tidegate_quota_format(small, text, sizeof text, &length), TIDEGATE_OK);
    CHECK_TEXT(text, "5/s");
    free(small);
}

static void a_smaller_struct_that_lacks_what_is_needed_is_told_so(void) {
    CHECK_EQUAL(build_rate(QUOTA(16), NULL), TIDEGATE_ERROR_OPTION);
    CHECK(strncmp(error_text, "period: got 0 ns", strlen("period: got 0 ns")) == 0);
    CHECK_EQUAL(build_rate(QUOTA(8), NULL), TIDEGATE_ERROR_OPTION);
    CHECK(strncmp(error_text, "limit: got 0", strlen("limit: got 0")) == 0);
    CHECK_EQUAL(build_concurrency(OPTIONS(8)), TIDEGATE_ERROR_OPTION);
}

static void a_larger_struct_is_fine_as_long_as_its_tail_is_zero(void) {
    CHECK_EQUAL(build_rate(QUOTA(72), RATE_OPTIONS(128)), TIDEGATE_OK);
    CHECK_EQUAL(build_rate(QUOTA(4096), RATE_OPTIONS(4096)), TIDEGATE_OK);
    CHECK_EQUAL(build_concurrency(OPTIONS(96)), TIDEGATE_OK);

    char *large = QUOTA(72);
    large[71] = 1;
    CHECK_EQUAL(build_rate(large, NULL), TIDEGATE_ERROR_STRUCT_SIZE);
    CHECK_TEXT(error_text, "struct_size: got 72 with a tail that is not zero; allowed: the sizeof of the struct, 64 in "
                           "ABI 1, all zeros beyond that");
    large = RATE_OPTIONS(96);
    large[64] = 1;
    CHECK_EQUAL(build_rate(QUOTA(64), large), TIDEGATE_ERROR_STRUCT_SIZE);
    large = OPTIONS(96);
    large[95] = 1;
    CHECK_EQUAL(build_concurrency(large), TIDEGATE_ERROR_STRUCT_SIZE);
}

static void sizes_that_no_struct_has_are_errors(void) {
    const uint32_t wrong[] = {0, 1, 4, 7, 63, 65, 4104, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        tidegate_quota wrong_quota = quota;
        tidegate_rate_limiter_options wrong_rate_options = rate_options;
        tidegate_concurrency_limiter_options wrong_options = options;
        wrong_quota.struct_size = wrong_rate_options.struct_size = wrong_options.struct_size = wrong[i];
        tidegate_rate_limiter *rate = NULL;
        tidegate_concurrency_limiter *concurrency = NULL;
        CHECK_EQUAL(tidegate_rate_limiter_new(&wrong_quota, 1, NULL, &rate, NULL, 0), TIDEGATE_ERROR_STRUCT_SIZE);
        CHECK_EQUAL(tidegate_rate_limiter_new(&quota, 1, &wrong_rate_options, &rate, NULL, 0),
                    TIDEGATE_ERROR_STRUCT_SIZE);
        CHECK_EQUAL(tidegate_concurrency_limiter_new(&wrong_options, &concurrency, NULL, 0),
                    TIDEGATE_ERROR_STRUCT_SIZE);
        CHECK(rate == NULL && concurrency == NULL);
    }
}

static void the_elements_of_an_array_are_as_far_apart_as_their_size_says(void) {
    for (uint32_t size = 24; size <= 128; size += 8) {
        char *array = malloc(3 * (size_t)size);
        for (int i = 0; i < 3; i++) {
            tidegate_quota one = quota;
            one.limit = 10 + (uint64_t)i;
            one.burst = 0;
            void *element = resized(&one, sizeof one, size);
            memcpy(array + (size_t)i * size, element, size);
            free(element);
        }
        tidegate_rate_limiter *limiter = NULL;
        CHECK_EQUAL(tidegate_rate_limiter_new((tidegate_quota *)(void *)array, 3, NULL, &limiter, error_text,
                                              sizeof error_text),
                    TIDEGATE_OK);
        tidegate_quota back[3];
        size_t count = 0;
        CHECK_EQUAL(tidegate_rate_limiter_quotas(limiter, back, 3, &count), TIDEGATE_OK);
        for (int i = 0; i < 3; i++) {
            CHECK_EQUAL(back[i].limit, 10 + i);
            CHECK_EQUAL(back[i].struct_size, 64);
        }
        tidegate_rate_limiter_free(limiter);
        free(array);
    }
}

static void the_elements_of_an_array_agree_about_their_size(void) {
    tidegate_quota quotas[] = {quota, quota};
    quotas[1].struct_size = 56;
    tidegate_rate_limiter *limiter = NULL;
    CHECK_EQUAL(tidegate_rate_limiter_new(quotas, 2, NULL, &limiter, error_text, sizeof error_text),
                TIDEGATE_ERROR_STRUCT_SIZE);
    CHECK_TEXT(error_text, "struct_size: got 56; allowed: 64, as in the first quota");
}

int main(void) {
    RUN(a_smaller_struct_is_filled_up_with_defaults);
    RUN(a_smaller_struct_that_lacks_what_is_needed_is_told_so);
    RUN(a_larger_struct_is_fine_as_long_as_its_tail_is_zero);
    RUN(sizes_that_no_struct_has_are_errors);
    RUN(the_elements_of_an_array_are_as_far_apart_as_their_size_says);
    RUN(the_elements_of_an_array_agree_about_their_size);
    return finish();
}
