// For the tests of tidegate.hpp: what a call throws.

#ifndef THROWN_HPP
#define THROWN_HPP

#include <string>

#include "check.h"
#include "tidegate.hpp"

// The text of the Error that a call throws; "" if it throws none.
template <class Call>
std::string thrown(Call call, tidegate::Status status = tidegate::Status::invalid_option) {
    try {
        call();
    } catch (const tidegate::Error &error) {
        CHECK(error.status() == status);
        return error.what();
    }
    return "";
}

#endif  // THROWN_HPP
