// Validation of saved executables: references are checked against the program, and offsets and
// sizes must stay within their memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "ir/shape/extent.h"
#include "tests/support/files/saved_bytes.h"

namespace sinter::test::saved_contents_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// The text may list symbols in another order than their declaration.
TEST(SavedContents, FindsSymbolsByName) {
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
  const Graph old = parse(kGraph);  // declares rows before n
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

/// The arrays of an opaque call must be within the memory that the plan has for them.
TEST(SavedContents, RejectsCallArraysOutsideTheirMemory) {
  const auto lay_out_with = [&](const std::function<void(SavedVariant&)>& change) {
    SavedKernels kernels = saved_kernels("sm_90");
    change(kernels.variants[0]);
    const SavedProgram program = saved_program();
    const Graph graph = graph_of(program, kPath);
    SavedKernels read = unpack_kernels(pack(kernels), program, graph);
    return error_of<UserError>([&] {
      Variant& variant = read.variants[0].variant;
      for (SavedCall& call : read.variants[0].calls)
        variant.kernels[static_cast<std::size_t>(call.kernel)].opaque =
            std::make_shared<OpaqueBinding>(std::move(call.call), functions_for(program),
                                            host::host_driver(), /*is_host_device=*/true,
                                            /*device=*/0);
      lay_out(variant, MemoryPlanner(variant.program), variant.program.facts.symbols);
    });
  };
  const auto with_type = [&](const std::function<void(CallDescription&)>& change) {
    return lay_out_with([&](SavedVariant& saved) { change(saved.calls[0].call); });
  };
  EXPECT_EQ(lay_out_with([](SavedVariant&) {}), "(nothing thrown)");
  EXPECT_THAT(with_type([](CallDescription& call) { call.inputs[0].dtype = DType::f64; }),
              StartsWith("opaque plus: an array of 768 bytes at offset 0 does not fit in 384 bytes "
                         "(recorded at "));
  EXPECT_THAT(with_type([](CallDescription& call) { call.outputs[0].shape.push_back(2); }),
              HasSubstr(" an array of 768 bytes at offset 0 does not fit in "));
  EXPECT_THAT(with_type([](CallDescription& call) { call.outputs[1].shape.push_back(2); }),
              HasSubstr(" an array of 49152 bytes at offset 0 does not fit in 24576 bytes"));
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
              HasSubstr(" an array of 24576 bytes at offset -4 does not fit in 24576 bytes"));
  EXPECT_THAT(lay_out_with([&](SavedVariant& saved) {
                const auto kernel = static_cast<std::size_t>(saved.calls[0].kernel);
                saved.variant.kernels[kernel].source.arguments.back().extent = 25000;
              }),
              HasSubstr(" its workspace at offset 25000 does not fit in 24576 bytes"));
  EXPECT_THAT(lay_out_with([&](SavedVariant& saved) {
                const auto kernel = static_cast<std::size_t>(saved.calls[0].kernel);
                saved.variant.kernels[kernel].source.arguments.back().extent = 0;
              }),
              HasSubstr(" its workspace at offset 0 does not fit in 24576 bytes"));
  EXPECT_THAT(
      with_type([](CallDescription& call) { call.inputs[0].dtype = DType::f16; }),
      HasSubstr(" an array of f16 is in a buffer of f32; save the program again (recorded at "));
  EXPECT_THAT(lay_out_with([&](SavedVariant& saved) {
                const auto kernel = static_cast<std::size_t>(saved.calls[0].kernel);
                saved.calls[0].call.outputs[1].shape = {1};
                saved.variant.kernels[kernel].source.arguments[3].extent = 4;
              }),
              HasSubstr(" an array is 4 bytes into the workspace, which must be a multiple of 256 "
                        "and at least 0, the end of other arrays; save the program again "
                        "(recorded at "));
}

