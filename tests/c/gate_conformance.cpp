// Runs the vectors of the gate (tests/vectors/gate) through tidegate_gate.hpp and prints its answers.
// usage: gate_conformance_cpp FILE...

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "document.h"
#include "tidegate_gate.hpp"

namespace {

using Words = std::vector<std::string>;

// The script itself is wrong.
struct Fault : std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::uint64_t number(const std::string &text) {
    std::size_t read = 0;
    const std::uint64_t value = std::stoull(text, &read);
    if (read != text.size()) {
        throw Fault(text + " is no number");
    }
    return value;
}

// ----------------------------------------------------------------------------------------------------------- documents

const char *field(const char *object, const char *name) {
    const char *value = document_field(object, name);
    if (value == nullptr) {
        throw Fault("no " + std::string(name) + " in " + object);
    }
    return value;
}

std::string text_of(const char *value) {
    std::size_t length = 0;
    const char *text = document_text(value, &length);
    return std::string(text, length);
}

std::string text_of(const char *object, const char *name) { return text_of(field(object, name)); }

std::vector<const char *> elements(const char *array) {
    std::vector<const char *> elements;
    for (const char *each = document_first(array); each != nullptr; each = document_next(each)) {
        elements.push_back(each);
    }
    return elements;
}

Words texts(const char *array) {
    Words texts;
    for (const char *each : elements(array)) {
        texts.push_back(text_of(each));
    }
    return texts;
}

std::string joined(const Words &words) {
    std::string joined;
    for (const std::string &word : words) {
        joined += (joined.empty() ? "" : ",") + word;
    }
    return joined;
}

// ------------------------------------------------------------------------------------------------------------- answers

// What the words of a request say. Its attributes look at it.
struct Request {
    std::map<std::string, std::string> values;
    std::uint64_t cost = 1;
    // What the entry is kept as.
    std::optional<std::string> kept_as;

    Request(Words::const_iterator begin, Words::const_iterator end) {
        for (; begin != end; ++begin) {
            const std::size_t equals = begin->find('=');
            if (equals == std::string::npos) {
                throw Fault(*begin + " has no value");
            }
            const std::string name = begin->substr(0, equals), value = begin->substr(equals + 1);
            if (name == "cost") {
                cost = number(value);
            } else if (name == "as") {
                kept_as = value;
            } else {
                values[name] = value;
            }
        }
    }

    std::vector<tidegate::Attribute> attributes() const {
        std::vector<tidegate::Attribute> attributes;
        for (const auto &[name, value] : values) {
            attributes.emplace_back(name, value);
        }
        return attributes;
    }
};

std::string refused(const tidegate::Refusal &refusal) {
    std::ostringstream out;
    out << refusal.status() << " rule=" << refusal.rule() << " limit=" << refusal.limit()
        << " remaining=" << refusal.remaining() << " retry_after=";
    if (!refusal.retry_after()) {
        out << "others";
    } else if (*refusal.retry_after() == tidegate::never) {
        out << "never";
    } else {
        out << refusal.retry_after()->count();
    }
    if (refusal.key()) {
        out << " key=" << *refusal.key();
    }
    return out.str();
}

std::string faults(const std::string &told, const std::string &path) {
    std::string faults = "faults";
    std::istringstream lines(told);
    for (std::string line; std::getline(lines, line);) {
        char place[512];
        if (!document_fault(line.c_str(), path.c_str(), place, sizeof place)) {
            throw Fault("not the form of a fault: " + line);
        }
        faults += std::string(" ") + place;
    }
    return faults;
}

std::string reloaded(const std::string &document) {
    std::string out = "ok";
    for (const char *kind : {"changed", "restarted", "added", "removed", "unchanged"}) {
        const Words rules = texts(field(document.c_str(), kind));
        if (!rules.empty()) {
            out += " " + std::string(kind) + "=" + joined(rules);
        }
    }
    return out;
}

std::string explained(const std::string &document) {
    std::string out = text_of(document.c_str(), "status");
    for (const char *rule : elements(field(document.c_str(), "rules"))) {
        out += " " + text_of(rule, "rule") + "=";
        if (text_of(rule, "mode") == "off") {
            out += "off";
        } else if (text_of(rule, "matched") == "false") {
            out += "unmatched";
        } else {
            out += text_of(rule, "status") + ":" + text_of(rule, "remaining");
        }
    }
    return out;
}

std::string counted(const std::string &document) {
    const char *stats = document.c_str();
    std::string out = "ok admitted=" + text_of(stats, "admitted") + " refused=" + text_of(stats, "refused") +
                      " unmatched=" + text_of(stats, "unmatched") + " ok=" + text_of(stats, "released_ok") +
                      " failed=" + text_of(stats, "released_failed");
    for (const char *rule : elements(field(stats, "rules"))) {
        out += " " + text_of(rule, "name") + "=" + text_of(rule, "admitted") + ":" + text_of(rule, "refused") + ":" +
               text_of(field(rule, "limiter"), "in_flight");
    }
    return out;
}

// ------------------------------------------------------------------------------------------------------------- scripts

class Script {
public:
    // `folder` is where its rules are.
    explicit Script(std::string folder) : folder_(std::move(folder)) {}

