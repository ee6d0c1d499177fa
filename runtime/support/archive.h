// Writing values one after the other and reading them back, by one description of each struct
// (saved_fields.h). The reader takes nothing on trust: whatever the bytes are, it ends with values
// within their ranges or throws Damage, and it takes memory in proportion to the bytes.
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

/// What is wrong with bytes that mean nothing, in words.
struct Damage {
  std::string what;
};

/// `T` is `Struct`, to be written or to be read.
template <class T, class Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;

/// The last enumerator of an enum that is saved.
template <class Enum>
constexpr Enum last_of() = delete;

/// What a list is filled with before its elements are read.
template <class Element>
Element blank() {
  return Element();
}

class Writer {
 public:
  template <class... Values>
  void operator()(const Values&... values) {
    (put(values), ...);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  /// Little-endian groups of 7 bits, numbers near 0 short whatever their sign.
  void number(std::int64_t value);
  void put(std::span<const std::byte> bytes);
  void put(const std::vector<std::byte>& bytes) { put(std::span<const std::byte>(bytes)); }
  void put(const std::string& text) { put(std::as_bytes(std::span(text))); }
  void put(double value);
  void put(Extent extent);

  template <class Value>
  void put(const Value& value) {
    if constexpr (std::is_integral_v<Value>)
      number(static_cast<std::int64_t>(value));
    else if constexpr (std::is_enum_v<Value>)
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

class Reader {
 public:
  /// `symbols` are those that extents are written in, by number; null: one that is not there.
  explicit Reader(std::span<const std::byte> bytes, std::span<const ExtentAtom* const> symbols = {},
                  ExtentTable* table = nullptr)
      : bytes_(bytes), symbols_(symbols), table_(table) {}

  template <class... Values>
  void operator()(Values&... values) {
    (get(values), ...);
  }
  /// Throws Damage if there is more.
  void finish() const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  /// Structs within structs: a schedule has members.
  static constexpr int kDeepest = 64;
  /// What values may take of memory, by byte that is read: empty ones take more than is sound, and
  /// mostly what is saved is text.
  static constexpr std::size_t kMostPerByte = 16;
  static constexpr std::size_t kMostAnyway = 64 << 10;

  /// Counts memory that is taken.
  void take(std::size_t bytes) {
    taken_ += bytes;
    if (taken_ > kMostAnyway + kMostPerByte * bytes_.size())
      fail("it is more than it has bytes for");
  }
  std::int64_t number();
  std::int64_t number(std::int64_t least, std::int64_t most);
  std::span<const std::byte> part();
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
      value = static_cast<Value>(number(0, static_cast<std::int64_t>(last_of<Value>())));
    } else {
      if (++depth_ > kDeepest) fail("structs lie too deep in one another");
      fields(*this, value);
      --depth_;
    }
  }
  template <class Element>
  void get(std::vector<Element>& list) {
    const std::int64_t count = number(0, std::numeric_limits<std::int64_t>::max());
    list.clear();
    // Memory is taken as elements come, whatever `count` says.
    for (std::int64_t i = 0; i < count; ++i) {
      take(sizeof(Element));
      auto element = blank<Element>();
      get(element);
      list.push_back(std::move(element));
    }
  }

  std::span<const std::byte> bytes_;
  std::span<const ExtentAtom* const> symbols_;
  ExtentTable* table_;
  std::size_t at_ = 0;
  std::size_t taken_ = 0;
  int depth_ = 0;
};

}  // namespace sinter
