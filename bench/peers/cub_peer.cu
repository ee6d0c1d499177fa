// Measures CUB's device-wide algorithms and the driver's copy on cases of the suite. cub.py writes
// one case per line to standard input. It reads one JSON object per measurement from standard
// output, and {"case": …, "done": true} after each case. Exit status 4 means that the device no
// longer works. Input line: name op dtype n segments bytes sets calls modes key_x key_z repeat. If
// op is -, only the copy is measured.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_transform.cuh>
#include <cuda/functional>
#include <cuda/std/functional>
#include <cuda/std/tuple>
#include <cuda_bf16.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>

namespace {

#define CHECK(CALL)                                                                             \
  do {                                                                                          \
    if (const cudaError_t error = (CALL); error != cudaSuccess)                                 \
      throw std::runtime_error(std::string(#CALL ": ") + cudaGetErrorString(error));            \
  } while (false)

// --- contents: equal to those of sinter's random_inputs -----------------------------------------

__host__ __device__ std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

__host__ __device__ double number(std::uint64_t key, std::int64_t i) {
  return -2 + 4 * (static_cast<double>(splitmix64(key + static_cast<std::uint64_t>(i)) >> 11) * 0x1p-53);
}

template <class T>
__host__ __device__ T rounded(double value) {
  if constexpr (std::is_same_v<T, float>)
    return static_cast<float>(value);
  else
    return __double2bfloat16(value);
}

template <class T>
__global__ void fill(T* to, std::int64_t n, std::uint64_t key, std::int64_t repeat) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
    to[i] = rounded<T>(number(key, i % repeat));
}

// --- ops ----------------------------------------------------------------------------------------

__host__ __device__ inline float silu(float x) { return x / (1 + expf(-x)); }

template <class T>
struct Scale {
  __host__ __device__ T operator()(T x) const { return static_cast<T>(static_cast<float>(x) * 0.75f); }
};
template <class T>
struct Add {
  __host__ __device__ T operator()(T x, T z) const { return x + z; }
};
template <class T>
struct AxpbyRelu {
  __host__ __device__ T operator()(T x, T z) const {
    const float s = static_cast<float>(x) * 0.75f + static_cast<float>(z) * 1.25f;
    return static_cast<T>(s > 0 ? s : 0.0f);
  }
};
template <class T>
struct SiluMul {
  __host__ __device__ T operator()(T x, T z) const {
    return static_cast<T>(silu(static_cast<float>(x)) * static_cast<float>(z));
  }
};
template <class T>
struct Widen {
  __host__ __device__ float operator()(T x) const { return static_cast<float>(x); }
};
template <class T>
struct Product {
  __host__ __device__ float operator()(const thrust::tuple<T, T>& pair) const {
    return static_cast<float>(thrust::get<0>(pair)) * static_cast<float>(thrust::get<1>(pair));
  }
};

// --- memory and calls ---------------------------------------------------------------------------

struct Memory {
  explicit Memory(std::size_t bytes) { CHECK(cudaMalloc(&pointer, std::max<std::size_t>(bytes, 16))); }
  ~Memory() { cudaFree(pointer); }
  Memory(const Memory&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(pointer);
  }
  void* pointer = nullptr;
};

struct Case {
  std::string name, op, dtype;
  std::int64_t n = 0, segments = 1, bytes = 0;
  int sets = 1, calls = 1;
  std::string modes;
  std::uint64_t key_x = 0, key_z = 0;
  std::int64_t repeat = 1;
};

using Call = std::function<void(int)>;

/// Queries an algorithm of CUB for its temporary memory; the returned Call passes that memory.
template <class Algorithm>
Call with_temporary(Algorithm algorithm) {
  std::size_t bytes = 0;
  CHECK(algorithm(nullptr, bytes, 0));
  auto memory = std::make_shared<Memory>(bytes);
  return [=](int set) {
    std::size_t again = bytes;
    CHECK(algorithm(memory->pointer, again, set));
  };
}

template <class T>
struct Data {
  Data(const Case& one, cudaStream_t stream) : n(one.n), stream(stream) {
    for (int set = 0; set < one.sets; ++set) {
      for (auto* inputs : {&x, &z}) inputs->push_back(std::make_shared<Memory>(n * sizeof(T)));
      y.push_back(std::make_shared<Memory>(std::max<std::int64_t>(n, one.segments) * sizeof(float)));
      fill<<<1024, 256, 0, stream>>>(x.back()->template as<T>(), n, one.key_x, one.repeat);
      fill<<<1024, 256, 0, stream>>>(z.back()->template as<T>(), n, one.key_z, one.repeat);
    }
    CHECK(cudaStreamSynchronize(stream));
  }
  const T* in(int set) const { return x[set]->template as<T>(); }
  const T* in2(int set) const { return z[set]->template as<T>(); }
  template <class Result>
  Result* out(int set) const {
    return y[set]->template as<Result>();
  }
  std::int64_t n;
  cudaStream_t stream;
  std::vector<std::shared_ptr<Memory>> x, z, y;
};

template <class T, class Op>
Call unary(std::shared_ptr<Data<T>> data, Op op) {
  return [=](int set) {
    CHECK(cub::DeviceTransform::Transform(cuda::std::make_tuple(data->in(set)), data->template out<T>(set),
                                          data->n, op, data->stream));
  };
}
template <class T, class Op>
Call binary(std::shared_ptr<Data<T>> data, Op op) {
  return [=](int set) {
    CHECK(cub::DeviceTransform::Transform(cuda::std::make_tuple(data->in(set), data->in2(set)),
                                          data->template out<T>(set), data->n, op, data->stream));
  };
}
template <class T, class Op>
Call pair_sum(std::shared_ptr<Data<T>> data, Op op) {
  return with_temporary([=](void* temporary, std::size_t& bytes, int set) {
    const auto pairs = thrust::make_zip_iterator(data->in(set), data->in2(set));
    return cub::DeviceReduce::Sum(temporary, bytes, thrust::make_transform_iterator(pairs, op),
                                  data->template out<float>(set), data->n, data->stream);
  });
}
/// A reduction of all elements in f32. CUB uses vector loads if its input is a pointer.
template <class T, class Op>
Call reduction(std::shared_ptr<Data<T>> data, Op op, float first) {
  return with_temporary([=](void* temporary, std::size_t& bytes, int set) {
    return cub::DeviceReduce::TransformReduce(temporary, bytes, data->in(set), data->template out<float>(set),
                                              data->n, op, Widen<T>{}, first, data->stream);
  });
}

struct RowOffset {
  std::int64_t length;
  __host__ __device__ std::int64_t operator()(std::int64_t row) const { return row * length; }
};

auto row_offsets(const Case& one) {
  return thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), RowOffset{one.n / one.segments});
}

