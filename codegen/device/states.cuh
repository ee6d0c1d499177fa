// Accumulator states of reductions: an identity, the addition of an element, and the combination of
// two states (`join`). If `kAnyOrder`, every distribution of the elements over states that get them
// in ascending order has the same result.
#pragma once

template <class T>
struct Sum {
  static constexpr bool kCommutes = true;
  static constexpr bool kAnyOrder = false;
  T value;
  // -0, because -0 + x is x for every x, and +0 + -0 is +0.
  static __device__ __forceinline__ Sum identity() { return {static_cast<T>(-0.0f)}; }
  __device__ __forceinline__ void add(T element, long long) { value = value + element; }
  static __device__ __forceinline__ Sum join(Sum a, Sum b) { return {a.value + b.value}; }
  __device__ __forceinline__ T result() const { return value; }
};
template <>
struct Sum<long long> {
  static constexpr bool kCommutes = true;
  static constexpr bool kAnyOrder = true;
  long long value;
  static __device__ __forceinline__ Sum identity() { return {0}; }
  __device__ __forceinline__ void add(long long element, long long) {
    value = wrapping_add(value, element);
  }
  static __device__ __forceinline__ Sum join(Sum a, Sum b) {
    return {wrapping_add(a.value, b.value)};
  }
  __device__ __forceinline__ long long result() const { return value; }
};

template <class T>
struct Max {
  static constexpr bool kCommutes = true;
  static constexpr bool kAnyOrder = true;
  T value;
  static __device__ __forceinline__ Max identity() { return {Ends<T>::lowest()}; }
  __device__ __forceinline__ void add(T element, long long) { value = maximum(value, element); }
  static __device__ __forceinline__ Max join(Max a, Max b) { return {maximum(a.value, b.value)}; }
  __device__ __forceinline__ T result() const { return value; }
};

template <class T>
struct Min {
  static constexpr bool kCommutes = true;
  static constexpr bool kAnyOrder = true;
  T value;
  static __device__ __forceinline__ Min identity() { return {Ends<T>::highest()}; }
  __device__ __forceinline__ void add(T element, long long) { value = minimum(value, element); }
  static __device__ __forceinline__ Min join(Min a, Min b) { return {minimum(a.value, b.value)}; }
  __device__ __forceinline__ T result() const { return value; }
};

template <class T>
struct Prod {
  static constexpr bool kCommutes = true;
  static constexpr bool kAnyOrder = T(1) / T(2) == T(0);  // integers
  T value;
  static __device__ __forceinline__ Prod identity() { return {static_cast<T>(1)}; }
  __device__ __forceinline__ void add(T element, long long) { value = product(value, element); }
  static __device__ __forceinline__ Prod join(Prod a, Prod b) {
    return {product(a.value, b.value)};
  }
  __device__ __forceinline__ T result() const { return value; }

  static __device__ __forceinline__ float product(float a, float b) { return a * b; }
  static __device__ __forceinline__ double product(double a, double b) { return a * b; }
  template <class Integer>
  static __device__ __forceinline__ Integer product(Integer a, Integer b) {
    return wrapping_mul(a, b);
  }
};

/// The first NaN, else the first of the extreme elements. Compares by value: -0 equals +0. `Index`
/// is an integer type that can represent every index.
template <class T, bool kLargest, class Index>
struct ArgExtreme {
  static constexpr bool kCommutes = true;
  static constexpr bool kAnyOrder = true;
  T value;
  Index index;
  // If the result has this value, all elements have it, so that the first index is the right one.
  static __device__ __forceinline__ ArgExtreme identity() {
    return {kLargest ? Ends<T>::lowest() : Ends<T>::highest(), 0};
  }
  // Elements are added in ascending order of their indices, so equal ones change nothing. The
  // negated comparison is also true for a NaN. The host compiler makes vector code of selections, but
  // not of branches. GPUs keep the branches with which their kernels were measured.
  __device__ __forceinline__ void add(T element, Index at) {
    const bool leads = kLargest ? !(element <= value) : !(element >= value);
#ifdef __CUDACC__
    if (leads && value == value) {
      value = element;
      index = at;
    }
#else
    const bool takes = leads & (value == value);
    value = takes ? element : value;
    index = takes ? at : index;
#endif
  }
  static __device__ __forceinline__ ArgExtreme join(ArgExtreme a, ArgExtreme b) {
    const bool a_is_nan = a.value != a.value;
    const bool b_is_nan = b.value != b.value;
    const bool a_leads = kLargest ? a.value > b.value : a.value < b.value;
#ifdef __CUDACC__
    const bool ties = a_is_nan ? b_is_nan : a.value == b.value;
    const bool a_wins = ties ? a.index < b.index : a_is_nan || (!b_is_nan && a_leads);
    return a_wins ? a : b;
#else
    const bool ties = (a_is_nan & b_is_nan) | (a.value == b.value);
    const bool a_wins = (ties & (a.index < b.index)) | (!ties & (a_is_nan | (!b_is_nan & a_leads)));
    return {a_wins ? a.value : b.value, a_wins ? a.index : b.index};
#endif
  }
  __device__ __forceinline__ long long result() const { return index; }
};
template <class T, class Index = long long>
using ArgMax = ArgExtreme<T, true, Index>;
template <class T, class Index = long long>
using ArgMin = ArgExtreme<T, false, Index>;

