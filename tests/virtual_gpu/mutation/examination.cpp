#include "tests/virtual_gpu/mutation/examination.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "tests/virtual_gpu/program/program.h"

namespace sinter::virtual_gpu {

namespace {

constexpr std::size_t kMessageBytes = 4096;
/// A mutated kernel may execute so many times the instructions of the unchanged one, and so many
/// more.
constexpr std::uint64_t kMostTimes = 20;
constexpr std::uint64_t kMoreInstructions = 1'000'000;

/// The part of the shared memory with the result of a child.
struct Answer {
  bool is_complete;
  Verdict verdict;
  CheckKind check;
  std::uint64_t instructions;
  char message[kMessageBytes];
};

/// Memory that this process shares with its children: an answer, and an image of all allocations.
class SharedImage {
 public:
  explicit SharedImage(std::size_t bytes) : bytes_(sizeof(Answer) + bytes) {
    void* const mapped =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(mapped);
  }
  ~SharedImage() { munmap(memory_, bytes_); }
  SharedImage(const SharedImage&) = delete;
  SharedImage& operator=(const SharedImage&) = delete;

  Answer& answer() { return *reinterpret_cast<Answer*>(memory_); }
  std::byte* image() { return memory_ + sizeof(Answer); }

 private:
  std::size_t bytes_;
  std::byte* memory_;
};

enum class Image : std::uint8_t { write, compare };

/// The launch before the examined one: that of the process, or one that has written all memory.
enum class Before : std::uint8_t { own, writer };

class Examiner {
 public:
  explicit Examiner(const ExaminedLaunch& launch)
      : launch_(launch), allocations_(launch.memory.live()), shared_(image_bytes()) {}

  /// Runs the launch with this text in a child.
  Outcome run(const std::string& ptx, const ScheduleChoice& schedule, Image image,
              Before before = Before::own) {
    Answer& answer = shared_.answer();
    answer.is_complete = false;
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("cannot fork to examine a mutation");
    if (child == 0) {
      run_in_child(ptx, schedule, image, before);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!answer.is_complete)
      throw std::runtime_error(
          fmt::format("the process that examined a mutation ended with status {:#x}", status));
    if (image == Image::write) allowed_ = answer.instructions * kMostTimes + kMoreInstructions;
    return {.verdict = answer.verdict,
            .check = answer.check,
            .message = answer.message,
            .schedule = schedule};
  }

 private:
  std::size_t image_bytes() const {
    std::size_t bytes = 0;
    for (const Allocation* const allocation : allocations_) bytes += allocation->size;
    return bytes;
  }

  void run_in_child(const std::string& ptx, const ScheduleChoice& schedule, Image image,
                    Before before) {
    Answer& answer = shared_.answer();
    const auto say = [&](Verdict verdict, std::string_view message) {
      answer.verdict = verdict;
      const std::size_t length = std::min(message.size(), kMessageBytes - 1);
      std::memcpy(answer.message, message.data(), length);
      answer.message[length] = 0;
    };
    try {
      execute(ptx, schedule, image, before, say);
    } catch (const Violation& violation) {
      answer.check = violation.kind;
      say(Verdict::violation, violation.what());
    } catch (const std::exception& error) {
      return;  // the answer stays incomplete
    }
    answer.is_complete = true;
  }

  void execute(const std::string& ptx, const ScheduleChoice& schedule, Image image, Before before,
               const auto& say) {
    GpuOptions options = launch_.options;
    options.schedule = schedule.schedule;
    options.seed = schedule.seed;
    Gpu gpu(launch_.limits, options, launch_.memory, launch_.order);
    LaunchRequest request = launch_.request;
    request.program = gpu.load(ptx);
    if (before == Before::writer) wait_for_writer(request);
    const std::uint32_t serial = gpu.start(std::move(request));
    while (!gpu.is_done(serial)) {
      gpu.run_some();
      if (image == Image::compare && gpu.executed_instructions() > allowed_)
        return say(Verdict::endless, "the kernel does not end");
    }
    shared_.answer().instructions = gpu.executed_instructions();
    if (image == Image::write) {
      write_image();
      return say(Verdict::same, {});
    }
    const std::string difference = find_difference();
    say(difference.empty() ? Verdict::same : Verdict::differs, difference);
  }

