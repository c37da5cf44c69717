/* Keys that are made of parts, or of addresses. */

#include "fixture.h"

static char error_text[TIDEGATE_ERROR_SIZE];

static tidegate_key part(const char *text) {
    return (tidegate_key){.data = text, .size = strlen(text)};
}

/* The key of some parts in hexadecimal. */
static const char *key_of(const tidegate_key *parts, size_t count) {
    static char hex[256];
    unsigned char key[100];
    size_t size = 0;
    CHECK_EQUAL(tidegate_key_of(parts, count, key, sizeof key, &size), TIDEGATE_OK);
    hex[0] = '\0';
    for (size_t i = 0; i < size; i++) {
        snprintf(hex + 2 * i, 3, "%02x", key[i]);
    }
    return hex;
}

static const char *ip_key(const char *address, int32_t prefix) {
    static char hex[2 * TIDEGATE_IP_KEY_SIZE + 1];
    unsigned char key[TIDEGATE_IP_KEY_SIZE];
    size_t size = 0;
    if (tidegate_ip_key(address, strlen(address), prefix, key, &size, error_text, sizeof error_text) < 0) {
        return error_text;
    }
    for (size_t i = 0; i < size; i++) {
        snprintf(hex + 2 * i, 3, "%02x", key[i]);
    }
    return hex;
}

static void parts_are_preceded_by_their_sizes(void) {
    CHECK_TEXT(key_of((tidegate_key[]){part("a"), part("b/")}, 2), "010000000000000061"
                                                                    "0200000000000000622f");
    CHECK_TEXT(key_of((tidegate_key[]){{NULL, 0}}, 1), "0000000000000000");
    CHECK_TEXT(key_of(NULL, 0), "");
}

static void other_parts_never_make_the_same_key(void) {
    char one[256];
    strcpy(one, key_of((tidegate_key[]){part("a"), part("bc")}, 2));
    CHECK(strcmp(one, key_of((tidegate_key[]){part("ab"), part("c")}, 2)) != 0);
    CHECK(strcmp(one, key_of((tidegate_key[]){part("abc")}, 1)) != 0);
    CHECK(strcmp(one, key_of((tidegate_key[]){part("a"), part("bc"), part("")}, 3)) != 0);
}

static void the_size_is_told_without_a_buffer_and_too_small_a_one_is_left_alone(void) {
    tidegate_key parts[] = {part("ann"), part("/report")};
    char key[26] = "untouched";
    size_t size = 77;
    CHECK_EQUAL(tidegate_key_of(parts, 2, key, sizeof key - 1, &size), TIDEGATE_ERROR_OPTION);
    CHECK_TEXT(key, "untouched");
    CHECK_EQUAL(size, 77);
    CHECK_EQUAL(tidegate_key_of(parts, 2, NULL, 0, &size), TIDEGATE_OK);
    CHECK_EQUAL(size, sizeof key);
    CHECK_EQUAL(tidegate_key_of(parts, 2, key, sizeof key, &size), TIDEGATE_OK);
    CHECK(memcmp(key + 19, "/report", 7) == 0);
}

