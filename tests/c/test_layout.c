/* The bytes of the public structs, as C sees them, are those of layout.txt; run.sh makes layout_list.h from it. */

#include <assert.h>
#include <stddef.h>

#include "check.h"
#include "tidegate.h"

#define LAYOUT_STRUCT(type, size)                                                                                      \
    static_assert(sizeof(type) == (size), "size of " #type);                                                           \
    static_assert(offsetof(                                                                                            \
                      struct {                                                                                         \
                          char before;                                                                                 \
                          type aligned;                                                                                \
                      },                                                                                               \
                      aligned) == 8,                                                                                   \
                  "alignment of " #type);
#define LAYOUT_FIELD(type, field, offset, size)                                                                        \
    static_assert(offsetof(type, field) == (offset), "offset of " #type "." #field);                                   \
    static_assert(sizeof(((type *)0)->field) == (size), "size of " #type "." #field);
#include "layout_list.h"

#undef LAYOUT_STRUCT
#undef LAYOUT_FIELD
#define LAYOUT_STRUCT(type, size)                                                                                      \
    CHECK_EQUAL(end, sizeof_last);                                                                                     \
    end = 0;                                                                                                           \
    sizeof_last = (size);
#define LAYOUT_FIELD(type, field, offset, size)                                                                        \
    CHECK_EQUAL(offset, end);                                                                                          \
    end += (size);

static void the_listed_fields_fill_each_struct_without_a_hole(void) {
    size_t end = 0;
    size_t sizeof_last = 0;
#include "layout_list.h"
    CHECK_EQUAL(end, sizeof_last);
    CHECK(sizeof_last > 0);
}

int main(void) {
    RUN(the_listed_fields_fill_each_struct_without_a_hole);
    return finish();
}
