// Data-parallel training on real handwritten digits. Each rank reads its share of the images, the
// gradients cross the ranks in buckets, and a step is one launch of a CUDA Graph:
//
//     mpirun -n 4 build/release/bin/digits_distributed
//
// The weights have the same bits as those of training on one rank, which rank 0 repeats alone.
#include <mpi.h>
#include <sinter/sinter.h>

#include <cstdio>
#include <exception>

#include "digits/data.h"
#include "digits_distributed/model.h"
#include "digits_distributed/train.h"

using namespace sinter;

namespace {

int demonstrate() {
  const digits::Data data = digits::read_data(SINTER_SOURCE_DIR "/examples/data/digits.csv");
  const Communicator all = Communicator::mpi();
  if (distributed::kPieces % all.size() != 0) {
    std::fprintf(stderr, "digits_distributed: start 1, 2, 4 or 8 ranks, not %d\n", all.size());
    return 1;
  }
  const distributed::Weights weights = distributed::train(data.train, all);
  if (all.rank() != 0) return 0;
  const MPI_Comm alone = MPI_COMM_SELF;
  const bool is_equal = weights == distributed::train(data.train, Communicator::mpi(&alone));
  std::printf("the weights of %d rank(s) and of one rank are %s\n", all.size(),
              is_equal ? "equal, bit for bit" : "NOT equal");
  return is_equal ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return demonstrate();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "digits_distributed: %s\n", error.what());
    return 1;
  }
}
