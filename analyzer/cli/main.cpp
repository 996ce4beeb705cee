// The command: reads the inputs, runs the engine over each, prints, answers with an exit code.
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cli/compdb.h"
#include "analyzer/cli/decode.h"
#include "analyzer/cli/inputs.h"
#include "analyzer/cli/options.h"
#include "analyzer/cli/output.h"
#include "analyzer/cli/pages.h"
#include "analyzer/cli/rule_filter.h"
#include "analyzer/cli/sources.h"
#include "analyzer/engine.h"
#include "analyzer/explain.h"
#include "analyzer/report/encoding.h"
#include "analyzer/report/json.h"
#include "analyzer/report/rule_info.h"
#include "analyzer/report/sarif.h"
#include "analyzer/report/sources.h"
#include "analyzer/report/summary.h"
#include "analyzer/report/text.h"
#include "rules/rule.h"

namespace tmemlint::cli {
namespace {

void say(const std::string& line) {
  std::fprintf(stderr, "tmemlint: %s\n", line.c_str());
}

int failed(const std::string& what) {
  say(what);
  return kFailed;
}

std::vector<report::RuleInfo> all_rules() {
  std::vector<report::RuleInfo> out;
  for (const rules::Rule* rule : rules::registry()) {
    out.push_back({rule->id, rule->level, rule->summary, rule->help, page_of(rule->id)});
  }
  return out;
}

std::vector<std::string_view> ids_of(const std::vector<report::RuleInfo>& rules) {
  std::vector<std::string_view> ids;
  ids.reserve(rules.size());
  for (const report::RuleInfo& rule : rules) ids.push_back(rule.id);
  return ids;
}

int print(std::string_view text, const Command& command) {
  const std::string problem = write_report(text, command.output);
  return problem.empty() ? kClean : failed(problem);
}

int list_rules(const Command& command, const std::vector<report::RuleInfo>& rules) {
  if (command.format == Format::kJson) return print(report::json(rules), command);
  size_t width = 0;
  for (const report::RuleInfo& rule : rules) width = std::max(width, rule.id.size());
  std::string out;
  for (const report::RuleInfo& rule : rules) {
    std::string line(rule.id);
    line.resize(width + 2, ' ');
    line += report::to_string(rule.level);
    line.resize(width + 2 + std::string_view("warning  ").size(), ' ');
    (out += line += rule.summary) += '\n';
  }
  return print(out, command);
}

int list_assumptions(const Command& command) {
  return print(command.format == Format::kJson ? report::json(assumptions::rows()) : assumptions::page(), command);
}

int explain(const Command& command, const std::vector<report::RuleInfo>& rules) {
  for (const report::RuleInfo& rule : rules) {
    if (rule.id != command.explain) continue;
    std::string out(rule.page);
    if (out.empty()) {
      out = "# " + std::string(rule.id) + "\n\n" + std::string(rule.summary) +
            "\n\nLevel: " + std::string(report::to_string(rule.level)) + ".\n\n" + std::string(rule.help) + "\n";
    }
    if (out.back() != '\n') out += '\n';
    return print(out, command);
  }
  return failed(unknown_rule(command.explain, ids_of(rules)));
}

int decode(const Command& command) {
  const Decoded decoded = decode_descriptor(command.decode[0], command.decode[1], command.kind);
  return decoded.problem.empty() ? print(decoded.text, command) : failed(decoded.problem);
}

report::Results lint_all(const std::vector<std::string>& files, const Options& options, Sources& sources,
                         report::Results results) {
  for (const std::string& file : files) {
    try {
      if (sources.is_source(file)) {
        sources.lint(file, options, results);
      } else if (auto text = read_input(file, results.errors)) {
        lint(text, options, results);
      }
    } catch (const std::exception& error) {
      // One input must not take the findings of the others with it.
      results.errors.push_back({file, nullptr, {}, std::string("tmemlint itself failed here: ") + error.what()});
    }
  }
  sources.finish(results);
  report::finish(results);
  return results;
}

int exit_code(const report::Results& results, bool strict) {
  if (!results.errors.empty()) return kFailed;
  if (results.summary.error + results.summary.warning != 0) return kFound;
  if (strict && !results.incomplete.empty()) return kIncomplete;
  return kClean;
}

bool colored(const Command& command, int fd) {
  if (command.color != ColorMode::kAuto) return command.color == ColorMode::kAlways;
  return (fd != STDOUT_FILENO || command.output.empty()) && wants_color(fd);
}

std::string formatted(const report::Results& results, uint64_t hidden_notes, const Command& command,
                      const std::vector<report::RuleInfo>& rules, report::SourceFiles& sources) {
  switch (command.format) {
    case Format::kJson:
      return report::json(results);
    case Format::kSarif:
      return report::sarif(results, rules, sources);
    case Format::kText:
      break;
  }
  return report::text(results, hidden_notes, {.color = colored(command, STDOUT_FILENO)}, sources);
}

// The folders whose files the report may show; empty on success, else what is wrong.
std::string find_roots(const Command& command, const Sources& sources, const std::vector<std::string>& files,
                       report::SourceRoots& roots) {
  for (const std::string& folder : command.source_roots) {
    if (!roots.add_folder(folder)) return "--source-root: there is no folder " + folder;
  }
  roots.add_repository_of(".");
  for (const std::string& named : sources.files()) roots.add_input(named);
  // The user named a CUDA source, and its compiler flags name its headers: the source's repository may be shown.
  for (const std::string& file : files) {
    if (sources.is_source(file)) roots.add_repository_of(file);
  }
  return {};
}

// Says which output would overwrite an input, the compile commands or the other output; empty when none would.
std::string overwritten(const Command& command, const std::vector<std::string>& files) {
  const std::string& kept = command.sources.keep_ptx;
  if (!kept.empty() && !command.output.empty() && (kept == command.output || same_file(kept, command.output)))
    return "--keep-ptx and --output name the same file " + kept;
  if (!command.database.empty()) {
    const std::string commands = command.database + "/compile_commands.json";
    for (const std::string& database : {command.database, commands}) {
      if (!command.output.empty() && same_file(database, command.output))
        return "--output would overwrite the compile commands " + database;
      if (!kept.empty() && same_file(database, kept))
        return "--keep-ptx would overwrite the compile commands " + database;
    }
  }
  for (const std::string& file : files) {
    if (!command.output.empty() && same_file(file, command.output)) return "--output would overwrite the input " + file;
    const std::string& keep_ptx = command.sources.keep_ptx;
    if (!keep_ptx.empty() && same_file(file, keep_ptx)) return "--keep-ptx would overwrite the input " + file;
  }
  return {};
}

// What the command says about launches. `launches` are those of single kernels, which outlive the result.
Options launch_options(const Command& command, LaunchRequests& launches) {
  Options options;
  options.block = command.block;
  options.cluster = command.cluster;
  if (!launches.empty()) options.launch_of = [&launches](std::string_view kernel) { return launches.of(kernel); };
  return options;
}

// What is wrong with the launches of single kernels after all of them were seen.
std::string unmatched(const LaunchRequests& launches) {
  const std::vector<std::string> globs = launches.unmatched();
  return globs.empty() ? "" : "--launch: no kernel matches '" + globs.front() + "'";
}

int check(const Command& command, const std::vector<report::RuleInfo>& rules) {
  const RuleFilter filter(command.rules, command.no_rules);
  if (const std::string problem = filter.problem(ids_of(rules)); !problem.empty()) return failed(problem);

  report::Results results;
  Sources sources(command);
  if (const std::string problem = sources.prepare(); !problem.empty()) return failed(problem);
  const std::vector<std::string> files = expand_inputs(sources.files(), results.errors);
  if (const std::string problem = overwritten(command, files); !problem.empty()) return failed(problem);
  report::SourceRoots roots;
  if (const std::string problem = find_roots(command, sources, files, roots); !problem.empty()) return failed(problem);
  LaunchRequests launches = command.launches;
  Options options = launch_options(command, launches);
  options.stats = command.stats;
  options.enabled = [&filter](std::string_view rule) { return filter.enabled(rule); };
  results = lint_all(files, options, sources, std::move(results));
  if (const std::string problem = unmatched(launches); !problem.empty() && results.errors.empty())
    return failed(problem);
  const uint64_t hidden_notes = command.notes ? 0 : report::hide_notes(results);

  report::SourceFiles shown(std::move(roots));
  if (std::string notice = shown.notice(results); !notice.empty()) results.notices.push_back(std::move(notice));
  const std::string errors = report::input_errors(results, {.color = colored(command, STDERR_FILENO)}, shown);
  std::fputs(errors.c_str(), stderr);
  const std::string problem = write_report(formatted(results, hidden_notes, command, rules, shown), command.output);
  if (!problem.empty()) return failed(problem);
  if (command.format == Format::kText) {
    for (const std::string& notice : results.notices) say(report::printable(notice));
  }
  if (command.format != Format::kText || !command.output.empty()) {
    std::fprintf(stderr, "%s\n", report::summary_line(results, hidden_notes).c_str());
  }
  if (!results.incomplete.empty()) {
    say("the analysis was incomplete at " + report::counted(results.incomplete.size(), "place") +
        "; a clean result does not cover that");
  }
  return exit_code(results, command.strict);
}

int explain_files(const Command& command) {
  report::Results results;
  LaunchRequests launches = command.launches;
  const Options options = launch_options(command, launches);
  std::string out;
  const std::vector<std::string> files = expand_inputs(command.files, results.errors);
  if (const std::string problem = overwritten(command, files); !problem.empty()) return failed(problem);
  for (const std::string& file : files) {
    auto text = read_input(file, results.errors);
    if (text) out += explain_kernels(text, options, results);
  }
  report::finish(results);
  if (out.empty()) out = "no kernel with tcgen05 instructions\n";
  report::SourceFiles shown;
  std::fputs(report::input_errors(results, {.color = colored(command, STDERR_FILENO)}, shown).c_str(), stderr);
  const int status = print(out, command);
  return results.errors.empty() ? status : kFailed;
}

int run(int argc, const char* const* argv) {
  std::signal(SIGPIPE, SIG_IGN);
  if (argc > 1 && std::string_view(argv[1]) == "compdb") return compdb(argc - 1, argv + 1);
  int status = kClean;
  const std::optional<Command> command = parse_command_line(argc, argv, status);
  if (!command) return status;
  if (!command->decode.empty()) return decode(*command);
  const std::vector<report::RuleInfo> rules = all_rules();
  if (command->list_rules) return list_rules(*command, rules);
  if (command->list_assumptions) return list_assumptions(*command);
  if (!command->explain.empty()) return explain(*command, rules);
  if (command->explain_kernel) return explain_files(*command);
  return check(*command, rules);
}

}  // namespace
}  // namespace tmemlint::cli

int main(int argc, char** argv) {
#ifdef __GLIBC__
  // Blocks of this size are given back to the system when they are freed, and little memory is asked for in advance:
  // a file's analysis takes a few megabytes, and glibc's defaults would add a tenth.
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  mallopt(M_TOP_PAD, 4096);
#endif
  try {
    return tmemlint::cli::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tmemlint: internal error: %s\n", error.what());
    return tmemlint::cli::kFailed;
  }
}
