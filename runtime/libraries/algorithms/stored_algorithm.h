// StoredAlgorithm: the algorithm that a library chose for a problem, as bytes for other processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// A problem on one machine. Equal keys have the same algorithm.
struct AlgorithmKey {
  std::string library;  ///< `cuBLASLt 130100`: another version has other algorithms
  std::string device;   ///< `NVIDIA H200, sm_90, 132 SMs`
  std::string problem;  ///< everything that decides the algorithm

  /// One text for all.
  std::string text() const;
};

/// An algorithm in the library's own form.
struct StoredAlgorithm {
  std::int64_t workspace_bytes = 0;
  std::vector<std::byte> data;

  friend bool operator==(const StoredAlgorithm&, const StoredAlgorithm&) = default;
};

/// The bytes of algorithms begin with it. Another number is another form.
inline constexpr std::string_view kAlgorithmMark = "sinter algorithm 1\n";

/// The key is part of the bytes, so an entry of another problem is recognised.
std::vector<std::byte> to_bytes(const AlgorithmKey& key, const StoredAlgorithm& algorithm);

struct ParsedAlgorithm {
  std::optional<StoredAlgorithm> algorithm = {};
  std::string problem = {};  ///< why there is none: `it is of another problem`
};
/// Any bytes give an algorithm with a plausible size, or a problem.
ParsedAlgorithm parse_algorithm(const AlgorithmKey& key, std::span<const std::byte> bytes);

/// Keeps the choices of libraries for other processes. Usable from any thread; never fails.
class AlgorithmStore {
 public:
  AlgorithmStore() = default;
  AlgorithmStore(const AlgorithmStore&) = delete;
  AlgorithmStore& operator=(const AlgorithmStore&) = delete;
  virtual ~AlgorithmStore() = default;

  /// The bytes that are stored under the key; nothing if there are none.
  virtual std::optional<std::vector<std::byte>> find(const AlgorithmKey& key) = 0;
  /// Stores the bytes if the key has none, or still has those that were `refused`. Returns the
  /// bytes that the key has then: of several processes that publish at once, all get those of the
  /// first one. Returns `bytes` if nothing can be stored.
  virtual std::vector<std::byte> publish(const AlgorithmKey& key, std::span<const std::byte> bytes,
                                         std::span<const std::byte> refused) = 0;
  /// Tells the user that a stored algorithm is not used, and why. The user's log may call sinter.
  virtual void log_refusal(const AlgorithmKey& key, const std::string& why) = 0;
};

/// How a library takes and chooses algorithms.
struct AlgorithmChoice {
  /// Takes a stored algorithm. Returns why the library refuses it; empty: it was taken.
  std::function<std::string(const StoredAlgorithm&)> take;
  /// Asks the library, and takes its choice. Returns nothing if it cannot be stored.
  std::function<std::optional<StoredAlgorithm>()> choose;
};

/// A stored algorithm that is not used.
struct RefusedAlgorithm {
  AlgorithmKey key;
  std::string why;
};

/// Takes the stored algorithm of the key. Without one, or if it is damaged or refused, asks the
/// library and stores its choice. If another process stored its own choice meanwhile, takes that
/// one. `store` may be null. Returns the refused algorithm, which the
/// caller logs when it holds no lock. Throws only what `choice` throws.
std::optional<RefusedAlgorithm> take_or_choose(AlgorithmStore* store, const AlgorithmKey& key,
                                               const AlgorithmChoice& choice);
/// Logs the algorithm, if there is one. Call it without locks.
void log_refusal(AlgorithmStore* store, const std::optional<RefusedAlgorithm>& refused);

}  // namespace sinter
