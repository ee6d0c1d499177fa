// Initialisers of variables: `= 16`, `= {1, 2}`, `= {{1, 2}, {3}}` (PTX ISA 5.4.4).
#include <cstring>
#include <string>

#include "tests/virtual_gpu/ptx/constant.h"
#include "tests/virtual_gpu/ptx/declaration.h"

namespace sinter::virtual_gpu::ptx {
namespace {

/// A limit of the interpreter: an initialised variable has all of its bytes in the module.
constexpr std::size_t kLargestInitialized = std::size_t{1} << 28;

bool is_float_type(std::string_view type) { return type == "f32" || type == "f64"; }

/// The bits of a value in the type of the variable. PTX ISA 4.5 converts integers to the size of
/// the type; floats are for types of 32 and 64 bits.
std::uint64_t value_bits(const Constant& constant, const Variable& variable) {
  if (is_float_type(variable.type)) {
    if (!constant.float_bytes) fail(constant.token, "a variable of this type needs a float");
    return float_bits(constant, variable.element_bytes);
  }
  if (!constant.float_bytes && variable.element_bytes <= 8 && variable.type.front() != 'f')
    return constant.bits;
  if (constant.float_bytes == variable.element_bytes && variable.type.front() == 'b')
    return constant.bits;
  fail(constant.token, "this is no value of the type " + std::string(variable.type));
}

class Initializer {
 public:
  Initializer(Lexer& lexer, const Variable& variable, const Dimensions& dimensions)
      : lexer_(lexer), variable_(variable), dimensions_(dimensions) {}

  /// Takes one element, or a list in braces of a dimension, and appends its bytes. At depth 0 an
  /// open dimension takes all elements that are there. The depth is at most the dimension count.
  void take(std::size_t depth) {
    if (depth == dimensions_.size()) return take_value();
    lexer_.expect('{');
    const std::int64_t extent = dimensions_[depth];
    const std::size_t begin = bytes_.size();
    std::int64_t count = 0;
    while (!lexer_.peek().is('}')) {
      if (extent && count == extent) fail(lexer_.peek(), "the initialiser has too many values");
      take(depth + 1);
      ++count;
      if (!lexer_.accept(',')) break;
      if (lexer_.peek().is('}')) fail(lexer_.peek(), "expected a value");
    }
    lexer_.expect('}');
    if (depth == 0) outer_count_ = count;
    fill_up_to(begin + static_cast<std::size_t>(extent ? extent : count) * size_below(depth));
  }

  std::int64_t outer_count() const { return outer_count_; }
  std::vector<std::byte> bytes() { return std::move(bytes_); }

 private:
  void take_value() {
    const Token token = lexer_.peek();
    if (token.kind == TokenKind::word && token.text != "WARP_SZ")
      fail(token, "the interpreter knows no addresses in initialisers");
    const std::uint64_t bits = value_bits(take_constant(lexer_), variable_);
    const std::size_t place = bytes_.size();
    bytes_.resize(place + static_cast<std::size_t>(variable_.element_bytes));
    // The host is little-endian, as the GPU is.
    std::memcpy(bytes_.data() + place, &bits, static_cast<std::size_t>(variable_.element_bytes));
  }

  void fill_up_to(std::size_t size) {
    if (size > kLargestInitialized)
      fail(lexer_.peek(), "the variable is too large for an initialiser");
    bytes_.resize(size);
  }

  /// The bytes of one element of the dimension.
  std::size_t size_below(std::size_t depth) const {
    std::int64_t size = variable_.element_bytes;
    for (std::size_t i = depth + 1; i < dimensions_.size(); ++i) size *= dimensions_[i];
    return static_cast<std::size_t>(size);
  }

  Lexer& lexer_;
  const Variable& variable_;
  const Dimensions& dimensions_;
  std::int64_t outer_count_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace

std::vector<std::byte> take_initializer(Lexer& lexer, const Variable& variable,
                                        Dimensions& dimensions) {
  Initializer initializer(lexer, variable, dimensions);
  initializer.take(0);
  if (!dimensions.empty() && dimensions.front() == 0)
    dimensions.front() = initializer.outer_count();
  return initializer.bytes();
}

}  // namespace sinter::virtual_gpu::ptx
