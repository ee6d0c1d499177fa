// Saved executables as bytes: what is written is read, and whatever else the bytes are, the reader
// ends with a sentence.
#include "runtime/saved/saved_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include <fmt/format.h>

#include "codegen/emit.h"
#include "compiler/plan.h"
#include "runtime/host_driver/host_driver.h"
#include "runtime/interface.h"
#include "runtime/launch_set.h"
#include "runtime/make_variant.h"
#include "runtime/saved/read_saved.h"
#include "sinter/error.h"
#include "sinter/text.h"
#include "tests/support/errors.h"

namespace sinter {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Bytes = std::vector<std::byte>;

constexpr const char* kPath = "norm.sinterx";

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Quotients, products of symbols, scalars, temporaries, an update, and a call with a result that
/// nobody needs.
constexpr std::string_view kGraph = R"(graph norm(x: f32[rows, n], t: f32[n], rate: f32) {
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

SavedProgram saved_program() {
  return {.graph = print(parse(kGraph)),
          .name = "norm",
          .inputs = {"x", "t/0", "rate"},
          .outputs = {"d", "flat"},
          .symbols = {"rows", "n"},
          .numerics = {.rounding = Rounding::wide},
          .skip = {"join"},
          .recorded_ops = 5,
          .functions = {{.name = "plus", .version = 3, .has_workspace = true}}};
}

/// As they are planned for `arch`; images say what they are.
SavedKernels saved_kernels(const std::string& arch) {
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
      Bytes image = bytes_of(fmt::format("// {} for {}\n", emitted.sources[0].entry, arch));
      image.push_back(std::byte{0});
      kernels.images.push_back(std::move(image));
      saved.variant.kernels.push_back(
          {.source = std::move(emitted.sources[0]), .schedule = emitted.schedules[0]});
    }
  }
  return kernels;
}

const Bytes& sound() {
  static const Bytes file = pack_saved_file(
      std::vector<SavedSection>{{kProgramSection, "", pack(saved_program())},
                                {kKernelsSection, "sm_80", pack(saved_kernels("sm_80"))},
                                {kKernelsSection, "sm_90", pack(saved_kernels("sm_90"))}});
  return file;
}

/// Everything in the file, as load reads it; what it says against that.
std::string problem_of(std::span<const std::byte> file) {
  try {
    const SavedExecutable saved = read_saved(file, kPath);
    for (std::size_t i = 0; i < saved.archs.size(); ++i) read_kernels(saved, i, kPath);
    return {};
  } catch (const UserError& error) {
    return error.what();
  }
}

/// Functions for whatever a file calls.
OpaqueFunctions functions_for(const SavedProgram& program) {
  OpaqueFunctions functions;
  for (const SavedFunction& function : program.functions) {
    OpaqueFunction found{.enqueue = [](const OpaqueCall&) { return 0; }};
    found.workspace = [](const OpaqueSizes& sizes) { return sizes.outputs[0].bytes(); };
    functions.emplace(function.name, std::make_shared<OpaqueFunction>(std::move(found)));
  }
  return functions;
}

/// What comes after reading, up to the driver: sizes are laid out, or it ends with a UserError.
void prepare_all(std::span<const std::byte> file) {
  const SavedExecutable saved = read_saved(file, kPath);
  const OpaqueFunctions functions = functions_for(saved.program);
  for (std::size_t i = 0; i < saved.archs.size(); ++i) {
    for (SavedVariant& kept : read_kernels(saved, i, kPath).variants) {
      const std::string unused = test::error_of<UserError>([&] {
        const Interface interface = interface_of(*saved.graph, {});
        for (SavedCall& call : kept.calls)
          kept.variant.kernels[static_cast<std::size_t>(call.kernel)].opaque =
              std::make_shared<OpaqueBinding>(std::move(call.call), functions, host::host_driver());
        const auto variant = std::make_shared<const Variant>(std::move(kept.variant));
        LaunchSet launches(variant, interface);
        launches.set_symbols(variant->program.facts.symbols);
        const ScratchLayout& layout = launches.layout();
        for (const std::int64_t offset : layout.workspace_offsets)
          EXPECT_LE(offset, layout.arena_bytes);
        launches.set_scratch(1 << 20, 1 << 30, 1 << 10);
      });
    }
  }
}

Bytes sealed(Bytes file) {
  seal_saved_file(file);
  return file;
}