/// Offsets and sizes come from the file. No buffer may get memory of another one.
TEST(SavedContents, RejectsImpossibleSizes) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto lay_out_with = [&](const std::function<void(Variant&)>& change) {
    SavedKernels kernels = saved_kernels("sm_90");
    change(kernels.variants[0].variant);
    const SavedProgram program = saved_program();
    const Graph graph = graph_of(program, kPath);
    const SavedKernels read = unpack_kernels(pack(kernels), program, graph);
    return error_of<UserError>([&] {
      const Variant& variant = read.variants[0].variant;
      lay_out(variant, MemoryPlanner(variant.program), variant.program.facts.symbols);
    });
  };
  const auto with_source = [&](const std::function<void(Source&)>& change) {
    return lay_out_with([&](Variant& variant) { change(variant.kernels[0].source); });
  };
  EXPECT_EQ(with_source([](Source&) {}), "(nothing thrown)");
  EXPECT_THAT(with_source([](Source& source) { source.workspace_bytes = -4096; }),
              HasSubstr(" needs -4096 bytes of workspace and "));
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
                         .parent = static_cast<int>(buffers.size()) - 1,
                         .offset = offset});
    });
  };
  EXPECT_EQ(with_part(4), "(nothing thrown)");
  EXPECT_THAT(with_part(5), HasSubstr("buffer part takes bytes 20 to 36 of the 32 bytes of whole"));
  EXPECT_THAT(with_part(-1),
              HasSubstr("sub-buffer part begins -4 bytes into a buffer of 256 bytes"));
  EXPECT_THAT(with_part(1000),
              HasSubstr("sub-buffer part begins 4000 bytes into a buffer of 256 bytes"));
  // The same for a buffer that the caller binds.
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
                         .parent = static_cast<int>(whole),
                         .offset = offset});
    });
  };
  EXPECT_EQ(with_part_of_output(4, 4), "(nothing thrown)");
  EXPECT_EQ(with_part_of_output(8, -4), "(nothing thrown)");  // an empty part
  EXPECT_THAT(with_part_of_output(4, 5), HasSubstr("buffer part takes bytes "));
  EXPECT_THAT(with_part_of_output(-1, 1), HasSubstr("buffer part takes bytes -"));
  EXPECT_THAT(with_part_of_output(most / 4, most / 4), HasSubstr(" does not fit in 64 bits"));
}

