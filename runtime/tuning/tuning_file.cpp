#include "runtime/tuning/tuning_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/cache/cache_entry.h"
#include "runtime/device/device_state.h"
#include "runtime/support/atomic_file.h"
#include "runtime/tuning/choose_candidate.h"
#include "runtime/tuning/tuning_store.h"
#include "sinter/error.h"
#include "sinter/tuning.h"

namespace sinter {

namespace {

constexpr std::string_view kTuningMark = "sinter tuning ";
constexpr std::string_view kFormat = "1";

}  // namespace

std::string pack_tuning_file(const StoredTunings& tunings) {
  const std::string text = to_text(tunings);
  return fmt::format("{}{} {}\n{}", kTuningMark, kFormat, name_of(text).hex(), text);
}

ParsedTunings unpack_tuning_file(std::string_view file) {
  const auto fail = [](std::string problem) {
    return ParsedTunings{.tunings = {}, .problem = std::move(problem)};
  };
  const std::size_t end = file.find('\n');
  if (!file.starts_with(kTuningMark) || end == std::string_view::npos)
    return fail("is not a tuning file: write one with export_tuning (sinter tune --export)");
  const std::string_view head = file.substr(kTuningMark.size(), end - kTuningMark.size());
  const std::string_view format = head.substr(0, head.find(' '));
  if (format != kFormat)
    return fail(fmt::format("has another format than {}, which this sinter reads: export it again",
                            kFormat));
  const std::string_view text = file.substr(end + 1);
  if (head.substr(std::min(head.size(), format.size() + 1)) != name_of(text).hex())
    return fail("is damaged: its contents do not have the checksum of its first line");
  ParsedTunings parsed = parse_tunings(text);
  if (!parsed.tunings)
    parsed.problem = fmt::format("cannot be parsed ({}): export it again", parsed.problem);
  return parsed;
}

void export_tuning(const Device& device, const std::string& path) {
  const DeviceState& state = *device.state();
  const std::string file =
      pack_tuning_file({.machine = machine_of(state), .kernels = state.tuning_store.get().all()});
  // Unlike a cache entry, the file is meant for other users, so they may read it.
  const int error = write_named_file(path, bytes_of(file));
  if (error != 0)
    throw UserError(
        fmt::format("export_tuning: {} cannot be written: {}", path, std::strerror(error)));
}

std::size_t import_tuning(const Device& device, const std::string& path) {
  const FileContents file = read_whole_file(path);
  if (file.error != 0)
    throw UserError(
        fmt::format("import_tuning: {} cannot be read: {}", path, std::strerror(file.error)));
  const ParsedTunings parsed =
      unpack_tuning_file({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()});
  if (!parsed.tunings) throw UserError(fmt::format("import_tuning: {} {}", path, parsed.problem));
  const std::string machine = machine_of(*device.state());
  if (parsed.tunings->machine != machine)
    throw UserError(fmt::format(
        "import_tuning: {} was written on \"{}\", and this is \"{}\": machines differ in which "
        "candidate is fastest; tune here, and export that",
        path, parsed.tunings->machine, machine));
  device.state()->tuning_store.get().import(parsed.tunings->kernels);
  return parsed.tunings->kernels.size();
}

}  // namespace sinter
