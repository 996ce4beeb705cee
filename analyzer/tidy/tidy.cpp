// The clang-tidy module `tmem`: every rule is a check of the same name. The analysis is that of the command: CodeGen
// over the AST that clang-tidy holds, then the engine over the PTX.
//
// clang-tidy of Debian is built by Clang, this module mostly by GCC, and the two mangle some of clang-tidy's
// constrained templates (options of type bool or int) differently. So options are read as strings only.
#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang/AST/ASTContext.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/Basic/FileManager.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/Basic/TargetOptions.h>
#include <clang/Lex/HeaderSearch.h>
#include <clang/Lex/HeaderSearchOptions.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "analyzer/cuda/clang/generate.h"
#include "analyzer/cuda/clang/scan.h"
#include "analyzer/cuda/lint.h"
#include "rules/rule.h"

namespace tmemlint::tidy {
namespace {

constexpr const char* kIncomplete = "tmem-incomplete";

// Settings of all checks together: `tmem-<any rule>.Block` and so on; the last one read wins, so set them once.
struct Settings {
  std::string block, cluster;
};

// The results of the translation unit that is being checked; shared, since each rule is a check of its own.
struct Unit {
  Settings settings;
  bool done = false;
  report::Results results;
};

Unit& unit() {
  static Unit instance;
  return instance;
}

// "128" or "32,4,1"; nothing is given when the text is empty.
ptx::Dimensions dimensions(const std::string& text) {
  ptx::Dimensions out;
  const char* at = text.c_str();
  uint32_t* const sizes[] = {&out.x, &out.y, &out.z};
  for (uint32_t* size : sizes) {
    if (*at == '\0') break;
    char* end = nullptr;
    *size = static_cast<uint32_t>(std::strtoul(at, &end, 10));
    at = *end == ',' ? end + 1 : end;
  }
  return out;
}

Options options_from(const Settings& settings) {
  Options out;
  out.block = dimensions(settings.block);
  out.cluster = dimensions(settings.cluster);
  return out;
}

void analyse(clang::ASTContext& context, clang::Preprocessor& preprocessor, Unit& unit) {
  const clang::SourceManager& sources = context.getSourceManager();
  const clang::OptionalFileEntryRef main = sources.getFileEntryRefForID(sources.getMainFileID());
  if (!main) return;
  const std::string file = main->getName().str();
  const cuda::Places places(sources, file, "");
  std::vector<cuda::ParseError> errors;
  if (context.getDiagnostics().hasErrorOccurred())
    errors.emplace_back();  // clang-tidy has shown them; where is lost here
  cuda::Translation translation;
  std::string reason;
  const bool good = cuda::run_guarded(
      [&] {
        cuda::Scan found = cuda::scan(context, errors, places);
        const cuda::GenerateInput input{context, preprocessor.getHeaderSearchInfo().getHeaderSearchOpts(),
                                        preprocessor.getPreprocessorOpts(),
                                        sources.getFileManager().getVirtualFileSystemPtr()};
        cuda::generate(input, found, places, translation);
      },
      reason);
  if (!good) {
    translation = {};
    translation.errors = 1;
    translation.first_error = "Clang's code generation crashed" + (reason.empty() ? std::string() : ": " + reason);
  }
  cuda::lint_translation(translation, file, context.getTargetInfo().getTargetOpts().CPU, {},
                         options_from(unit.settings), unit.results);
  report::finish(unit.results);
}

class Check : public clang::tidy::ClangTidyCheck {
public:
  Check(llvm::StringRef name, clang::tidy::ClangTidyContext* context)
      : ClangTidyCheck(name, context),
        rule_(name.str()),
        block_(Options.get("Block", "").str()),
        cluster_(Options.get("Cluster", "").str()),
        notes_(Options.get("Notes", "false").str()) {
    // A new translation unit: all of its checks are made before the first one runs.
    if (unit().done) unit() = {};
    if (!block_.empty()) unit().settings.block = block_;
    if (!cluster_.empty()) unit().settings.cluster = cluster_;
  }