const float* in_f32(const float* from) { return from; }
auto in_f32(const __nv_bfloat16* from) { return thrust::make_transform_iterator(from, Widen<__nv_bfloat16>{}); }

/// The Call of a case. Throws if CUB has no algorithm for its op.
template <class T>
Call call_of(const Case& one, std::shared_ptr<Data<T>> data) {
  if (one.op == "scale") return unary<T>(data, Scale<T>{});
  if (one.op == "add") return binary<T>(data, Add<T>{});
  if (one.op == "axpby_relu") return binary<T>(data, AxpbyRelu<T>{});
  if (one.op == "silu_mul") return binary<T>(data, SiluMul<T>{});
  if (one.op == "dot") return pair_sum<T>(data, Product<T>{});
  if (one.op == "full_sum") return reduction<T>(data, cuda::std::plus<float>{}, 0);
  if (one.op == "full_max") return reduction<T>(data, cuda::maximum<float>{}, -INFINITY);
  if (one.op == "row_sum")
    return with_temporary([=, segments = one.segments, offsets = row_offsets(one)](
                              void* temporary, std::size_t& bytes, int set) {
      return cub::DeviceSegmentedReduce::Sum(temporary, bytes, in_f32(data->in(set)), data->template out<float>(set),
                                             segments, offsets, offsets + 1, data->stream);
    });
  throw std::runtime_error("CUB has no algorithm for " + one.op);
}

// --- checking -----------------------------------------------------------------------------------

template <class T>
double held(std::uint64_t key, std::int64_t i, std::int64_t repeat) {
  return static_cast<double>(static_cast<float>(rounded<T>(number(key, i % repeat))));
}

/// The larger number. NaN and infinities count as 1e30, which JSON can represent.
double larger(double a, double b) { return b <= a ? a : std::isfinite(b) ? b : 1e30; }