TEST(SavedFile, GivesBackWhatItWasMadeOf) {
  const SavedExecutable saved = read_saved(sound(), kPath);
  EXPECT_EQ(saved.version, sinter_version());
  EXPECT_EQ(saved.archs, (std::vector<std::string>{"sm_80", "sm_90"}));
  EXPECT_EQ(pack(saved.program), pack(saved_program()));
  const SavedKernels kernels = read_kernels(saved, 0, kPath);
  EXPECT_EQ(pack(kernels), pack(saved_kernels("sm_80")));
  const Variant& variant = kernels.variants[1].variant;
  EXPECT_EQ(variant.program.facts.symbols, (std::vector<std::int64_t>{64, 40000}));
  EXPECT_EQ(variant.program.numerics.rounding, Rounding::wide);
  EXPECT_EQ(variant.report.kernels[0].source, variant.kernels[0].source.text);
  EXPECT_EQ(variant.report.kernels[0].candidates[0].median_us, 1.0 / 3);
}

/// The text may mention symbols in another order than they were made in.
TEST(SavedFile, FindsSymbolsByName) {
  SavedProgram program{.symbols = {"rows", "n"}};
  program.graph = print(parse(R"(
graph norm(t: f32[n], x: f32[rows, n], rate: f32) {
  y = mul x, rate
  u = add t, rate
  return y, u
})"));
  const Graph graph = parse(program.graph);
  ASSERT_EQ(graph.data().extents->symbols()[0]->name, "n");
  SavedKernels kernels{.arch = "sm_90", .variants = std::vector<SavedVariant>(1)};
  kernels.variants[0].sizes = {7, 11};
  const Graph old = parse(kGraph);  // rows, then n
  const Extent rows = Extent(old.data().extents->symbol("rows"));
  const Extent n = Extent(old.data().extents->symbol("n"));
  kernels.variants[0].variant.program.guards = {
      {.value = rows * 16 + floor_div(n * n + rows, 5) * rows}};
  const SavedKernels read = unpack_kernels(pack(kernels), program, graph);
  const Variant& variant = read.variants[0].variant;
  EXPECT_EQ(variant.program.facts.symbols, (std::vector<std::int64_t>{11, 7}));
  EXPECT_EQ(evaluate(variant.program.guards[0].value, variant.program.facts.symbols),
            7 * 16 + (11 * 11 + 7) / 5 * 7);
  EXPECT_EQ(to_string(variant.program.guards[0].value),
            to_string(kernels.variants[0].variant.program.guards[0].value));
}

TEST(SavedFile, IsRefusedWhereverItIsCut) {
  for (std::size_t size = 0; size < sound().size(); ++size) {
    const std::string problem = problem_of(std::span(sound()).first(size));
    if (size < 8)
      ASSERT_THAT(problem, AnyOf(HasSubstr("is cut short"), HasSubstr("is no executable"))) << size;
    else
      ASSERT_THAT(problem, StartsWith(fmt::format(
                               "load: norm.sinterx is cut short: it has {} bytes", size)));
    ASSERT_THAT(problem, HasSubstr("load: norm.sinterx is "));
  }
  EXPECT_EQ(problem_of(sound()), "");
}

/// What a function of the user's is given lies in memory that the plan has for it.
TEST(SavedFile, GivesCallsNoMoreThanTheirMemory) {
  const auto lay_out_with = [&](const std::function<void(SavedVariant&)>& change) {
    SavedKernels kernels = saved_kernels("sm_90");
    change(kernels.variants[0]);
    const SavedProgram program = saved_program();
    const Graph graph = graph_of(program, kPath);
    SavedKernels read = unpack_kernels(pack(kernels), program, graph);
    return test::error_of<UserError>([&] {
      Variant& variant = read.variants[0].variant;
      for (SavedCall& call : read.variants[0].calls)
        variant.kernels[static_cast<std::size_t>(call.kernel)].opaque =
            std::make_shared<OpaqueBinding>(std::move(call.call), functions_for(program),
                                            host::host_driver());
      lay_out(variant, MemoryPlanner(variant.program), variant.program.facts.symbols);
    });
  };
  const auto with_type = [&](const std::function<void(CallDescription&)>& change) {
    return lay_out_with([&](SavedVariant& saved) { change(saved.calls[0].call); });
  };
  EXPECT_EQ(lay_out_with([](SavedVariant&) {}), "(nothing thrown)");
  EXPECT_THAT(with_type([](CallDescription& call) { call.inputs[0].dtype = DType::f64; }),
              StartsWith("opaque plus: an array of 768 bytes, 0 bytes into 384, does not lie there "
                         "(recorded at "));
  EXPECT_THAT(with_type([](CallDescription& call) { call.outputs[0].shape.push_back(2); }),
              HasSubstr(" an array of 768 bytes, 0 bytes into "));
  EXPECT_THAT(with_type([](CallDescription& call) { call.outputs[1].shape.push_back(2); }),
              HasSubstr(" an array of 49152 bytes, 0 bytes into 24576, does not lie there"));
  EXPECT_THAT(with_type([](CallDescription& call) { call.inputs[0].shape[0] = -1; }),
              HasSubstr(" an array has -1 = -1 elements"));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(with_type([&](CallDescription& call) {
                call.inputs[0].shape = {most, most};
              }),
              HasSubstr(" does not fit in 64 bits"));
  EXPECT_THAT(lay_out_with([&](SavedVariant& saved) {
                const auto kernel = static_cast<std::size_t>(saved.calls[0].kernel);
                saved.variant.kernels[kernel].source.arguments[3].extent = -4;
              }),
              HasSubstr(" an array of 24576 bytes, -4 bytes into 24576, does not lie there"));
}

/// What checksums do not tell.
TEST(SavedFile, IsRefusedWhereverASectionIsCut) {
  SavedKernels kernels = saved_kernels("sm_90");
  for (SavedVariant& saved : kernels.variants)
    for (VariantKernel& kernel : saved.variant.kernels) kernel.source.text.clear();
  const Bytes program = pack(saved_program()), all = pack(kernels);
  const auto cut = [](const Bytes& bytes, std::size_t size) {
    return Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  };
  const auto problem_with = [](Bytes first, Bytes second) {
    return problem_of(pack_saved_file(std::vector<SavedSection>{
        {kProgramSection, "", first}, {kKernelsSection, "sm_90", second}}));
  };
  for (std::size_t size = 0; size < program.size(); ++size)
    ASSERT_THAT(problem_with(cut(program, size), all),
                StartsWith("load: norm.sinterx means nothing: the program: "))
        << size;
  for (std::size_t size = 0; size < all.size(); size += 1 + size / 100)
    ASSERT_THAT(problem_with(program, cut(all, size)),
                StartsWith("load: norm.sinterx means nothing: the kernels for sm_90: "))
        << size;
  EXPECT_EQ(problem_with(program, all), "");
}

/// Memory is shared out by what a file says: nobody gets what is another's.
TEST(SavedFile, SharesOutNoMemoryBySizesThatCannotBe) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto lay_out_with = [&](const std::function<void(Variant&)>& change) {
    SavedKernels kernels = saved_kernels("sm_90");
    change(kernels.variants[0].variant);
    const SavedProgram program = saved_program();
    const Graph graph = graph_of(program, kPath);
    const SavedKernels read = unpack_kernels(pack(kernels), program, graph);
    return test::error_of<UserError>([&] {
      const Variant& variant = read.variants[0].variant;
      lay_out(variant, MemoryPlanner(variant.program), variant.program.facts.symbols);
    });
  };
  const auto with_source = [&](const std::function<void(Source&)>& change) {
    return lay_out_with([&](Variant& variant) { change(variant.kernels[0].source); });
  };
  EXPECT_EQ(with_source([](Source&) {}), "(nothing thrown)");
  EXPECT_THAT(with_source([](Source& source) { source.workspace_bytes = -4096; }),
              HasSubstr(" wants -4096 bytes to work in and "));
  EXPECT_THAT(with_source([](Source& source) { source.tickets = -1; }),
              HasSubstr(" and -1 tickets"));
  for (const std::int64_t bytes : {most, most - 255})
    EXPECT_THAT(with_source([&](Source& source) { source.workspace_bytes = bytes; }),
                HasSubstr(" does not fit in 64 bits"));
  EXPECT_THAT(with_source([&](Source& source) { source.tickets = most / 2; }),
              HasSubstr(" does not fit in 64 bits"));
  EXPECT_THAT(lay_out_with([&](Variant& variant) {
                for (Buffer& buffer : variant.program.buffers) buffer.elements = most / 2;
              }),
              HasSubstr(" does not fit in 64 bits"));
  const auto with_part = [&](std::int64_t offset) {
    return lay_out_with([&](Variant& variant) {
      std::vector<Buffer>& buffers = variant.program.buffers;
      buffers.push_back({.kind = Buffer::Kind::temporary, .elements = 8, .name = "whole"});
      buffers.push_back({.kind = Buffer::Kind::temporary,
                         .elements = 4,
                         .name = "part",
                         .whole = static_cast<int>(buffers.size()) - 1,
                         .offset = offset});
    });
  };
  EXPECT_EQ(with_part(4), "(nothing thrown)");
  EXPECT_THAT(with_part(5), HasSubstr("buffer part takes bytes 20 to 36 of the 32 of whole"));
  EXPECT_THAT(with_part(-1), HasSubstr("buffer part begins -4 bytes into one of 256"));
  EXPECT_THAT(with_part(1000), HasSubstr("buffer part begins 4000 bytes into one of 256"));
  // The same of what a caller binds.
  const auto with_part_of_output = [&](std::int64_t offset, std::int64_t elements) {
    return lay_out_with([&](Variant& variant) {
      std::vector<Buffer>& buffers = variant.program.buffers;
      const auto whole =
          std::ranges::find(buffers, Buffer::Kind::output, &Buffer::kind) - buffers.begin();
      Buffer& output = buffers[static_cast<std::size_t>(whole)];
      output.elements = 8;
      buffers.push_back({.kind = Buffer::Kind::output,
                         .index = output.index,
                         .dtype = output.dtype,
                         .elements = elements,
                         .name = "part",
                         .whole = static_cast<int>(whole),
                         .offset = offset});
    });
  };
  EXPECT_EQ(with_part_of_output(4, 4), "(nothing thrown)");
  EXPECT_EQ(with_part_of_output(8, -4), "(nothing thrown)");  // none: an axis is 0
  EXPECT_THAT(with_part_of_output(4, 5), HasSubstr("buffer part takes bytes "));
  EXPECT_THAT(with_part_of_output(-1, 1), HasSubstr("buffer part takes bytes -"));
  EXPECT_THAT(with_part_of_output(most / 4, most / 4), HasSubstr(" does not fit in 64 bits"));
}

