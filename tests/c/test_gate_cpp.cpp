// tidegate_gate.hpp: owners, attributes, durations, errors. What gates decide is test_gate.c's subject.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "check.h"
#include "thrown.hpp"
#include "tidegate_gate.hpp"

namespace {

using namespace std::chrono_literals;
using tidegate::Attribute;
using tidegate::Entering;
using tidegate::Entry;
using tidegate::Format;
using tidegate::Gate;
using tidegate::ManualClock;
using tidegate::Mistake;
using tidegate::Status;

template <class Owner>
constexpr bool moves_only = std::is_nothrow_move_constructible_v<Owner> && std::is_nothrow_move_assignable_v<Owner> &&
                            !std::is_copy_constructible_v<Owner> && !std::is_copy_assignable_v<Owner>;
static_assert(moves_only<Gate> && moves_only<Entry> && moves_only<tidegate::Refusal> && moves_only<Entering>);
static_assert(moves_only<tidegate::Events> && moves_only<tidegate::Watch>);
static_assert(noexcept(std::declval<const Gate &>().enter(std::declval<tidegate::Attributes>())));

// Beside the program lies the file that it writes.
std::string path = "test_gate_cpp.json";

constexpr std::string_view rules = R"(
show_keys = true

[[rules]]
name = "one"
match = { path = { prefix = "/one" } }
concurrency = 1
timeout = "1h"

[[rules]]
name = "each"
match = { path = { exact = "/each" } }
key = "client"
quota = "2/min"

[[rules]]
name = "call"
match = { path = { exact = "/call" } }
concurrency = 1
timeout = "call"
)";

bool has(const std::string &text, std::string_view what) {
    const bool found = text.find(what) != std::string::npos;
    if (!found) {
        std::printf("%s\n", text.c_str());
    }
    return found;
}

void an_entry_holds_what_its_rules_gave_until_the_end_of_its_scope() {
    Gate gate(rules, Format::toml);
    {
        Entry entry = gate.enter({{"path", "/one"}});
        CHECK(entry && entry.applies() && entry.status() == Status::allowed && !entry.refusal());
        CHECK(entry.rules_json() == "[\"one\"]");
        Entry late = gate.enter({{"path", "/one"}}, 1, 0ms);
        CHECK(!late && !late.is_mistake() && late.status() == Status::denied);
        Entry moved = std::move(entry);
        CHECK(moved && !entry);
        entry = std::move(moved);
        CHECK(entry && !gate.enter({{"path", "/one"}}, 1, 0s));
    }
    Entry again = gate.enter({{"path", "/one"}});
    CHECK(again);
    again.release(false);
    again.release();
    CHECK(!again);
    again = gate.enter({{"path", "/one"}});
    CHECK(again);
    again = gate.enter({{"path", "/else"}}); // which gives back what it held
    CHECK(again && !again.applies() && again.status() == Status::no_rule);
    CHECK(again.headers().limit.empty() && again.figures().empty());
    CHECK(gate.enter({{"path", "/one"}}, 1, 0s));
    CHECK(has(gate.stats_json(), "\"released_failed\":1,"));
}

void an_entry_that_an_exception_leaves_is_released_as_failed() {
    Gate gate(rules, Format::toml);
    try {
        Entry entry = gate.enter({{"path", "/one"}});
        throw std::runtime_error("the work failed");
    } catch (const std::runtime_error &) {
        Entry entry = gate.enter({{"path", "/one"}}, 1, 0s);
        CHECK(entry);
    }
    CHECK(has(gate.stats_json(), "\"released_failed\":1,\"released_ok\":1,"));
}

void a_refusal_tells_why_in_words_and_figures() {
    ManualClock clock;
    Gate gate(rules, Format::toml, clock);
    Entry first = gate.enter({{"path", "/each"}, {"client", "ann"}});
    CHECK(first.headers().policy == "\"each\";q=2;w=60" && first.headers().limit == "\"each\";r=1;t=30");
    CHECK(first.figures().size() == 1 && first.figures()[0].rule == "each" && first.figures()[0].limit == 2);
    CHECK(first.figures()[0].remaining == 1 && first.figures()[0].period == 1min && first.figures()[0].reset_after == 30s);
    CHECK(gate.enter({{"path", "/each"}, {"client", "ann"}}));
    CHECK(gate.enter({{"path", "/each"}, {"client", "bob"}}));
    const Entry late = gate.enter({{"path", "/each"}, {"client", "ann"}});
    const tidegate::Refusal &refusal = late.refusal();
    CHECK(!late && refusal && refusal.status() == Status::denied && late.status() == Status::denied);
    CHECK(refusal.rule() == "each" && refusal.key() == "ann" && refusal.quota() == "2/min");
    CHECK(refusal.limit() == 2 && refusal.remaining() == 0 && refusal.retry_after() == 30s);
    CHECK(refusal.in_flight() == 0 && refusal.waiting() == 0 && refusal.elapsed() == 0s && !refusal.timeout());
    CHECK(refusal.message() == "denied by rule each for ann: 2/min, 0 tokens remaining, retry after 30s");
    CHECK(has(refusal.problem_json(), "\"status\":429"));
    CHECK(late.headers().retry_after == "30" && late.headers().limit == "\"each\";r=0;t=30");
    std::ostringstream shown;
    shown << late << '|' << first;
    CHECK(shown.str() == refusal.message() + "|allowed");

    const Entry never = gate.enter({{"path", "/each"}}, 3);
    CHECK(never.status() == Status::exceeds_capacity && never.refusal().retry_after() == tidegate::never);
    Entry held = gate.enter({{"path", "/one"}});
    const Entry unknown = gate.enter({{"path", "/one"}}, 1, 0s);
    CHECK(!unknown.refusal().retry_after() && !unknown.refusal().key() && !unknown.refusal().quota());
    CHECK(unknown.refusal().timeout() == 0s && unknown.refusal().in_flight() == 1);
}

