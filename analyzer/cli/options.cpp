#include "analyzer/cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

namespace tmemlint::cli {
namespace {

constexpr const char* kAbout =
    "tmemlint reads PTX and CUDA C++ and reports what breaks the Tensor Memory (tcgen05) protocol of NVIDIA Blackwell "
    "GPUs:\n"
    "what would hang, trap, leak or compute garbage.";

constexpr const char* kFooter = R"(Examples:
  tmemlint kernel.ptx                         check one file
  tmemlint --strict --block 192 build/ptx/    all .ptx below a folder; incomplete analysis fails
  nvcc -ptx -arch=sm_100a k.cu -o - | tmemlint -   check what the compiler makes
  tmemlint --format sarif --output out.sarif kernel.ptx
  tmemlint --no-rule 'tmem-pair-*' kernel.ptx
  tmemlint --launch 'gemm*=block:192;cluster:2,2,1' --launch 'reduce=block:128' kernels.ptx
  tmemlint --explain tmem-alloc-size
  tmemlint kernel.cu -- -arch=sm_100a -Iinclude    from source, with the flags of nvcc or of Clang
  tmemlint -p build                                every CUDA source of a compilation database
  tmemlint --decode-descriptor idesc 0x8200490 --kind f16

Exit codes:
  0  no error and no warning        1  an error or a warning was found
  2  usage, or an input that could not be read or parsed
  3  with --strict: nothing found, but the analysis was incomplete somewhere)";

class HelpFormatter : public CLI::Formatter {
public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: tmemlint [options] FILE... [-- compile flags]\n       tmemlint [options] -p BUILD_DIR [FILE...]\n   "
           "    tmemlint compdb --in BUILD_DIR --out FOLDER\n";
  }
};

// An option whose value is one of a few words.
template <typename Choice>
CLI::Option* add_choice(CLI::App& app, const std::string& name, Choice& chosen,
                        const std::vector<std::pair<std::string, Choice>>& choices, const std::string& description) {
  auto choose = [name, choices, &chosen](const std::string& word) {
    std::string known;
    for (const auto& [spelling, choice] : choices) {
      if (spelling == word) {
        chosen = choice;
        return;
      }
      known += (known.empty() ? "" : ", ") + spelling;
    }
    throw CLI::ValidationError(name, "'" + word + "' is not one of " + known);
  };
  return app.add_option_function<std::string>(name, choose, description);
}

void add_options(CLI::App& app, Command& command) {
  app.add_option("FILE", command.files,
                 "PTX files, CUDA sources (.cu), folders (all .ptx below them), or - for standard input")
      ->option_text("...");
  add_choice(app, "--format", command.format,
             {{"text", Format::kText}, {"json", Format::kJson}, {"sarif", Format::kSarif}},
             "How to print: text, json or sarif (default: text)")
      ->option_text("FORMAT");
  app.add_option("--output", command.output, "Write to this file instead of standard output")->option_text("FILE");
  app.add_option("--source-root", command.source_roots,
                 "Show source lines of files below this folder too, not only below the inputs' folders and this "
                 "repository (repeatable)")
      ->option_text("DIR")
      ->allow_extra_args(false);
  app.add_flag("--notes", command.notes, "Print notes too (they never change the exit code)");
  app.add_option("--rule", command.rules, "Run only the rules that match this id or glob (repeatable)")
      ->option_text("ID")
      ->allow_extra_args(false);
  app.add_option("--no-rule", command.no_rules, "Do not run the rules that match this id or glob (repeatable)")
      ->option_text("ID")
      ->allow_extra_args(false);
  app.add_flag("--list-rules", command.list_rules, "List all rules (text, or --format json)");
  app.add_flag("--list-assumptions", command.list_assumptions,
               "List what the analysis assumes, and its limits (text, or --format json)");
  app.add_option("--explain", command.explain, "Print the page of a rule")->option_text("RULE");
  app.add_option("--decode-descriptor", command.decode, "Print the fields of a descriptor, decimal or 0x...")
      ->option_text("idesc|smem VALUE")
      ->expected(2);
  app.add_option("--kind", command.kind, "The kind of the mma that an idesc is for: f16 (default), tf32, mxf4, ...")
      ->option_text("KIND");
  app.add_option_function<std::string>(
         "--block",
         [&command](const std::string& text) {
           const std::string problem = read_block(text, command.block);
           if (!problem.empty()) throw CLI::ValidationError("--block", problem);
         },
         "Threads per block of kernels that state none (.reqntid)")
      ->option_text("X[,Y,Z]");
  app.add_option_function<std::string>(
         "--cluster",
         [&command](const std::string& text) {
           const std::string problem = read_cluster(text, command.cluster);
           if (!problem.empty()) throw CLI::ValidationError("--cluster", problem);
         },
         "CTAs per cluster of kernels that state none (.reqnctapercluster)")
      ->option_text("X[,Y,Z]");
  app.add_option_function<std::vector<std::string>>(
         "--launch",
         [&command](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             const std::string problem = command.launches.add(text);
             if (!problem.empty()) throw CLI::ValidationError("--launch", problem);
           }
         },
         "The same of the kernels that match a name or glob (repeatable; the last one counts)")
      ->option_text("KERNEL=block:X[,Y,Z];cluster:X[,Y,Z]")
      ->allow_extra_args(false)
      ->take_all();
  app.add_flag("--stats", command.stats, "Say per kernel what was asked, decided and executed");
  app.add_flag("--explain-kernel", command.explain_kernel,
               "Print what each warp does instead of findings: allocations, accesses, waits, arrivals, joins");
  app.add_flag("--strict", command.strict, "Exit with 3 when nothing was found but the analysis was incomplete");
}