TEST(SavedFile, IsRefusedWhicheverBitIsTurned) {
  Bytes file = sound();
  for (std::size_t i = 0; i < file.size(); ++i)
    for (const int bit : {0, 7}) {
      const auto turned = static_cast<std::byte>(1 << bit);
      file[i] ^= turned;
      ASSERT_THAT(problem_of(file), StartsWith("load: norm.sinterx ")) << i;
      file[i] ^= turned;
    }
}

TEST(SavedFile, SaysWhatIsWrongAndWhatToDo) {
  const std::string here(sinter_version());
  EXPECT_EQ(problem_of(bytes_of("")),
            "load: norm.sinterx is no executable that sinter saved: write one with save");
  EXPECT_EQ(problem_of(bytes_of("#!/bin/sh\n" + std::string(100, ' '))),
            "load: norm.sinterx is no executable that sinter saved: write one with save");
  Bytes file = sound();
  file.back() ^= std::byte{1};
  EXPECT_EQ(problem_of(file),
            "load: norm.sinterx is damaged: its contents do not have the checksum of its header; "
            "copy or save it again");
  file = sound();
  file[12] ^= std::byte{1};
  EXPECT_EQ(problem_of(file),
            "load: norm.sinterx is damaged: its header does not have the checksum that it names; "
            "copy or save it again");
  file = sound();
  file.push_back(std::byte{0});
  EXPECT_EQ(problem_of(file),
            fmt::format("load: norm.sinterx is damaged: it has {} bytes instead of {}; copy or "
                        "save it again",
                        sound().size() + 1, sound().size()));
  // Of another version, whatever the rest of its header means there.
  file = sound();
  file[8] = std::byte{7};
  std::memcpy(file.data() + 16, "9.1.0\0\a", 7);
  EXPECT_EQ(problem_of(file),
            "load: norm.sinterx has format 7, and this sinter reads format 3 (it was saved by "
            "sinter 9.1.0, this is " +
                here + "): save it again with this version");
}