/// The sum of squared deviations from the mean: Welford's update, and Chan's formula to combine two
/// states.
template <class T>
struct Welford {
  static constexpr bool kCommutes = false;
  static constexpr bool kAnyOrder = false;
  T count;
  T mean;
  T deviations;
  static __device__ __forceinline__ Welford identity() { return {0, 0, 0}; }
  __device__ __forceinline__ void add(T element, long long) {
    count = count + 1;
    const T before = element - mean;
    mean = mean + before / count;
    deviations = deviations + before * (element - mean);
  }
  static __device__ __forceinline__ Welford join(Welford a, Welford b) {
    if (b.count == 0) return a;
    if (a.count == 0) return b;
    const T count = a.count + b.count;
    const T apart = b.mean - a.mean;
    const T share = b.count / count;
    return {count, a.mean + apart * share,
            a.deviations + b.deviations + apart * apart * (a.count * share)};
  }
  __device__ __forceinline__ T result() const { return deviations; }
};

/// The log of the sum of exp. The state is the largest element and the sum of exp(element -
/// largest). That sum is at least 1 if there is a finite element. Takes one exponential per element.
/// Under Math::fast it is the same one.
template <class T>
struct LogSumExp {
  // The order of equal largest elements changes no result. For -0 and +0 the total exceeds 1, so
  // the sign of the largest is lost in the sum.
  static constexpr bool kCommutes = true;
  static constexpr bool kAnyOrder = false;
  T largest;  ///< NaN if an element is NaN; at least the lowest finite number
  T total;    ///< of no meaning if `largest` is not finite
  // A finite number, so that its difference to an infinite element is not NaN.
  static __device__ __forceinline__ LogSumExp identity() { return {lowest_finite(T()), 0}; }
  __device__ __forceinline__ void add(T element, long long) { *this = join(*this, {element, 1}); }
  static __device__ __forceinline__ LogSumExp join(LogSumExp a, LogSumExp b) {
    const T apart = b.largest - a.largest;
    const bool b_leads = apart > 0;
    const T high = b_leads ? b.total : a.total;
    const T low = b_leads ? a.total : b.total;
    return {maximum(a.largest, b.largest), high + low * decay(apart)};
  }
  __device__ __forceinline__ T result() const {
    // One element is its own result, -0 included. The total of several infinities is NaN.
    // opaque_value keeps the compiler from folding the logarithm of a constant total.
    return total == 1 || largest == Ends<T>::highest() ? largest
                                                       : largest + logarithm(opaque_value(total));
  }

 private:
  static __device__ __forceinline__ float lowest_finite(float) { return as_float(0xff7fffffu); }
  static __device__ __forceinline__ double lowest_finite(double) {
    return as_double(0xffefffffffffffffull);
  }
  /// exp(-|apart|). The rounding of the product is an error of |apart| / 2^24, as large as that of
  /// the difference. It matters little, because the weight is the smaller the larger it is.
  static __device__ __forceinline__ float decay(float apart) {
    return exp2_or_zero(copy_sign(apart, -1.0f) * 1.44269504f);
  }
  static __device__ __forceinline__ double decay(double apart) {
    return exponential(copy_sign(apart, -1.0));
  }
};
