#include "analyzer/report/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analyzer/report/sources.h"

namespace tmemlint::report {
namespace {

using Json = nlohmann::ordered_json;

std::string written(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json position_json(const SourcePosition& position) {
  return {{"file", position.file}, {"line", position.line}, {"column", std::max<uint32_t>(position.column, 1)}};
}

Json position_json(const std::string& file, const ptx::SourceText* text, ptx::Span span) {
  const ptx::LineColumn at = text != nullptr ? text->position(span.begin) : ptx::LineColumn{};
  return {{"file", file}, {"line", at.line}, {"column", at.column}};
}

void add_place(Json& json, const Place& place) {
  json.update(position_json(place.text ? place.text->path() : "", place.text.get(), place.span));
}

// The author's position, as the last key of a finding, related place or incomplete place: it is the longest one.
void add_source(Json& json, const Place& place) {
  if (!has_source_line(place)) return;
  Json source = position_json(place.source);
  source["inlined_at"] = Json::array();
  for (const SourcePosition& call : place.inlined_at) source["inlined_at"].push_back(position_json(call));
  json["source"] = std::move(source);
}

Json related_json(const std::vector<Related>& related) {
  Json out = Json::array();
  for (const Related& item : related) {
    Json json;
    add_place(json, item.place);
    json["message"] = item.message;
    add_source(json, item.place);
    out.push_back(std::move(json));
  }
  return out;
}

Json fixes_json(const std::vector<Fix>& fixes) {
  Json out = Json::array();
  for (const Fix& fix : fixes) {
    Json json;
    add_place(json, fix.place);
    json["length"] = fix.place.span.end - fix.place.span.begin;
    json["text"] = fix.text;
    out.push_back(std::move(json));
  }
  return out;
}

Json finding_json(const Finding& finding) {
  Json json = {{"rule", finding.rule}, {"level", to_string(finding.level)}, {"message", finding.message}};
  add_place(json, finding.place);
  json["kernel"] = finding.kernel;
  json["warps"] = finding.warps;
  json["related"] = related_json(finding.related);
  if (!finding.path.empty()) json["path"] = related_json(finding.path);
  if (!finding.fixes.empty()) json["fixes"] = fixes_json(finding.fixes);
  add_source(json, finding.place);
  return json;
}

Json incomplete_json(const Incomplete& incomplete) {
  Json json;
  add_place(json, incomplete.place);
  json["kernel"] = incomplete.kernel;
  json["reason"] = incomplete.reason;
  add_source(json, incomplete.place);
  return json;
}

Json error_json(const InputError& error) {
  Json json = position_json(error.file, error.text.get(), error.span);
  json["message"] = error.message;
  return json;
}

Json tool_json() {
  return {{"name", "tmemlint"}, {"version", TMEMLINT_VERSION}};
}

}  // namespace

std::string json(const Results& results) {
  Json out;
  out["tool"] = tool_json();
  for (const char* list : {"findings", "incomplete", "errors", "assumptions"}) out[list] = Json::array();
  for (const Finding& finding : results.findings) out["findings"].push_back(finding_json(finding));
  for (const Incomplete& incomplete : results.incomplete) out["incomplete"].push_back(incomplete_json(incomplete));
  for (const InputError& error : results.errors) out["errors"].push_back(error_json(error));
  out["assumptions"] = results.assumptions;
  if (!results.notices.empty()) out["notices"] = results.notices;
  for (size_t n = 0; n < assumptions::kRows; ++n) {
    const auto id = static_cast<assumptions::Id>(n);
    if (const uint64_t count = results.assumed.of(id); count != 0)
      out["assumed"].push_back({{"id", assumptions::row(id).id}, {"count", count}});
  }
  for (const KernelStats& s : results.stats) {
    out["stats"].push_back({{"file", s.file},
                            {"kernel", s.kernel},
                            {"asked", s.asked},
                            {"decided", s.decided},
                            {"scenarios", s.scenarios},
                            {"stepped", s.stepped},
                            {"evaluated", s.evaluated}});
  }
  const Summary& summary = results.summary;
  out["summary"] = {{"files", summary.files},          {"kernels", summary.kernels}, {"tcgen05", summary.tcgen05},
                    {"error", summary.error},          {"warning", summary.warning}, {"note", summary.note},
                    {"incomplete", summary.incomplete}};
  return written(out);
}

std::string json(const std::vector<assumptions::Row>& rows) {
  Json out;
  out["tool"] = tool_json();
  out["assumptions"] = Json::array();
  for (const assumptions::Row& row : rows) {
    out["assumptions"].push_back({{"id", row.id},
                                  {"area", assumptions::to_string(row.area)},
                                  {"sentence", row.sentence},
                                  {"numbers", std::vector<uint64_t>(row.numbers.begin(), row.numbers.end())},
                                  {"shown", assumptions::to_string(row.shown)},
                                  {"how", row.how},
                                  {"not_counted", row.not_counted}});
  }
  return written(out);
}

std::string json(const std::vector<RuleInfo>& rules) {
  Json out;
  out["tool"] = tool_json();
  out["rules"] = Json::array();
  for (const RuleInfo& rule : rules) {
    out["rules"].push_back(
        {{"id", rule.id}, {"level", to_string(rule.level)}, {"summary", rule.summary}, {"help", rule.help}});
  }
  return written(out);
}

}  // namespace tmemlint::report