TEST(SavedFile, SaysWhichPartMeansNothing) {
  const std::string here(sinter_version());
  const auto problem_with = [](const SavedProgram& program, const SavedKernels& kernels) {
    return problem_of(pack_saved_file(std::vector<SavedSection>{
        {kProgramSection, "", pack(program)}, {kKernelsSection, "sm_90", pack(kernels)}}));
  };
  const auto with_kernels = [&](const std::function<void(SavedKernels&)>& change) {
    SavedKernels kernels = saved_kernels("sm_90");
    change(kernels);
    return problem_with(saved_program(), kernels);
  };
  EXPECT_EQ(with_kernels([](SavedKernels&) {}), "");
  EXPECT_EQ(with_kernels([](SavedKernels& kernels) { kernels.arch = "sm_80"; }),
            "load: norm.sinterx means nothing: the kernels for sm_90: they are for sm_80 (it was "
            "saved by sinter " +
                here + ", this is " + here + "); save it again");
  const auto program_of = [](SavedKernels& kernels) -> Program& {
    return kernels.variants[0].variant.program;
  };
  const auto source_of = [](SavedKernels& kernels) -> Source& {
    return kernels.variants[0].variant.kernels[0].source;
  };
  const auto expect = [&](const char* what, const std::function<void(SavedKernels&)>& change) {
    EXPECT_THAT(with_kernels(change),
                StartsWith(fmt::format(
                    "load: norm.sinterx means nothing: the kernels for sm_90: {} (", what)));
  };
  expect("a plan is for other symbols", [](auto& k) { k.variants[0].sizes.pop_back(); });
  expect("a plan is for pointers without alignment",
         [](auto& k) { k.variants[0].variant.alignment = 0; });
  expect("a plan leaves out outputs that are not there",
         [](auto& k) { k.variants[0].variant.left_out = {true}; });
  expect("a plan counts its kernels in several ways",
         [](auto& k) { k.variants[0].images.pop_back(); });
  expect("a kernel is in an image that is not there",
         [](auto& k) { k.variants[0].images[0] = static_cast<int>(k.images.size()); });
  expect("an image is not whole", [](auto& k) { k.images[1].pop_back(); });
  expect("a guard divides by no number",
         [&](auto& k) { program_of(k).guards.push_back({.value = 1, .divisor = 0}); });
  expect("a buffer is an input that is not there",
         [&](auto& k) { program_of(k).buffers[0] = {.kind = Buffer::Kind::input, .index = 2}; });
  expect("a buffer is an output that is not there",
         [&](auto& k) { program_of(k).buffers[0] = {.kind = Buffer::Kind::output, .index = 2}; });
  expect("a buffer is a part of one that is not there",
         [&](auto& k) { program_of(k).buffers[0].whole = 0; });
  expect("a buffer is a part of one that lies elsewhere", [&](auto& k) {
    Program& plan = program_of(k);
    plan.buffers.push_back({.kind = Buffer::Kind::input, .index = 0});
    plan.buffers.push_back(
        {.kind = Buffer::Kind::temporary, .whole = static_cast<int>(plan.buffers.size()) - 1});
  });
  expect("a kernel depends on one that does not come before it",
         [&](auto& k) { program_of(k).kernels[0].depends_on = {0}; });
  expect("a kernel reads a buffer that is not there",
         [&](auto& k) { program_of(k).kernels[0].reads = {-1}; });
  expect("a kernel writes a buffer that is not there",
         [&](auto& k) { program_of(k).kernels[0].stores = {{.buffer = 99}}; });
  expect("a block has no such threads", [&](auto& k) { source_of(k).threads = 1025; });
  expect("a block has no such shared memory", [&](auto& k) { source_of(k).shared_bytes = -1; });
  expect("a cluster has no such size", [&](auto& k) { source_of(k).cluster = 0; });
  expect("a kernel has clusters, but waits for all blocks", [&](auto& k) {
    source_of(k).cluster = 2;
    source_of(k).is_cooperative = true;
  });
  expect("a kernel takes a buffer that is not there", [&](auto& k) {
    source_of(k).table.push_back({.kind = Argument::Kind::buffer, .index = 99});
  });
  expect("a kernel takes no scalar that is there", [&](auto& k) {
    source_of(k).arguments.push_back({.kind = Argument::Kind::scalar, .index = 0});
  });
  const auto call_of = [](SavedKernels& kernels) -> CallDescription& {
    return kernels.variants[0].calls.at(0).call;
  };
  const auto arguments_of = [](SavedKernels& kernels) -> std::vector<Argument>& {
    SavedVariant& saved = kernels.variants[0];
    return saved.variant.kernels[static_cast<std::size_t>(saved.calls[0].kernel)].source.arguments;
  };
  expect("a call is not described", [](auto& k) { k.variants[0].calls.clear(); });
  expect("a call is not described", [](auto& k) { k.variants[0].calls[0].kernel = 0; });
  expect("a kernel is described as a call",
         [](auto& k) { k.variants[0].calls.push_back(k.variants[0].calls[0]); });
  expect("a function is called that the program does not name",
         [&](auto& k) { call_of(k).function = "minus"; });
  expect("a call has other arguments than its operands and results",
         [&](auto& k) { call_of(k).inputs.pop_back(); });
  expect("a call has other arguments than its operands and results",
         [&](auto& k) { arguments_of(k).back().kind = Argument::Kind::tickets; });
  expect("a call takes no scalar that is there",
         [&](auto& k) { call_of(k).inputs[1].dtype = DType::f64; });
  expect("a call takes no scalar that is there", [&](auto& k) {
    call_of(k).outputs[0].is_number = true;
    arguments_of(k)[2] = arguments_of(k)[1];
  });
  // A number is no address.
  expect("a call takes a buffer that is not there",
         [&](auto& k) { call_of(k).inputs[1].is_number = false; });
  expect("a call takes a buffer that is not there",
         [&](auto& k) { arguments_of(k)[0].index = 99; });
  expect("a call takes a buffer that is not there",
         [&](auto& k) { arguments_of(k)[0].kind = Argument::Kind::workspace; });

  SavedProgram program = saved_program();
  program.functions[0].name = "minus";
  EXPECT_THAT(problem_with(program, saved_kernels("sm_90")),
              StartsWith("load: norm.sinterx means nothing: the program: the functions that it "
                         "calls are not those that it names ("));
  program = saved_program();
  program.graph = "graph norm(";
  EXPECT_THAT(problem_with(program, saved_kernels("sm_90")),
              StartsWith("load: norm.sinterx means nothing: its graph: norm.sinterx:1:"));
  program = saved_program();
  program.inputs.pop_back();
  EXPECT_THAT(problem_with(program, saved_kernels("sm_90")),
              StartsWith("load: norm.sinterx means nothing: the program: names and what they are "
                         "the names of are not as many ("));
  program = saved_program();
  program.symbols[1] = "m";
  EXPECT_THAT(problem_with(program, saved_kernels("sm_90")),
              HasSubstr("the kernels for sm_90: there is no symbol 1 (at byte "));
  EXPECT_THAT(problem_of(pack_saved_file(std::vector<SavedSection>{
                  {kKernelsSection, "sm_90", pack(saved_kernels("sm_90"))}})),
              StartsWith("load: norm.sinterx means nothing: its sections: there is no program ("));
  Bytes longer = pack(saved_program());
  longer.push_back(std::byte{0});
  EXPECT_THAT(problem_of(pack_saved_file(std::vector<SavedSection>{{kProgramSection, "", longer}})),
              HasSubstr("the program: it goes on where it should end (at byte "));
}

