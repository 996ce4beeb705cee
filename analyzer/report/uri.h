// Paths as the URI references of SARIF.
#pragma once

#include <string>
#include <string_view>

namespace tmemlint::report {

// A relative path stays relative ("kernels/a%20b.ptx"), an absolute one becomes "file:///…". Bytes outside the
// unreserved characters are percent-encoded. A Windows path in PTX that was made elsewhere ("C:\k.cu") is understood.
std::string uri_of(std::string_view path);

}  // namespace tmemlint::report