static void wrong_parts_are_errors_and_nothing_is_written(void) {
    tidegate_key parts[] = {part("ann"), {NULL, 1}};
    char key[64] = "untouched";
    size_t size = 77;
    CHECK_EQUAL(tidegate_key_of(parts, 2, key, sizeof key, &size), TIDEGATE_ERROR_KEY);
    CHECK_EQUAL(tidegate_key_of(NULL, 1, key, sizeof key, &size), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(tidegate_key_of(parts, 1, NULL, 64, &size), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(tidegate_key_of(parts, 1, key, sizeof key, NULL), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(tidegate_key_of(parts, SIZE_MAX, key, sizeof key, &size), TIDEGATE_ERROR_MEMORY);
    parts[1] = (tidegate_key){.data = "ann", .size = SIZE_MAX};
    CHECK_EQUAL(tidegate_key_of(parts, 2, key, sizeof key, &size), TIDEGATE_ERROR_MEMORY);
    CHECK_TEXT(key, "untouched");
    CHECK_EQUAL(size, 77);
}

static void an_address_counts_up_to_its_prefix(void) {
    CHECK_TEXT(ip_key("203.0.113.7", TIDEGATE_DEFAULT_PREFIX), "cb007107");
    CHECK_TEXT(ip_key("203.0.113.7", 32), "cb007107");
    CHECK_TEXT(ip_key("203.0.113.7", 24), "cb007100");
    CHECK_TEXT(ip_key("203.0.113.7", 0), "00000000");
    CHECK_TEXT(ip_key("::ffff:203.0.113.7", TIDEGATE_DEFAULT_PREFIX), "cb007107");
    CHECK_TEXT(ip_key("2001:db8:1:2:3::4", TIDEGATE_DEFAULT_PREFIX), "20010db8000100020000000000000000");
    CHECK_TEXT(ip_key("2001:DB8:1:2:3::4", 128), "20010db8000100020003000000000004");
}

static void what_is_wrong_with_an_address_is_told_in_words(void) {
    CHECK_TEXT(ip_key("nowhere", -1), "address: got \"nowhere\"; allowed: an IPv4 or IPv6 address");
    CHECK_TEXT(ip_key("", -1), "address: got \"\"; allowed: an IPv4 or IPv6 address");
    CHECK_TEXT(ip_key("203.0.113.7 ", -1), "address: got \"203.0.113.7 \"; allowed: an IPv4 or IPv6 address");
    CHECK_TEXT(ip_key("203.0.113.7", 33), "prefix: got 33; allowed: 0 to 32 for this address");
    CHECK_TEXT(ip_key("::1", 129), "prefix: got 129; allowed: 0 to 128, or -1 for the default");
    CHECK_TEXT(ip_key("::1", 264), "prefix: got 264; allowed: 0 to 128, or -1 for the default");
    CHECK_TEXT(ip_key("::1", -2), "prefix: got -2; allowed: 0 to 128, or -1 for the default");
    char long_text[2000];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    CHECK(strstr(ip_key(long_text, -1), "(1999 bytes); allowed: an IPv4 or IPv6 address") != NULL);
}

static void wrong_pointers_for_an_address_are_errors_and_nothing_is_written(void) {
    char key[TIDEGATE_IP_KEY_SIZE] = "untouched";
    size_t size = 77;
    CHECK_EQUAL(tidegate_ip_key(NULL, 3, -1, key, &size, NULL, 0), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(tidegate_ip_key("::1", 3, -1, NULL, &size, NULL, 0), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(tidegate_ip_key("::1", 3, -1, key, NULL, NULL, 0), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(tidegate_ip_key("::1", 3, -1, key, &size, NULL, 1), TIDEGATE_ERROR_NULL_POINTER);
    CHECK_EQUAL(tidegate_ip_key(NULL, 0, -1, key, &size, NULL, 0), TIDEGATE_ERROR_OPTION);
    CHECK_EQUAL(tidegate_ip_key("\xff\xfe", 2, -1, key, &size, NULL, 0), TIDEGATE_ERROR_OPTION);
    CHECK_EQUAL(tidegate_ip_key("::1", SIZE_MAX, -1, key, &size, NULL, 0), TIDEGATE_ERROR_MEMORY);
    CHECK_TEXT(key, "untouched");
    CHECK_EQUAL(size, 77);
}

int main(void) {
    RUN(parts_are_preceded_by_their_sizes);
    RUN(other_parts_never_make_the_same_key);
    RUN(the_size_is_told_without_a_buffer_and_too_small_a_one_is_left_alone);
    RUN(wrong_parts_are_errors_and_nothing_is_written);
    RUN(an_address_counts_up_to_its_prefix);
    RUN(what_is_wrong_with_an_address_is_told_in_words);
    RUN(wrong_pointers_for_an_address_are_errors_and_nothing_is_written);
    return finish();
}
