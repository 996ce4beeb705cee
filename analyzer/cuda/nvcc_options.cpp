#include "analyzer/cuda/nvcc_options.h"

#include <map>
#include <sstream>
#include <string>

namespace tmemlint::cuda {
namespace {

struct Group {
  NvccKind kind;
  const char* names;  // separated by blanks
};

constexpr Group kGroups[] = {
    {NvccKind::kDrop,
     "cuda cubin fatbin ptx optix-ir ltoir preprocess E generate-dependencies M generate-nonsystem-dependencies MM "
     "generate-dependencies-with-compile MD generate-nonsystem-dependencies-with-compile MMD "
     "generate-dependency-targets MP "
     "compile c device-c dc device-w dw device-link dlink link lib run objdir-as-tempdir objtemp "
     "allow-unsupported-compiler "
     "use-local-env force-cl-env-setup profile pg debug g device-debug G generate-line-info lineinfo dlink-time-opt "
     "dlto lto "
     "gen-opt-lto no-exceptions noeh shared no-host-device-initializer-list nohdinitlist no-host-device-move-forward "
     "nohdmoveforward m64 forward-unknown-to-host-compiler forward-unknown-to-host-linker forward-unknown-opts "
     "dont-use-profile "
     "noprof dryrun verbose v fdevice-syntax-only keep save-temps clean-targets clean no-align-double no-device-link "
     "nodlink "
     "extra-device-vectorization keep-device-functions source-in-ptx src-in-ptx restrict Wreorder "
     "Wdefault-stream-launch "
     "Wmissing-launch-bounds Wext-lambda-captures-this Wno-deprecated-declarations Wno-deprecated-gpu-targets "
     "resource-usage "
     "res-usage extensible-whole-program ewp no-compress list-gpu-code code-ls list-gpu-arch arch-ls "
     "display-error-number "
     "err-no no-display-error-number no-err-no relocatable-link r augment-host-linker-script aug-hls relocatable-ptx "
     "reloc-ptx "
     "compile-as-tools-patch astoolspatch jobserver help h version V disable-warnings w qpp-config"},
    {NvccKind::kDropValue,
     "dependency-output MF output-file o library l library-path L output-directory odir archiver-binary arbin cudart "
     "cudadevrt "
     "libdevice-directory ldir target-directory target-dir optimization-info opt-info optimize O Ofast-compile Ofc "
     "dopt x "
     "ftemplate-backtrace-limit ftemplate-depth machine m linker-options Xlinker archive-options Xarchive "
     "ptxas-options Xptxas "
     "nvlink-options Xnvlink static-global-template-stub device-entity-has-hidden-visibility threads t split-compile "
     "split-compile-extended fdevice-time-trace keep-dir time run-args input-drive-prefix idp dependency-drive-prefix "
     "ddp "
     "drive-prefix dp dependency-target-name MT entries e maxrregcount ftz prec-div prec-sqrt fmad Werror diag-error "
     "diag-suppress diag-warn host-linker-script hls brief-diagnostics brief-diag jump-table-density jtd "
     "device-stack-protector compress-mode frandom-seed sanitize Xcudafe Xfatbin"},
    {NvccKind::kInclude, "include-path I"},
    {NvccKind::kSystemInclude, "system-include isystem"},
    {NvccKind::kPreInclude, "pre-include include"},
    {NvccKind::kDefine, "define-macro D"},
    {NvccKind::kUndefine, "undefine-macro U"},
    {NvccKind::kStandard, "std"},
    {NvccKind::kArchitecture, "gpu-architecture arch gpu-code code generate-code gencode"},
    {NvccKind::kHostOptions, "compiler-options Xcompiler"},
    {NvccKind::kHostCompiler, "compiler-bindir ccbin"},
    {NvccKind::kOptionsFile, "options-file optf"},
    {NvccKind::kFastMath, "use_fast_math"},
    {NvccKind::kRelocatable, "relocatable-device-code rdc"},
    {NvccKind::kNvccSwitch, "expt-relaxed-constexpr extended-lambda expt-extended-lambda"},
    {NvccKind::kDefaultStream, "default-stream"},
};

}  // namespace

const NvccKind* nvcc_option(std::string_view name) {
  static const auto* table = [] {
    auto* out = new std::map<std::string, NvccKind, std::less<>>;
    for (const Group& group : kGroups) {
      std::istringstream names(group.names);
      for (std::string word; names >> word;) out->emplace(word, group.kind);
    }
    return out;
  }();
  const auto found = table->find(name);
  return found == table->end() ? nullptr : &found->second;
}

bool takes_value(NvccKind kind) {
  return kind != NvccKind::kDrop && kind != NvccKind::kFastMath && kind != NvccKind::kNvccSwitch;
}

}  // namespace tmemlint::cuda
