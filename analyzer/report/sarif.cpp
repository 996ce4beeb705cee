#include "analyzer/report/sarif.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "analyzer/report/encoding.h"
#include "analyzer/report/uri.h"

namespace tmemlint::report {
namespace {

using Json = nlohmann::ordered_json;

Json message_json(std::string_view text) {
  return {{"text", text}};
}

// Where and what the kinds of notification are, in the order of driver.notifications.
enum class Notification : uint8_t { kInputError, kIncomplete, kAssumption, kNotice };
constexpr std::string_view kNotificationIds[] = {"input-error", "incomplete", "assumption", "notice"};
constexpr std::string_view kNotificationTexts[] = {
    "An input could not be read or parsed.", "The analysis could not follow the kernel at this place.",
    "Something the input does not state was assumed.", "Something the reader of this report should know about it."};

size_t utf16_column(std::string_view line, uint32_t byte_column) {
  const size_t bytes = std::min<size_t>(byte_column - 1, line.size());
  return utf16_length(line.substr(0, bytes)) + (byte_column - 1 - bytes) + 1;
}

Json region_json(const ptx::SourceText& text, ptx::Span span) {
  const ptx::LineColumn begin = text.position(span.begin);
  const ptx::LineColumn end = text.position(std::max(span.begin, span.end));
  const size_t begin_column = utf16_column(text.line(begin.line), begin.column);
  size_t end_column = utf16_column(text.line(end.line), end.column);
  // An empty region shows as nothing in most viewers.
  if (end.line == begin.line) end_column = std::max(end_column, begin_column + 1);
  return {{"startLine", begin.line}, {"startColumn", begin_column}, {"endLine", end.line}, {"endColumn", end_column}};
}

// FNV-1a: any stable hash will do, and std::hash promises no stability.
uint64_t hash(std::string_view text, uint64_t seed = 0xcbf29ce484222325u) {
  for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return seed;
}

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r\f\v";
  const size_t begin = line.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kBlank) - begin + 1);
}

class Writer {
public:
  Writer(const std::vector<RuleInfo>& rules, SourceFiles& sources) : sources_(sources) {
    for (const RuleInfo& rule : rules) add_rule(rule);
  }

  Json log(const Results& results) {
    Json items = Json::array();
    for (const Finding& finding : results.findings) items.push_back(result(finding));
    Json run;
    run["tool"]["driver"] = driver();
    run["invocations"] = Json::array({invocation(results)});
    run["columnKind"] = "utf16CodeUnits";
    run["results"] = std::move(items);
    Json log;
    log["$schema"] = "https://json.schemastore.org/sarif-2.1.0.json";
    log["version"] = "2.1.0";
    log["runs"] = Json::array({std::move(run)});
    return log;
  }

private:
  size_t add_rule(const RuleInfo& rule) {
    const auto [found, added] = rule_index_.emplace(rule.id, rule_index_.size());
    if (!added) return found->second;
    const std::string_view help = rule.help.empty() ? rule.summary : rule.help;
    Json json = {{"id", rule.id}};
    json["shortDescription"] = message_json(rule.summary);
    json["fullDescription"] = message_json(help);
    json["help"] = {{"text", help}, {"markdown", rule.page.empty() ? help : rule.page}};
    json["defaultConfiguration"] = {{"level", to_string(rule.level)}};
    rules_.push_back(std::move(json));
    return found->second;
  }

  Json driver() const {
    Json driver = {{"name", "tmemlint"}, {"version", TMEMLINT_VERSION}, {"semanticVersion", TMEMLINT_VERSION}};
    driver["rules"] = rules_;
    driver["notifications"] = Json::array();
    for (size_t i = 0; i < std::size(kNotificationIds); ++i) {
      driver["notifications"].push_back(
          {{"id", kNotificationIds[i]}, {"shortDescription", message_json(kNotificationTexts[i])}});
    }
    return driver;
  }

  Json source_location(const SourcePosition& position) {
    Json region = {{"startLine", position.line}};
    if (position.column != 0) {
      const auto line = sources_.line(position);
      const size_t column = line ? utf16_column(*line, position.column) : position.column;
      region["startColumn"] = column;
      region["endLine"] = position.line;
      region["endColumn"] = column + 1;
    } else {
      region["endLine"] = position.line;
    }
    Json json;
    json["physicalLocation"] = {{"artifactLocation", {{"uri", uri_of(position.file)}}}, {"region", std::move(region)}};
    return json;
  }

  static Json ptx_location(const std::string& path, const ptx::SourceText* text, ptx::Span span) {
    Json json;
    json["physicalLocation"]["artifactLocation"]["uri"] = uri_of(path);
    if (text != nullptr) json["physicalLocation"]["region"] = region_json(*text, span);
    return json;
  }

  static Json ptx_location(const Place& place) {
    return ptx_location(place.text ? place.text->path() : "unknown", place.text.get(), place.span);
  }

  Json location(const Place& place) {
    return has_source_line(place) ? source_location(place.source) : ptx_location(place);
  }

  static Json in_kernel(Json location, const std::string& kernel) {
    if (!kernel.empty()) {
      location["logicalLocations"] =
          Json::array({Json{{"name", kernel}, {"fullyQualifiedName", kernel}, {"kind", "function"}}});
    }
    return location;
  }