TEST(SavedContents, ReportsInvalidParts) {
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
            "load: norm.sinterx is invalid: the kernels for sm_90: they are for sm_80 (it was "
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
                StartsWith(fmt::format("load: norm.sinterx is invalid: the kernels for sm_90: {} (",
                                       what)));
  };
  expect("a plan has a wrong number of symbols", [](auto& k) { k.variants[0].sizes.pop_back(); });
  expect("a plan has an alignment below 1", [](auto& k) { k.variants[0].variant.alignment = 0; });
  expect("a plan omits outputs that do not exist",
         [](auto& k) { k.variants[0].variant.unwritten_outputs = {true}; });
  expect("a plan has inconsistent kernel counts", [](auto& k) { k.variants[0].images.pop_back(); });
  expect("a kernel is in an image that does not exist",
         [](auto& k) { k.variants[0].images[0] = static_cast<int>(k.images.size()); });
  expect("an image is incomplete", [](auto& k) { k.images[1].pop_back(); });
  expect("a guard has a divisor below 1",
         [&](auto& k) { program_of(k).guards.push_back({.value = 1, .divisor = 0}); });
  expect("a buffer is an input that does not exist",
         [&](auto& k) { program_of(k).buffers[0] = {.kind = Buffer::Kind::input, .index = 2}; });
  expect("a buffer is an output that does not exist",
         [&](auto& k) { program_of(k).buffers[0] = {.kind = Buffer::Kind::output, .index = 2}; });
  expect("a buffer is part of a buffer that does not exist",
         [&](auto& k) { program_of(k).buffers[0].parent = 0; });
  expect("a buffer is part of a buffer of another array", [&](auto& k) {
    Program& plan = program_of(k);
    plan.buffers.push_back({.kind = Buffer::Kind::input, .index = 0});
    plan.buffers.push_back(
        {.kind = Buffer::Kind::temporary, .parent = static_cast<int>(plan.buffers.size()) - 1});
  });
  expect("a kernel depends on a kernel that does not precede it",
         [&](auto& k) { program_of(k).kernels[0].depends_on = {0}; });
  expect("a kernel reads a buffer that does not exist",
         [&](auto& k) { program_of(k).kernels[0].reads = {-1}; });
  expect("a kernel writes a buffer that does not exist",
         [&](auto& k) { program_of(k).kernels[0].stores = {{.buffer = 99}}; });
  expect("a block has an invalid thread count", [&](auto& k) { source_of(k).threads = 1025; });
  expect("a block has an invalid shared memory size",
         [&](auto& k) { source_of(k).shared_bytes = -1; });
  expect("a cluster has an invalid size", [&](auto& k) { source_of(k).cluster = 0; });
  expect("a kernel has clusters and a grid barrier", [&](auto& k) {
    source_of(k).cluster = 2;
    source_of(k).is_cooperative = true;
  });
  expect("a kernel takes a buffer that does not exist", [&](auto& k) {
    source_of(k).table.push_back({.kind = Argument::Kind::buffer, .index = 99});
  });
  expect("a kernel takes the values of a table that it does not have", [&](auto& k) {
    source_of(k).arguments.push_back({.kind = Argument::Kind::table_values});
  });
  expect("a kernel takes a scalar that does not exist", [&](auto& k) {
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
  expect("a call names a function that the program does not list",
         [&](auto& k) { call_of(k).function = "minus"; });
  expect("the arguments of a call are not its operands and results",
         [&](auto& k) { call_of(k).inputs.pop_back(); });
  expect("the arguments of a call are not its operands and results",
         [&](auto& k) { arguments_of(k).back().kind = Argument::Kind::tickets; });
  expect("a call takes a scalar that does not exist",
         [&](auto& k) { call_of(k).inputs[1].dtype = DType::f64; });
  expect("a call takes a scalar that does not exist",
         [&](auto& k) { call_of(k).inputs[1].shape = {2}; });
  expect("a call takes an array that differs from the bound array", [&](auto& k) {
    std::vector<Buffer>& buffers = program_of(k).buffers;
    const auto output = std::ranges::find(buffers, Buffer::Kind::output, &Buffer::kind);
    output->elements = output->elements * 2;
    arguments_of(k)[0].index = static_cast<int>(output - buffers.begin());
  });
  expect("a call takes a scalar that does not exist", [&](auto& k) {
    call_of(k).outputs[0].is_number = true;
    arguments_of(k)[2] = arguments_of(k)[1];
  });
  // A scalar is not an address.
  expect("a call takes a buffer that does not exist",
         [&](auto& k) { call_of(k).inputs[1].is_number = false; });
  expect("a call takes a buffer that does not exist",
         [&](auto& k) { arguments_of(k)[0].index = 99; });
  expect("a call takes a buffer that does not exist",
         [&](auto& k) { arguments_of(k)[0].kind = Argument::Kind::workspace; });

  SavedProgram program = saved_program();
  program.functions[0].name = "minus";
  EXPECT_THAT(problem_with(program, saved_kernels("sm_90")),
              StartsWith("load: norm.sinterx is invalid: the program: the functions that it "
                         "calls are not those that it lists ("));
  program = saved_program();
  program.graph = "graph norm(";
  EXPECT_THAT(problem_with(program, saved_kernels("sm_90")),
              StartsWith("load: norm.sinterx is invalid: its graph: norm.sinterx:1:"));
  program = saved_program();
  program.inputs.pop_back();
  EXPECT_THAT(problem_with(program, saved_kernels("sm_90")),
              StartsWith("load: norm.sinterx is invalid: the program: the numbers of inputs, "
                         "outputs and their names differ ("));
  program = saved_program();
  program.symbols[1] = "m";
  EXPECT_THAT(problem_with(program, saved_kernels("sm_90")),
              HasSubstr("the kernels for sm_90: there is no symbol 1 (at byte "));
  EXPECT_THAT(problem_of(pack_saved_file(std::vector<SavedSection>{
                  {kKernelsSection, "sm_90", pack(saved_kernels("sm_90"))}})),
              StartsWith("load: norm.sinterx is invalid: its sections: there is no program ("));
  Bytes longer = pack(saved_program());
  longer.push_back(std::byte{0});
  EXPECT_THAT(problem_of(pack_saved_file(std::vector<SavedSection>{{kProgramSection, "", longer}})),
              HasSubstr("the program: there is data after its end (at byte "));
}

}  // namespace
}  // namespace sinter::test::saved_contents_test
