// The entry of the module, `tmemlint_translate`: parses one CUDA source for the device and generates its PTX.
#include <clang/Basic/DiagnosticDriver.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Tooling/Tooling.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <chrono>

#include "analyzer/assumptions/assumptions.h"
#include "analyzer/cuda/bundled_headers.h"
#include "analyzer/cuda/clang/generate.h"
#include "analyzer/cuda/clang/tolerant_files.h"
#include "analyzer/cuda/translation.h"

namespace tmemlint::cuda {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

class Errors : public clang::DiagnosticConsumer {
public:
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& diagnostic) override {
    DiagnosticConsumer::HandleDiagnostic(level, diagnostic);
    if (level < clang::DiagnosticsEngine::Error) return;
    llvm::SmallString<128> text;
    diagnostic.FormatDiagnostic(text);
    errors.push_back({diagnostic.getLocation(), diagnostic.getID(), text.str().str()});
  }
  std::vector<ParseError> errors;
};

// A header that does not exist is skipped. Device code that needs its declarations has errors then, and the functions
// with these errors are left out (see drop_spoiled in scan.cpp).
class SkipMissing : public clang::PPCallbacks {
public:
  explicit SkipMissing(Translation& out) : out_(out) {}
  bool FileNotFound(llvm::StringRef name) override {
    out_.missing_headers.push_back(name.str());
    return true;
  }

private:
  Translation& out_;
};

constexpr const char* kInstance = "tmemlint_instance_";
constexpr unsigned kFirstInstance = 2;  // its line in what instances() writes

class Consumer : public clang::ASTConsumer {
public:
  Consumer(clang::CompilerInstance& compiler, const Request& request, const Errors& errors, Translation& out)
      : compiler_(compiler), request_(request), errors_(errors), out_(out), start_(Clock::now()) {}

  void HandleTranslationUnit(clang::ASTContext& context) override {
    out_.parse_ms = since(start_);
    const Clock::time_point start = Clock::now();
    const Places places(context.getSourceManager(), request_.file, request_.directory);
    out_.errors = static_cast<uint32_t>(errors_.errors.size());
    if (!errors_.errors.empty()) {
      out_.first_error = errors_.errors.front().message;
      out_.first_error_at = places.of(errors_.errors.front().at);
    }
    for (const ParseError& error : errors_.errors) note(error, places);
    Scan found = scan(context, errors_.errors, places);
    for (size_t i = 0; i < found.dropped.size(); ++i) note_instance(*found.dropped_functions[i], found.dropped[i]);
    const GenerateInput input{context, compiler_.getHeaderSearchOpts(), compiler_.getPreprocessorOpts(),
                              compiler_.getVirtualFileSystemPtr()};
    generate(input, found, places, out_);
    out_.generate_ms = since(start);
  }

private:
  // Where Clang names a place in the source that translate() writes, it is about one of the asked-for instances.
  const std::string* instance_at(clang::SourceLocation location) const {
    const clang::SourceManager& sources = compiler_.getSourceManager();
    if (request_.instantiate.empty() || location.isInvalid()) return nullptr;
    const clang::SourceLocation at = sources.getExpansionLoc(location);
    if (!sources.isInMainFile(at)) return nullptr;
    const unsigned line = sources.getExpansionLineNumber(at);
    const size_t index = std::max(line, kFirstInstance) - kFirstInstance;
    return &request_.instantiate[std::min(index, request_.instantiate.size() - 1)];
  }

  void note(const ParseError& error, const Places& places) {
    if (const std::string* instance = instance_at(error.at)) {
      // Clang's words about the wrong number or kind of arguments are about the variable that translate() adds.
      const bool about_ours = error.message.find(kInstance) != std::string::npos;
      refuse({*instance, about_ours ? "nothing of this name takes these arguments" : error.message, false});
      return;
    }
    constexpr size_t kMost = assumptions::kCompilerErrorsKept;
    if (out_.first_errors.size() < kMost) out_.first_errors.push_back({error.message, places.of(error.at)});
  }

  void note_instance(const clang::FunctionDecl& function, const Dropped& dropped) {
    if (!dropped.is_kernel) return;
    if (const std::string* instance = instance_at(function.getPointOfInstantiation()))
      refuse({*instance, dropped.reason, true});
  }

  // The first reason for each is enough.
  void refuse(Translation::RefusedInstance refused) {
    for (const Translation::RefusedInstance& known : out_.refused_instances) {
      if (known.name == refused.name) return;
    }
    out_.refused_instances.push_back(std::move(refused));
  }

