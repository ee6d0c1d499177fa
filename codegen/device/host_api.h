// What a kernel built for the host device and the host driver know of each other. Compiled on both
// sides: into the driver, and in front of every host kernel, so it stands alone.
#pragma once

namespace sinter::device_abi {

inline constexpr unsigned kVersion = 3;
inline constexpr unsigned kWarpSize = 32;
inline constexpr unsigned kExchangeBytes = 32;  // the largest value a lane may hand to another

struct Index3 {
  unsigned x, y, z;
};

/// The union_traffic place of one warp's lanes: they leave a value, meet, and read another lane's.
struct Warp {
  // The lowest bit says which half of `slots` the next exchange uses: a lane that runs ahead must
  // not overwrite what the others have yet to read, and it can be ahead by one exchange only.
  unsigned phase;
  unsigned arrived;
  unsigned lanes;  // 32, or fewer in the last warp of an odd block
  alignas(32) unsigned char slots[2][kWarpSize][kExchangeBytes];
};

/// The block that a worker of the host device runs at the moment.
struct Block {
  Index3 index, size, grid;
  unsigned cluster_size, cluster_rank;  // blocks in a row along x that run together; which it is
  unsigned char* shared;                // dynamic shared memory; its end is guarded
  Warp* warps;
  bool arrived_last;  // set by last_block()
  bool has_waited;    // set by wait_for_prior_launches()
};

/// Where the running thread is. Each module has one per OS thread.
struct Here {
  Index3 thread;
  unsigned lane;
  Warp* warp;
  Block* block;
};

/// What kernels ask of the driver. Functions that find a fault do not return.
struct Services {
  void (*block_barrier)(Block*);
  void (*warp_meet)(Block*);  // after it every lane of the warp has left its value
  void (*grid_barrier)(Block*, const unsigned* arrivals);
  void (*cluster_arrive)(Block*);
  void (*cluster_wait)(Block*);
  // Where another block of the cluster has what this block has at `shared`.
  void* (*cluster_map)(Block*, const void* shared, unsigned rank);
  void (*touch)(Block*, const void* address, unsigned bytes, int site, bool is_store);
};

/// One kernel of a module, exported as `sinter_kernel_<entry>`.
struct KernelInfo {
  unsigned version;
  const char* entry;
  unsigned threads;  // the most threads a block may have
  bool has_barrier;
  bool counts;  // loads and stores call Services::touch
  unsigned parameter_count;
  const unsigned* parameter_bytes;
  // A kernel without barriers runs whole blocks; one with barriers runs each thread as a fiber.
  void (*run_block)(void** parameters, Block*);
  void (*run_thread)(void** parameters, Block*, unsigned thread);
  const Here* (*here)();      // for messages about the running thread
  const Services** services;  // filled in by the driver when it loads the module
};

}  // namespace sinter::device_abi
