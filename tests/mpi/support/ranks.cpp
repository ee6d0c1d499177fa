#include "tests/mpi/support/ranks.h"

#include <cstdint>
#include <cstring>

#include <mpi.h>

#include "ir/types/half.h"
#include "sinter/error.h"

namespace sinter::test {

namespace {

/// Calls `function` with a value of the C++ type that stores elements of `dtype`.
template <class Function>
void with_type(DType dtype, Function function) {
  switch (dtype) {
    case DType::i8: return function(std::int8_t{});
    case DType::u8:
    case DType::boolean: return function(std::uint8_t{});
    case DType::i16: return function(std::int16_t{});
    case DType::u16:
    case DType::f16:
    case DType::bf16: return function(std::uint16_t{});
    case DType::i32: return function(std::int32_t{});
    case DType::u32: return function(std::uint32_t{});
    case DType::i64: return function(std::int64_t{});
    case DType::u64: return function(std::uint64_t{});
    case DType::f32: return function(float{});
    case DType::f64: return function(double{});
    default: throw UserError("no C++ type for " + std::string(name(dtype)));
  }
}

}  // namespace

int own_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int rank_count() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

void wait_for_all_ranks() { MPI_Barrier(MPI_COMM_WORLD); }

Bytes elements_of(DType dtype, const std::vector<double>& values) {
  Bytes bytes(values.size() * static_cast<std::size_t>(size_of(dtype)));
  with_type(dtype, [&]<class T>(T) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T element = dtype == f16    ? static_cast<T>(f16_bits(values[i]))
                        : dtype == bf16 ? static_cast<T>(bf16_bits(values[i]))
                                        : static_cast<T>(values[i]);
      std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return bytes;
}

std::vector<double> values_of(DType dtype, const Bytes& elements) {
  std::vector<double> values(elements.size() / static_cast<std::size_t>(size_of(dtype)));
  with_type(dtype, [&]<class T>(T element) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::memcpy(&element, elements.data() + i * sizeof(T), sizeof(T));
      values[i] = dtype == f16    ? f16_value(static_cast<std::uint16_t>(element))
                  : dtype == bf16 ? bf16_value(static_cast<std::uint16_t>(element))
                                  : static_cast<double>(element);
    }
  });
  return values;
}

void run_at_once(std::function<void()> work) { work(); }

CollectiveCall host_call(Collective kind, DType dtype, std::int64_t elements) {
  return {.kind = kind,
          .dtype = dtype,
          .elements = elements,
          .place = "model.cpp:7",
          .is_host_device = true,
          .on_host = run_at_once};
}

std::int64_t output_elements(const CollectiveCall& call, int ranks) {
  if (call.kind == Collective::all_gather) return call.elements * ranks;
  if (call.kind == Collective::reduce_scatter) return call.elements / ranks;
  return call.elements;
}

Bytes carry_out(const Communicator& communicator, CollectiveCall call, const Bytes& input) {
  const auto elements = static_cast<std::size_t>(output_elements(call, communicator.size()));
  // The engine must write every byte.
  Bytes output(elements * static_cast<std::size_t>(size_of(call.dtype)), std::byte{0xa5});
  call.input = input.data();
  call.output = output.data();
  communicator.engine()->enqueue(call);
  return output;
}

std::string error_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

double seconds_of(const std::function<void()>& function) {
  const auto begin = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace sinter::test
