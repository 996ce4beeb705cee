#include "analyzer/report/text.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/report/caret.h"
#include "analyzer/report/encoding.h"
#include "analyzer/report/summary.h"

namespace tmemlint::report {
namespace {

struct Color {
  static constexpr std::string_view kBold = "\x1b[1m";
  static constexpr std::string_view kError = "\x1b[1;31m";
  static constexpr std::string_view kWarning = "\x1b[1;35m";
  static constexpr std::string_view kNote = "\x1b[1;36m";
  static constexpr std::string_view kIncomplete = "\x1b[1;33m";
  static constexpr std::string_view kCaret = "\x1b[1;32m";
  static constexpr std::string_view kReset = "\x1b[0m";
};

std::string_view color_of(Level level) {
  switch (level) {
    case Level::kNote:
      return Color::kNote;
    case Level::kWarning:
      return Color::kWarning;
    case Level::kError:
      break;
  }
  return Color::kError;
}

// "0-3, 6"
std::string ranges(const std::vector<uint32_t>& numbers) {
  std::string out;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!out.empty()) out += ", ";
    out += std::to_string(numbers[i]);
    if (last != i) out += (last == i + 1 ? ", " : "-") + std::to_string(numbers[last]);
    i = last + 1;
  }
  return out;
}

std::string position_text(const SourcePosition& position) {
  std::string out = printable(position.file) + ":" + std::to_string(position.line) + ":";
  if (position.column != 0) out += std::to_string(position.column) + ":";
  return out;
}

std::string position_text(const ptx::SourceText& text, ptx::Span span) {
  const ptx::LineColumn at = text.position(span.begin);
  return printable(text.path()) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ":";
}

class Printer {
public:
  Printer(const TextStyle& style, SourceFiles& sources) : style_(style), sources_(sources) {}

  std::string take() { return std::move(out_); }
  void raw_line(std::string_view line) { (out_ += line) += '\n'; }

  void finding(const Finding& finding) {
    heading(finding);
    std::string message = printable(finding.message);
    if (!finding.warps.empty())
      message += (finding.warps.size() == 1 ? " (warp " : " (warps ") + ranges(finding.warps) + ")";
    place(finding.place, to_string(finding.level), color_of(finding.level), message,
          " [" + printable(finding.rule) + "]");
    for (const Related& related : finding.related) note(related.place, printable(related.message));
    for (const Fix& fix : finding.fixes) {
      const bool inserts = fix.place.span.end <= fix.place.span.begin;
      note(fix.place, (inserts ? "insert here: " : "replace this by: ") + printable(fix.text));
    }
    for (size_t i = 0; i < finding.path.size(); ++i) {
      step(finding.path[i].place, "step " + std::to_string(i + 1) + ": " + printable(finding.path[i].message));
    }
  }

  void incomplete(const Incomplete& first, uint64_t places) {
    std::string message = printable(first.reason);
    if (!first.kernel.empty()) message += " (kernel " + printable(readable_kernel(first.kernel)) + ")";
    if (places > 1) message += " [" + counted(places, "place") + ", the first is here]";
    head(ptx_position(first.place), "incomplete", Color::kIncomplete, message, "");
    if (has_source_line(first.place)) {
      head(position_text(first.place.source), "note", Color::kNote, "in this source line", "");
    }
  }

  void error(const InputError& error) {
    if (!error.text) {
      head(printable(error.file) + ":", "error", Color::kError, printable(error.message), "");
      return;
    }
    head(position_text(*error.text, error.span), "error", Color::kError, printable(error.message), "");
    ptx_line(*error.text, error.span);
  }

  void assumption(const std::string& assumption) {
    // "kernel: what was assumed"
    const size_t colon = assumption.find(": ");
    std::string text = assumption;
    if (colon != std::string::npos) text = readable_kernel(assumption.substr(0, colon)) + assumption.substr(colon);
    head("tmemlint:", "note", Color::kNote, printable(text), "");
  }

private:
  std::string paint(std::string_view color, std::string_view text) const {
    if (!style_.color || text.empty()) return std::string(text);
    return std::string(color) + std::string(text) + std::string(Color::kReset);
  }

  // Kernel names are long (mangled templates): said once above the findings of a kernel, as compilers do for functions.
  void heading(const Finding& finding) {
    const std::string_view path = finding.place.text ? std::string_view(finding.place.text->path()) : "";
    if (finding.kernel.empty() || (finding.kernel == kernel_ && path == file_)) return;
    kernel_ = finding.kernel;
    file_ = path;
    raw_line(paint(Color::kBold, printable(path) + ":") + " in kernel " +
             paint(Color::kBold, printable(readable_kernel(finding.kernel))) + ":");
  }

  void head(const std::string& position, std::string_view level, std::string_view color, std::string_view message,
            std::string_view rule) {
    const std::string label = std::string(level) + ":";
    const bool loud = level != "note";
    raw_line(paint(Color::kBold, position) + " " + paint(color, label) + " " +
             (loud ? paint(Color::kBold, message) : std::string(message)) + std::string(rule));
  }

  // A step of a finding's path is one line, without the source: nothing is to be changed there.
  void step(const Place& at, const std::string& message) {
    const bool there =
        has_source_line(at) && (sources_.line(at.source).has_value() || sources_.is_outside(at.source.file));
    head(there ? position_text(at.source) : ptx_position(at), "note", Color::kNote, message, "");
  }

  void note(const Place& at, const std::string& message) { place(at, "note", Color::kNote, message, ""); }

  static std::string ptx_position(const Place& place) {
    return place.text ? position_text(*place.text, place.span) : std::string("<unknown>:");
  }