void add_source_options(CLI::App& app, Command& command) {
  app.add_option("-p", command.database, "Compile commands of CUDA sources: a build folder, or a compile_commands.json")
      ->option_text("BUILD_DIR");
  app.add_option("--cuda-path", command.cuda_path,
                 "The CUDA toolkit whose headers to use, or none (default: the one that is installed)")
      ->option_text("FOLDER");
  app.add_option("--instantiate", command.sources.instantiate,
                 "Instantiate a kernel template of the source, 'kernel<128, 2>' (repeatable)")
      ->option_text("INSTANCE")
      ->allow_extra_args(false);
  add_choice(app, "--via", command.sources.via,
             {{"auto", cuda::Via::kAuto}, {"clang", cuda::Via::kClang}, {"nvcc", cuda::Via::kNvcc}},
             "How CUDA sources become PTX: clang, nvcc, or auto (Clang, and nvcc for what Clang cannot take)")
      ->option_text("WAY");
  app.add_option("--keep-ptx", command.sources.keep_ptx, "Write the PTX of a CUDA source to this file")
      ->option_text("FILE");
  add_choice(app, "--color", command.color,
             {{"auto", ColorMode::kAuto}, {"always", ColorMode::kAlways}, {"never", ColorMode::kNever}},
             "Colours: auto, always or never (default: auto; NO_COLOR is honoured)")
      ->option_text("WHEN");
}

}  // namespace

std::optional<Command> parse_command_line(int argc, const char* const* argv, int& status) {
  Command command;
  CLI::App app(kAbout, "tmemlint");
  app.footer(kFooter);
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", "tmemlint " TMEMLINT_VERSION, "Print the version");

  add_options(app, command);
  add_source_options(app, command);

  auto usage_error = [&status](const std::string& what) {
    std::fprintf(stderr, "tmemlint: %s\ntmemlint: see tmemlint --help\n", what.c_str());
    status = kFailed;
    return std::nullopt;
  };
  int own = 0;  // what stands before "--" is ours
  while (own < argc && std::string_view(argv[own]) != "--") ++own;
  command.has_compile_flags = own < argc;
  for (int i = own + 1; i < argc; ++i) command.compile_flags.emplace_back(argv[i]);
  try {
    app.parse(own, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    status = app.exit(success);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what());
  }
  if (!command.kind.empty() && command.decode.empty()) return usage_error("--kind belongs to --decode-descriptor");
  if (!command.decode.empty()) {
    if (command.format != Format::kText) return usage_error("--decode-descriptor prints text only");
    if (!command.files.empty() || command.has_compile_flags) {
      return usage_error("--decode-descriptor takes one value and no file");
    }
    return command;
  }
  if (command.list_rules || command.list_assumptions || !command.explain.empty()) {
    if (command.format == Format::kSarif)
      return usage_error("--list-rules, --list-assumptions and --explain know no SARIF");
    return command;
  }
  if (command.files.empty() && command.database.empty()) {
    return usage_error("no input: give PTX files, CUDA sources, a folder, or - for standard input");
  }
  if (command.has_compile_flags) {
    if (!command.database.empty()) return usage_error("-p and compile flags after -- exclude each other");
    const bool any = std::any_of(command.files.begin(), command.files.end(), [](const std::string& file) {
      return file.ends_with(".cu") || file.ends_with(".cuh");
    });
    if (!any) return usage_error("what follows -- are compile flags, and no CUDA source is named");
  }
  return command;
}

}  // namespace tmemlint::cli
