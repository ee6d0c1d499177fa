#include "tests/support/doubles/host_exchange.h"

#include <algorithm>
#include <cstring>

#include "ir/types/element.h"

namespace sinter::test {

namespace {

std::byte* at(const void* base, std::int64_t bytes) {
  return static_cast<std::byte*>(const_cast<void*>(base)) + bytes;
}

template <class Value>
Value combined(RankReduction reduction, Value a, Value b) {
  switch (reduction) {
    case RankReduction::sum: return a + b;
    case RankReduction::prod: return a * b;
    case RankReduction::max: return std::max(a, b);
    default: return std::min(a, b);
  }
}

/// Adds `count` elements at `from` to those at `to`.
void accumulate(const CollectiveCall& call, std::byte* to, const std::byte* from,
                std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i, to += size_of(call.dtype), from += size_of(call.dtype))
    if (is_floating(call.dtype))
      write_real(call.dtype, to,
                 combined<long double>(call.reduction, read_real(call.dtype, to),
                                       read_real(call.dtype, from)));
    else
      write_integer(call.dtype, to,
                    combined<Wide>(call.reduction, from_storage_bits(call.dtype, read_integer(call.dtype, to)),
                                   from_storage_bits(call.dtype, read_integer(call.dtype, from))));
}

}  // namespace

const CollectiveCall* find_mismatch(std::span<const CollectiveCall* const> calls) {
  const CollectiveCall& first = *calls[0];
  const auto differs = [&](const CollectiveCall* call) {
    return call->kind != first.kind || call->elements != first.elements ||
           call->dtype != first.dtype || call->reduction != first.reduction ||
           call->root != first.root;
  };
  const auto found = std::ranges::find_if(calls, differs);
  return found == calls.end() ? nullptr : *found;
}

void exchange_on_host(std::span<const CollectiveCall* const> calls) {
  const CollectiveCall& first = *calls[0];
  const auto ranks = std::ssize(calls);
  const std::int64_t bytes = first.elements * size_of(first.dtype);
  const auto reduce_into = [&](std::byte* to, std::int64_t begin, std::int64_t count) {
    const std::int64_t size = size_of(first.dtype);
    std::memcpy(to, at(first.input, begin * size), static_cast<std::size_t>(count * size));
    for (std::int64_t rank = 1; rank < ranks; ++rank)
      accumulate(first, to, at(calls[static_cast<std::size_t>(rank)]->input, begin * size), count);
  };
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const CollectiveCall& own = *calls[static_cast<std::size_t>(rank)];
    const auto copy = [&](std::int64_t to, const CollectiveCall& from, std::int64_t begin,
                          std::int64_t count) {
      std::memcpy(at(own.output, to), at(from.input, begin), static_cast<std::size_t>(count));
    };
    const std::int64_t part = first.elements / ranks;
    switch (first.kind) {
      case Collective::all_reduce: reduce_into(at(own.output, 0), 0, first.elements); break;
      case Collective::reduce_scatter: reduce_into(at(own.output, 0), rank * part, part); break;
      case Collective::reduce_to:
        if (rank == first.root)
          reduce_into(at(own.output, 0), 0, first.elements);
        else
          std::memset(own.output, 0, static_cast<std::size_t>(bytes));
        break;
      case Collective::broadcast:
        copy(0, *calls[static_cast<std::size_t>(first.root)], 0, bytes);
        break;
      case Collective::all_gather:
        for (std::int64_t from = 0; from < ranks; ++from)
          copy(from * bytes, *calls[static_cast<std::size_t>(from)], 0, bytes);
        break;
      case Collective::all_to_all:
        for (std::int64_t from = 0; from < ranks; ++from)
          copy(from * bytes / ranks, *calls[static_cast<std::size_t>(from)], rank * bytes / ranks,
               bytes / ranks);
        break;
      case Collective::send_receive:
        if (own.source < 0)
          std::memset(own.output, 0, static_cast<std::size_t>(bytes));
        else
          copy(0, *calls[static_cast<std::size_t>(own.source)], 0, bytes);
        break;
    }
  }
}

}  // namespace sinter::test
