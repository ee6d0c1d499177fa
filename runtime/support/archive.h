// ArchiveWriter and ArchiveReader: serialize structs to bytes and back. `fields` describes each
// struct once, and `last_enumerator` each enum (saved_fields.h, report_fields.h). The ArchiveReader
// does not trust its input. Any bytes give values within their ranges or throw InvalidData. Memory
// use is proportional to the number of bytes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ir/shape/extent.h"

namespace sinter {

/// Thrown if bytes are invalid; says why.
struct InvalidData {
  std::string what;
};

/// True if `T` is `Struct` or const `Struct`, so that one `fields` serves ArchiveReader and
/// ArchiveWriter.
template <class T, class Struct>
concept SameOrConst = std::same_as<std::remove_const_t<T>, Struct>;

/// The value of a list element before it is read.
template <class Element>
Element default_value() {
  return Element();
}

class ArchiveWriter {
 public:
  template <class... Values>
  void operator()(const Values&... values) {
    (put(values), ...);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  /// Zigzag and LEB128 encoding: numbers near 0 are short, also negative ones.
  void number(std::int64_t value);
  void put(std::span<const std::byte> bytes);
  void put(const std::vector<std::byte>& bytes) { put(std::span<const std::byte>(bytes)); }
  void put(const std::string& text) { put(std::as_bytes(std::span(text))); }
  void put(double value);
  void put(Extent extent);

  template <class Value>
  void put(const Value& value) {
    if constexpr (std::is_integral_v<Value> || std::is_enum_v<Value>)
      number(static_cast<std::int64_t>(value));
    else
      fields(*this, value);
  }
  template <class Element>
  void put(const std::vector<Element>& list) {
    number(static_cast<std::int64_t>(list.size()));
    for (const Element& element : list) put(element);
  }

  std::vector<std::byte> bytes_;
};

class ArchiveReader {
 public:
  /// `symbols` are the symbols of the extents, by id; null for an id without a symbol.
  explicit ArchiveReader(std::span<const std::byte> bytes,
                         std::span<const ExtentAtom* const> symbols = {},
                         ExtentTable* table = nullptr)
      : bytes_(bytes), symbols_(symbols), table_(table) {}

  template <class... Values>
  void operator()(Values&... values) {
    (get(values), ...);
  }
  /// Throws InvalidData if bytes are left.
  void finish() const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  /// The limit for nested structs: a schedule contains section schedules.
  static constexpr int kMaxDepth = 64;
  /// The limit for memory per input byte. Valid input is mostly text; a list of empty values would
  /// exceed the limit.
  static constexpr std::size_t kMaxMemoryPerByte = 16;
  /// Memory that is allowed for input of any size.
  static constexpr std::size_t kBaseAllowance = 64 << 10;

  /// Counts memory that values need. Fails beyond the limit.
  void charge_memory(std::size_t bytes) {
    charged_ += bytes;
    if (charged_ > kBaseAllowance + kMaxMemoryPerByte * bytes_.size())
      fail("it needs more memory than its size allows");
  }
  std::int64_t number();
  std::int64_t number(std::int64_t least, std::int64_t most);
  std::span<const std::byte> byte_string();
  void get(std::vector<std::byte>& bytes);
  void get(std::string& text);
  void get(double& value);
  void get(Extent& extent) { extent = this->extent(0); }
  Extent extent(int depth);
  ExtentTerm term(int depth);
  const ExtentAtom* atom(int depth);

  template <class Value>
  void get(Value& value) {
    if constexpr (std::is_same_v<Value, bool>) {
      value = number(0, 1) != 0;
    } else if constexpr (std::is_integral_v<Value>) {
      static_assert(sizeof(Value) < sizeof(std::int64_t) || std::is_signed_v<Value>);
      value = static_cast<Value>(
          number(std::numeric_limits<Value>::min(), std::numeric_limits<Value>::max()));
    } else if constexpr (std::is_enum_v<Value>) {
      value = static_cast<Value>(number(0, static_cast<std::int64_t>(last_enumerator(Value()))));
    } else {
      if (++depth_ > kMaxDepth) fail("structs are nested too deeply");
      fields(*this, value);
      --depth_;
    }
  }
  template <class Element>
  void get(std::vector<Element>& list) {
    const std::int64_t count = number(0, std::numeric_limits<std::int64_t>::max());
    list.clear();
    // `count` is not trusted: no memory is reserved for it.
    for (std::int64_t i = 0; i < count; ++i) {
      charge_memory(sizeof(Element));
      auto element = default_value<Element>();
      get(element);
      list.push_back(std::move(element));
    }
  }

  std::span<const std::byte> bytes_;
  std::span<const ExtentAtom* const> symbols_;
  ExtentTable* table_;
  std::size_t at_ = 0;
  std::size_t charged_ = 0;
  int depth_ = 0;
};

}  // namespace sinter
