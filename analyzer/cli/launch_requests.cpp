#include "analyzer/cli/launch_requests.h"

#include <fnmatch.h>

#include <algorithm>

#include "analyzer/assumptions/assumptions.h"

namespace tmemlint::cli {

namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == at) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

// "X", "X,Y" or "X,Y,Z" within the limits of the hardware; empty when it is one, else what is wrong.
std::string read_dimensions(const std::string& text, ptx::Dimensions& out) {
  std::vector<uint32_t> sizes;
  for (const std::string& part : split(text, ',')) {
    const bool digits = !part.empty() && part.size() <= 4 && part.find_first_not_of("0123456789") == std::string::npos;
    if (!digits) return "'" + text + "' is not X, X,Y or X,Y,Z";
    sizes.push_back(static_cast<uint32_t>(std::stoul(part)));
  }
  if (sizes.empty() || sizes.size() > 3) return "'" + text + "' is not X, X,Y or X,Y,Z";
  sizes.resize(3, 1);
  out = {sizes[0], sizes[1], sizes[2]};
  return {};
}

}  // namespace

std::string read_block(const std::string& text, ptx::Dimensions& block) {
  if (std::string problem = read_dimensions(text, block); !problem.empty()) return problem;
  constexpr uint32_t kMostThreads = assumptions::kMostThreadsOfABlock;
  constexpr uint32_t kLargestZ = 64;
  if (block.count() == 0) return "a block size of 0 in '" + text + "'";
  if (block.count() > kMostThreads) return "'" + text + "' is more than 1024 threads";
  if (block.z > kLargestZ) return "the third size in '" + text + "' is more than 64";
  return {};
}

std::string read_cluster(const std::string& text, ptx::Dimensions& cluster) {
  if (std::string problem = read_dimensions(text, cluster); !problem.empty()) return problem;
  constexpr uint32_t kMostCtas = 16;
  if (cluster.count() == 0 || cluster.count() > kMostCtas) return "'" + text + "' is not between 1 and 16 CTAs";
  return {};
}

std::string LaunchRequests::add(const std::string& text) {
  const std::string form = "'" + text + "' is not KERNEL=block:X,Y,Z;cluster:X,Y,Z";
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) return form;
  Request request;
  request.kernels = text.substr(0, equals);
  for (const std::string& part : split(text.substr(equals + 1), ';')) {
    const size_t colon = part.find(':');
    if (colon == std::string::npos) return form;
    const std::string what = part.substr(0, colon);
    const std::string size = part.substr(colon + 1);
    ptx::Dimensions& into = what == "block" ? request.block : request.cluster;
    if ((what != "block" && what != "cluster") || into.given()) return form;
    if (std::string problem = what == "block" ? read_block(size, into) : read_cluster(size, into); !problem.empty())
      return problem;
  }
  requests_.push_back(std::move(request));
  return {};
}

std::optional<kernel::AskedLaunch> LaunchRequests::of(std::string_view kernel) {
  std::optional<kernel::AskedLaunch> out;
  for (Request& request : requests_) {
    if (::fnmatch(request.kernels.c_str(), std::string(kernel).c_str(), 0) != 0) continue;
    request.matched = true;
    if (!out) out = kernel::AskedLaunch{};
    if (request.block.given()) out->block = request.block;
    if (request.cluster.given()) out->cluster = request.cluster;
    out->block_by_name = out->block.given();
    out->cluster_by_name = out->cluster.given();
  }
  return out;
}

std::vector<std::string> LaunchRequests::unmatched() const {
  std::vector<std::string> out;
  for (const Request& request : requests_) {
    if (!request.matched) out.push_back(request.kernels);
  }
  return out;
}

}  // namespace tmemlint::cli
