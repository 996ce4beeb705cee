// Which rules run: --rule and --no-rule.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tmemlint::cli {

class RuleFilter {
public:
  RuleFilter(std::vector<std::string> only, std::vector<std::string> without)
      : only_(std::move(only)), without_(std::move(without)) {}

  bool enabled(std::string_view rule) const;
  // What is wrong with the patterns: one that matches no rule would silently check nothing. Empty when all match.
  std::string problem(const std::vector<std::string_view>& ids) const;

private:
  std::vector<std::string> only_, without_;
};

// "there is no rule 'tmem-alloc-sise'; did you mean tmem-alloc-size?"
std::string unknown_rule(const std::string& pattern, const std::vector<std::string_view>& ids);

}  // namespace tmemlint::cli