  clang::CompilerInstance& compiler_;
  const Request& request_;
  const Errors& errors_;
  Translation& out_;
  Clock::time_point start_;
};

class Action : public clang::ASTFrontendAction {
public:
  Action(const Request& request, const Errors& errors, Translation& out)
      : request_(request), errors_(errors), out_(out) {}
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler, llvm::StringRef) override {
    compiler.getPreprocessor().addPPCallbacks(std::make_unique<SkipMissing>(out_));
    return std::make_unique<Consumer>(compiler, request_, errors_, out_);
  }

private:
  const Request& request_;
  const Errors& errors_;
  Translation& out_;
};

std::string absolute(llvm::StringRef path, llvm::StringRef folder) {
  llvm::SmallString<256> out(path);
  if (folder.empty()) {
    (void)llvm::sys::fs::make_absolute(out);  // without a current folder it stays as it is
  } else {
    llvm::sys::path::make_absolute(folder, out);
  }
  return out.str().str();
}

// A source that includes the user's and takes the address of each instance.
std::string instances(const std::string& file, const std::vector<std::string>& names) {
  std::string out = "#include \"" + file + "\"\n";
  for (size_t i = 0; i < names.size(); ++i) {
    out += "[[maybe_unused]] static auto* " + std::string(kInstance) + std::to_string(i) + " = &" + names[i] + ";\n";
  }
  return out;
}

void translate(const Request& request, Translation& out) {
  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  for (const BundledHeader& header : kBundledHeaders) {
    memory->addFile(kBundledFolder + ("/" + std::string(header.name)), 0,
                    llvm::MemoryBuffer::getMemBuffer(header.text, header.name));
  }
  // Its own working directory: that of the process stays as it is.
  auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(
      tolerant(llvm::vfs::createPhysicalFileSystem(), request.cuda_path));
  overlay->pushOverlay(memory);
  if (!request.directory.empty()) {
    if (const std::error_code error = overlay->setCurrentWorkingDirectory(request.directory)) {
      out.failure = "cannot work in " + request.directory + ": " + error.message();
      return;
    }
  }
  std::string main = absolute(request.file, "");
  if (!request.instantiate.empty()) {
    const std::string text = instances(main, request.instantiate);
    main = absolute("tmemlint-instances.cu", llvm::sys::path::parent_path(main));
    memory->addFile(main, 0, llvm::MemoryBuffer::getMemBufferCopy(text, main));
  }
  std::vector<std::string> command{"clang++", "-fsyntax-only", "-fno-caret-diagnostics"};
  command.emplace_back("-fno-spell-checking");  // what was written is to be looked at, not what may have been meant
  command.insert(command.end(), request.arguments.begin(), request.arguments.end());
  command.insert(command.end(), {"-isystem", kBundledFolder + std::string("/any"), "-include",
                                 kBundledFolder + std::string("/any/tmemlint_shim.h")});
  if (request.standard_prelude)
    command.insert(command.end(), {"-include", kBundledFolder + std::string("/any/tmemlint_prelude.h")});
  if (llvm::sys::fs::exists(TMEMLINT_CLANG_RESOURCES)) command.emplace_back("-resource-dir=" TMEMLINT_CLANG_RESOURCES);
  command.push_back(main);

  Errors errors;
  const auto files =
      llvm::makeIntrusiveRefCnt<clang::FileManager>(clang::FileSystemOptions{request.directory}, overlay);
  clang::tooling::ToolInvocation invocation(command, std::make_unique<Action>(request, errors, out), files.get());
  invocation.setDiagnosticConsumer(&errors);
  invocation.run();
  for (const ParseError& error : errors.errors) {
    // The driver goes on without the target, and everything in the source is wrong then.
    if (error.id != clang::diag::err_drv_offload_bad_gpu_arch) continue;
    out = Translation{};
    out.failure = error.message;
    return;
  }
  if (out.parse_ms == 0 && out.failure.empty()) {
    out.failure = errors.errors.empty() ? "Clang did not come to parse it" : errors.errors.front().message;
  }
}

}  // namespace
}  // namespace tmemlint::cuda

extern "C" __attribute__((visibility("default"))) void tmemlint_translate(const tmemlint::cuda::Request& request,
                                                                          tmemlint::cuda::Translation& out) {
  std::string reason;
  if (!tmemlint::cuda::run_guarded([&] { tmemlint::cuda::translate(request, out); }, reason)) {
    out.failure = "Clang crashed on this source" + (reason.empty() ? std::string() : ": " + reason);
  }
}
