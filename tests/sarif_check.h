// Checks a SARIF 2.1.0 log against what the standard requires of the parts that tmemlint writes: required properties,
// enumerated values, index ranges, and that no property is there that the schema does not know. Written by hand, since
// the schema is not at hand where tests run.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace tmemlint::test {

class SarifCheck {
public:
  using Json = nlohmann::json;

  // What is wrong, one line each; empty when nothing is.
  static std::vector<std::string> problems(const Json& log) {
    SarifCheck check;
    check.log(log);
    return check.problems_;
  }

private:
  void expect(bool good, const std::string& where, const std::string& what) {
    if (!good) problems_.push_back(where + ": " + what);
  }

  bool object(const Json& json, const std::string& where, const std::set<std::string>& required,
              const std::set<std::string>& optional) {
    expect(json.is_object(), where, "not an object");
    if (!json.is_object()) return false;
    bool complete = true;
    for (const std::string& key : required) {
      complete = complete && json.contains(key);
      expect(json.contains(key), where, "lacks " + key);
    }
    for (const auto& [key, value] : json.items()) {
      expect(required.contains(key) || optional.contains(key), where, "unknown property " + key);
    }
    return complete;
  }

  bool array(const Json& json, const std::string& where) {
    expect(json.is_array(), where, "not an array");
    return json.is_array();
  }

  void text(const Json& json, const std::string& where) {
    expect(json.is_string() && !json.get_ref<const std::string&>().empty(), where, "not a text");
  }

  void message(const Json& json, const std::string& where) {
    if (object(json, where, {"text"}, {"markdown"})) text(json["text"], where + ".text");
  }

  void level(const Json& json, const std::string& where) {
    expect(json == "none" || json == "note" || json == "warning" || json == "error", where, "not a level");
  }

  void positive(const Json& json, const std::string& where) {
    expect(json.is_number_integer() && json.get<int64_t>() >= 1, where, "not a positive integer");
  }

  void uri(const Json& json, const std::string& where) {
    if (!json.is_string()) return expect(false, where, "not a URI");
    const auto& value = json.get_ref<const std::string&>();
    const bool allowed =
        value.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:%") ==
        std::string::npos;
    expect(!value.empty() && allowed, where, "not a URI: " + value);
    expect(value.front() != '/', where, "an absolute path without a scheme: " + value);
  }

  void region(const Json& json, const std::string& where) {
    if (!object(json, where, {"startLine"}, {"startColumn", "endLine", "endColumn"})) return;
    for (const auto& [key, value] : json.items()) positive(value, where + "." + key);
    if (!json.contains("endLine") || !json.contains("endColumn") || !json.contains("startColumn")) return;
    const auto begin = std::pair(json["startLine"].get<int64_t>(), json["startColumn"].get<int64_t>());
    const auto end = std::pair(json["endLine"].get<int64_t>(), json["endColumn"].get<int64_t>());
    expect(begin < end, where, "ends before it starts");
  }

  void location(const Json& json, const std::string& where, bool with_message) {
    std::set<std::string> required{"physicalLocation"};
    if (with_message) required.insert("message");
    if (!object(json, where, required, {"id", "logicalLocations"})) return;
    if (with_message) message(json["message"], where + ".message");
    const Json& physical = json["physicalLocation"];
    if (object(physical, where + ".physicalLocation", {"artifactLocation"}, {"region"})) {
      if (object(physical["artifactLocation"], where + ".artifactLocation", {"uri"}, {})) {
        uri(physical["artifactLocation"]["uri"], where + ".uri");
      }
      if (physical.contains("region")) region(physical["region"], where + ".region");
    }
    for (const Json& logical : json.value("logicalLocations", Json::array())) {
      object(logical, where + ".logicalLocations", {"name"}, {"fullyQualifiedName", "kind"});
    }
  }

  void locations(const Json& json, const std::string& where, bool with_message) {
    if (!array(json, where)) return;
    for (size_t i = 0; i < json.size(); ++i) location(json[i], where + "[" + std::to_string(i) + "]", with_message);
  }

