#include "analyzer/cuda/clang/tolerant_files.h"

#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>

namespace tmemlint::cuda {
namespace {

using llvm::vfs::File;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Finds the operand lists of asm statements by their tokens, and in them operands without a comma between:
// `"r"(a) "r"(b)`. Elsewhere the same tokens can be right as they are: in the replacement of a macro, or where a macro
// brings the comma.
class Commas {
public:
  explicit Commas(llvm::StringRef text) : text_(text) {}

  // The text with a blank of each such place turned into a comma; empty when there is none. Its length, its lines and
  // the columns stay as they are, since what Clang says is shown over the author's text.
  std::string repaired() {
    while (next()) {
      if (is_asm()) statement();
    }
    return std::move(out_);
  }

private:
  enum class Kind : uint8_t { kWord, kString, kOther };

  // The next token is text_[begin_, at_).
  bool next() {
    skip_blanks();
    begin_ = at_;
    if (at_ >= text_.size()) return false;
    const char c = text_[at_++];
    kind_ = Kind::kOther;
    if (is_word(c)) {
      kind_ = Kind::kWord;
      // 1'000 is one number, and no character begins in it.
      const bool number = std::isdigit(static_cast<unsigned char>(c)) != 0;
      while (at_ < text_.size() && (is_word(text_[at_]) || (number && text_[at_] == '\'' && at_ + 1 < text_.size() &&
                                                            is_word(text_[at_ + 1]))))
        ++at_;
      if (at_ < text_.size() && text_[at_] == '"' && text_[at_ - 1] == 'R') raw_string();
    } else if (c == '"' || c == '\'') {
      while (at_ < text_.size() && text_[at_] != c && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2 : 1;
      at_ = std::min(at_ + 1, text_.size());
      if (c == '"') kind_ = Kind::kString;
    }
    return true;
  }

  void skip_blanks() {
    blank_ = llvm::StringRef::npos;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      const llvm::StringRef rest = text_.substr(at_);
      if (rest.starts_with("//") || rest.starts_with("/*")) {
        const bool line = rest[1] == '/';
        const size_t end = text_.find(line ? "\n" : "*/", at_ + 2);
        if (end == llvm::StringRef::npos) {
          at_ = text_.size();
          return;
        }
        at_ = line ? end : end + 1;
      } else if (c == ' ' || c == '\t') {
        if (blank_ == llvm::StringRef::npos) blank_ = at_;
      } else if (c != '\n' && c != '\r' && !rest.starts_with("\\\n") && !rest.starts_with("\\\r\n")) {
        return;
      }
    }
  }

  void raw_string() {
    const size_t open = text_.find('(', at_);
    if (open == llvm::StringRef::npos) return;
    const std::string close = ")" + text_.substr(at_ + 1, open - at_ - 1).str() + "\"";
    const size_t end = text_.find(close, open);
    at_ = end == llvm::StringRef::npos ? text_.size() : end + close.size();
    kind_ = Kind::kString;
  }

  llvm::StringRef token() const { return text_.substr(begin_, at_ - begin_); }
  bool is(char c) const { return kind_ == Kind::kOther && text_[begin_] == c; }
  bool is_asm() const {
    return kind_ == Kind::kWord && (token() == "asm" || token() == "__asm__" || token() == "__asm");
  }

  void statement() {
    do {
      if (!next()) return;
    } while (kind_ == Kind::kWord);  // volatile, goto
    if (!is('(')) return;
    bool in_lists = false;                         // behind the first colon
    bool after_string = false;                     // a parenthesis opens an operand
    size_t after_operand = llvm::StringRef::npos;  // a blank behind one, with nothing but a string since
    bool closed_operand = false;
    while (next()) {
      if (is(')')) return;
      if (is(';') || is('{')) return;  // no asm statement after all
      if (kind_ == Kind::kString) {
        after_operand = closed_operand ? blank_ : llvm::StringRef::npos;
        after_string = true;
        closed_operand = false;
        continue;
      }
      closed_operand = false;
      if (is('(')) {
        const bool operand = in_lists && after_string;
        if (operand && after_operand != llvm::StringRef::npos) put_comma(after_operand);
        if (!skip_parentheses()) return;
        closed_operand = operand;
      } else if (is(':')) {
        in_lists = true;
      }
      after_string = false;
      after_operand = llvm::StringRef::npos;
    }
  }

  // From behind the opening one to behind its counterpart; false when the text ends before.
  bool skip_parentheses() {
    for (int depth = 1; depth > 0;) {
      if (!next()) return false;
      if (is('(')) ++depth;
      if (is(')')) --depth;
    }
    return true;
  }

  void put_comma(size_t at) {
    if (out_.empty()) out_ = text_.str();
    out_[at] = ',';
  }

  llvm::StringRef text_;
  std::string out_;
  size_t begin_ = 0, at_ = 0;
  size_t blank_ = llvm::StringRef::npos;  // the first one in front of the token
  Kind kind_ = Kind::kOther;
};

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
      std::string edited = Commas(text).repaired();
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
