#include "analyzer/cuda/clang/tolerant_files.h"

#include <llvm/Support/MemoryBuffer.h>

#include <cctype>
#include <cstring>
#include <string>

namespace tmemlint::cuda {
namespace {

using llvm::vfs::File;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

// Offset of a blank that is to become a comma: `)` blanks `"` a short constraint `"` blanks `(`. Nothing else that
// compiles looks like that.
std::string with_commas(llvm::StringRef text) {
  std::string out;
  for (size_t at = text.find(')'); at != llvm::StringRef::npos; at = text.find(')', at + 1)) {
    size_t i = at + 1;
    while (i < text.size() && is_blank(text[i])) ++i;
    if (i == at + 1 || i >= text.size() || text[i] != '"') continue;
    const size_t open = i++;
    while (i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '=' ||
                               text[i] == '+' || text[i] == '&'))
      ++i;
    constexpr size_t kLongestConstraint = 4;
    if (i >= text.size() || text[i] != '"' || i == open + 1 || i - open > kLongestConstraint) continue;
    ++i;
    while (i < text.size() && is_blank(text[i])) ++i;
    if (i >= text.size() || text[i] != '(') continue;
    if (out.empty()) out = text.str();
    out[at + 1] = ',';
  }
  return out;
}

class EditedFile : public File {
public:
  EditedFile(llvm::vfs::Status status, std::string text) : status_(std::move(status)), text_(std::move(text)) {}
  llvm::ErrorOr<llvm::vfs::Status> status() override { return status_; }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> getBuffer(const llvm::Twine& name, int64_t, bool, bool) override {
    return llvm::MemoryBuffer::getMemBufferCopy(text_, name);
  }
  std::error_code close() override { return {}; }

private:
  llvm::vfs::Status status_;
  std::string text_;
};

// The file as it was read once, so that looking at it costs no second read.
class ReadFile : public File {
public:
  ReadFile(std::unique_ptr<File> file, std::unique_ptr<llvm::MemoryBuffer> buffer)
      : file_(std::move(file)), buffer_(std::move(buffer)) {}
  llvm::ErrorOr<llvm::vfs::Status> status() override { return file_->status(); }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> getBuffer(const llvm::Twine&, int64_t, bool, bool) override {
    return std::move(buffer_);
  }
  std::error_code close() override { return file_->close(); }

private:
  std::unique_ptr<File> file_;
  std::unique_ptr<llvm::MemoryBuffer> buffer_;
};

class TolerantFiles : public llvm::vfs::ProxyFileSystem {
public:
  TolerantFiles(llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files, std::string untouched)
      : ProxyFileSystem(std::move(files)), untouched_(std::move(untouched)) {}

  llvm::ErrorOr<std::unique_ptr<File>> openFileForRead(const llvm::Twine& path) override {
    auto file = ProxyFileSystem::openFileForRead(path);
    const std::string name = path.str();
    if (!file || name.starts_with("/usr/") || (!untouched_.empty() && name.starts_with(untouched_))) return file;
    auto status = (*file)->status();
    if (!status || !status->isRegularFile()) return file;
    auto buffer = (*file)->getBuffer(path, static_cast<int64_t>(status->getSize()), true, false);
    if (!buffer) return buffer.getError();
    const llvm::StringRef text = (*buffer)->getBuffer();
    if (text.contains("asm")) {
      std::string edited = with_commas(text);
      if (!edited.empty()) return std::unique_ptr<File>(new EditedFile(*status, std::move(edited)));
    }
    return std::unique_ptr<File>(new ReadFile(std::move(*file), std::move(*buffer)));
  }

private:
  std::string untouched_;
};

}  // namespace

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> tolerant(llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files,
                                                         std::string untouched) {
  return llvm::makeIntrusiveRefCnt<TolerantFiles>(std::move(files), std::move(untouched));
}

}  // namespace tmemlint::cuda
