#include "tools/onnx/model/decode.h"

#include "sinter/error.h"

#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

/// Nested messages: graphs in attributes of nodes in graphs. Each level of graphs has three.
constexpr int kMaxDepth = 96;

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

template <class T>
struct ItemOf {
  using Type = void;
};
template <class T>
struct ItemOf<std::vector<T>> {
  using Type = T;
};
template <class T>
struct ItemOf<std::optional<T>> {
  using Type = T;
};

template <class T>
concept IsList = std::same_as<T, std::vector<typename ItemOf<T>::Type>>;
template <class T>
concept IsOptional = std::same_as<T, std::optional<typename ItemOf<T>::Type>>;
template <class T>
concept IsMessage = requires {
  T::kName;
};

/// Reads one message: a range of the file.
class MessageDecoder {
 public:
  MessageDecoder(std::string_view file, std::size_t begin, std::size_t end, const char* message,
                 int depth)
      : file_(file), at_(begin), end_(end), message_(message), depth_(depth) {
    if (depth > kMaxDepth)
      fail(fmt::format("its messages are nested more than {} deep", kMaxDepth));
  }

  template <IsMessage Message>
  void read(Message& message) {
    while (at_ < end_) {
      field_begin_ = at_;
      const std::uint64_t key = varint();
      const std::uint64_t number = key >> 3;
      const auto type = static_cast<WireType>(key & 7);
      if (number == 0 || number > (1U << 29) - 1) fail(fmt::format("there is no field {}", number));
      bool is_known = false;
      visit_fields(message, [&](std::uint64_t known, auto& field) {
        if (known != number) return;
        is_known = true;
        read_field(field, type);
      });
      if (!is_known) skip(type);
    }
  }

 private:
  [[noreturn]] void fail(std::string_view problem) const {
    throw UserError(fmt::format("byte {} in a {}: {}; the file is damaged, or is no ONNX model",
                                field_begin_, message_, problem));
  }

  std::uint64_t varint() {
    std::uint64_t result = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == end_) fail("the message ends within a number");
      const auto byte = static_cast<unsigned char>(file_[at_++]);
      if (shift == 63 && byte > 1) break;
      result |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return result;
    }
    fail("a number has more than 64 bits");
  }

  /// The next `count` bytes.
  std::string_view take(std::uint64_t count) {
    if (count > end_ - at_)
      fail(fmt::format("a field of {} bytes begins {} bytes before the end", count, end_ - at_));
    const std::string_view result = file_.substr(at_, count);
    at_ += count;
    return result;
  }

  template <class Number>
  Number fixed() {
    Number result = {};
    std::memcpy(&result, take(sizeof result).data(), sizeof result);
    return result;
  }

  void skip(WireType type) {
    switch (type) {
      case WireType::varint: varint(); return;
      case WireType::fixed64: take(8); return;
      case WireType::bytes: take(varint()); return;
      case WireType::fixed32: take(4); return;
    }
    fail(fmt::format("there is no wire type {}", static_cast<int>(type)));
  }

  void require(WireType type, WireType wanted) const {
    if (type != wanted)
      fail(fmt::format("a field has the wire type {} instead of {}", static_cast<int>(type),
                       static_cast<int>(wanted)));
  }

  template <class Number>
  static constexpr WireType wire_type_of() {
    if constexpr (std::integral<Number>) return WireType::varint;
    return sizeof(Number) == 4 ? WireType::fixed32 : WireType::fixed64;
  }

  template <class Number>
  Number number() {
    if constexpr (std::integral<Number>)
      return static_cast<Number>(varint());
    else
      return fixed<Number>();
  }

  template <class Field>
  void read_field(Field& field, WireType type) {
    if constexpr (IsMessage<Field>) {
      require(type, WireType::bytes);
      const std::uint64_t size = varint();
      const std::size_t begin = at_;
      take(size);
      MessageDecoder(file_, begin, at_, Field::kName, depth_ + 1).read(field);
    } else if constexpr (std::same_as<Field, std::string_view>) {
      require(type, WireType::bytes);
      field = take(varint());
    } else if constexpr (IsOptional<Field>) {
      if (!field) field.emplace();
      read_field(*field, type);
    } else if constexpr (IsList<Field>) {
      read_item(field, type);
    } else {
      require(type, wire_type_of<Field>());
      field = number<Field>();
    }
  }

  template <class Item>
  void read_item(std::vector<Item>& list, WireType type) {
    if constexpr (std::is_arithmetic_v<Item>) {
      if (type == WireType::bytes) return read_packed(list);
    }
    Item item = {};
    read_field(item, type);
    list.push_back(std::move(item));
  }

  /// Numbers one after another, without keys.
  template <class Number>
  void read_packed(std::vector<Number>& list) {
    const std::uint64_t size = varint();
    const std::size_t outer_end = end_;
    if (size > end_ - at_)
      fail(fmt::format("a list of {} bytes begins {} bytes before the end", size, end_ - at_));
    end_ = at_ + size;
    if constexpr (!std::integral<Number>) list.reserve(list.size() + size / sizeof(Number));
    while (at_ < end_) list.push_back(number<Number>());
    end_ = outer_end;
  }

  std::string_view file_;
  std::size_t at_;
  std::size_t end_;
  std::size_t field_begin_ = 0;
  const char* message_;
  int depth_;
};

}  // namespace

ModelProto decode_model(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little);
  ModelProto model;
  MessageDecoder(bytes, 0, bytes.size(), ModelProto::kName, 0).read(model);
  return model;
}

}  // namespace sinter::onnx