/// Later releases may have more to say, or say it in other ways.
TEST(SavedFile, SaysWhichSectionItCannotRead) {
  const std::string here(sinter_version());
  const auto about = [&](const std::string& what) {
    return "load: norm.sinterx has " + what + " (it was saved by sinter " + here + ", this is " +
           here + "); load it with that version, or save it again with this one";
  };
  std::vector<SavedSection> sections = {
      {kProgramSection, "", pack(saved_program())},
      {kKernelsSection, "sm_80", pack(saved_kernels("sm_80"))},
      {kKernelsSection, "sm_90", pack(saved_kernels("sm_90"))},
      {{"gradients", 3}, "", bytes_of("of whom?"), /*may_be_skipped=*/true}};
  const auto problem = [&] { return problem_of(pack_saved_file(sections)); };
  EXPECT_EQ(problem(), "");
  sections[3].may_be_skipped = false;
  EXPECT_EQ(problem(), about("a section of gradients, version 3, which this sinter does not know"));
  sections.pop_back();
  sections[2].kind.version = 4;
  EXPECT_EQ(problem(),
            about("version 4 of the kernels for sm_90, and this sinter reads version 1"));
  const Bytes file = pack_saved_file(sections);
  const SavedExecutable saved = read_saved(file, kPath);
  EXPECT_EQ(read_kernels(saved, 0, kPath).arch, "sm_80") << "what it can read, it does";
  sections[0].kind.version = 0;
  EXPECT_EQ(problem(), about("version 0 of the program, and this sinter reads version 1"));
}

