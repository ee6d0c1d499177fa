// Rank groups and communicators.
#include "values/bind.h"
#include "values/casters.h"

#include <cstring>

#include "sinter/error.h"

namespace sinter::python {

using namespace nanobind::literals;

namespace {

NcclUniqueId unique_id(const nb::bytes& bytes) {
  NcclUniqueId id;
  if (bytes.size() != id.bytes.size())
    fail_here("Communicator.nccl: the id has " + std::to_string(bytes.size()) + " bytes; pass the " +
                    std::to_string(id.bytes.size()) + " bytes of nccl_unique_id()");
  std::memcpy(id.bytes.data(), bytes.c_str(), id.bytes.size());
  return id;
}

NcclOptions nccl_options(double timeout_s) {
  return {.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_s * 1000))};
}

}  // namespace

void bind_communicators(nb::module_& m) {
  nb::class_<Communicator>(m, "Communicator", "A rank in a group of ranks, which carries collectives between devices.")
      .def_static("nccl",
                  [](const nb::bytes& id, int rank, int size, const Device& device, double timeout_s) {
                    const NcclUniqueId name = unique_id(id);
                    const nb::gil_scoped_release released;
                    return Communicator::nccl(name, rank, size, device, nccl_options(timeout_s));
                  },
                  "id"_a, "rank"_a, "size"_a, "device"_a, "timeout_s"_a = 300.0,
                  "Rank `rank` of `size` ranks, each on a GPU of its own. All ranks call it together with the same `id`.")
      .def_prop_ro("rank", &Communicator::rank)
      .def_prop_ro("size", &Communicator::size)
      .def("check", &Communicator::check, "Raises UserError if a collective has failed.");
  m.def("nccl_unique_id", [] {
    const NcclUniqueId id = nccl_unique_id();
    return nb::bytes(id.bytes.data(), id.bytes.size());
  }, "The name of a new group of ranks. One rank sends it to the others. Raises UserError if NCCL is missing.");
}

}  // namespace sinter::python
