// Two of three requests are let through, by a limiter and by a gate.

#include <iostream>
#include <tidegate_gate.hpp>

int main() {
    tidegate::RateLimiter per_hour("2/h");
    tidegate::Gate gate("[[rules]]\nname = \"all\"\nquota = \"2/h\"\n", tidegate::Format::toml);
    int allowed = 0;
    int entered = 0;
    for (int request = 0; request < 3; request++) {
        allowed += per_hour.try_acquire() ? 1 : 0;
        entered += gate.enter({}) ? 1 : 0;
    }
    std::cout << allowed << " of 3 allowed, " << entered << " entered\n";
}
