// Profile: the time of each kernel of a program, compared with a device copy of as many bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sinter/device.h"
#include "sinter/executable.h"

namespace sinter {

struct ProfileOptions {
  int repeats = 15;  ///< timed launches of each kernel, after an untimed one
  /// The stream to launch on. None: a new stream, after all work that is queued on the device.
  std::optional<Stream> stream = {};
};

/// One kernel, timed alone between two events.
struct KernelProfile {
  std::string name;             ///< as in reports: `softmax_0`
  std::string schedule;         ///< `threads 256, vector 4, unroll 2`
  int launches = 0;             ///< per run; 0 where a size is zero
  std::int64_t bytes_read = 0;  ///< predicted
  std::int64_t bytes_written = 0;
  bool bytes_are_bounds = false;  ///< addresses are read from data: the bytes are upper bounds
  double median_us = 0;           ///< of one launch
  double lower_quartile_us = 0;
  double upper_quartile_us = 0;
  double gigabytes_per_second = 0;  ///< predicted bytes / median
  /// Median of a device copy that reads half of the bytes and writes the other half. Kernel and
  /// copy are timed alternately. Beyond 2 GiB, or half of the free memory, a part is copied and its
  /// time is scaled up.
  double copy_us = 0;
  double share_of_copy = 0;  ///< copy_us / median_us: 1 is as fast as the copy

  std::int64_t bytes() const { return bytes_read + bytes_written; }
};

struct Profile {
  std::string graph;
  std::string device;
  std::string target;
  std::vector<std::string> sizes;  ///< `rows = 2048`
  int repeats = 0;
  bool is_cold = false;  ///< L2 was emptied before every launch and copy
  std::string caches;    ///< the state of the caches, in a sentence
  std::vector<KernelProfile> kernels;

  std::int64_t bytes() const;  ///< of one run
  double total_us() const;     ///< the sum of the medians, without overlap of kernels
};

/// Times the kernels of `context`'s program on the bound arrays, one by one. Plans, compiles and
/// tunes first if needed. Afterwards the outputs hold the results of a run. Everything else is
/// unchanged: updates go into copies of the inputs. Nothing else may use the bound arrays
/// meanwhile. Runs the collectives of the program, so all ranks of its groups must call it. Returns
/// when all work is done. Throws UserError as Context::run does.
Profile profile(Context& context, const Bindings& bindings, const ProfileOptions& options = {});
Profile profile(Context& context, BindingList inputs, BindingList outputs,
                const ProfileOptions& options = {});

/// A text table: one line per kernel, and the sums.
std::string profile_table(const Profile& profile);
std::string profile_json(const Profile& profile);

}  // namespace sinter
