#include "runtime/libraries/onednn/onednn_conv.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "ir/support/round_up.h"
#include "runtime/libraries/host/worker_threads.h"
#include "sinter/error.h"

namespace sinter {

/// Parts of images [first, first + count) of a run.
struct OneDnnConv::Round {
  std::array<float*, 3> arrays;
  std::byte* workspace = nullptr;
  std::int64_t workers = 1;
  std::int64_t first = 0, count = 1;
  bool is_first = true, is_last = true;
};

namespace {

constexpr std::int64_t kCopyAlignment = 64;  // a line of the cache
/// Images whose operands are copied at once: enough for the threads, few enough for the memory.
constexpr std::int64_t kImagesOfRound = 16;
/// Threads cost more than they save on fewer products than this.
constexpr std::int64_t kFewProducts = std::int64_t{1} << 18;

constexpr std::size_t at(ConvRole role) { return static_cast<std::size_t>(role); }

bool is_operand(ConvRole role, ConvKind kind) { return role != result_role(kind); }

std::int64_t offset_of(const ConvParts& parts, ConvRole role, const ConvParts::Index& index) {
  switch (role) {
    case ConvRole::x: return parts.x_offset(index);
    case ConvRole::w: return parts.w_offset(index);
    case ConvRole::y: break;
  }
  return parts.y_offset(index);
}

/// The number of an array's part among those of a round, whose first image is 0.
std::int64_t number_of(const ConvParts& parts, ConvRole role, const ConvParts::Index& index) {
  const std::int64_t group = index.image * parts.groups + index.group;
  const auto bands = static_cast<std::int64_t>(parts.bands.size());
  switch (role) {
    case ConvRole::x: return (group * parts.channels + index.channel) * bands + index.band;
    case ConvRole::w:
      return (index.group * parts.filters + index.filter) * parts.channels + index.channel;
    case ConvRole::y: break;
  }
  return (group * parts.filters + index.filter) * bands + index.band;
}

/// The reverse.
ConvParts::Index index_of(const ConvParts& parts, ConvRole role, std::int64_t number) {
  ConvParts::Index index;
  const auto bands = static_cast<std::int64_t>(parts.bands.size());
  if (role != ConvRole::w) {
    index.band = number % bands;
    number /= bands;
  }
  if (role != ConvRole::y) {
    index.channel = number % parts.channels;
    number /= parts.channels;
  }
  if (role != ConvRole::x) {
    index.filter = number % parts.filters;
    number /= parts.filters;
  }
  index.group = number % parts.groups;
  index.image = number / parts.groups;
  return index;
}

std::int64_t products_of(const ConvProblem& problem) {
  return problem.images * problem.filters * product_of(problem.result_size) *
         problem.channels_per_group() * product_of(problem.filter_size);
}

}  // namespace

bool OneDnnConv::prepare(const ConvProblem& problem) {
  const std::optional<ConvParts> parts = conv_parts(problem);
  if (!parts) return false;
  parts_ = *parts;
  images_of_round_ =
      problem.kind == ConvKind::weight_gradient ? 1 : std::min(parts_.images, kImagesOfRound);
  const OneDnnThread one_thread(library_);
  if (!prepare_bands()) {
    if (parts_.bands.size() == 1) return false;
    parts_.unite_bands();
    if (!prepare_bands()) return false;
  }
  plan_memory();
  return true;
}

bool OneDnnConv::prepare_bands() {
  convs_.clear();
  conv_of_band_.clear();
  std::vector<const ConvProblem*> sizes;
  for (const ConvParts::Band& band : parts_.bands) {
    const auto known =
        std::ranges::find_if(sizes, [&](const ConvProblem* other) { return *other == band.part; });
    conv_of_band_.push_back(static_cast<std::size_t>(known - sizes.begin()));
    if (known != sizes.end()) continue;
    auto conv = std::make_unique<PartConv>(library_);
    if (!conv->prepare(parts_, band.part)) return false;
    if (!convs_.empty() && !conv->has_layout_of(*convs_[0], ConvRole::w)) return false;
    convs_.push_back(std::move(conv));
    sizes.push_back(&band.part);
  }
  return true;
}

std::int64_t OneDnnConv::parts_in_round(ConvRole role) const {
  const std::int64_t groups = parts_.groups;
  const std::int64_t places = images_of_round_ * static_cast<std::int64_t>(parts_.bands.size());
  switch (role) {
    case ConvRole::x: return places * groups * parts_.channels;
    case ConvRole::w: return groups * parts_.filters * parts_.channels;
    case ConvRole::y: break;
  }
  return places * groups * parts_.filters;
}

void OneDnnConv::plan_memory() {
  const ConvKind kind = parts_.whole.kind;
  const auto largest = [&](auto bytes_of) {
    std::int64_t bytes = 0;
    for (const auto& conv : convs_) bytes = std::max(bytes, std::invoke(bytes_of, *conv));
    return round_up(bytes, kCopyAlignment);
  };
  for (const ConvRole role : kConvRoles) {
    const bool is_shared = is_operand(role, kind) || adds();
    memory_.offset[at(role)] = memory_.shared;
    memory_.bytes[at(role)] =
        is_shared ? largest([&](const PartConv& conv) { return conv.bytes(role); }) : 0;
    memory_.shared += memory_.bytes[at(role)] * parts_in_round(role);
  }
  memory_.of_result = largest(&PartConv::scratchpad_bytes);
  const bool needs_result =
      adds() || largest([&](const PartConv& conv) { return conv.bytes(result_role(kind)); }) > 0;
  memory_.of_thread = memory_.of_result + (needs_result ? largest(&PartConv::result_bytes) : 0);
}

std::int64_t OneDnnConv::workspace_bytes() const {
  return memory_.shared + memory_.of_thread * most_workers();
}

void OneDnnConv::run(const ConvArrays& arrays, const HostWorkspace& workspace) const {
  const std::int64_t free = workspace.bytes - memory_.shared;
  ensure(free >= memory_.of_thread, "the workspace of a convolution holds no thread");
  Round round{.arrays = {static_cast<float*>(arrays.x), static_cast<float*>(arrays.w),
                         static_cast<float*>(arrays.y)},
              .workspace = static_cast<std::byte*>(workspace.data)};
  if (products_of(parts_.whole) >= kFewProducts)
    round.workers = memory_.of_thread == 0 ? most_workers() : free / memory_.of_thread;
  for (std::int64_t first = 0; first < parts_.images; first += images_of_round_) {
    round.first = first;
    round.count = std::min(images_of_round_, parts_.images - first);
    round.is_first = first == 0;
    round.is_last = first + round.count == parts_.images;
    import_operands(round);
    compute(round);
  }
}

/// A part in the layout of the primitive: in the workspace, or where the array is.
std::byte* OneDnnConv::shared_part(const Round& round, ConvRole role,
                                   const ConvParts::Index& index) const {
  ConvParts::Index in_round = index;
  in_round.image -= round.first;
  if (memory_.bytes[at(role)] > 0 && conv(index).bytes(role) > 0)
    return round.workspace + memory_.offset[at(role)] +
           number_of(parts_, role, in_round) * memory_.bytes[at(role)];
  return reinterpret_cast<std::byte*>(round.arrays[at(role)] + offset_of(parts_, role, index));
}

void OneDnnConv::import_operand(const Round& round, ConvRole role, const ConvParts::Index& index,
                                std::byte* memory) const {
  const OneDnnThread one_thread(library_);
  conv(index).import_part(role, round.arrays[at(role)] + offset_of(parts_, role, index),
                          shared_part(round, role, index), memory);
}

void OneDnnConv::import_operands(const Round& round) const {
  struct Import {
    ConvRole role;
    ConvParts::Index index;
  };
  std::vector<Import> imports;
  for (const ConvRole role : kConvRoles) {
    if (!is_operand(role, parts_.whole.kind) || memory_.bytes[at(role)] == 0) continue;
    if (role == ConvRole::w && !round.is_first) continue;  // the first round has copied it
    for (std::int64_t i = 0; i < parts_in_round(role); ++i) {
      ConvParts::Index index = index_of(parts_, role, i);
      if (index.image >= round.count) break;
      if (conv(index).bytes(role) == 0) continue;
      if (role != ConvRole::w) index.image += round.first;
      imports.push_back({role, index});
    }
  }
  run_jobs(static_cast<std::int64_t>(imports.size()), static_cast<int>(round.workers),
           [&](int worker, std::int64_t job) {
             const Import& import = imports[static_cast<std::size_t>(job)];
             import_operand(round, import.role, import.index,
                            round.workspace + memory_.shared + worker * memory_.of_thread);
           });
}

void OneDnnConv::compute(const Round& round) const {
  const auto bands = static_cast<std::int64_t>(parts_.bands.size());
  const std::int64_t parts_of_image = parts_.groups * parts_.filters * parts_.channels * bands;
  run_jobs(round.count * parts_of_image, static_cast<int>(round.workers),
           [&](int worker, std::int64_t job) {
             ConvParts::Index index = index_of(parts_, ConvRole::w, job / bands);
             index.band = job % bands;
             index.image += round.first;
             compute_part(round, index,
                          round.workspace + memory_.shared + worker * memory_.of_thread);
           });
}

void OneDnnConv::compute_part(const Round& round, const ConvParts::Index& index,
                              std::byte* memory) const {
  const OneDnnThread one_thread(library_);
  const PartConv& conv = this->conv(index);
  const ConvRole result = result_role(parts_.whole.kind);
  float* const array = round.arrays[at(result)] + offset_of(parts_, result, index);
  std::byte* const own = memory + memory_.of_result;
  std::array<void*, 3> places;
  for (const ConvRole role : kConvRoles) places[at(role)] = shared_part(round, role, index);
  const bool adds_to_sum = adds() && !round.is_first;
  const bool has_copy = conv.bytes(result) > 0;
  if (adds_to_sum || (has_copy && !adds())) places[at(result)] = own;
  conv.run(places[at(ConvRole::x)], places[at(ConvRole::w)], places[at(ConvRole::y)], memory);
  if (adds_to_sum) add_part(round, index, own);
  if (has_copy && !adds()) conv.export_part(result, own, array, memory);
  if (has_copy && adds() && round.is_last)
    conv.export_part(result, shared_part(round, result, index), array, memory);
}

/// Adds the weight gradient of some images to that of the images before.
void OneDnnConv::add_part(const Round& round, const ConvParts::Index& index,
                          std::byte* memory) const {
  auto* const sums = reinterpret_cast<float*>(shared_part(round, ConvRole::w, index));
  const auto* const part = reinterpret_cast<const float*>(memory);
  const std::int64_t count = conv(index).result_bytes() / std::int64_t{sizeof(float)};
  for (std::int64_t i = 0; i < count; ++i) sums[i] += part[i];
}

namespace {

/// A program with ever new sizes must not fill the memory.
constexpr std::size_t kMostConvs = 1024;

struct OneDnnConvs {
  std::mutex mutex;
  std::map<std::pair<const OneDnn*, ConvProblem>, std::shared_ptr<const OneDnnConv>> convs;
};

}  // namespace

bool is_faster_as_product(const ConvProblem& problem) {
  constexpr std::int64_t kHalfBlock = 8;
  if (problem.kind == ConvKind::data_gradient)
    return problem.groups == 1 && problem.channels < kHalfBlock;
  return product_of(problem.filter_size) == 1;
}

std::shared_ptr<const OneDnnConv> onednn_conv(const OneDnn& library, const ConvProblem& problem) {
  if (problem.dtype != f32) return nullptr;
  static auto& all = *new OneDnnConvs;  // never destroyed: threads may use it at the end
  const std::lock_guard lock(all.mutex);
  const std::pair key(&library, problem);
  if (const auto found = all.convs.find(key); found != all.convs.end()) return found->second;
  auto conv = std::make_shared<OneDnnConv>(library);
  if (!conv->prepare(problem)) conv = nullptr;
  if (all.convs.size() >= kMostConvs) all.convs.clear();
  all.convs[key] = conv;
  return conv;
}

}  // namespace sinter