  void storeOptions(clang::tidy::ClangTidyOptions::OptionMap& options) override {
    Options.store(options, "Block", llvm::StringRef(block_));
    Options.store(options, "Cluster", llvm::StringRef(cluster_));
    Options.store(options, "Notes", llvm::StringRef(notes_));
  }
  bool isLanguageVersionSupported(const clang::LangOptions& language) const override {
    return language.CUDA && language.CUDAIsDevice;
  }
  void registerPPCallbacks(const clang::SourceManager&, clang::Preprocessor* preprocessor,
                           clang::Preprocessor*) override {
    preprocessor_ = preprocessor;
  }
  void registerMatchers(clang::ast_matchers::MatchFinder* finder) override {
    finder->addMatcher(clang::ast_matchers::translationUnitDecl().bind("unit"), this);
  }
  void check(const clang::ast_matchers::MatchFinder::MatchResult& result) override { context_ = result.Context; }

  void onEndOfTranslationUnit() override {
    if (context_ == nullptr || preprocessor_ == nullptr) return;
    if (!unit().done) {
      unit().done = true;
      analyse(*context_, *preprocessor_, unit());
    }
    if (rule_ == kIncomplete) {
      for (const report::Incomplete& incomplete : unit().results.incomplete) {
        diag(location(incomplete.place), "not analysed: %0") << incomplete.reason;
      }
      return;
    }
    for (const report::Finding& finding : unit().results.findings) {
      if (finding.rule == rule_ && (finding.level != report::Level::kNote || notes_ == "true")) show(finding);
    }
  }

private:
  void show(const report::Finding& finding) {
    {
      auto out = diag(location(finding.place), "%0");
      out << finding.message;
      for (const report::Fix& fix : finding.fixes) {
        const clang::SourceLocation at = location(fix.place);
        if (at.isValid()) out << clang::FixItHint::CreateInsertion(at, fix.text);
      }
    }
    for (const report::Related& related : finding.related) note(related);
    for (const report::Related& step : finding.path) note(step);
  }

  void note(const report::Related& related) {
    const clang::SourceLocation at = location(related.place);
    if (at.isValid()) diag(at, "%0", clang::DiagnosticIDs::Note) << related.message;
  }

  clang::SourceLocation location(const report::Place& place) const {
    clang::SourceManager& sources = context_->getSourceManager();
    if (!place.text) return {};
    llvm::SmallString<256> path(place.text->path());
    (void)llvm::sys::fs::make_absolute(path);  // without a current folder it stays as it is
    const ptx::LineColumn at = place.text->position(place.span.begin);
    for (llvm::StringRef name : {llvm::StringRef(path), llvm::StringRef(place.text->path())}) {
      if (const auto entry = sources.getFileManager().getOptionalFileRef(name)) {
        const clang::SourceLocation found = sources.translateFileLineCol(&entry->getFileEntry(), at.line, at.column);
        if (found.isValid()) return found;
      }
    }
    return {};
  }

  std::string rule_, block_, cluster_, notes_;
  clang::Preprocessor* preprocessor_ = nullptr;
  clang::ASTContext* context_ = nullptr;
};

class TmemModule : public clang::tidy::ClangTidyModule {
public:
  void addCheckFactories(clang::tidy::ClangTidyCheckFactories& factories) override {
    auto add = [&](llvm::StringRef name) {
      factories.registerCheckFactory(name, [](llvm::StringRef check, clang::tidy::ClangTidyContext* context) {
        return std::make_unique<Check>(check, context);
      });
    };
    for (const rules::Rule* rule : rules::registry()) add(llvm::StringRef(rule->id.data(), rule->id.size()));
    add(kIncomplete);
  }
};

const clang::tidy::ClangTidyModuleRegistry::Add<TmemModule> registration("tmem-module",
                                                                         "The Tensor Memory (tcgen05) protocol.");

}  // namespace
}  // namespace tmemlint::tidy