    std::string run(const Words &words) {
        const std::string &verb = words[0], &name = words.at(1);
        if (verb == "gate") {
            return open(name, folder_ + words.at(2));
        }
        if (verb == "reload") {
            return reload(name, folder_ + words.at(2));
        }
        if (verb == "enter") {
            return enter(name, Request(words.begin() + 2, words.end()));
        }
        if (verb == "leave") {
            entries_.at(name).release(!(words.size() == 3 && words[2] == "failed"));
            entries_.erase(name);
            return "ok";
        }
        if (verb == "explain") {
            const Request request(words.begin() + 2, words.end());
            return explained(gates_.at(name).explain_json(request.attributes(), request.cost));
        }
        if (verb == "stats") {
            return counted(gates_.at(name).stats_json());
        }
        if (verb == "advance") {
            clock_.advance(std::chrono::nanoseconds(number(name)));
            return "ok";
        }
        throw Fault("unknown command " + verb);
    }

private:
    std::string open(const std::string &name, const std::string &path) {
        try {
            gates_.insert_or_assign(name, tidegate::Gate::open(path, clock_));
            return "ok";
        } catch (const tidegate::Error &error) {
            return faults(error.what(), path);
        }
    }

    std::string reload(const std::string &name, const std::string &path) {
        try {
            return reloaded(gates_.at(name).reload_file(path));
        } catch (const tidegate::Error &error) {
            return faults(error.what(), path);
        }
    }

    std::string enter(const std::string &name, const Request &request) {
        tidegate::Entry entry = gates_.at(name).enter(request.attributes(), request.cost, std::chrono::nanoseconds(0));
        if (entry.refusal()) {
            return refused(entry.refusal());
        }
        if (entry.is_mistake()) {
            throw Fault(std::string(tidegate::name(entry.status())));
        }
        Words rules = texts(entry.rules_json().c_str());
        std::sort(rules.begin(), rules.end());
        const std::string told =
            entry.applies() ? "allowed rules=" + joined(rules) : std::string(tidegate::name(entry.status()));
        if (request.kept_as) {
            entries_.insert_or_assign(*request.kept_as, std::move(entry));
        }
        return told;
    }

    std::string folder_;
    tidegate::ManualClock clock_;
    std::map<std::string, tidegate::Gate> gates_;
    std::map<std::string, tidegate::Entry> entries_;
};

void run_file(const std::string &path) {
    const std::size_t name = path.rfind('/') + 1;
    std::ifstream file(path);
    if (!file) {
        throw Fault(path + " can't be opened");
    }
    std::cout << "file " << path.substr(name) << '\n';
    std::optional<Script> script;
    std::string line;
    for (long line_number = 1; std::getline(file, line); ++line_number) {
        std::istringstream stream(line);
        Words words;
        for (std::string word; stream >> word;) {
            words.push_back(word);
        }
        if (words.empty() || words[0][0] == '#' || words[0][0] == '=') {
            continue;
        }
        try {
            if (words[0] == "script") {
                script.emplace(path.substr(0, name));
                std::cout << "script " << words.at(1) << '\n';
            } else {
                std::cout << line_number << ' ' << script.value().run(words) << '\n';
            }
        } catch (const std::exception &fault) {
            throw Fault(path + ":" + std::to_string(line_number) + ": " + fault.what());
        }
    }
}

}  // namespace

int main(int count, char **paths) {
    std::ios::sync_with_stdio(false);
    try {
        for (int i = 1; i < count; ++i) {
            run_file(paths[i]);
        }
    } catch (const std::exception &fault) {
        std::cout.flush();
        std::cerr << fault.what() << '\n';
        return 2;
    }
    return 0;
}
