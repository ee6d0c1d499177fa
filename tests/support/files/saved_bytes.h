// Helpers of the tests of saved executables: a program, its file, and the result of reading it.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "compiler/plan.h"
#include "runtime/binding/interface.h"
#include "runtime/driver/host/host_driver.h"
#include "runtime/execution/launch_set.h"
#include "runtime/execution/make_variant.h"
#include "runtime/saved/read_saved.h"
#include "runtime/support/header_hash.h"
#include "runtime/support/mapped_file.h"
#include "sinter/error.h"
#include "sinter/text.h"
#include "tests/support/files/errors.h"

namespace sinter::test {

using Bytes = std::vector<std::byte>;

inline constexpr const char* kPath = "norm.sinterx";

inline Bytes text_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// The bytes of a saved file with these sections.
inline Bytes pack_saved_file(std::span<const SavedSection> sections) {
  const File file(memfd_create("saved", MFD_CLOEXEC));
  EXPECT_EQ(write_saved_file(file, sections), 0);
  const MappedFile written(file);
  return {written.bytes().begin(), written.bytes().end()};
}

/// A graph with quotients, products of symbols, scalars, temporaries, an update, and a call with an
/// unused result.
inline constexpr std::string_view kGraph = R"(graph norm(x: f32[rows, n], t: f32[n], rate: f32) {
  ms = mean x {axes = [-1], keep = true}
  d = sub x, ms
  s = sum d {axes = [0]}
  r = mul s, rate
  c, _ = opaque plus r, rate {mode = "fast", alpha = 0.5} : f32[n], i32[rows, n]
  u = add r, c
  flat = reshape d {shape = [rows * n]}
  update t, u
  return d, flat
}
)";

inline SavedProgram saved_program() {
  return {.graph = print(parse(kGraph)),
          .name = "norm",
          .inputs = {"x", "t/0", "rate"},
          .outputs = {"d", "flat"},
          .symbols = {"rows", "n"},
          .numerics = {.rounding = Rounding::wide},
          .skip = {"fuse_launches"},
          .recorded_ops = 5,
          .functions = {{.name = "plus", .version = 3, .has_workspace = true}}};
}

/// The kernels of the program for `arch`. The images are texts that name the kernel and `arch`.
inline SavedKernels saved_kernels(const std::string& arch) {
  SavedKernels kernels{.arch = arch, .target = "h200"};
  for (const std::int64_t n : {96, 40000}) {
    const Graph graph = parse(kGraph);
    SavedVariant& saved = kernels.variants.emplace_back();
    saved.sizes = {64, n};
    saved.variant.program = plan(graph, *find_target("sm_90"), {.symbols = saved.sizes}, {});
    for (const Kernel& kernel : saved.variant.program.kernels) {
      EmittedKernel emitted = emit_candidates(saved.variant.program, kernel, 1);
      if (emitted.is_call) {
        saved.calls.push_back({.kernel = static_cast<int>(saved.images.size()),
                               .call = describe_call(saved.variant.program, kernel)});
        saved.images.push_back(-1);
        saved.variant.report.kernels.push_back({.name = emitted.sources[0].entry});
        saved.variant.kernels.push_back({.source = std::move(emitted.sources[0])});
        continue;
      }
      saved.images.push_back(static_cast<int>(kernels.images.size()));
      saved.variant.report.kernels.push_back(
          {.name = emitted.sources[0].entry,
           .candidates = {{.schedule = "threads 256", .median_us = 1.0 / 3, .chosen = true}}});
      Bytes image = text_bytes(fmt::format("// {} for {}\n", emitted.sources[0].entry, arch));
      image.push_back(std::byte{0});
      kernels.images.push_back(std::move(image));
      saved.variant.kernels.push_back(
          {.source = std::move(emitted.sources[0]), .schedule = emitted.schedules[0]});
    }
  }
  return kernels;
}

inline const Bytes& sound() {
  static const Bytes file = pack_saved_file(
      std::vector<SavedSection>{{kProgramSection, "", pack(saved_program())},
                                {kKernelsSection, "sm_80", pack(saved_kernels("sm_80"))},
                                {kKernelsSection, "sm_90", pack(saved_kernels("sm_90"))}});
  return file;
}

/// Reads everything in the file, as load does. Returns the message of the UserError, or "".
inline std::string problem_of(std::span<const std::byte> file) {
  try {
    const SavedExecutable saved = read_saved(file, kPath);
    for (std::size_t i = 0; i < saved.archs.size(); ++i) read_kernels(saved, i, kPath);
    return {};
  } catch (const UserError& error) {
    return error.what();
  }
}

/// A function for every name that the program calls.
inline OpaqueFunctions functions_for(const SavedProgram& program) {
  OpaqueFunctions functions;
  for (const SavedFunction& function : program.functions) {
    OpaqueFunction found{.enqueue = [](const OpaqueCall&) { return 0; }};
    found.workspace = [](const OpaqueSizes& sizes) { return sizes.outputs[0].bytes(); };
    functions.emplace(function.name, std::make_shared<OpaqueFunction>(std::move(found)));
  }
  return functions;
}

/// Does the work that follows reading, up to the driver, and checks the layout of scratch memory.
/// Accepts a UserError.
inline void prepare_all(std::span<const std::byte> file) {
  const SavedExecutable saved = read_saved(file, kPath);
  const OpaqueFunctions functions = functions_for(saved.program);
  for (std::size_t i = 0; i < saved.archs.size(); ++i) {
    for (SavedVariant& kept : read_kernels(saved, i, kPath).variants) {
      const std::string unused = error_of<UserError>([&] {
        const Interface interface = interface_of(*saved.graph, {});
        for (SavedCall& call : kept.calls)
          kept.variant.kernels[static_cast<std::size_t>(call.kernel)].opaque =
              std::make_shared<OpaqueBinding>(std::move(call.call), functions, host::host_driver(),
                                              /*is_host_device=*/true, /*device=*/0);
        const auto variant = std::make_shared<const Variant>(std::move(kept.variant));
        const GroupCommunicators communicators(interface, {});
        LaunchSet launches(variant, interface, communicators);
        launches.set_symbols(variant->program.facts.symbols);
        const ScratchLayout& layout = launches.layout();
        for (const std::int64_t offset : layout.workspace_offsets)
          EXPECT_LE(offset, layout.arena_bytes);
        launches.set_scratch(1 << 20, 1 << 30, 1 << 10);
      });
    }
  }
}

/// `file` with the size and the checksums of its bytes in its header.
inline Bytes sealed(Bytes file) {
  constexpr std::size_t kHeader = 64, kFileBytes = 40, kBodyHash = 48, kHeaderHash = 56;
  const auto set = [&](std::size_t at, std::uint64_t value) {
    std::memcpy(file.data() + at, &value, sizeof value);
  };
  set(kFileBytes, file.size());
  set(kBodyHash, hash_of(std::span(file).subspan(kHeader)));
  set(kHeaderHash, hash_of(std::span(file).first(kHeaderHash)));
  return file;
}

}  // namespace sinter::test
