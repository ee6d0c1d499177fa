// ProxyOrder: whether a proxy fence separates generic writes from accesses of the async proxy.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/virtual_gpu/checks/happens_before.h"

namespace sinter::virtual_gpu {

/// PTX ISA manual, section 9.7.9.25.2: bulk copies access memory in the async proxy, other
/// instructions in the generic proxy. A generic write needs a `fence.proxy.async` behind it, and in
/// front of an asynchronous access of the same bytes. The fence may be in any thread between both.
/// Words of 4 bytes are compared. Writes of earlier launches need no fence.
class ProxyOrder {
 public:
  /// A generic write. Addresses are unique among all memory.
  void write(std::uint64_t address, std::uint64_t bytes, const AccessStamp& stamp, bool is_shared);
  /// A fence of a thread in some spaces: bits of handlers::ProxyFence.
  void fence(const ThreadClock& thread, const HappensBefore& order, int spaces, std::int32_t line);
  /// The last generic write of these bytes that no fence separates from the thread's next access.
  std::optional<AccessStamp> find_unfenced(std::uint64_t address, std::uint64_t bytes,
                                           const ThreadClock& thread,
                                           const HappensBefore& order) const;
  /// The async proxy has written the bytes.
  void forget(std::uint64_t address, std::uint64_t bytes);

 private:
  /// The writes of one instruction of a thread between two of its fences.
  struct Writes {
    AccessStamp stamp;
    std::vector<AccessStamp> fences = {};  ///< behind them
    std::size_t words = 0;                 ///< that no later write replaced
  };
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int32_t, std::uint32_t>;

  void drop_word(std::uint64_t word);
  bool is_fenced(const Writes& writes, const ThreadClock& thread, const HappensBefore& order) const;

  /// The last write of a word.
  struct Word {
    Key key;
    bool is_shared = false;
    bool operator==(const Word&) const = default;
  };
  std::map<Key, Writes>& writes_of(bool is_shared) { return is_shared ? shared_ : global_; }

  std::map<Key, Writes> shared_;  ///< apart, since fences of one space are frequent
  std::map<Key, Writes> global_;
  std::unordered_map<std::uint64_t, Word> words_;  ///< by address / 4
  /// The number of fences of a thread, by segment and thread: program order within a segment.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> fences_;
};

}  // namespace sinter::virtual_gpu