  Json result(const Finding& finding) {
    const RuleInfo unlisted{finding.rule, finding.level, finding.rule, {}, {}};
    Json json = {{"ruleId", finding.rule}, {"ruleIndex", add_rule(unlisted)}, {"level", to_string(finding.level)}};
    json["message"] = message_json(finding.message);
    json["locations"] = Json::array({in_kernel(location(finding.place), finding.kernel)});
    Json related = related_locations(finding);
    if (!related.empty()) json["relatedLocations"] = std::move(related);
    json["partialFingerprints"] = {{"primaryLocationLineHash", fingerprint(finding)}};
    if (!finding.path.empty()) json["codeFlows"] = Json::array({code_flow(finding)});
    if (!finding.fixes.empty()) json["fixes"] = Json::array({fix_json(finding)});
    json["properties"] = {{"kernel", finding.kernel}, {"warps", finding.warps}};
    return json;
  }

  Json related_locations(const Finding& finding) {
    Json related = Json::array();
    auto add = [&](const Json& where, std::string_view message) {
      Json json = {{"id", related.size()}};
      json.update(where);
      json["message"] = message_json(message);
      related.push_back(std::move(json));
    };
    for (const Related& item : finding.related) add(location(item.place), item.message);
    if (has_source_line(finding.place)) {
      for (const SourcePosition& call : finding.place.inlined_at) add(source_location(call), "inlined here");
      add(ptx_location(finding.place), "in the PTX");
    }
    return related;
  }

  static Json fix_json(const Finding& finding) {
    std::map<std::string, Json> by_file;
    for (const Fix& fix : finding.fixes) {
      if (!fix.place.text) continue;
      const ptx::SourceText& text = *fix.place.text;
      const ptx::LineColumn begin = text.position(fix.place.span.begin);
      const ptx::LineColumn end = text.position(std::max(fix.place.span.begin, fix.place.span.end));
      Json replacement;
      replacement["deletedRegion"] = {{"startLine", begin.line},
                                      {"startColumn", utf16_column(text.line(begin.line), begin.column)},
                                      {"endLine", end.line},
                                      {"endColumn", utf16_column(text.line(end.line), end.column)}};
      replacement["insertedContent"] = message_json(fix.text);
      Json& replacements = by_file[text.path()];
      if (replacements.is_null()) replacements = Json::array();
      replacements.push_back(std::move(replacement));
    }
    Json changes = Json::array();
    for (auto& [file, replacements] : by_file) {
      Json change;
      change["artifactLocation"] = {{"uri", uri_of(file)}};
      change["replacements"] = std::move(replacements);
      changes.push_back(std::move(change));
    }
    Json json;
    json["artifactChanges"] = std::move(changes);
    return json;
  }

  Json code_flow(const Finding& finding) {
    Json steps = Json::array();
    for (const Related& step : finding.path) {
      Json where = location(step.place);
      where["message"] = message_json(step.message);
      steps.push_back({{"location", std::move(where)}});
    }
    Json thread;
    thread["locations"] = std::move(steps);
    Json flow;
    flow["threadFlows"] = Json::array({std::move(thread)});
    return flow;
  }

  // Survives lines moving, so that a review does not see old findings as new: the text of the line and the rule,
  // numbered where a file has several alike.
  std::string fingerprint(const Finding& finding) {
    std::string_view line;
    std::string file;
    const bool known = has_source_line(finding.place);
    if (known) file = finding.place.source.file;
    if (const auto source_line = known ? sources_.line(finding.place.source) : std::nullopt) {
      line = *source_line;
    } else if (finding.place.text) {
      const ptx::SourceText& text = *finding.place.text;
      // Even a hash tells something about a line that is not to be shown.
      if (sources_.shows(text)) line = text.line(text.position(finding.place.span.begin).line);
      if (!known) file = text.path();
    }
    const uint64_t value = hash(finding.rule, hash(std::string_view("\0", 1), hash(trimmed(line))));
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
    return std::string(digits) + ":" + std::to_string(++occurrences_[{file, value}]);
  }

  static Json notification(Notification kind, std::string_view level, std::string_view text) {
    const auto index = static_cast<size_t>(kind);
    Json json;
    json["descriptor"] = {{"id", kNotificationIds[index]}, {"index", index}};
    json["level"] = level;
    json["message"] = message_json(text);
    return json;
  }

  Json invocation(const Results& results) {
    Json notifications = Json::array();
    for (const InputError& error : results.errors) {
      Json json = notification(Notification::kInputError, "error", error.message);
      json["locations"] = Json::array({ptx_location(error.file, error.text.get(), error.span)});
      notifications.push_back(std::move(json));
    }
    for (const Incomplete& item : results.incomplete) {
      Json json = notification(Notification::kIncomplete, "note", item.reason);
      json["locations"] = Json::array({in_kernel(location(item.place), item.kernel)});
      notifications.push_back(std::move(json));
    }
    for (const std::string& assumption : results.assumptions) {
      notifications.push_back(notification(Notification::kAssumption, "note", assumption));
    }
    for (const std::string& notice : results.notices) {
      notifications.push_back(notification(Notification::kNotice, "note", notice));
    }
    Json invocation = {{"executionSuccessful", results.errors.empty()}};
    invocation["toolExecutionNotifications"] = std::move(notifications);
    return invocation;
  }

  SourceFiles& sources_;
  Json rules_ = Json::array();
  std::map<std::string, size_t, std::less<>> rule_index_;
  std::map<std::pair<std::string, uint64_t>, unsigned> occurrences_;
};

}  // namespace

std::string sarif(const Results& results, const std::vector<RuleInfo>& rules, SourceFiles& sources) {
  return Writer(rules, sources).log(results).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tmemlint::report