  /// Begins and ends a launch that writes all memory. Only `griddepcontrol.wait` orders `request`
  /// behind it.
  void wait_for_writer(LaunchRequest& request) {
    HappensBefore& order = launch_.order;
    const std::uint32_t writer =
        order.begin_launch([](std::uint32_t) { return true; }, {}, "the launch before it");
    const std::unique_ptr<BlockClock> block = order.begin_block(writer, /*block=*/0, /*threads=*/1);
    for (const Allocation* const allocation : allocations_)
      launch_.memory.find(allocation->address)
          ->shadow.access({.kind = AccessKind::write, .offset = 0, .bytes = allocation->size},
                          order.thread(*block, 0), order);
    request.waits_for.push_back(writer);
    request.is_ordered = [is_ordered = request.is_ordered, writer](std::uint32_t earlier) {
      return earlier != writer && is_ordered(earlier);
    };
  }

  void write_image() {
    std::byte* to = shared_.image();
    for (const Allocation* const allocation : allocations_) {
      std::memcpy(to, allocation->data, allocation->size);
      to += allocation->size;
    }
  }

  std::string find_difference() {
    const std::byte* expected = shared_.image();
    for (const Allocation* const allocation : allocations_) {
      const std::byte* const end = expected + allocation->size;
      const auto [at, other] = std::mismatch(expected, end, allocation->data);
      if (at != end) {
        const auto offset = static_cast<std::uint64_t>(at - expected);
        return fmt::format("byte {} of {} at {:#x} differs from that of the unchanged kernel",
                           offset, allocation->size, allocation->address);
      }
      expected = end;
    }
    return {};
  }

  const ExaminedLaunch& launch_;
  std::vector<const Allocation*> allocations_;
  SharedImage shared_;
  std::uint64_t allowed_ = 0;
};

}  // namespace

std::string name_of(const ScheduleChoice& choice) {
  switch (choice.schedule) {
    case Schedule::fair: return "fair";
    case Schedule::random: return fmt::format("random {}", choice.seed);
    case Schedule::adversarial: break;
  }
  return fmt::format("adversarial {}", choice.seed);
}

std::vector<ScheduleChoice> examined_schedules() {
  // With an even seed, an adversarial schedule starts the last blocks first.
  return {{Schedule::fair, 0},
          {Schedule::random, 1},
          {Schedule::random, 2},
          {Schedule::adversarial, 0},
          {Schedule::adversarial, 1}};
}

std::string_view Outcome::name() const {
  switch (verdict) {
    case Verdict::same: return "nothing";
    case Verdict::differs: return "result";
    case Verdict::endless: return "endless";
    case Verdict::violation: break;
  }
  switch (check) {
    case CheckKind::memory: return "memory";
    case CheckKind::initialization: return "initialisation";
    case CheckKind::race: return "race";
    case CheckKind::synchronization: return "synchronisation";
    case CheckKind::deadlock: return "deadlock";
    case CheckKind::arithmetic: break;
  }
  return "arithmetic";
}

void examine(const ExaminedLaunch& launch, const std::function<bool(const Mutation&)>& wants,
             const std::function<void(const Mutation*, const Outcome&)>& report) {
  const ptx::Module& module = launch.request.program->module;
  Examiner examiner(launch);
  const std::vector<ScheduleChoice> schedules = examined_schedules();
  for (const ScheduleChoice& schedule : schedules) {
    const Image image = &schedule == schedules.data() ? Image::write : Image::compare;
    const Outcome outcome = examiner.run(*module.text, schedule, image);
    if (outcome.verdict != Verdict::same) return report(nullptr, outcome);
  }
  bool is_examined_behind_writer = false;
  for (const Mutation& mutation : find_mutations(module)) {
    if (!wants(mutation)) continue;
    const Before before = mutation.kind == MutationKind::grid_wait ? Before::writer : Before::own;
    if (before == Before::writer && !std::exchange(is_examined_behind_writer, true)) {
      const Outcome outcome = examiner.run(*module.text, schedules[0], Image::compare, before);
      if (outcome.verdict != Verdict::same) return report(nullptr, outcome);
    }
    const std::string ptx = mutated_text(module, mutation);
    Outcome outcome;
    for (const ScheduleChoice& schedule : schedules) {
      outcome = examiner.run(ptx, schedule, Image::compare, before);
      if (outcome.verdict != Verdict::same) break;
    }
    report(&mutation, outcome);
  }
}

}  // namespace sinter::virtual_gpu
