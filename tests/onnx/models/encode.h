// Encodes a message in the wire format of protocol buffers.
#pragma once

#include "tools/onnx/model/schema.h"

#include <concepts>
#include <cstring>
#include <string>
#include <type_traits>

namespace sinter::test {

template <class T>
concept EncodedMessage = requires {
  T::kName;
};

class MessageEncoder {
 public:
  template <EncodedMessage Message>
  std::string encode(Message message) {
    using onnx::visit_fields;
    visit_fields(message, [&](std::uint64_t number, auto& field) { add(number, field); });
    return std::move(bytes_);
  }

 private:
  enum WireType : std::uint64_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };

  void add_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  void add_key(std::uint64_t number, WireType type) { add_varint(number << 3 | type); }
  void add_bytes(std::uint64_t number, std::string_view bytes) {
    add_key(number, length);
    add_varint(bytes.size());
    bytes_ += bytes;
  }

  /// Zero numbers and empty texts are the defaults, which files omit.
  template <class Field>
  void add(std::uint64_t number, const Field& field) {
    if constexpr (EncodedMessage<Field>) {
      add_bytes(number, MessageEncoder().encode(field));
    } else if constexpr (std::same_as<Field, std::string_view>) {
      if (!field.empty()) add_bytes(number, field);
    } else if constexpr (std::is_arithmetic_v<Field>) {
      if (field != 0) add_number(number, field);
    } else if constexpr (requires { field.has_value(); }) {
      if (field) add_item(number, *field);
    } else {
      for (const auto& item : field) add_item(number, item);
    }
  }

  /// The item of a list or optional field, which is written even if it is 0 or empty.
  template <class Item>
  void add_item(std::uint64_t number, const Item& item) {
    if constexpr (EncodedMessage<Item>)
      add_bytes(number, MessageEncoder().encode(item));
    else if constexpr (std::same_as<Item, std::string_view>)
      add_bytes(number, item);
    else
      add_number(number, item);
  }

  template <class Number>
  void add_number(std::uint64_t number, Number value) {
    if constexpr (std::integral<Number>) {
      add_key(number, varint);
      add_varint(static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
    } else {
      add_key(number, sizeof value == 4 ? fixed32 : fixed64);
      char raw[sizeof value];
      std::memcpy(raw, &value, sizeof value);
      bytes_.append(raw, sizeof value);
    }
  }

  std::string bytes_;
};

/// The bytes of a file that contains `message`.
template <EncodedMessage Message>
std::string encoded(const Message& message) {
  return MessageEncoder().encode(message);
}

}  // namespace sinter::test