/// The table of sections with a checksum that fits.
TEST(SavedFile, RefusesSectionsThatDoNotLieWhereTheyShould) {
  constexpr std::size_t kHeader = 64, kRow = 56, kOffset = 40, kBytes = 48;
  const auto number = [](Bytes& file, std::size_t at) -> std::uint64_t& {
    return *reinterpret_cast<std::uint64_t*>(file.data() + at);
  };
  Bytes file = sound();
  for (std::size_t i = 0; i < kRow; ++i) std::swap(file[kHeader + i], file[kHeader + kRow + i]);
  EXPECT_THAT(problem_of(sealed(file)),
              HasSubstr("a section does not lie where the one before it ends"));
  // Their contents alone.
  file = sound();
  for (std::size_t i = 0; i < 32; ++i) std::swap(file[kHeader + i], file[kHeader + kRow + i]);
  EXPECT_THAT(problem_of(sealed(file)),
              StartsWith("load: norm.sinterx means nothing: the program: "));
  for (const std::size_t at : {kOffset, kBytes, kRow + kOffset, kRow + kBytes})
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
      file = sound();
      number(file, kHeader + at) = value;
      EXPECT_THAT(problem_of(sealed(file)), StartsWith("load: norm.sinterx means nothing: "));
    }
  file = sound();
  const std::uint32_t many = ~0U;
  std::memcpy(file.data() + 12, &many, sizeof many);
  EXPECT_THAT(problem_of(sealed(file)), HasSubstr("its table of sections does not fit in it"));
  file = sound();
  file.push_back(std::byte{0});
  EXPECT_THAT(problem_of(sealed(file)), HasSubstr("there is more behind its last section"));
}