void attributes_are_of_any_text_or_bytes_in_braces_or_a_range() {
    Gate gate(rules, Format::toml);
    const std::string each = "/each";
    const std::vector<unsigned char> bytes = {0xFF, 0};
    CHECK(gate.enter({{std::string_view("path"), each}, {"client", bytes}}).applies());
    const std::vector<Attribute> list = {{"path", each}, {"client", bytes}};
    CHECK(gate.enter(list).applies());
    CHECK(!gate.enter(list));
    const std::array<Attribute, 2> array = {Attribute("path", each), Attribute("client", std::string("other"))};
    CHECK(gate.enter(array).applies());
    CHECK(gate.enter({}).status() == Status::no_rule);
    CHECK(gate.enter(std::vector<Attribute>()).status() == Status::no_rule);

    const char *none = nullptr;
    CHECK(gate.enter({{"path", none}}).status() == Status::invalid_key);
    CHECK(gate.enter({{"\xFF", "x"}}).status() == Status::invalid_option);
    CHECK(gate.enter({}, 0).status() == Status::invalid_cost && gate.enter({}, -1).is_mistake());
}

void rules_that_are_wrong_are_told_all_and_change_nothing() {
    constexpr std::string_view wrong = "rules:\n  - { name: a, quota: often }\n  - { name: b, concurrency: -1 }\n";
    const std::string text = thrown([&] { Gate gate(wrong, Format::yaml); });
    CHECK(has(text, "line 2: rule a: quota: got \"often\"; allowed: "));
    CHECK(has(text, "\nline 3: rule b: concurrency: got -1; allowed: "));
    Mistake mistake;
    CHECK(!Gate::make(wrong, Format::yaml, mistake) && mistake.status() == Status::invalid_option);
    CHECK(has(std::string(mistake.text()), "line 2: rule a: "));

    std::optional<Gate> gate = Gate::make(rules, Format::toml, mistake);
    CHECK(gate && mistake.status() == Status::allowed);
    CHECK(has(thrown([&] { gate->reload(wrong, Format::yaml); }), "line 2: "));
    CHECK(!gate->reload(wrong, Format::yaml, mistake) && mistake.status() == Status::invalid_option);
    CHECK(gate->enter({{"path", "/one"}}).applies());
    CHECK(has(thrown([&] { gate->reload_file("nowhere.toml"); }), "nowhere.toml: file: got "));
    CHECK(has(thrown([] { Gate::open("rules.txt"); }), "rules.txt"));
    CHECK(has(thrown([&] { auto watch = gate->watch_file("nowhere.toml"); }), "nowhere.toml"));
    CHECK(thrown([&] { gate->explain_json({}, 0); }, Status::invalid_cost) ==
          "request: got one that is invalid_cost; allowed: attributes with names in UTF-8, a cost of 1 to 9007199254740991");
    CHECK(has(thrown([&] { (void)gate->enter({}, 1, -1ms); }), "timeout: got -1 ms; allowed: "));
}

