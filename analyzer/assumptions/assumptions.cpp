#include "analyzer/assumptions/assumptions.h"

namespace tmemlint::assumptions {

namespace {

// StatesAtABlock -> states-at-a-block
std::string id_of(std::string_view name) {
  std::string out;
  for (char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !out.empty()) out += '-';
    out += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

// 20000 -> 20,000
std::string with_commas(uint64_t number) {
  std::string out = std::to_string(number);
  if (number < 10'000) return out;
  for (size_t at = out.size(); at > 3;) out.insert(at -= 3, ",");
  return out;
}

std::string listed(std::span<const uint64_t> numbers) {
  std::string out;
  for (size_t n = 0; n < numbers.size(); ++n) {
    if (n != 0) out += n + 1 == numbers.size() ? " and " : ", ";
    out += with_commas(numbers[n]);
  }
  return out;
}

Row make(std::string_view name, Area area, Shown shown, std::string_view how, std::string_view not_counted,
         std::string_view sentence, std::span<const uint64_t> numbers = {}) {
  Row row{id_of(name), area, shown, how, not_counted, std::string(sentence), numbers};
  const std::string number = listed(numbers);
  for (size_t at = row.sentence.find("{}"); at != std::string::npos; at = row.sentence.find("{}", at + number.size()))
    row.sentence.replace(at, 2, number);
  return row;
}

std::vector<Row> make_rows() {
#define COUNTED ""
#define ASSUMPTION(name, area, shown, how, counted, sentence) \
  make(#name, Area::area, Shown::shown, how, counted, sentence),
#define LIMIT(name, number, area, shown, how, counted, sentence) \
  make(#name, Area::area, Shown::shown, how, counted, sentence, {&k##name, 1}),
#define NUMBERS(name, numbers, area, shown, how, counted, sentence) \
  make(#name, Area::area, Shown::shown, how, counted, sentence, k##name),
  return {
#include "analyzer/assumptions/assumptions.def"
  };
#undef ASSUMPTION
#undef LIMIT
#undef NUMBERS
#undef COUNTED
}

}  // namespace

const std::vector<Row>& rows() {
  static const std::vector<Row> all = make_rows();
  return all;
}

std::string_view to_string(Area area) {
  switch (area) {
    case Area::kInput:
      return "Reading the input";
    case Area::kLaunch:
      return "How a kernel is launched";
    case Area::kControlFlow:
      return "Control flow";
    case Area::kLayout:
      return "Addresses of variables";
    case Area::kSlice:
      return "What of a kernel is followed";
    case Area::kValues:
      return "Values";
    case Area::kOneWarp:
      return "One warp along its paths";
    case Area::kScenarios:
      return "Scenarios: what is unknown is decided";
    case Area::kTogether:
      return "All warps together";
    case Area::kRules:
      return "Rules and the report";
  }
  return {};
}

std::string_view to_string(Shown shown) {
  switch (shown) {
    case Shown::kError:
      return "error of the input";
    case Shown::kIncomplete:
      return "incomplete place";
    case Shown::kLevel:
      return "level of the finding";
    case Shown::kSaid:
      return "printed as an assumption";
    case Shown::kOpen:
      return "less is judged";
    case Shown::kReport:
      return "shortens the report";
    case Shown::kSilent:
      return "silent";
  }
  return {};
}

std::string page() {
  std::string out =
      "# Limits and assumptions\n"
      "\n"
      "<!-- Written by `tmemlint --list-assumptions` from analyzer/assumptions/assumptions.def; a test compares. -->\n"
      "\n"
      "All that the analysis assumes, and all limits that it sets itself. Where one was reached, or relied on, it "
      "shows as the\n"
      "table says:\n"
      "\n"
      "- **error of the input**: the run ends with 2;\n"
      "- **incomplete place**: the run names the instruction and the reason;\n"
      "- **level of the finding**: the finding is less than an error;\n"
      "- **printed as an assumption**: a sentence of the report says it;\n"
      "- **less is judged**: something is not known any more; a rule that has to know it is silent, or says that the "
      "place is\n"
      "  incomplete;\n"
      "- **shortens the report**: what is found does not depend on it;\n"
      "- **silent**: nothing says it, for the reason given.\n"
      "\n"
      "`--stats` and JSON (`assumed`) count per run how often each was relied on, where the last column says so.\n";
  const Row* before = nullptr;
  for (const Row& row : rows()) {
    if (before == nullptr || before->area != row.area) {
      out += "\n## " + std::string(to_string(row.area)) + "\n\n| id | what | shows as | counted |\n|---|---|---|---|\n";
    }
    before = &row;
    out += "| `" + row.id + "` | " + row.sentence + " | " + std::string(to_string(row.shown));
    if (!row.how.empty()) out += ": " + std::string(row.how);
    out += " | " + (row.not_counted.empty() ? std::string("yes") : "no: " + std::string(row.not_counted)) + " |\n";
  }
  return out;
}

}  // namespace tmemlint::assumptions
