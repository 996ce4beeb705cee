// --launch: what the user says of the launch of single kernels.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/kernel/launch.h"

namespace tmemlint::cli {

// "X", "X,Y" or "X,Y,Z" within the limits of the hardware; empty when it is one, else what is wrong.
std::string read_block(const std::string& text, ptx::Dimensions& block);
std::string read_cluster(const std::string& text, ptx::Dimensions& cluster);

class LaunchRequests {
public:
  // "glob=block:192;cluster:2,2,1"; empty when it is that, else what is wrong.
  std::string add(const std::string& text);
  bool empty() const { return requests_.empty(); }

  // What is said of a kernel, by the last request that matches its name and says it.
  std::optional<kernel::AskedLaunch> of(std::string_view kernel);
  // The globs that no kernel matched so far.
  std::vector<std::string> unmatched() const;

private:
  struct Request {
    std::string kernels;  // a glob
    ptx::Dimensions block, cluster;
    bool matched = false;
  };
  std::vector<Request> requests_;
};

}  // namespace tmemlint::cli