  void place(const Place& at, std::string_view level, std::string_view color, std::string_view message,
             std::string_view rule) {
    const bool known = has_source_line(at);
    const auto source_line = known ? sources_.line(at.source) : std::nullopt;
    // Of a file that exists but may not be shown, the position is printed and the line is not.
    if (source_line || (known && sources_.is_outside(at.source.file))) {
      head(position_text(at.source), level, color, message, rule);
      if (source_line) {
        const size_t column = at.source.column == 0 ? source_line->find_first_not_of(" \t") : at.source.column - 1;
        marked(caret_lines(*source_line, column, column, style_.width));
      }
      inlined(at);
      head(ptx_position(at), "note", Color::kNote, "in the PTX:", "");
      ptx_line(at);
      return;
    }
    head(ptx_position(at), level, color, message, rule);
    ptx_line(at);
    if (known) {
      head(position_text(at.source), "note", Color::kNote, "from this line, which cannot be read here", "");
      inlined(at);
    }
  }

  // Of a long chain of calls the innermost and the two outermost: the author's own code is at the outer end, and what
  // lies between is a library's.
  void inlined(const Place& at) {
    constexpr size_t kOuter = assumptions::kCallsShown;
    const size_t count = at.inlined_at.size();
    for (size_t n = 0; n < count; ++n) {
      if (n == 1 && count > kOuter + 2) {
        const size_t left_out = count - 1 - kOuter;
        head(position_text(at.source), "note", Color::kNote, "inlined through " + counted(left_out, "more call"), "");
        n = count - kOuter;
      }
      std::string position = position_text(at.inlined_at[n]);
      position.pop_back();  // the colon: this one stands inside the message
      head(position_text(at.source), "note", Color::kNote, "inlined at " + position, "");
    }
  }

  void ptx_line(const Place& at) {
    if (at.text) ptx_line(*at.text, at.span);
  }

  void ptx_line(const ptx::SourceText& text, ptx::Span span) {
    if (!sources_.shows(text)) return;
    const ptx::LineColumn at = text.position(span.begin);
    const size_t begin = at.column - 1;
    const size_t length = span.end > span.begin ? span.end - span.begin : 0;
    marked(caret_lines(text.line(at.line), begin, begin + length, style_.width));
  }

  void marked(const CaretLines& lines) {
    raw_line(lines.line);
    const size_t caret = lines.marks.find('^');
    raw_line(lines.marks.substr(0, caret) + paint(Color::kCaret, lines.marks.substr(caret)));
  }

  const TextStyle& style_;
  SourceFiles& sources_;
  std::string out_;
  std::string kernel_;
  std::string file_;
};

// Identical reasons within one kernel are one line: a budget that ran out is met at many instructions.
void print_incomplete(const std::vector<Incomplete>& incomplete, Printer& printer) {
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  auto key = [](const Incomplete& item) {
    return Key(item.place.text ? std::string_view(item.place.text->path()) : "", item.kernel, item.reason);
  };
  std::map<Key, uint64_t> places;
  for (const Incomplete& item : incomplete) ++places[key(item)];
  for (const Incomplete& item : incomplete) {
    uint64_t& count = places[key(item)];
    if (count != 0) printer.incomplete(item, count);
    count = 0;
  }
}

// In the order of docs/limits.md.
void print_assumed(const assumptions::Uses& uses, Printer& printer) {
  for (size_t n = 0; n < assumptions::kRows; ++n) {
    const auto id = static_cast<assumptions::Id>(n);
    if (const uint64_t count = uses.of(id); count != 0)
      printer.raw_line("assumed " + counted(count, "time") + ": " + assumptions::row(id).id);
  }
}

}  // namespace

std::string text(const Results& results, uint64_t hidden_notes, const TextStyle& style, SourceFiles& sources) {
  Printer printer(style, sources);
  for (const Finding& finding : results.findings) printer.finding(finding);
  print_incomplete(results.incomplete, printer);
  for (const std::string& assumption : results.assumptions) printer.assumption(assumption);
  for (const KernelStats& s : results.stats) {
    printer.raw_line(printable(s.file) + ": " + printable(readable_kernel(s.kernel)) + ": " +
                     std::to_string(s.decided) + " of " + counted(s.asked, "question") + " decided, " +
                     counted(s.scenarios, "scenario") + ", " + counted(s.stepped, "warp-instruction") +
                     " stepped together, " + std::to_string(s.evaluated) + " evaluated warp by warp");
  }
  if (results.stats.size() > 1) {
    KernelStats all;
    for (const KernelStats& s : results.stats) {
      all.asked += s.asked;
      all.decided += s.decided;
    }
    printer.raw_line("all kernels: " + std::to_string(all.decided) + " of " + counted(all.asked, "question") +
                     " decided");
  }
  if (!results.stats.empty()) print_assumed(results.assumed, printer);
  printer.raw_line(summary_line(results, hidden_notes));
  return printer.take();
}

std::string input_errors(const Results& results, const TextStyle& style, SourceFiles& sources) {
  constexpr uint64_t kShownPerFile = assumptions::kInputErrorsShown;
  Printer printer(style, sources);
  std::map<std::string_view, uint64_t> total;
  for (const InputError& error : results.errors) ++total[error.file];
  std::map<std::string_view, uint64_t> shown;
  for (const InputError& error : results.errors) {
    const uint64_t count = ++shown[error.file];
    if (count <= kShownPerFile) printer.error(error);
    if (count == kShownPerFile && total[error.file] > count) {
      printer.raw_line(printable(error.file) + ": " + std::to_string(total[error.file] - count) +
                       " more errors are not shown");
    }
  }
  return printer.take();
}

}  // namespace tmemlint::report