/// Whoever wants to harm us gets the checksums right.
TEST(SavedFile, SurvivesTenThousandMutations) {
  std::mt19937 random(11);
  const auto below = [&](std::size_t most) { return random() % most; };
  SavedKernels kernels = saved_kernels("sm_90");
  for (SavedVariant& saved : kernels.variants)  // what stands in texts breaks nothing
    for (VariantKernel& kernel : saved.variant.kernels) kernel.source.text.clear();
  const std::vector<Bytes> sections = {pack(saved_program()), pack(kernels)};
  const auto mutate = [&](Bytes bytes) {
    for (std::size_t changes = 1 + below(3); changes > 0 && !bytes.empty(); --changes) {
      const auto at = static_cast<std::ptrdiff_t>(below(bytes.size()));
      const auto place = bytes.begin() + at;
      const auto count = std::min(bytes.end() - place, static_cast<std::ptrdiff_t>(1 + below(40)));
      switch (below(5)) {
        case 0: *place = static_cast<std::byte>(random()); break;
        case 1: *place ^= static_cast<std::byte>(1 << below(8)); break;
        case 2: bytes.erase(place, place + count); break;
        case 3: {
          const Bytes again(place, place + count);
          bytes.insert(place, again.begin(), again.end());
          break;
        }
        default: std::fill(place, place + count, static_cast<std::byte>(below(2) * 255)); break;
      }
    }
    return bytes;
  };
  int refused = 0;
  int read = 0;
  for (int i = 0; i < 10000; ++i) {
    const bool is_program = i % 2 == 0;
    const std::vector<SavedSection> changed = {
        {kProgramSection, "", is_program ? mutate(sections[0]) : sections[0]},
        {kKernelsSection, "sm_90", is_program ? sections[1] : mutate(sections[1])}};
    const Bytes file = pack_saved_file(changed);
    const std::string problem = problem_of(file);
    if (problem.empty()) prepare_all(file);
    ++(problem.empty() ? read : refused);
    EXPECT_THAT(problem, AnyOf("", StartsWith("load: norm.sinterx means nothing: ")));
  }
  std::printf("%d refused, %d read\n", refused, read);
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 100) << "most of what is changed in texts is harmless";
}

}  // namespace
}  // namespace sinter
