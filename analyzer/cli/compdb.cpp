#include "analyzer/cli/compdb.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <string>

#include "analyzer/cli/inputs.h"
#include "analyzer/cli/options.h"
#include "analyzer/cli/output.h"
#include "analyzer/cuda/database.h"

namespace tmemlint::cli {
namespace {

// Whether --out names a folder: one that exists, or, if nothing of that name exists, any name that does not end in
// .json. Clang's tools look for compile_commands.json in a folder.
bool names_folder(const std::string& out) {
  std::error_code ignored;
  if (out.empty()) return false;
  if (out.back() == '/' || std::filesystem::is_directory(out, ignored)) return true;
  return !std::filesystem::exists(out, ignored) && std::filesystem::path(out).extension() != ".json";
}

}  // namespace

int compdb(int argc, const char* const* argv) {
  std::string in;
  std::string out;
  std::string cuda_path;
  CLI::App app(
      "Rewrites a compilation database so that Clang's tools (clang-tidy, clangd) understand it: nvcc's commands "
      "become\n"
      "Clang's. Write it to a folder of its own and give that to clang-tidy -p.",
      "tmemlint compdb");
  app.add_option("--in,-p", in, "compile_commands.json, or the folder it is in")->required()->option_text("PATH");
  app.add_option(
         "--out,-o", out,
         "Write to this .json file, or into this folder (which is made when needed), instead of to standard output")
      ->option_text("PATH");
  app.add_option("--cuda-path", cuda_path, "The CUDA toolkit, or none")->option_text("FOLDER");
  auto failed = [](const std::string& what) {
    std::fprintf(stderr, "tmemlint: %s\n", what.c_str());
    return kFailed;
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return failed(std::string(error.what()) + " (see tmemlint compdb --help)");
  }
  std::string problem;
  const cuda::Toolkit toolkit = cuda::find_toolkit(cuda_path, problem);
  if (!problem.empty()) return failed(problem);
  const std::vector<cuda::CompileCommand> commands = cuda::read_database(in, problem);
  if (!problem.empty()) return failed(problem);
  const std::string text = cuda::clang_database(commands, toolkit, problem);
  if (!problem.empty()) return failed(problem);
  const bool is_folder = names_folder(out);
  const std::string folder = out;
  if (is_folder) out = (std::filesystem::path(out) / "compile_commands.json").string();
  if (!out.empty() && (same_file(out, in) || same_file(out, in + "/compile_commands.json")))
    return failed("--out would overwrite " + in);
  if (is_folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return failed("cannot make the folder " + folder + ": " + error.message());
  }
  problem = write_report(text, out);
  return problem.empty() ? static_cast<int>(kClean) : static_cast<int>(failed(problem));
}

}  // namespace tmemlint::cli
