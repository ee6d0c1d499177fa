// The interface between the host driver and kernels compiled for the host device. It is compiled
// into the driver and in front of every host kernel, so it includes nothing.
#pragma once

namespace sinter::device_abi {

inline constexpr unsigned kVersion = 5;
inline constexpr unsigned kWarpSize = 32;
inline constexpr unsigned kExchangeBytes = 32;  // the largest value that a lane may pass to another

struct Index3 {
  unsigned x, y, z;
};

/// The rendezvous of one warp's lanes. Each lane writes a value, waits for the others, and reads
/// another lane's value.
struct Warp {
  // The lowest bit selects the half of `slots` that the next exchange uses. A lane can be ahead by
  // one exchange, and must not overwrite values that other lanes have yet to read.
  unsigned phase;
  unsigned arrived;
  unsigned lanes;  // 32, or fewer in the last warp of an odd block
  alignas(32) unsigned char slots[2][kWarpSize][kExchangeBytes];
};

/// The block that a worker thread of the host device currently runs.
struct Block {
  Index3 index, size, grid;
  unsigned cluster_size, cluster_rank;  // a cluster is this many adjacent blocks along x
  unsigned char* shared;                // dynamic shared memory, with a guard at its end
  Warp* warps;
  bool arrived_last;          // set by last_block()
  bool has_waited_for_prior;  // set by wait_for_prior_launches()
};

/// The position of the running CUDA thread. Each module has one per OS thread.
struct ThreadPosition {
  Index3 thread;
  unsigned lane;
  Warp* warp;
  Block* block;
};

/// The functions that the driver provides to kernels. A function that detects a fault does not
/// return.
struct Services {
  void (*block_barrier)(Block*);
  void (*warp_barrier)(Block*);  // returns after every lane of the warp has written its value
  void (*grid_barrier)(Block*, const unsigned* arrivals);
  void (*cluster_arrive)(Block*);
  void (*cluster_wait)(Block*);
  // The address of `shared` in the shared memory of block `rank` of the cluster.
  void* (*cluster_map)(Block*, const void* shared, unsigned rank);
  void (*record_access)(Block*, const void* address, unsigned bytes, int site, bool is_store);
  // Returns when the launches that the kernel must wait for have ended.
  void (*wait_for_prior)(Block*);
};

/// One kernel of a module, exported as `sinter_kernel_<entry>`.
struct KernelInfo {
  unsigned version;
  const char* entry;
  unsigned threads;  // the most threads a block may have
  bool has_barrier;
  bool counts;  // loads and stores call Services::record_access
  unsigned parameter_count;
  const unsigned* parameter_bytes;
  // For a kernel without barriers, one call runs a whole block. With barriers, one call runs one
  // thread, on its own fiber.
  void (*run_block)(void** parameters, Block*);
  void (*run_thread)(void** parameters, Block*, unsigned thread);
  const ThreadPosition* (*position)();  // for messages about the running thread
  const Services** services;            // set by the driver when it loads the module
};

}  // namespace sinter::device_abi