  void driver(const Json& json) {
    const std::string where = "driver";
    if (!object(json, where, {"name", "version", "rules"}, {"semanticVersion", "notifications"})) return;
    text(json["name"], where + ".name");
    text(json["version"], where + ".version");
    std::set<std::string> ids;
    for (const Json& rule : json["rules"]) {
      const std::string at = where + ".rules";
      if (!object(rule, at, {"id", "shortDescription", "fullDescription", "help", "defaultConfiguration"}, {}))
        continue;
      expect(ids.insert(rule["id"].get<std::string>()).second, at, "an id twice");
      rules_.push_back(rule["id"].get<std::string>());
      message(rule["shortDescription"], at + ".shortDescription");
      message(rule["fullDescription"], at + ".fullDescription");
      message(rule["help"], at + ".help");
      if (object(rule["defaultConfiguration"], at, {"level"}, {})) level(rule["defaultConfiguration"]["level"], at);
    }
    for (const Json& notification : json.value("notifications", Json::array())) {
      if (!object(notification, where + ".notifications", {"id"}, {"shortDescription"})) continue;
      notifications_.push_back(notification["id"].get<std::string>());
    }
  }

  static bool names(const Json& index, const Json& id, const std::vector<std::string>& list) {
    return index.is_number_integer() && index.get<int64_t>() >= 0 &&
           index.get<int64_t>() < static_cast<int64_t>(list.size()) && list[index.get<size_t>()] == id;
  }

  void result(const Json& json, const std::string& where) {
    if (!object(json, where, {"ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"},
                {"relatedLocations", "codeFlows", "properties"})) {
      return;
    }
    expect(names(json["ruleIndex"], json["ruleId"], rules_), where, "ruleIndex and ruleId disagree");
    level(json["level"], where + ".level");
    message(json["message"], where + ".message");
    locations(json["locations"], where + ".locations", false);
    const Json related = json.value("relatedLocations", Json::array());
    locations(related, where + ".relatedLocations", true);
    std::set<int64_t> ids;
    for (const Json& item : related) {
      const int64_t id = item.value("id", int64_t{-1});
      expect(id >= 0 && ids.insert(id).second, where, "relatedLocations need ids of their own");
    }
    for (const auto& [key, value] : json["partialFingerprints"].items()) text(value, where + "." + key);
    for (const Json& flow : json.value("codeFlows", Json::array())) {
      if (!object(flow, where + ".codeFlows", {"threadFlows"}, {})) continue;
      for (const Json& thread : flow["threadFlows"]) {
        if (!object(thread, where + ".threadFlows", {"locations"}, {})) continue;
        expect(!thread["locations"].empty(), where, "an empty thread flow");
        for (const Json& step : thread["locations"]) {
          if (object(step, where + ".step", {"location"}, {})) location(step["location"], where + ".step", true);
        }
      }
    }
  }

  void invocation(const Json& json) {
    const std::string where = "invocation";
    if (!object(json, where, {"executionSuccessful", "toolExecutionNotifications"}, {})) return;
    expect(json["executionSuccessful"].is_boolean(), where, "executionSuccessful is no boolean");
    for (const Json& item : json["toolExecutionNotifications"]) {
      if (!object(item, where, {"message", "level", "descriptor"}, {"locations"})) continue;
      message(item["message"], where + ".message");
      level(item["level"], where + ".level");
      if (object(item["descriptor"], where, {"id", "index"}, {})) {
        expect(names(item["descriptor"]["index"], item["descriptor"]["id"], notifications_), where, "descriptor");
      }
      locations(item.value("locations", Json::array()), where + ".locations", false);
    }
  }

  void log(const Json& json) {
    if (!object(json, "log", {"version", "runs"}, {"$schema"})) return;
    expect(json["version"] == "2.1.0", "log", "version is not 2.1.0");
    expect(json["runs"].size() == 1, "log", "not one run");
    const Json& run = json["runs"].at(0);
    if (!object(run, "run", {"tool", "results", "columnKind", "invocations"}, {})) return;
    expect(run["columnKind"] == "utf16CodeUnits", "run", "columnKind");
    if (object(run["tool"], "tool", {"driver"}, {})) driver(run["tool"]["driver"]);
    if (!array(run["results"], "results")) return;
    for (size_t i = 0; i < run["results"].size(); ++i) result(run["results"][i], "results[" + std::to_string(i) + "]");
    expect(run["invocations"].size() == 1, "run", "not one invocation");
    invocation(run["invocations"].at(0));
  }

  std::vector<std::string> problems_, rules_, notifications_;
};

}  // namespace tmemlint::test