void rules_are_replaced_while_the_gate_is_in_use() {
    Gate gate(rules, Format::toml);
    Gate other = gate.share();
    Entry held = gate.enter({{"path", "/one"}});
    CHECK(has(other.reload("{\"rules\": [{\"name\": \"all\", \"quota\": \"1/h\"}]}", Format::json), "\"added\":[\"all\"]"));
    CHECK(gate.rules_json() == "{\"show_keys\":false,\"rules\":[{\"name\":\"all\",\"quota\":\"1/h\",\"mode\":\"enforce\"}]}");
    CHECK(has(gate.explain_json({{"path", "/one"}}), "{\"status\":\"allowed\""));
    CHECK(gate.enter({}) && !gate.enter({}));
    Mistake mistake;
    CHECK(gate.reload(rules, Format::toml, mistake));
    CHECK(gate.enter({{"path", "/one"}}, 1, 0s)); // anew: the old rule was gone, but not its entry
    held.release();

    std::FILE *file = std::fopen(path.c_str(), "w");
    CHECK(file != nullptr && std::fputs("{\"rules\": []}", file) >= 0 && std::fclose(file) == 0);
    {
        tidegate::Watch watch = gate.watch_file(path);
        CHECK(gate.enter({{"path", "/one"}}).status() == Status::no_rule);
    }
    CHECK(has(gate.reload_file(path), "\"added\":[]"));
    CHECK(Gate::open(path).enter({}).status() == Status::no_rule);
    CHECK(std::remove(path.c_str()) == 0);

    Gate moved = std::move(gate);
    CHECK(gate.enter({}).status() == Status::null_pointer && gate.stats_json().empty() && gate.events().next(0s) == std::nullopt);
    CHECK(moved.enter({}) && other.enter({}));
}

void a_thread_waits_for_as_long_as_rules_or_the_call_let_it() {
    Gate gate(rules, Format::toml);
    Entry held = gate.enter({{"path", "/one"}}), called = gate.enter({{"path", "/call"}});
    CHECK(gate.enter({{"path", "/one"}}, 1, 5ms).status() == Status::timed_out);
    CHECK(gate.enter({{"path", "/call"}}).status() == Status::denied); // no timeout, no wait
    CHECK(gate.enter({{"path", "/call"}}, 1, 5ms).status() == Status::timed_out);
    std::atomic<bool> is_in{false};
    std::thread other([&] {
        Entry one = gate.enter({{"path", "/one"}}), call = gate.enter({{"path", "/call"}}, 1, tidegate::never);
        is_in = one && call;
    });
    held.release();
    called.release();
    other.join();
    CHECK(is_in);
}

void a_request_that_waits_without_a_thread_is_woken_and_polled() {
    ManualClock clock;
    Gate gate(rules, Format::toml, clock);
    int calls = 0;
    const auto wake = [&calls] { ++calls; };
    Entering at_once = gate.enter_async({{"path", "/one"}}, 1, wake);
    CHECK(at_once.poll() && at_once.wake_after() == tidegate::never);
    Entry held = at_once.take();
    CHECK(held && !at_once.take());

    Entering waits = gate.enter_async({{"path", "/one"}}, 1, 2s, wake);
    CHECK(!waits.poll() && waits.wake_after() == 2s && waits.take().status() == Status::pending && calls == 0);
    Entering moved = std::move(waits);
    held.release();
    CHECK(calls == 1 && moved.poll());
    held = moved.take();
    CHECK(held);

    Entering late = gate.enter_async({{"path", "/one"}}, 1, 2s, wake);
    clock.advance(2s);
    CHECK(calls == 2 && late.poll());
    CHECK(late.take().refusal().elapsed() == 2s);

    {
        Entering dropped = gate.enter_async({{"path", "/one"}}, 1, wake), replaced = gate.enter_async({{"path", "/one"}}, 1, wake);
        replaced = gate.enter_async({{"path", "/one"}}, 0, wake);
        CHECK(replaced.poll() && replaced.take().status() == Status::invalid_cost);
    }
    held.release();
    CHECK(calls == 2);
    CHECK(gate.enter({{"path", "/one"}}, 1, 0s));
}

void events_are_fetched_until_another_listens() {
    Gate gate(rules, Format::toml);
    tidegate::Events events = gate.events();
    CHECK(!events.next(0s) && !events.is_over());
    Entry held = gate.enter({{"path", "/one"}});
    CHECK(!gate.enter({{"path", "/one"}}, 1, 0s));
    CHECK(has(events.next(tidegate::never).value_or(""), "\"event\":\"refused\""));
    tidegate::Events others = gate.events();
    CHECK(!events.next(1h) && events.is_over());
    CHECK(!others.next(1ms) && !others.is_over());
}

}  // namespace

int main(int count, char **arguments) {
    path = (count > 0 ? arguments[0] : path) + std::string(".json");
    RUN(an_entry_holds_what_its_rules_gave_until_the_end_of_its_scope);
    RUN(an_entry_that_an_exception_leaves_is_released_as_failed);
    RUN(a_refusal_tells_why_in_words_and_figures);
    RUN(attributes_are_of_any_text_or_bytes_in_braces_or_a_range);
    RUN(rules_that_are_wrong_are_told_all_and_change_nothing);
    RUN(rules_are_replaced_while_the_gate_is_in_use);
    RUN(a_thread_waits_for_as_long_as_rules_or_the_call_let_it);
    RUN(a_request_that_waits_without_a_thread_is_woken_and_polled);
    RUN(events_are_fetched_until_another_listens);
    return finish();
}