/// The worst error of 64 elements, or of one reduction of up to 2^24 elements, divided by the
/// allowed error. Negative if nothing was checked.
template <class T>
double worst_error(const Case& one, const Data<T>& data) {
  const double allowed = sizeof(T) == 2 ? 4e-2 : 2e-5;
  const auto x = [&](std::int64_t i) { return held<T>(one.key_x, i, one.repeat); };
  const auto z = [&](std::int64_t i) { return held<T>(one.key_z, i, one.repeat); };
  if (one.op == "scale" || one.op == "add" || one.op == "axpby_relu" || one.op == "silu_mul") {
    double worst = 0;
    for (int k = 0; k < 64; ++k) {
      const std::int64_t i = (one.n - 1) * k / 63;
      T actual;
      CHECK(cudaMemcpy(&actual, data.template out<T>(0) + i, sizeof(T), cudaMemcpyDeviceToHost));
      const double wanted = one.op == "scale"        ? x(i) * 0.75
                            : one.op == "add"        ? x(i) + z(i)
                            : one.op == "axpby_relu" ? std::max(0.0, x(i) * 0.75 + z(i) * 1.25)
                                                     : x(i) / (1 + std::exp(-x(i))) * z(i);
      const double error = std::abs(static_cast<double>(static_cast<float>(actual)) - wanted);
      worst = larger(worst, error / (allowed * (std::abs(wanted) + 1)));
    }
    return worst;
  }
  const std::int64_t length = one.n / one.segments;
  if (length > std::int64_t{1} << 24) return -1;
  double sum = 0, most = -3;
  for (std::int64_t i = 0; i < length; ++i) {
    sum += one.op == "dot" ? x(i) * z(i) : x(i);
    most = std::max(most, x(i));
  }
  float actual;
  CHECK(cudaMemcpy(&actual, data.template out<float>(0), sizeof actual, cudaMemcpyDeviceToHost));
  const double wanted = one.op == "full_max" ? most : sum;
  return larger(0, std::abs(actual - wanted) / (2e-5 * (std::abs(wanted) + std::sqrt(static_cast<double>(length)))));
}

// --- timing -------------------------------------------------------------------------------------

class Events {
 public:
  explicit Events(cudaStream_t stream) : stream_(stream) {
    CHECK(cudaEventCreate(&start_));
    CHECK(cudaEventCreate(&end_));
  }
  ~Events() {
    cudaEventDestroy(start_);
    cudaEventDestroy(end_);
  }
  double us(const std::function<void()>& work) const {
    work();  // the device is busy with this while the host submits the timed work
    CHECK(cudaEventRecord(start_, stream_));
    work();
    CHECK(cudaEventRecord(end_, stream_));
    CHECK(cudaEventSynchronize(end_));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, start_, end_));
    return 1e3 * milliseconds;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t start_ = nullptr, end_ = nullptr;
};

std::function<void()> captured(const Call& call, int calls, int sets, cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  try {
    for (int i = 0; i < calls; ++i) call(i % sets);
  } catch (...) {  // ends the capture, so that later cases can use the stream
    cudaStreamEndCapture(stream, &graph);
    if (graph) cudaGraphDestroy(graph);
    throw;
  }
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  const std::shared_ptr<CUgraphExec_st> owner(exec, [](cudaGraphExec_t old) { cudaGraphExecDestroy(old); });
  return [owner, stream] { CHECK(cudaGraphLaunch(owner.get(), stream)); };
}

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// The numbers of calls for a call that takes `call_us`, by the rule of timing.py: slow calls are
/// made less often.
struct CallCounts {
  double call_us;
  int calls(double milliseconds, int least, int most) const {
    return static_cast<int>(std::clamp<double>(1e3 * milliseconds / call_us, least, most));
  }
  int in_graph(const Case& one) const { return (calls(100, 4, one.calls) + one.sets - 1) / one.sets * one.sets; }
  int in_stream() const { return calls(20, 3, 50); }
  int one_by_one() const { return calls(100, 5, 200); }
  int together() const { return calls(200, 5, 1000); }
};

/// The median of three calls on an idle device, each with a wait.
CallCounts count_calls(const Call& call, cudaStream_t stream) {
  double us[3];
  for (int i = 0; i < 3; ++i) {
    const auto start = Clock::now();
    call(0);
    CHECK(cudaStreamSynchronize(stream));
    us[i] = us_since(start);
  }
  std::sort(us, us + 3);
  return {us[1]};
}

void print_times(const Case& one, const char* system, char mode, const std::vector<double>& times,
                 double asynchronous_us, double worst) {
  std::printf("{\"case\": \"%s\", \"system\": \"%s\", \"mode\": \"%c\", \"times\": [", one.name.c_str(), system, mode);
  for (std::size_t i = 0; i < times.size(); ++i) std::printf("%s%.4f", i ? ", " : "", times[i]);
  std::printf("], \"asynchronous_us\": %.4f, \"worst_error\": %.5g}\n", asynchronous_us, worst);
  std::fflush(stdout);
}

