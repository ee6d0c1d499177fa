#include "tools/sinter/files/npy_header.h"

#include "sinter/error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::command {

namespace {

/// The descr texts that are accepted for one dtype. The first is the one that is written.
struct DescrRow {
  DType dtype;
  std::array<std::string_view, 4> words;
};

constexpr DescrRow kDescrs[] = {
    {DType::boolean, {"|b1", "?", "<b1"}},
    {DType::i8, {"|i1", "<i1"}},
    {DType::i16, {"<i2"}},
    {DType::i32, {"<i4"}},
    {DType::i64, {"<i8"}},
    {DType::u8, {"|u1", "<u1"}},
    {DType::u16, {"<u2"}},
    {DType::u32, {"<u4"}},
    {DType::u64, {"<u8"}},
    {DType::f8e4m3, {"|V1", "<V1", "|u1", "<u1"}},
    // ml_dtypes declares f8e5m2 as a floating-point dtype of one byte.
    {DType::f8e5m2, {"|V1", "<f1", "|u1", "|f1"}},
    {DType::f16, {"<f2"}},
    {DType::bf16, {"<V2", "|V2", "<u2"}},
    {DType::f32, {"<f4"}},
    {DType::f64, {"<f8"}},
    {DType::c64, {"<c8"}},
};

const DescrRow& row_of(DType dtype) {
  const auto* const found = std::ranges::find(kDescrs, dtype, &DescrRow::dtype);
  ensure(found != std::end(kDescrs), "every dtype has a word for NumPy");
  return *found;
}

/// Parses a Python dictionary whose values are strings, booleans and tuples of integers.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  NpyHeader read() {
    expect('{');
    while (!accept('}')) {
      read_entry();
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_blanks();
    if (at_ != text_.size()) fail("something follows the dictionary");
    for (const auto& [is_there, key] : {std::pair{descr_.has_value(), "descr"},
                                        {fortran_order_.has_value(), "fortran_order"},
                                        {shape_.has_value(), "shape"}})
      if (!is_there) fail(fmt::format("it has no '{}'", key));
    return {.descr = *descr_, .is_fortran_order = *fortran_order_, .shape = *shape_};
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw UserError(fmt::format("its header is invalid: {} (at byte {})", why, at_));
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool accept(char wanted) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) fail(fmt::format("expected '{}'", wanted));
  }

  bool accept_word(std::string_view word) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::string read_string() {
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '[')
      fail("the elements are records, which are no dtype of a graph");
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const std::size_t end = text_.find(quote, at_);
    if (end == text_.npos) fail("a string does not end");
    const std::string_view word = text_.substr(at_, end - at_);
    // Strings appear in messages.
    if (!std::ranges::all_of(word, [](char c) { return c >= ' ' && c <= '~'; }) || word.size() > 64)
      fail("a string is too long or not printable");
    at_ = end + 1;
    return std::string(word);
  }

  bool read_bool() {
    if (accept_word("True")) return true;
    if (!accept_word("False")) fail("expected True or False");
    return false;
  }

  std::vector<std::int64_t> read_shape() {
    std::vector<std::int64_t> shape;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      std::int64_t extent = 0;
      const char* const begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (error != std::errc{} || extent < 0) fail("expected an extent of at least 0");
      at_ += static_cast<std::size_t>(end - begin);
      shape.push_back(extent);
      if (accept(',')) continue;
      expect(')');
      break;
    }
    return shape;
  }

  void read_entry() {
    const std::string key = read_string();
    expect(':');
    if (key == "descr")
      descr_ = read_string();
    else if (key == "fortran_order")
      fortran_order_ = read_bool();
    else if (key == "shape")
      shape_ = read_shape();
    else
      fail(fmt::format("'{}' is not a key of it", key));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<std::string> descr_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<std::int64_t>> shape_;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view dictionary) { return HeaderReader(dictionary).read(); }

std::string npy_head(DType dtype, std::span<const std::int64_t> shape) {
  constexpr std::size_t kAlignment = 64;
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", npy_descr(dtype),
                  fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t before = kNpyMagic.size() + 4;  // the version and the length
  while ((before + dictionary.size() + 1) % kAlignment != 0) dictionary += ' ';
  dictionary += '\n';
  ensure(dictionary.size() <= 0xffff, "the head of a .npy file of version 1.0 is short");
  std::string head(kNpyMagic);
  head += {'\x01', '\x00', static_cast<char>(dictionary.size() & 0xff),
           static_cast<char>(dictionary.size() >> 8)};
  return head + dictionary;
}

std::string_view npy_descr(DType dtype) { return row_of(dtype).words[0]; }

std::string numpy_dtype(DType dtype) {
  switch (dtype) {
    case DType::bf16: return "ml_dtypes.bfloat16";
    case DType::f8e4m3: return "ml_dtypes.float8_e4m3fn";
    case DType::f8e5m2: return "ml_dtypes.float8_e5m2";
    default: return fmt::format("'{}'", npy_descr(dtype));
  }
}

bool is_npy_descr_of(std::string_view descr, DType dtype) {
  return !descr.empty() && std::ranges::count(row_of(dtype).words, descr) > 0;
}

}  // namespace sinter::command