/// Measures the algorithm and the copy in turns; an empty `call` means only the copy.
void measure(const Case& one, const Call& call, const Call& copy, double worst, cudaStream_t stream) {
  const Events events(stream);
  const std::vector<std::pair<const char*, Call>> systems =
      call ? std::vector<std::pair<const char*, Call>>{{"cub", call}, {"memcpy", copy}}
           : std::vector<std::pair<const char*, Call>>{{"memcpy", copy}};
  const CallCounts counts = count_calls(systems[0].second, stream);
  for (const char mode : one.modes) {
    std::vector<std::vector<double>> times(systems.size());
    std::vector<double> together(systems.size());
    if (mode == 'E') {
      for (std::size_t s = 0; s < systems.size(); ++s)
        for (int i = -1; i < counts.one_by_one(); ++i) {
          const auto start = Clock::now();
          systems[s].second(std::max(i, 0) % one.sets);
          CHECK(cudaStreamSynchronize(stream));
          if (i >= 0) times[s].push_back(us_since(start));
        }
      for (std::size_t s = 0; s < systems.size(); ++s) {
        const auto start = Clock::now();
        for (int i = 0; i < counts.together(); ++i) systems[s].second(i % one.sets);
        CHECK(cudaStreamSynchronize(stream));
        together[s] = us_since(start) / counts.together();
      }
    } else {
      std::vector<std::function<void()>> works;
      const int calls = mode == 'K' ? counts.in_graph(one) : counts.in_stream();
      for (const auto& system : systems)
        works.push_back(mode == 'K' ? captured(system.second, calls, one.sets, stream)
                                    : std::function<void()>([&system, calls, &one] {
                                        for (int i = 0; i < calls; ++i) system.second(i % one.sets);
                                      }));
      const auto start = Clock::now();
      for (int repeat = 0; repeat <= 9; ++repeat) {
        if (repeat > 3 && us_since(start) > 5e5) break;
        for (std::size_t s = 0; s < works.size(); ++s) {
          const double us = events.us(works[s]) / calls;
          if (repeat > 0) times[s].push_back(us);
        }
      }
    }
    for (std::size_t s = 0; s < systems.size(); ++s)
      print_times(one, systems[s].first, mode, times[s], together[s], s == 0 && call ? worst : -1);
  }
}

template <class T>
void run(const Case& one, cudaStream_t stream) {
  Call call;
  double worst = -1;
  if (one.op != "-") {
    const auto data = std::make_shared<Data<T>>(one, stream);
    call = call_of<T>(one, data);
    call(0);
    CHECK(cudaStreamSynchronize(stream));
    worst = worst_error(one, *data);
  }
  std::vector<std::shared_ptr<Memory>> from, to;
  for (int set = 0; set < one.sets; ++set) {
    from.push_back(std::make_shared<Memory>(one.bytes / 2));
    to.push_back(std::make_shared<Memory>(one.bytes / 2));
    fill<<<1024, 256, 0, stream>>>(from.back()->template as<float>(), one.bytes / 8, one.key_x, one.repeat);
  }
  const Call copy = [&](int set) {
    CHECK(cudaMemcpyAsync(to[set]->pointer, from[set]->pointer, one.bytes / 2, cudaMemcpyDeviceToDevice, stream));
  };
  measure(one, call, copy, worst, stream);
}

}  // namespace

int main(int count, char** words) {
  const double seconds = count > 1 ? std::atof(words[1]) : 0;
  const auto start = Clock::now();
  cudaStream_t stream = nullptr;
  if (const cudaError_t error = cudaStreamCreate(&stream); error != cudaSuccess) {
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    return 3;
  }
  for (std::string line; std::getline(std::cin, line);) {
    if (seconds > 0 && us_since(start) > 1e6 * seconds) break;
    Case one;
    std::istringstream(line) >> one.name >> one.op >> one.dtype >> one.n >> one.segments >> one.bytes >> one.sets >>
        one.calls >> one.modes >> one.key_x >> one.key_z >> one.repeat;
    try {
      if (one.dtype == "bf16")
        run<__nv_bfloat16>(one, stream);
      else
        run<float>(one, stream);
    } catch (const std::exception& error) {
      std::string why = error.what();
      for (char& letter : why)
        if (letter == '"' || letter == '\\' || letter == '\n') letter = ' ';
      std::printf("{\"case\": \"%s\", \"system\": \"cub\", \"problem\": \"%s\"}\n", one.name.c_str(), why.c_str());
      cudaGetLastError();
    }
    std::printf("{\"case\": \"%s\", \"done\": true}\n", one.name.c_str());
    std::fflush(stdout);
    if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
      std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
      return 4;
    }
  }
}
